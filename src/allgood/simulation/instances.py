"""Named instances on which strategies are compared, and suites of them.

In tied instances several arms share the best mean.  They are easier for some strategies, which can
spread pulls over the tied arms, so they are marked and reported apart.  Random means are a function
of a fixed seed; no mean is closer than 0.02 to the threshold.

A suite of your own is a file in TOML.  Each table is an instance, and its keys have the names of
the options of ``allgood compare``:

    [checkout]
    means = [0.050, 0.045, 0.030]
    epsilon = 0.2
    multiplicative = true          # false if left out
    model = "bernoulli"            # "gaussian" if left out

    [two-machines]
    means = [1.0, 0.9, 0.2]
    epsilon = 0.5
    sigma = [1.0, 1.0, 2.0]        # one number for all arms, or one per arm; 1 if left out
    model = "unknown-sigma"        # the model that the strategy assumes
    arms = "gaussian"              # the model of the rewards, if it differs

``sigma`` is that of the model, and of the arms, if they are normal.
"""

import csv
import math
import os
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._internal.arguments import Vector, means_array, nearest
from ..models.base import Model
from ..models.bernoulli import Bernoulli
from ..models.exponential import Exponential
from ..models.gaussian import Gaussian
from ..models.poisson import Poisson
from ..models.registry import model_by_name
from ..objectives import Additive, Multiplicative, Objective


@dataclass(frozen=True, eq=False)
class Instance:
    """Arms to simulate, and the question about them.

    Args:
        name: for tables.
        means: one for each arm.
        objective: the definition of a good arm.
        model: the model of the rewards that the strategy assumes; normal with standard deviation 1
            by default.
        arms_model: the model from which rewards are drawn; by default the same.
    """

    name: str
    means: Vector
    objective: Objective
    model: Model = Gaussian()  # noqa: RUF009 - immutable
    arms_model: Model | None = None

    def __post_init__(self) -> None:
        Objective.check(self.objective)
        Model.check(self.model)
        means = Model.check(self.noise).check_means(means_array(self.means))
        if self.noise.normal:
            self.noise.sigmas(means.size)  # one sigma for each arm, or one for all
        object.__setattr__(self, "means", means)

    @property
    def noise(self) -> Model:
        """The model from which rewards are drawn."""
        return self.model if self.arms_model is None else self.arms_model

    @property
    def tied(self) -> bool:
        """True if several arms share the best mean."""
        return bool((self.means == self.means.max()).sum() > 1)


def paper_family(num_arms: int) -> Instance:
    """Return the paper's first two experiments: all arms at 1 except one at 0.05, epsilon 0.9."""
    return Instance(f"paper-{num_arms}", np.r_[np.ones(num_arms - 1), 0.05], Additive(0.9))


def random_means(
    name: str, num_arms: int, objective: Objective, seed: int, normal: bool = False
) -> Instance:
    """Return an instance with random means, uniform on [0, 1] or standard normal."""
    rng = np.random.default_rng(seed)
    while True:
        means = rng.normal(size=num_arms) if normal else rng.uniform(size=num_arms)
        height, _ = objective.distances(means)
        if np.abs(height).min() > 0.02 and means.max() > 0.0:
            return Instance(name, means, objective)


def synthetic_screen() -> Instance:
    """Return a synthetic drug screen of the size of PKIS2: 189 compounds with log-normal potencies.

    A compound is good if it has at least a fifth of the best potency.
    """
    rng = np.random.default_rng(7)
    while True:
        means = np.minimum(rng.lognormal(-1.4, 0.9, size=189), 3.0)
        height, _ = Multiplicative(0.8).distances(means)
        if np.abs(height).min() > 0.01:
            return Instance("synthetic-screen", means, Multiplicative(0.8))


