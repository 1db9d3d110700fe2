"""What the benchmarks share: their tables, and what stands above them."""

import argparse
import platform

import numpy as np
from rich.console import Console
from rich.table import Table

import allgood

console = Console(highlight=False, width=120)


WORDS = ("strategy", "model", "command", "means", "objective", "kind of instance")


def table(title, *columns):
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, justify="left" if column in WORDS else "right")
    return made


def normal_means(num_arms, margin):
    """Normal means, each at least so far from the threshold of Additive(0.5)."""
    rng = np.random.default_rng(num_arms)
    while True:
        means = rng.normal(size=num_arms)
        if np.abs(allgood.Additive(0.5).distances(means)[0]).min() > margin:
            return means


def begin(description, quick_help, can_compare=False, **more):
    """Read the options, and say what runs.  ``more`` has options with a whole number."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=quick_help)
    if can_compare:
        parser.add_argument(
            "--against",
            metavar="PYTHON",
            help="the interpreter of an environment with another version of allgood, to compare",
        )
    for name, meaning in more.items():
        parser.add_argument(f"--{name}", type=int, metavar="N", help=meaning)
    options = parser.parse_args()
    console.print(
        f"allgood {allgood.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, {platform.machine()}\n"
    )
    return options
