"""Simulated runs: environments, the loop, and the functions run, simulate and compare."""
