"""The kinds of alternative.  ``normal.py`` says what each one is."""

import cython

if not cython.compiled:
    NONE, EXPEL, ADMIT, EMPTY, RISE = range(5)
