"""Certificates of studies: ``write.py`` makes them, ``verify.py`` checks them by itself."""
