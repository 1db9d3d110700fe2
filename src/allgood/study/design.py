"""The design of a study: its arms, objective, risk, model and options, each described once, here.

Open this file to add an option of a study: a field of :class:`StudyDesign` with its description.
HTTP and the command line take names, types, defaults and descriptions from these fields.
"""

import re
import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._internal.arguments import (
    LARGEST,
    ArgumentError,
    ArgumentTypeError,
    count,
    forbidden_character,
    positive,
    probability,
)
from ..models.base import Model
from ..models.gaussian import Gaussian
from ..models.registry import model_from_dict
from ..objectives import Additive, Multiplicative, Objective
from ..strategies.claim_by_claim import ClaimByClaim
from .normalise import Normaliser
from .quality import SHARE

FORMAT = 1  # version of the stored events
RULES = 1  # version of how arms are chosen and labels certified; a study keeps its rules to the end
CASES = 4  # if arms may be added, a label can be wrong in so many ways (docs/study-proofs.md)
# Options that are not stored unless they are used.
LEFT_OUT = ("max_new_arms", "min_z_prime", "normalise")

# The letters of ticket ids.  No spreadsheet takes them for a number or a date.
LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv")


def option(label: str, description: str, default: Any = MISSING) -> Any:
    """Return a dataclass field with a label for forms, and a description for every interface."""
    return field(default=default, metadata={"label": label, "description": description})


