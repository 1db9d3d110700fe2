"""Models by name: their table, and functions that make a model from a name or stored data."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._internal.arguments import nearest
from .base import Model
from .bernoulli import Bernoulli
from .bounded import Bounded
from .exponential import Exponential
from .gaussian import Gaussian
from .poisson import Poisson
from .unknown_sigma import UnknownSigma

MODELS: dict[str, type[Model]] = {
    "gaussian": Gaussian,
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "exponential": Exponential,
    "bounded": Bounded,
}
# The models among which a new study chooses, by the names that ``model_by_name`` takes.
CHOICES: dict[str, type[Model]] = {"gaussian": Gaussian, "unknown-sigma": UnknownSigma} | {
    name: model for name, model in MODELS.items() if name != "gaussian"
}


class Parameter(NamedTuple):
    """A parameter of models, for forms.

    Attributes:
        label, description: its name for people, and what it is.
        above: a number that it must exceed, if there is one.
    """

    label: str
    description: str
    above: float | None = None


PARAMETERS = {
    "sigma": Parameter(
        "Sigma, the noise",
        "The standard deviation of repeated measurements of one arm, for normal measurements.",
        above=0.0,
    ),
    "low": Parameter("Lowest value", "The lowest value that is possible."),
    "high": Parameter("Highest value", "The highest value that is possible."),
}


def model_from_dict(stored: dict[str, Any]) -> Model:
    """Return the model that ``Model.to_dict`` described."""
    arguments = {key: value for key, value in stored.items() if key != "name"}
    return MODELS[stored["name"]](**arguments)


def model_by_name(
    key: str, name: object, sigma: Sequence[float] | None = None, dash: str = ""
) -> Model:
    """Return the model that an option or a key of a file names: ``gaussian``, ``bounded:0:1``.

    Args:
        key: ``model``, or ``arms``, whose noise must be known.
        name: its value.
        sigma: of normal rewards, one for all arms or one per arm; 1 if it is None.
        dash: the prefix of a key in messages.
    """
    unknown = key == "model" and name == "unknown-sigma"
    if name == "gaussian":
        return Gaussian(1.0 if sigma is None else sigma[0] if len(sigma) == 1 else sigma)
    if sigma is not None and not unknown:
        values = ",".join(f"{x:g}" for x in sigma)
        raise ValueError(
            f"{dash}sigma must be left out if rewards are not normal: got {values} with "
            f"{dash}{key} {name}."
        )
    if unknown:
        return Gaussian(None)
    kind, *parts = name.split(":") if isinstance(name, str) else [""]
    if kind != "gaussian" and kind in MODELS and len(parts) == len(MODELS[kind].parameters):
        return MODELS[kind](*(_number(f"{dash}{key} {name}", part) for part in parts))
    names = [":".join([key, *map(str.upper, model.parameters)]) for key, model in MODELS.items()]
    names[0] = "gaussian"
    ending = " or unknown-sigma" if key == "model" else ""
    hint = nearest(kind, [*MODELS, *(["unknown-sigma"] if ending else [])])
    raise ValueError(f"{dash}{key} must be {', '.join(names)}{ending}: got {name!r}.{hint}")


def _number(where: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{where} must hold numbers after its colons: got {text!r}.") from None
