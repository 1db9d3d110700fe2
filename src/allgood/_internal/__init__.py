"""Helpers for the whole package: argument checks, results as data, tables, progress, cancelling."""
