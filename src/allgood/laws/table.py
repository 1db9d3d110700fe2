"""The laws by name: one line for each."""

from typing import Any

from .base import Law
from .bernoulli import Bernoulli
from .bounded import Bounded
from .exponential import Exponential
from .gaussian import Gaussian
from .poisson import Poisson

LAWS: dict[str, type[Law]] = {
    "gaussian": Gaussian,
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "exponential": Exponential,
    "bounded": Bounded,
}


def law_from_dict(stored: dict[str, Any]) -> Law:
    """The law that ``Law.to_dict`` wrote down."""
    arguments = {key: value for key, value in stored.items() if key != "name"}
    return LAWS[stored["name"]](**arguments)