def pkis2(path: str | Path) -> Instance:
    """Return the paper's drug screen, from a copy of the PKIS2 table (Drewry et al. 2017).

    Column ACVRL1 holds 189 compounds.  Zeros are compounds that were not measured.  100 % becomes
    99.9 %.  The mean is -log(1 - p/100).
    """
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except UnicodeDecodeError:
        raise ValueError(f"data must be the PKIS2 table in UTF-8: got {str(path)!r}.") from None
    if not rows or "ACVRL1" not in rows[0]:
        raise ValueError(f"data must be the PKIS2 table, with a column ACVRL1: got {str(path)!r}.")
    percent = []
    for line, row in enumerate(rows, start=2):
        try:
            percent.append(float(row["ACVRL1"] or 0.0))
        except ValueError:
            raise ValueError(
                f"data must hold percentages in column ACVRL1: got {row['ACVRL1']!r} in line "
                f"{line} of {str(path)!r}."
            ) from None
    means = [-math.log(1.0 - min(p, 99.9) / 100.0) for p in percent if p != 0.0]
    if len(means) < 2:
        raise ValueError(
            f"data must hold at least two measured compounds: got {len(means)} in {str(path)!r}."
        )
    return Instance("pkis2", np.array(means), Multiplicative(0.8))


def _named(instances: Iterable[Instance]) -> dict[str, Instance]:
    return {instance.name: instance for instance in instances}


INSTANCES: dict[str, Instance] = _named(
    (
        Instance("two-arms", np.array([0.9, 0.6]), Additive(0.05)),
        Instance("two-good-arms", np.array([0.9, 0.6]), Additive(0.35)),
        Instance("three-arms", np.array([0.5, 0.15, 0.05]), Additive(0.4)),
        Instance("near-threshold", np.array([1.0, 0.95, 0.62, 0.58, 0.3]), Additive(0.4)),
        random_means("uniform-5", 5, Additive(0.3), 11),
        Instance(
            "multiplicative-6", np.array([1.0, 0.9, 0.7, 0.45, 0.3, -0.2]), Multiplicative(0.5)
        ),
        Instance("equally-spaced-11", np.arange(11) / 10.0, Additive(0.35)),
        random_means("uniform-20", 20, Additive(0.3), 12),
        random_means("normal-20", 20, Additive(0.5), 14, normal=True),
        Instance("equally-spaced-25", np.arange(25) / 10.0, Additive(0.75)),
        Instance("one-good-30", np.r_[1.0, np.linspace(0.0, 0.6, 29)], Additive(0.3)),
        Instance("all-but-one-30", np.r_[0.1, np.full(28, -0.1), -0.5], Additive(0.5)),
        random_means("uniform-50", 50, Additive(0.3), 13),
        random_means("normal-50", 50, Additive(0.5), 15, normal=True),
        synthetic_screen(),
        paper_family(5),
        Instance("nineteen-of-twenty", np.r_[np.ones(19), 0.0], Additive(0.8)),
        paper_family(20),
        paper_family(40),
        Instance("two-clusters-50", np.r_[np.ones(10), np.full(40, 0.5)], Additive(0.3)),
        paper_family(160),
    )
)

# Rewards that are not normal: conversions, passes, counts and waiting times.  Reported apart.
NOT_NORMAL: dict[str, Instance] = _named(
    (
        Instance(
            "clicks-6",
            np.array([0.05, 0.045, 0.03, 0.025, 0.02, 0.01]),
            Additive(0.012),
            Bernoulli(),
        ),
        Instance("clicks-20", np.linspace(0.01, 0.05, 20), Multiplicative(0.33), Bernoulli()),
        Instance(
            "passes-6", np.array([0.95, 0.93, 0.90, 0.82, 0.76, 0.70]), Additive(0.1), Bernoulli()
        ),
        Instance("passes-20", np.linspace(0.70, 0.95, 20), Additive(0.072), Bernoulli()),
        Instance(
            "counts-8",
            np.array([12.0, 11.6, 11.2, 9.5, 9.0, 8.0, 6.0, 3.0]),
            Additive(1.6),
            Poisson(),
        ),
        Instance(
            "waits-6", np.array([5.0, 4.8, 4.4, 3.0, 2.0, 1.0]), Multiplicative(0.25), Exponential()
        ),
    )
)

SUITES: dict[str, tuple[str, ...]] = {
    "all": tuple(INSTANCES),
    "few": tuple(name for name, i in INSTANCES.items() if i.means.size < 20),
    "many": tuple(name for name, i in INSTANCES.items() if i.means.size >= 20),
    "tied": tuple(name for name, i in INSTANCES.items() if i.tied),
    "paper": tuple(f"paper-{K}" for K in (5, 20, 40, 160)),
    "models": tuple(NOT_NORMAL),
}


