"""The models by name: one line for each."""

from collections.abc import Sequence
from typing import Any

from .._internal.arguments import nearest
from .base import Model
from .bernoulli import Bernoulli
from .bounded import Bounded
from .exponential import Exponential
from .gaussian import Gaussian
from .poisson import Poisson

MODELS: dict[str, type[Model]] = {
    "gaussian": Gaussian,
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "exponential": Exponential,
    "bounded": Bounded,
}


def model_from_dict(stored: dict[str, Any]) -> Model:
    """The model that ``Model.to_dict`` wrote down."""
    arguments = {key: value for key, value in stored.items() if key != "name"}
    return MODELS[stored["name"]](**arguments)


def model_by_name(
    key: str, name: object, sigma: Sequence[float] | None = None, dash: str = ""
) -> Model:
    """The model that an option, or a key of a file, names: ``gaussian``, ``bounded:0:1``.

    Args:
        key: ``model``, or ``arms``, whose noise must be known.
        name: what was given for it.
        sigma: of normal rewards, one for all arms or one per arm; 1 if none is given.
        dash: what stands before a key in messages.
    """
    unknown = key == "model" and name == "unknown-sigma"
    if name == "gaussian":
        return Gaussian(1.0 if sigma is None else sigma[0] if len(sigma) == 1 else sigma)
    if sigma is not None and not unknown:
        given = ",".join(f"{x:g}" for x in sigma)
        raise ValueError(
            f"{dash}sigma must be left out where rewards are not normal: got {given} with "
            f"{dash}{key} {name}."
        )
    if unknown:
        return Gaussian(None)
    kind, *given_parts = name.split(":") if isinstance(name, str) else [""]
    if kind != "gaussian" and kind in MODELS and len(given_parts) == len(MODELS[kind].parameters):
        return MODELS[kind](*(_number(f"{dash}{key} {name}", part) for part in given_parts))
    known = [":".join([key, *map(str.upper, model.parameters)]) for key, model in MODELS.items()]
    known[0] = "gaussian"
    more = " or unknown-sigma" if key == "model" else ""
    hint = nearest(kind, [*MODELS, *(["unknown-sigma"] if more else [])])
    raise ValueError(f"{dash}{key} must be {', '.join(known)}{more}: got {name!r}.{hint}")


def _number(where: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{where} must hold numbers after its colons: got {text!r}.") from None
