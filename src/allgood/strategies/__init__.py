"""Strategies: where to look next, when to stop, what to answer.

One published algorithm per file.
"""
