"""What happens in a study, one event after another, and how it is written down.

    created       the question: arms, objective, delta, model, strategy, seed, budget
    plate         how the wells of the next batch are laid out
    ticket        one measurement of one arm is asked for, by a client, until a deadline
    lease         a ticket whose deadline has passed is offered again
    observation   the value of a ticket
    unasked       a value that nobody had asked for; it gets a ticket's number
    failure       a ticket will have no value
    abandonment   an arm is not to be measured again
    correction    another value for a ticket that has one

Events are added, and never changed or taken away.  As JSON lines, keys in order and nothing absent, they are the whole
study; the SHA-256 of these lines names it.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from .._check import count
from ..models import Bernoulli, Bounded, Exponential, Gaussian, Model, Poisson
from ..objectives import Additive, Multiplicative, Objective
from ..strategies.weakest_claim import WeakestClaim

FORMAT = 1  # of these events
RULES = 1  # of choosing and certifying: a study must end under the rules under which it began

LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv")  # no spreadsheet takes these for a number or a date

KINDS = (
    "created", "plate", "ticket", "lease", "observation", "unasked", "failure", "abandonment", "correction",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    """One event; ``seq`` counts from 1, ``time`` is in seconds since 1970 (UTC)."""

    seq: int
    kind: str
    time: float
    client: str | None = None
    ticket: int | None = None
    arm: int | None = None
    value: float | None = None
    joins: bool | None = None
    batch: int | None = None
    well: str | None = None
    deadline: float | None = None
    note: str | None = None
    data: dict[str, Any] | None = None

    def line(self) -> str:
        """As a line of JSON, without the line's end."""
        return canonical({key: value for key, value in asdict(self).items() if value is not None})


TYPES: dict[str, type | tuple[type, ...]] = {
    "seq": int, "kind": str, "time": (int, float), "client": str, "ticket": int, "arm": int, "value": (int, float),
    "joins": bool, "batch": int, "well": str, "deadline": (int, float), "note": str, "data": dict,
}  # fmt: skip


def canonical(value: object) -> str:
    """JSON in the one way that digests are taken of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(events: Iterable[Event]) -> str:
    """SHA-256 of the events as lines: that of an exported file."""
    found = hashlib.sha256()
    for event in events:
        found.update(event.line().encode() + b"\n")
    return found.hexdigest()


def parsed(line: str, number: int) -> Event:
    """An event from its line."""

    def refused(why: str) -> ValueError:
        return ValueError(f"line {number} must be an event of a study as `allgood study export` writes it: {why}.")

    try:
        found = json.loads(line, parse_constant=lambda name: math.nan)
    except (ValueError, RecursionError) as error:
        raise refused(f"got no JSON ({error})") from None
    if not isinstance(found, dict):
        raise refused(f"got {type(found).__name__}")
    for key, value in found.items():
        if key not in TYPES:
            raise refused(f"got an unknown field {key!r}")
        if not isinstance(value, TYPES[key]) or (isinstance(value, bool) and key != "joins"):
            raise refused(f"got {value!r} as {key}")
        if isinstance(value, int | float) and not -1e300 < value < 1e300:
            raise refused(f"got {value!r} as {key}")
        if key in ("value", "time", "deadline"):
            found[key] = float(found[key]) + 0.0
    if not {"seq", "kind", "time"} <= found.keys() or found["kind"] not in KINDS:
        raise refused("got no seq, time or kind that is known")
    event = Event(**found)
    if event.line() != line:
        raise refused("got the right fields in another form")
    return event


@dataclass(frozen=True)
class Question:
    """What a study is to find out, and by which means; in words, the ``data`` of the first event."""

    name: str
    uid: str
    arms: tuple[str, ...]
    objective: Objective
    delta: float
    model: Model
    pool: bool
    seed: int
    budget: int | None

    def check(self) -> None:
        """That it can be asked."""
        text("name", self.name)
        if not isinstance(self.uid, str) or not re.fullmatch("[0-9a-f]{32}", self.uid):
            raise ValueError(f"uid must be 32 hexadecimal digits: got {self.uid!r}.")
        for i, arm in enumerate(self.arms):
            text(f"arms[{i}]", arm)
        if not self.arms:
            raise ValueError("arms must name at least one arm: got none.")
        doubled = [arm for arm, n in Counter(self.arms).items() if n > 1]
        if doubled:
            raise ValueError(f"arms must have different names: got {doubled[0]!r} more than once.")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be a whole number from 0 on: got {self.seed!r}.")
        if self.budget is not None and count("budget", self.budget) < len(self.arms):
            raise ValueError(
                f"budget must allow one measurement of each of the {len(self.arms)} arms: got {self.budget}."
            )
        if not isinstance(self.pool, bool):
            raise TypeError(f"pool must be True or False: got {self.pool!r}.")
        self.strategy.start(len(self.arms), Model.check(self.model))  # what it refuses, it refuses here

    @property
    def tag(self) -> str:
        """What the ids of all tickets begin with."""
        return self.uid[:4].translate(LETTERS)

    def ticket_id(self, number: int) -> str:
        return f"{self.tag}-{number}"

    @property
    def strategy(self) -> WeakestClaim:
        return WeakestClaim(self.objective, self.delta, self.pool)

    def words(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "rules": RULES,
            "name": self.name,
            "uid": self.uid,
            "arms": list(self.arms),
            "objective": objective_words(self.objective),
            "delta": self.delta,
            "model": model_words(self.model),
            "strategy": {"name": "weakest-claim", "pool": self.pool},
            "seed": self.seed,
            "budget": self.budget,
        }

    @staticmethod
    def of(words: dict[str, Any]) -> "Question":
        if words.get("format") != FORMAT or words.get("rules") != RULES:
            raise ValueError(
                f"study must be of format {FORMAT} and rules {RULES}, which this version of allgood knows: got format "
                f"{words.get('format')!r} and rules {words.get('rules')!r}. "
                "Go on with the version of allgood that made it."
            )
        try:
            if words["strategy"]["name"] != "weakest-claim":
                raise ValueError(f"strategy must be weakest-claim: got {words['strategy']['name']!r}")
            kind = {"additive": Additive, "multiplicative": Multiplicative}[words["objective"]["name"]]
            question = Question(
                name=words["name"],
                uid=words["uid"],
                arms=tuple(words["arms"]),
                objective=kind(words["objective"]["epsilon"]),
                delta=words["delta"],
                model=model_of(words["model"]),
                pool=words["strategy"]["pool"],
                seed=words["seed"],
                budget=words["budget"],
            )
            question.check()
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"the first event must hold the question: {type(error).__name__} {error}") from None
        if question.words() != words:
            raise ValueError("the first event must hold the question, and nothing else.")
        return question


def text(name: str, value: object) -> str:
    """A name or a reason: some characters, all of which can be written down."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text: got {value!r}.")
    if not value.strip() or len(value) > 1000 or any(ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 for c in value):
        raise ValueError(f"{name} must be 1 to 1000 characters, none of them a control character: got {value[:60]!r}.")
    return value


def objective_words(objective: Objective) -> dict[str, Any]:
    return {"name": type(objective).__name__.lower(), "epsilon": objective.epsilon}


def model_words(model: Model) -> dict[str, Any]:
    words = {"name": type(model).__name__.lower()} | asdict(model)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in words.items()}


def model_of(words: dict[str, Any]) -> Model:
    kinds: dict[str, type[Model]] = {
        kind.__name__.lower(): kind for kind in (Gaussian, Bounded, Bernoulli, Poisson, Exponential)
    }
    return kinds[words["name"]](**{key: value for key, value in words.items() if key != "name"})
