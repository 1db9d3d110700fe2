"""Solvers for the optimal weights: Newton's method, an interior-point method and mirror ascent."""