@dataclass(frozen=True, kw_only=True)
class StudyDesign:
    """The question of a study and its options: the ``data`` of the first event.

    ``label`` and ``description`` in the metadata of a field describe it (:func:`describe`).
    """

    name: str = option("Name", "The name of the study in its database.")
    arms: tuple[str, ...] = option("Arms", "A name for each arm.")
    objective: Objective = option(  # noqa: RUF009
        "Objective", "The objective: it defines the good arms."
    )
    delta: float = option("Delta, the risk", "The risk that any label is ever certified wrongly.")
    model: Model = option(  # noqa: RUF009
        "Model of one measurement",
        "The model of the measurements; the guarantee holds for values of this model.",
        Gaussian(),
    )
    pool: bool = option(
        "Compare with the pool",
        "Compare arms with the pool of all other measurements, too, which saves measurements if "
        "there are many arms.",
        True,
    )
    seed: int = option("Seed", "The seed that decides the wells of arms on plates.", 0)
    budget: int | None = option(
        "Budget",
        "The number of measurements after which the study asks for no more; no limit if absent.",
        None,
    )
    check_values: bool = option(
        "Check values",
        "Hold back values that are impossible under the model, and let no label rest on a single "
        "value; a thousandth of delta pays for it.",
        True,
    )
    in_order: bool = option(
        "Count values in the order of tickets",
        "Process values in the order of their tickets, so that the time of telling does not "
        "matter; required for waiting times, and by default used only for them.",
        None,
    )
    censor_at: float | None = option(
        "Censoring time",
        "The time at which every wait is given up, for waiting times; such a value is told as "
        "'>30', if this is 30.",
        None,
    )
    max_new_arms: int = option(
        "Places for new arms",
        "The number of arms that may be added later; labels need evidence as if they were there "
        "from the start, and as if delta were a quarter of its value.",
        0,
    )
    min_z_prime: float | None = option(
        "Least Z' of a plate",
        "The least Z' of a plate, computed from its two controls: values of a plate with a lower "
        "Z' never count; no limit if absent. The guarantee stays, because the rule is fixed "
        "beforehand and looks at controls alone.",
        None,
    )
    normalise: str | None = option(
        "In units of controls",
        "Convert every value to units of the controls of its plate: percent:DMSO, "
        "percent:LOW,HIGH or z:DMSO; raw values are kept.",
        None,
    )
    uid: str = field(default_factory=lambda: uuid.uuid4().hex)  # tells studies of one name apart
    added: int = 0  # the number of arms that were added

    def __post_init__(self) -> None:
        """Take numbers of NumPy and lists as they are meant, and the order that the model needs."""
        taken: dict[str, Any] = {
            name: int(getattr(self, name))
            for name in ("seed", "budget", "max_new_arms")
            if isinstance(getattr(self, name), np.integer)
        }
        if isinstance(self.arms, list):
            taken["arms"] = tuple(self.arms)
        if self.in_order is None:
            taken["in_order"] = Model.check(self.model).takes_time
        if isinstance(self.normalise, str):
            taken["normalise"] = Normaliser.named(self.normalise).text
        for name, value in taken.items():
            object.__setattr__(self, name, value)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each arm, by its name."""
        return {arm: a for a, arm in enumerate(self.arms)}

    def check(self) -> None:
        """Raise ArgumentError or ArgumentTypeError if no study can have this design."""
        check_text("name", self.name)
        if not isinstance(self.uid, str) or not re.fullmatch("[0-9a-f]{32}", self.uid):
            raise ArgumentError(
                f"uid must be 32 hexadecimal digits: got {self.uid!r}.", argument="uid"
            )
        self.check_arms()
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ArgumentError(
                f"seed must be a whole number of at least 0: got {self.seed!r}.", argument="seed"
            )
        self.check_budget()
        for name in ("pool", "check_values", "in_order"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentTypeError(
                    f"{name} must be True or False: got {getattr(self, name)!r}.", argument=name
                )
        Objective.check(self.objective)
        probability("delta", self.delta)
        self._check_epsilon()
        # Call start() now, so that an unsupported model fails early.
        self.strategy.start(len(self.arms), Model.check(self.model))
        self._check_new_arms()
        self._check_times()
        if self.min_z_prime is not None and not _is_z_prime(self.min_z_prime):
            raise ArgumentError(
                "min_z_prime must be a number below 1, which is the largest Z', or None: got "
                f"{self.min_z_prime!r}.",
                argument="min_z_prime",
            )
        if self.normalise is not None:
            Normaliser.named(self.normalise)

    def check_arms(self) -> None:
        """Raise if the arms have no names, or two of them have one."""
        if isinstance(self.arms, str) or not isinstance(self.arms, Iterable):
            raise ArgumentTypeError(
                f"arms must be a list of names: got {self.arms!r}.", argument="arms"
            )
        for i, arm in enumerate(self.arms):
            check_text(f"arms[{i}]", arm)
        if not self.arms:
            raise ArgumentError("arms must name at least one arm: got none.", argument="arms")
        doubled = [arm for arm, n in Counter(self.arms).items() if n > 1]
        if doubled:
            raise ArgumentError(
                f"arms must have different names: got {doubled[0]!r} more than once.",
                argument="arms",
            )

    def check_budget(self) -> None:
        """Raise if the budget does not allow one measurement of each arm."""
        if self.budget is not None and count("budget", self.budget) < len(self.arms):
            raise ArgumentError(
                f"budget must allow one measurement of each of the {len(self.arms)} arms: got "
                f"{self.budget}.",
                argument="budget",
            )

    def _check_epsilon(self) -> None:
        """Refuse an epsilon as wide as the range of the means: every arm would be good."""
        low, high = self.model.range
        if self.objective.factor == 1.0 and self.objective.slack >= high - low:
            raise ArgumentError(
                f"epsilon must be below {high - low:g}, because the means of {self.model} never "
                f"differ by more: got {self.objective.slack:g}. One percentage point is 0.01.",
                argument="epsilon",
            )

    def _check_new_arms(self) -> None:
        most = self.max_new_arms
        problem = ""
        if isinstance(most, bool) or not isinstance(most, int) or most < 0:
            problem = f"a whole number of at least 0: got {most!r}"
        elif most and not self.check_values:
            problem = f"0 if values are not checked: got {most}"
        elif most and isinstance(getattr(self.model, "sigma", None), tuple):
            problem = f"0 if each arm has its own sigma, because new arms have none: got {most}"
        if problem:
            raise ArgumentError(f"max_new_arms must be {problem}.", argument="max_new_arms")

    def _check_times(self) -> None:
        if self.model.takes_time and not self.in_order:
            raise ArgumentError(
                f"in_order must be True for {self.model}: short times are known first, and an "
                "order that depends on the values voids the guarantee.",
                argument="in_order",
            )
        if self.censor_at is not None:
            positive("censor_at", self.censor_at)
            if not self.model.takes_time:
                raise ArgumentError(
                    f"censor_at must be None for {self.model}: got {self.censor_at:g}. Only "
                    "times may be given up at a fixed time without voiding the guarantee.",
                    argument="censor_at",
                )

    @property
    def normaliser(self) -> Normaliser | None:
        """The way in which every value is normalised; None if values count as they are told."""
        return None if self.normalise is None else Normaliser.named(self.normalise)

    @property
    def places(self) -> int:
        """Return K of all needs: the arms, and the places for new arms that are not taken."""
        return len(self.arms) - self.added + self.max_new_arms

    @property
    def tag(self) -> str:
        """The letters with which the ids of all tickets of this study begin."""
        return self.uid[:4].translate(LETTERS)

    def ticket_id(self, number: int) -> str:
        """Return the id by which the value of this ticket is told."""
        return f"{self.tag}-{number}"

    @property
    def strategy(self) -> ClaimByClaim:
        """The strategy, which certifies each label by itself."""
        return ClaimByClaim(self.objective, self.risk_of_labels, self.pool)

    @property
    def risk_of_labels(self) -> float:
        """The part of delta that labels may use; the rest pays for values held back.

        If arms may be added, the labels may use a quarter of that (docs/study-proofs.md).
        """
        risk = (1.0 - SHARE) * self.delta if self.check_values else self.delta
        return risk / CASES if self.max_new_arms else risk

    def copied(
        self, name: str, objective: Objective | None = None, delta: float | None = None
    ) -> "StudyDesign":
        """Return the checked design of a copy of the study, with another question."""
        design = replace(
            self,
            name=name,
            uid=uuid.uuid4().hex,
            objective=self.objective if objective is None else Objective.check(objective),
            delta=self.delta if delta is None else probability("delta", delta),
        )
        design.check()
        return design

    def to_dict(self) -> dict[str, Any]:
        """Return the stored form."""
        return {
            "format": FORMAT,
            "rules": RULES,
            "name": self.name,
            "uid": self.uid,
            "arms": list(self.arms),
            "objective": objective_to_dict(self.objective),
            "delta": self.delta,
            "model": self.model.to_dict(),
            "strategy": {"name": "claim-by-claim", "pool": self.pool},
            "seed": self.seed,
            "budget": self.budget,
            "check_values": self.check_values,
            "in_order": self.in_order,
            "censor_at": self.censor_at,
        } | {
            name: getattr(self, name)
            for name in LEFT_OUT
            if getattr(self, name) != OPTIONS[name].default
        }

    @staticmethod
    def from_dict(stored: dict[str, Any]) -> "StudyDesign":
        """Return the design from its stored form; raise ValueError for anything else."""
        if stored.get("format") != FORMAT or stored.get("rules") != RULES:
            raise ValueError(
                f"study must be of format {FORMAT} and rules {RULES}, which this version of "
                f"allgood knows: got format {stored.get('format')!r} and rules "
                f"{stored.get('rules')!r}. Go on with the version of allgood that made it."
            )
        try:
            strategy = stored["strategy"]
            if strategy["name"] != "claim-by-claim":
                raise ValueError(f"strategy must be claim-by-claim: got {strategy['name']!r}")
            design = StudyDesign(
                name=stored["name"],
                uid=stored["uid"],
                arms=tuple(stored["arms"]),
                objective=objective_from_dict(stored["objective"]),
                delta=stored["delta"],
                model=model_from_dict(stored["model"]),
                pool=strategy["pool"],
                seed=stored["seed"],
                budget=stored["budget"],
                check_values=stored["check_values"],
                in_order=stored["in_order"],
                censor_at=stored["censor_at"],
                **{name: stored[name] for name in LEFT_OUT if name in stored},
            )
            design.check()
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"the first event must hold the design: {type(error).__name__} {error}"
            ) from None
        if design.to_dict() != stored:
            raise ValueError("the first event must hold the design, and nothing else.")
        return design


def _is_z_prime(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and -LARGEST <= float(value) < 1.0  # type: ignore[arg-type]


def optional_text(name: str, value: object) -> str | None:
    """Return a text that :func:`check_text` allows, or None."""
    return None if value is None else check_text(name, value)


def check_text(name: str, value: object) -> str:
    """Return a name or a reason: at least one visible character, and no control characters."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name} must be text: got {value!r}.", argument=name)
    forbidden = forbidden_character(value[:1000])
    if not value.strip() or len(value) > 1000 or forbidden:
        raise ArgumentError(
            f"{name} must be 1 to 1000 characters, none of them a control character: got "
            f"{value[:60]!r}{f', which has the character {forbidden}' if forbidden else ''}.",
            argument=name,
        )
    return value


def describe(name: str) -> str:
    """Return the description of an option of a study."""
    return str(OPTIONS[name].metadata["description"])


# The options of a study, by name, in the order in which they are shown.
OPTIONS: dict[str, Field[Any]] = {
    part.name: part for part in fields(StudyDesign) if "description" in part.metadata
}


def objective_to_dict(objective: Objective) -> dict[str, Any]:
    return {"name": type(objective).__name__.lower(), "epsilon": objective.epsilon}


def objective_from_dict(stored: dict[str, Any]) -> Objective:
    kinds = {"additive": Additive, "multiplicative": Multiplicative}
    return kinds[stored["name"]](stored["epsilon"])
