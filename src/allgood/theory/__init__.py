"""Theory of an instance: alternatives, characteristic time and lower bounds.  It needs no data."""
