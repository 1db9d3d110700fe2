"""Code that the compiled modules share: tally, heap, random numbers, special functions."""
