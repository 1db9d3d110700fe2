"""Limits on the work of the solvers: iterations, and pairs of nearly tied arms."""

MAX_ITERATIONS = {"newton": 600, "mirror-ascent": 100_000}
MAX_INTERIOR = 100  # steps, for models that are not normal
MAX_PAIRS = 2_000_000  # more relevant pairs of near-tied good arms than this are merged
