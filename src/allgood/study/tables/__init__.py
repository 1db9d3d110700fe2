"""Tables that people fill in: CSV files, workbooks, grids and counts."""
