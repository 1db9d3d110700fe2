"""Check the arguments of public functions.

Each error carries the name of the argument; its message names the argument, the requirement and the
value received.  Everything below the public functions trusts its input.
"""

import inspect
import math
import numbers
import unicodedata
from collections.abc import Callable, Iterable
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

# Sizes beyond these would overflow when squared and multiplied; no measurement needs them.
LARGEST, SMALLEST = 1e60, 1e-60


class ArgumentError(ValueError):
    """An argument has a value that is not allowed; ``argument`` is its name."""

    def __init__(self, message: str, *, argument: str = "") -> None:
        super().__init__(message)
        self.argument = argument


class ArgumentTypeError(TypeError):
    """An argument has a type that is not allowed; ``argument`` is its name."""

    def __init__(self, message: str, *, argument: str = "") -> None:
        super().__init__(message)
        self.argument = argument


# Signs of some scripts that are visible although Unicode counts them among the format characters.
_VISIBLE = {*"\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"}
_JOINERS = {"\u200c", "\u200d"}  # some scripts, and emoji, need them between their characters


def forbidden_character(text: str) -> str:
    """Return the first character that a name may not have, such as U+202E; empty if there is none.

    These are control characters, separators of lines, halves of surrogate pairs, and invisible
    characters: with them two names would look alike, or a line would be shown in another order.  A
    joiner is allowed between two characters of which the first is not ASCII.
    """
    if text.isprintable():  # then it has none of them
        return ""
    for i, character in enumerate(text):
        kind = unicodedata.category(character)
        if kind not in ("Cc", "Cf", "Cs", "Zl", "Zp") or character in _VISIBLE:
            continue
        if character in _JOINERS and 0 < i < len(text) - 1 and not text[i - 1].isascii():
            continue
        return f"U+{ord(character):04X}"
    return ""


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a question that suggests a similar name, to end a message with; empty if none is."""
    similar = get_close_matches(name, list(names), n=1)
    return f" Is {similar[0]!r} meant?" if similar else ""


def check_call(what: str, function: Callable[..., object], *arguments: object) -> None:
    """Raise TypeError if a function cannot be called with these arguments, before it is called."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # written in C, and without a signature: the call will tell
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise TypeError(f"{what}: {error}.") from None


def real(name: str, value: object) -> float:
    """Return a finite real number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | np.ndarray):
        raise ArgumentTypeError(f"{name} must be a real number: got {value!r}.", argument=name)
    if isinstance(value, np.ndarray) and value.ndim != 0:
        raise ArgumentTypeError(
            f"{name} must be a single number: got an array of shape {value.shape}.", argument=name
        )
    number = float(value)
    if not math.isfinite(number):
        raise ArgumentError(f"{name} must be finite: got {number}.", argument=name)
    if abs(number) > LARGEST:
        raise ArgumentError(
            f"{name} must not exceed {LARGEST:g} in size: got {number:g}; use other units.",
            argument=name,
        )
    return number


def probability(name: str, value: object) -> float:
    """Return a number strictly between 0 and 1."""
    number = real(name, value)
    if not 0.0 < number < 1.0:
        raise ArgumentError(
            f"{name} must lie strictly between 0 and 1: got {number:g}.", argument=name
        )
    return number


def positive(name: str, value: object) -> float:
    """Return a finite number above zero."""
    number = real(name, value)
    if number <= 0.0:
        raise ArgumentError(f"{name} must be positive: got {number:g}.", argument=name)
    return number


def count(name: str, value: object, least: int = 1) -> int:
    """Return a whole number of at least one, or of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ArgumentTypeError(f"{name} must be a whole number: got {value!r}.", argument=name)
    if value < least:
        raise ArgumentError(f"{name} must be at least {least}: got {int(value)}.", argument=name)
    return int(value)


def vector(name: str, values: npt.ArrayLike) -> Vector:
    """Return a non-empty one-dimensional array of finite numbers."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise ArgumentTypeError(f"{name} must be numbers: got {values!r}.", argument=name) from None
    if array.dtype.kind not in "iuf":
        raise ArgumentTypeError(f"{name} must be numbers: got {values!r}.", argument=name)
    if array.ndim != 1 or array.size == 0:
        raise ArgumentError(
            f"{name} must be a non-empty one-dimensional sequence, one number per arm: "
            f"got shape {array.shape}.",
            argument=name,
        )
    array = array.astype(np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        a = int(np.argmin(finite))
        raise ArgumentError(f"{name} must be finite: got {array[a]} for arm {a}.", argument=name)
    if (np.abs(array) > LARGEST).any():
        a = int(np.argmax(np.abs(array)))
        raise ArgumentError(
            f"{name} must not exceed {LARGEST:g} in size: "
            f"got {array[a]:g} for arm {a}; use other units.",
            argument=name,
        )
    return array


def means_array(means: npt.ArrayLike) -> Vector:
    return vector("means", means)


def counts_and_means(counts: npt.ArrayLike, means: npt.ArrayLike) -> tuple[Vector, Vector]:
    """Return counts and averages.  The average of no rewards may be any number, also nan."""
    averages = np.asarray(means)
    N = weights_array(counts, averages.size, "counts")
    if averages.shape == N.shape and averages.dtype.kind == "f":
        averages = np.where(N == 0.0, 0.0, averages)
    return N, means_array(averages)


def weights_array(weights: npt.ArrayLike, num_arms: int, name: str = "weights") -> Vector:
    """Return one weight per arm, none negative."""
    array = vector(name, weights)
    if array.size != num_arms:
        raise ArgumentError(
            f"{name} must have one entry per arm, {num_arms}: got {array.size}.", argument=name
        )
    if (array < 0.0).any():
        a = int(np.argmax(array < 0.0))
        raise ArgumentError(
            f"{name} must not be negative: got {array[a]:g} for arm {a}.", argument=name
        )
    return array


def sigma_array(sigma: float | tuple[float, ...], num_arms: int) -> Vector:
    """Return the noise of each arm, from one value for all or one per arm."""
    if isinstance(sigma, float):
        return np.full(num_arms, sigma)
    if len(sigma) != num_arms:
        raise ValueError(
            f"Gaussian(sigma=...) must hold one value for all arms or one per arm, {num_arms}: "
            f"got {len(sigma)} values."
        )
    return np.array(sigma)
