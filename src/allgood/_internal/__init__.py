"""Helpers of the whole package: arguments, results as data, tables, progress, cancelling."""