def suite(name: "str | os.PathLike[str]", data: str | Path | None = None) -> list[Instance]:
    """Return the instances of a suite, of a file ``.toml``, or the one instance of this name.

    ``pkis2`` needs ``data``.
    """
    if not isinstance(name, str) or name.endswith(".toml"):
        return suite_from(Path(name))
    instances = INSTANCES | NOT_NORMAL
    if name == "pkis2":
        if data is None:
            raise ValueError("suite pkis2 needs the PKIS2 table: got no data.")
        return [pkis2(data)]
    if name in SUITES:
        screen = [pkis2(data)] if data is not None and name == "all" else []
        return [instances[n] for n in SUITES[name]] + screen
    if name in instances:
        return [instances[name]]
    raise ValueError(
        f"suite must be one of {', '.join(SUITES)}, or an instance ({', '.join(instances)}, "
        f"pkis2), or a file of your own that ends in .toml: got {name!r}."
        f"{nearest(name, [*SUITES, *instances])}"
    )


# The keys of an instance in a file, and what each must be.
NUMBERS = "a list of numbers"
KEYS = {
    "means": ((list,), NUMBERS),
    "epsilon": ((int, float), "a number"),
    "multiplicative": ((bool,), "true or false"),
    "model": ((str,), "the name of a model in quotes"),
    "sigma": ((int, float, list), f"a number or {NUMBERS}"),
    "arms": ((str,), "the name of a model in quotes"),
}
OPTIONS = ("delta", "runs", "seed", "budget", "workers", "strategies")  # of a whole comparison


def suite_from(path: Path) -> list[Instance]:
    """Return the instances of a file in TOML; the head of this module says what it holds."""
    if not path.is_file():
        raise ValueError(f"suite must name an existing file: got {str(path)!r}.")
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError(f"suite must be a TOML file in UTF-8: {path} is not.") from None
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).removesuffix(")").partition(" (at ")
        hint = " In TOML true and false are written in lower case, and text is in quotes."
        raise ValueError(
            f"suite must be a file in TOML: {path}, {place}: {what}."
            f"{hint if what == 'Invalid value' else ''}"
        ) from None
    if not tables:
        raise ValueError(
            f"suite must hold at least one table such as [my-instance]: {path} has none."
        )
    return [_instance_of_table(path, name, table) for name, table in tables.items()]


def _instance_of_table(path: Path, name: str, table: Any) -> Instance:
    if not isinstance(table, dict):
        raise ValueError(f"{path}: key {name} must be in a table such as [my-instance].")
    where = f"{path}: table [{name}]"
    for key, value in table.items():
        if key not in KEYS:
            keys, hint = ", ".join(KEYS), nearest(key, KEYS)
            if key in OPTIONS:
                hint = " It is an argument of the whole comparison, and not a key."
            raise ValueError(f"{where} must have no keys but {keys}: got {key!r}.{hint}")
        kinds, wording = KEYS[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ValueError(f"{where}: {key} must be {wording}: got {value!r}.")
    for key in ("means", "epsilon"):
        if key not in table:
            raise ValueError(f"{where} must have the key {key}.")
    sigma = table.get("sigma")
    try:
        return instance_from(name, **table | ({"sigma": [sigma]} if np.isscalar(sigma) else {}))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None


def instance_from(
    name: str,
    means: Any,
    epsilon: float,
    multiplicative: bool = False,
    model: str = "gaussian",
    sigma: list[float] | None = None,
    arms: str | None = None,
    dash: str = "",
) -> Instance:
    """Return the instance that options describe, or the keys of a table.

    ``sigma`` belongs to what is normal, the model or the arms or both.  ``dash`` stands before
    the names of keys in messages.
    """
    normal = "gaussian"
    assumed = model_by_name(
        "model", model, sigma if arms is None or model == normal else None, dash
    )
    if arms is None:
        arms = normal if model == "unknown-sigma" else model
    noise = model_by_name("arms", arms, sigma if arms == normal or model != normal else None, dash)
    objective = Multiplicative(epsilon) if multiplicative else Additive(epsilon)
    return Instance(name, means, objective, assumed, noise)
