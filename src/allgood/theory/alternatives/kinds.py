"""Codes for the kinds of alternative, which ``normal.py`` explains."""

import cython

if not cython.compiled:
    NONE, EXPEL, ADMIT, EMPTY, RISE = range(5)
