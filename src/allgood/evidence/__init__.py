"""Evidence for one arm's label, and the claims that rest on it.  The theorem: ``claims.py``."""
