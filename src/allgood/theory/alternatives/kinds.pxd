cpdef enum:
    NONE
    EXPEL
    ADMIT
    EMPTY
    RISE
