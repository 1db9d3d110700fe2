"""Alternatives: the cheapest change of the means that changes the answer, for any model."""
