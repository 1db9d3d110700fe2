"""The commands that change a study: each is a request with its ``decide`` (see ``base.py``)."""
