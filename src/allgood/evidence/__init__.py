"""What data prove: evidence for the label of one arm, claims, intervals and thresholds.

docs/evidence.md has the theorem and its proof.
"""
