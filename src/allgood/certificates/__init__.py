"""Certificates of studies: ``write.py`` makes them, and ``verify.py`` checks them independently."""
