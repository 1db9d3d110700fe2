"""Strategies: which arm to pull next, when to stop, what to answer.  One algorithm per file."""
