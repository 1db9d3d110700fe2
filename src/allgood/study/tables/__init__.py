"""Read and write tables that people fill in.

reader.py     the entry point, which turns any source of rows into one table
files.py      CSV files and workbooks as cells, with their limits
workbooks.py  .xlsx, parsed within limits
values.py     single cells: numbers, missing values, rewards
sheets.py     measurements, lists of arms, grids of plate readers; sheets to be filled in
counts.py     number and sum of many measurements
"""
