"""Evidence from data: claims about the label of each arm, intervals, and stopping thresholds.

docs/evidence.md has the theorem and its proof.
"""
