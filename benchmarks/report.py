"""What the benchmarks share: their tables, and what stands above them."""

import argparse
import platform

import numpy as np
from rich.console import Console
from rich.table import Table

import allgood

console = Console(highlight=False, width=120)


def table(title, *columns):
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, justify="left" if column == "strategy" else "right")
    return made


def normal_means(num_arms, margin):
    """Normal means, each at least so far from the threshold of Additive(0.5)."""
    rng = np.random.default_rng(num_arms)
    while True:
        means = rng.normal(size=num_arms)
        if np.abs(allgood.Additive(0.5).distances(means)[0]).min() > margin:
            return means


def begin(description, quick_help):
    """Read the options, say what runs; whether it is to be quick."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=quick_help)
    quick = parser.parse_args().quick
    console.print(
        f"allgood {allgood.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{platform.machine()}\n"
    )
    return quick
