"""Which of many noisy options are within epsilon of the best?

The public names, loaded on first use so that ``allgood --help`` need not wait for NumPy and Numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .alternatives import BestResponse as BestResponse
    from .alternatives import best_response as best_response
    from .bounds import LowerBounds as LowerBounds
    from .bounds import lower_bounds as lower_bounds
    from .characteristic import CharacteristicTime as CharacteristicTime
    from .characteristic import Status as Status
    from .characteristic import characteristic_time as characteristic_time
    from .models import Gaussian as Gaussian
    from .objectives import Additive as Additive
    from .objectives import Multiplicative as Multiplicative

__version__ = "0.1.0"

_HOME = {
    "Additive": "objectives",
    "BestResponse": "alternatives",
    "CharacteristicTime": "characteristic",
    "Gaussian": "models",
    "LowerBounds": "bounds",
    "Multiplicative": "objectives",
    "Status": "characteristic",
    "best_response": "alternatives",
    "characteristic_time": "characteristic",
    "lower_bounds": "bounds",
}

__all__ = [
    "Additive",
    "BestResponse",
    "CharacteristicTime",
    "Gaussian",
    "LowerBounds",
    "Multiplicative",
    "Status",
    "best_response",
    "characteristic_time",
    "lower_bounds",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
