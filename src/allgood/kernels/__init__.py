"""Code that compiled modules share: tally, heap, random numbers, C's mathematics, special
functions.
"""
