"""The commands that change a study, one request and its ``decide`` each; see ``base.py``."""
