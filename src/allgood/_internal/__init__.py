"""Helpers of no room in particular: argument checks, text tables, progress, JSON, cancellation."""
