"""Check the certificate of a study: recompute its claims, and with the log the whole certificate.

    python verify.py certificate.json [events.jsonl]

Open this file to see what a label rests on.  It shares no code with the program that writes
certificates and needs nothing but the standard library.  The last line that it prints begins with
the words of its exit code:

    0   Verified            the log agrees with all that the certificate states
    1   Not verified        there are problems, one sentence each
    2                       the arguments are wrong
    3   Recomputed only     the claims recompute from their own numbers; no log was given
    4   Verified, doubtful  as 0, but the certificate carries doubts: the guarantee may not hold

The file is in the order of a check.  Format: what a certificate and a log hold.  Reading: JSON is
what the format says, or the check stops; all that follows relies on it.  Log: apply the events.
Quality: decide which values count.  Evidence: the formulas.  Labels: when each label is certified,
and on what it rests.  Claims: check those of the certificate by their own numbers.  Doubts: test
the model.  Comparison: what the certificate states with what the log gives.  Each rule stands in
the first lines of the function that follows it.  Without a log only the claims are checked: nobody
can tell from their numbers whether these were measured, or whether a claim was left out.

Letters.  Arm k is good if mu_k >= c mu_l - e for every arm l.  Additive: c = 1, e = epsilon.
Multiplicative: c = 1 - epsilon, e = 0.  K counts all arms, also those withdrawn and those that may
still be added (max_new_arms).  Each arm has n values with mean m, and scatter Q around it.

Evidence is a likelihood ratio, averaged over effects, at the worst place where k and l could meet:

    E = min over t of  log sum_ij W_ij M_i(k against t) M_j(l against (t + e)/c)
                           (+ sum_j T_j M_j, for normal values)

For "k is good" M(k) favours a mean above t, and M(l) one below (t + e)/c; for "k is bad" the
reverse.  The pool of many arms counts as one arm with the largest sigma.  If the objective is
multiplicative, k itself is a rival, and M averaged over the effects of one arm, against 0, is the
evidence for the sign of mu_k.

Another machine may round differently.  If evidence lies within REACH of its need, the certificate
may have it either way; for models whose minimum the study has to search for, also if it lies within
SEARCH above the need.
"""

import bisect
import functools
import hashlib
import heapq
import itertools
import json
import math
import operator
import reprlib
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from types import SimpleNamespace as Part
from typing import Any, NamedTuple

FORMAT, LOG_FORMAT, RULES, STRATEGY = "allgood certificate 1", 1, 1, "claim-by-claim"
LABELS, OUTCOMES = ("good", "bad", "open"), ("certified", "running", "budget exhausted", "dropped")
NORMAL, UNKNOWN = "normal", "unknown sigma"  # families; the others have the names of their models

# Needs and priors.
RISK_OF_SUSPICION, CASES_WITH_NEW_ARMS, POOL_SHARE = 0.001, 4, 0.9
PRECISIONS, WEIGHTS = (5.0, 70.0, 1e3, 1.4e4, 2e5), (0.18, 0.34, 0.26, 0.14, 0.08)
PRECISIONS_OF_TWO, WEIGHTS_OF_TWO = (8.0, 100.0, 1.5e3, 3e4), (0.3, 0.4, 0.2, 0.1)  # if K = 2
UNLIKE, TIED, TIED_OF_TWO, TIED_EXPONENT = 0.4, 0.3, 0.95, 0.7
SHIFTS = tuple(3.0 / 2**j for j in range(12))
CENTRE, SPREAD, TAIL, NO_EFFECT = 0.15, 1.8, 1.5, 0.02
PRECISIONS_UNKNOWN = (0.3, 3.0, 30.0, 3e2, 3e3, 3e4, 3e5)
WEIGHTS_UNKNOWN = (0.05, 0.10, 0.17, 0.24, 0.22, 0.12, 0.08)
INFLUENTIAL, INFLUENTIAL_TIME = 0.01, 0.5  # for all families; for waiting times
LOOKS_PER_ROUND = 10

# Tests of the model: their risks, what they average over, and the bets on repeats.
SIGMA_RISK, REPEATS_RISK, DRIFT_RISK = 0.005, 0.01, 0.01
FIRST_CONTROLS_SHARE, ARMS_SHARE, MOST_SLIPS = 0.9, 0.2, 2
VARIANCE_RATIOS = tuple(x * x for x in (1.01, 1.02, 1.04, 1.08, 1.16, 1.32, 1.64, 2.3, 3.6))
DRIFT_PRECISIONS = (2.0, 8.0, 32.0, 128.0, 512.0)
BET_SIZES, BET_REST, FIRST_BET = (2, 5, 10), (0.5, 0.125), 5

# Limits of a check, and of agreement.
REACH = 1e-6  # by which recomputed evidence may miss the need
SEARCH = 0.05  # by which the study's search may miss what it could show; not for normal values
MOST_PROBLEMS = 100  # the check stops there
STEPS, STEPS_PER_EVENT = 4_000_000, 50  # evaluations of evidence, and values taken again
LARGEST = 1e100  # of all numbers
USAGE = 2
EXIT_CODES = {"verified": 0, "not verified": 1, "recomputed only": 3, "verified, doubtful": 4}


# ---- 1. Result


@dataclass(frozen=True)
class Verification:
    """The result of a check.

    Attributes:
        problems: one sentence each; none if all agrees.
        claims: how many were recomputed.
        log_checked: whether the log was given and read to its end.
        remark: a sentence if the certificate is of an earlier moment of the log; else empty.
        doubts: why the guarantee may not hold, as the certificate states it.
        conditions: statements of people on which the guarantee depends, as it states them.
    """

    problems: tuple[str, ...]
    claims: int
    log_checked: bool
    remark: str = ""
    doubts: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if there are no problems; ``status`` says what that means."""
        return not self.problems

    @property
    def status(self) -> str:
        """One of the words of ``EXIT_CODES``."""
        if self.problems:
            return "not verified"
        if not self.log_checked:
            return "recomputed only"
        return "verified, doubtful" if self.doubts else "verified"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]

    @property
    def verdict(self) -> str:
        """The result in one sentence, which begins with the status."""
        claims = "1 claim" if self.claims == 1 else f"{self.claims:,} claims"
        agree = f"{claims} recomputed, and the events of the study agree"
        problems = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        return {
            "not verified": f"Not verified: {problems}.",
            "recomputed only": f"Recomputed only: {claims} recomputed from their own numbers. "
            "No log was given, so nothing shows that these numbers come from measurements.",
            "verified": f"Verified: {agree}.",
            "verified, doubtful": f"Verified, doubtful: {agree}; but the guarantee may not hold "
            "(see the doubts).",
        }[self.status]

    def lines(self) -> list[str]:
        """Return what to print: problems, doubts, conditions, the remark, and the verdict."""
        doubts = [f"The certificate itself doubts the guarantee: {text}" for text in self.doubts]
        remark = [self.remark] if self.remark else []
        return [*self.problems, *doubts, *self.conditions, *remark, self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {
            "status": self.status,
            "ok": self.ok,
            "verdict": self.verdict,
            "claims": self.claims,
            "log": self.log_checked,
            "problems": list(self.problems),
            "doubts": list(self.doubts),
            "conditions": list(self.conditions),
            "remark": self.remark or None,
        }


class InvalidCertificate(ValueError):
    """The certificate or the log breaks a rule without which the check cannot go on."""


def demand(truth: bool, message: str) -> None:
    if not truth:
        raise InvalidCertificate(message)


@dataclass
class Work:
    """The steps that a check may take, so that no file keeps it busy without end."""

    most: int = STEPS
    spent: int = 0
    pause: Callable[[], object] | None = None  # called between steps; may raise an exception

    def spend(self, steps: int = 1) -> None:
        if self.pause is not None and self.spent // 1000 < (self.spent + steps) // 1000:
            self.pause()
        self.spent += steps
        if self.spent > self.most:
            raise InvalidCertificate(f"the check takes more than the {self.most:,} steps it may")


# ---- 2. Format: what a certificate and a log hold

# float is a number, int a whole number of at least 0.  A name with "?" may be missing; if it is
# there, it is not null.
NUMBER_OR_NULL, TEXT_OR_NULL = "a number or null", "a text or null"
OBJECTIVE = {"name": str, "epsilon": float}
STRATEGY_PART = {"name": str, "pool": bool}
ENTRY = {
    "against": TEXT_OR_NULL,  # a rival; null: the pool
    "after": int,  # so many measurements
    "measurements": [float],  # of the arm, and of the rival or the pool; so are the next lists
    "sums": [float],
    "scatters?": [float],  # if sigma is unknown
    "influential?": [NUMBER_OR_NULL],  # if values are checked; or the largest value of the pool
    "weight?": float,  # of the largest value of the pool
    "evidence": NUMBER_OR_NULL,  # null: infinite
}
CERTIFICATE = {
    "format": str,
    "study": {"name": str, "uid": str},
    "question": {
        "objective": OBJECTIVE,
        "delta": float,
        "arms": [str],
        "withdrawn": [str],  # arms that were dropped before they had a value
        "max_new_arms?": int,  # places for new arms that are not taken
        "normalise?": str,  # how every value is put into units of the controls of its plate
    },
    "model": dict,
    "strategy": STRATEGY_PART,
    "outcome": str,
    "log": {"events": int, "measurements": int, "sha256": str},
    "quality": {
        "check_values": bool,  # hold suspect values back, and let no label rest on one value
        "in_order": bool,  # let values count in the order of their tickets
        "censor_at": NUMBER_OR_NULL,  # when a wait is given up
        "min_z_prime?": float,  # below which the values of a plate do not count
    },
    "values": {  # numbers of tickets, or how many there are
        "suspect": [int],
        "confirmed": [int],
        "waiting": [int],
        "withdrawn": [int],  # told, and taken back for a reason
        "rejected": [int],  # on plates with too low a Z'
        "censored": int,
        "normalised": int,
    },
    "arms": [  # without those withdrawn: the label, and the values in the end
        {
            "arm": str,
            "label": str,
            "measurements": int,
            "sum": float,
            "scatter?": float,
            "sha256": str,
        }
    ],
    "claims": [  # in the order of certification
        {
            "arm": str,
            "label": str,
            "after": int,
            "need": float,
            "evidence": NUMBER_OR_NULL,
            "rests_on": [ENTRY],
            "sha256": str,
        }
    ],
    "versions": {"allgood": str, "rules": int, "python": str, "numpy": str},
    "doubts?": [dict],  # each of a form of DOUBTS
    "conditions?": [{"kind": str, "values": int}],  # on which the guarantee depends: CONDITION
    "source?": {"file": str, "sha256": str},  # the table of a certificate that has no log
    "sha256": str,
}

# Why the guarantee may not hold, by kind: the form of a doubt, and its sentence.
DOUBTS = {
    "sigma": (
        {"kind": str, "multiple": float, "values": int},
        "Sigma is too small: values of an arm scatter {multiple:.3g} times as much as it says",
    ),
    "repeats": (
        {"kind": str, "different": int, "values": int},
        "Values repeat as normal ones cannot: {different:,} different ones among {values:,}",
    ),
    "control drift": (
        {"kind": str, "plate": int, "control": str, "shift": float},
        "Plate {plate}: control {control} gives {shift:+.3g} compared with the plates before",
    ),
    "arm drift": (
        {"kind": str, "plate": int, "shift": float},
        "Plate {plate}: arms give {shift:+.3g} sigmas compared with the plates before",
    ),
    "withdrawn by values": (
        {"kind": str, "values": int},
        "Values were withdrawn because of what they are: {values:,}",
    ),
}
# What people stated, and nobody can check: its kind and its sentence.
CONDITION = "withdrawn for a cause"
CONDITION_SENTENCE = (
    "The guarantee holds only if the causes for which values were withdrawn, {values:,} in all, "
    "have nothing to do with these values."
)

# The first event of a log, and the data of an event with a value: it may be the sum of n values, a
# wait that was given up, or a raw value in units of controls.
DESIGN = {
    "format": int,
    "rules": int,
    "name": str,
    "uid": str,
    "arms": [str],
    "objective": OBJECTIVE,
    "delta": float,
    "model": dict,
    "strategy": STRATEGY_PART,
    "budget": NUMBER_OR_NULL,
    "check_values": bool,
    "in_order": bool,
    "censor_at": NUMBER_OR_NULL,
    "min_z_prime?": float,
    "max_new_arms?": int,
    "normalise?": str,
}
VALUE_DATA = {
    "n?": int,
    "scatter?": float,
    "censored?": bool,
    "normalised?": {"way": str, "controls": [str]},
    "raw?": float,
}
CORRECTION = {"ticket": int, "value": float, "data?": VALUE_DATA}
CONTROL = {"batch": int, "well": str, "value": float}
# Every event has these, and those of its kind.  What is not named here decides nothing.
EVENT = {"seq": int, "kind": str, "time": float, "previous?": str}
EVENTS: dict[str, dict[str, Any]] = {
    "created": {"data": DESIGN},
    "arm_notes": {},
    "plate": {"batch": int, "data": {"placed": dict, "max_per_arm": int}},
    "ticket": {"ticket": int, "arm": int, "pooled": bool, "batch": int, "well?": str},
    "lease": {"ticket": int},
    "measurement": {"ticket": int, "value": float, "data?": VALUE_DATA},
    "unrequested": {"ticket": int, "arm": int, "value": float, "note": str, "data?": VALUE_DATA},
    "counts": {"ticket": int, "arm": int, "value": float, "note": str, "data": VALUE_DATA},
    "failed": {"ticket": int},
    "arm_dropped": {"arm": int},
    "arm_restored": {"arm": int},
    "arms_added": {"data": {"arms": [str]}},
    "budget_set": {"data": {"budget": NUMBER_OR_NULL}},
    "corrected": CORRECTION,
    "replaced": {"data": {"values?": [CORRECTION], "controls?": [CONTROL]}},
    "withdrawn": {"batch?": int, "data": {"basis": str, "tickets": [int], "controls": [str]}},
    "confirmed": {"ticket": int, "value": float},
    "control": CONTROL,
    "control_corrected": CONTROL,
    "copy": {},
    "note": {"note": str},
}


# ---- 3. Reading: JSON is what the format says, or the check stops

SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = SHORT.maxlong = 60
SHORT.maxlist = SHORT.maxdict = 12


def show(value: object) -> str:
    """Show the beginning of a value, however large it is."""
    try:
        text = SHORT.repr(value)
    except (ValueError, RecursionError):
        text = f"{type(value).__name__} too large to show"
    return text if len(text) <= 60 else f"{text[:57]}..."


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parts = dict(pairs)
    if len(parts) < len(pairs):
        doubled = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise InvalidCertificate(f"the key {show(doubled)} is there twice")
    return parts


def refuse_constant(name: str) -> None:
    raise InvalidCertificate(f"{name} is not a number")


DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_constant=refuse_constant)


def parse(text: str) -> Any:
    """Return the JSON value of a text that has no key twice in an object, and no NaN."""
    return DECODER.decode(text)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


KINDS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("a text", lambda x: isinstance(x, str)),
    bool: ("true or false", lambda x: isinstance(x, bool)),
    int: ("a whole number", lambda x: is_number(x) and isinstance(x, int) and x >= 0),
    float: ("a number", is_number),
    TEXT_OR_NULL: (TEXT_OR_NULL, lambda x: x is None or isinstance(x, str)),
    NUMBER_OR_NULL: (NUMBER_OR_NULL, lambda x: x is None or is_number(x)),
    dict: ("an object", lambda x: isinstance(x, dict)),
}


def read(form: Any, value: Any, closed: bool = True) -> Any:
    """Return a JSON value of a form; an object as a Part, whose missing fields are None.

    A closed object has no keys that the format does not have, because nothing would check them.
    """
    if isinstance(form, dict):
        return read_part(form, value, closed)
    if isinstance(form, list):
        if not isinstance(value, list):
            raise InvalidCertificate(f"must be a list: got {show(value)}")
        return [
            read_inside(f"number {i}", form[0], part, closed) for i, part in enumerate(value, 1)
        ]
    kind, fits = KINDS[form]
    if not fits(value):
        raise InvalidCertificate(f"must be {kind}: got {show(value)}")
    return value


def read_part(form: dict[str, Any], value: Any, closed: bool) -> Part:
    if not isinstance(value, dict):
        raise InvalidCertificate(f"must be an object: got {show(value)}")
    fields, missing = {}, 0
    for key, kind in form.items():
        name = key.removesuffix("?")
        if name in value:
            fields[name] = read_inside(name, kind, value[name], closed)
        else:
            demand(key != name, f"{name} is missing")
            fields[name], missing = None, missing + 1
    if closed and len(value) > len(form) - missing:
        unknown = next(name for name in value if name not in fields)
        raise InvalidCertificate(f"the format has no {show(unknown)} here")
    return Part(**fields)


def read_inside(name: str, form: Any, value: Any, closed: bool) -> Any:
    try:
        return read(form, value, closed)
    except InvalidCertificate as error:
        between = " " if str(error).startswith("must be") else ": "
        raise InvalidCertificate(f"{name}{between}{error}") from None


def read_certificate(value: Any) -> Part:
    """Return a certificate of this format: what follows relies on its parts, not on its numbers."""
    demand(isinstance(value, dict), f"the certificate must be an object: got {show(value)}")
    stated: Part = read(CERTIFICATE, value)
    demand(stated.format == FORMAT, f"format must be {FORMAT}: got {show(stated.format)}")
    rules = stated.versions.rules
    demand(rules == RULES, f"versions: rules must be {RULES}: got {show(rules)}")
    demand(stated.outcome in OUTCOMES, f"outcome is unknown: got {show(stated.outcome)}")
    demand(stated.doubts != [], "doubts must not be an empty list")
    for condition in stated.conditions or []:
        demand(condition.kind == CONDITION, f"conditions: none is of kind {show(condition.kind)}")
    demand(len(stated.conditions or [CONDITION]) == 1, "conditions must hold one, or be missing")
    for number, doubt in enumerate(stated.doubts or [], 1):
        kind = doubt.get("kind")
        demand(isinstance(kind, str) and kind in DOUBTS, f"doubts: none is of kind {show(kind)}")
        read_inside(f"doubts: number {number}", DOUBTS[kind][0], doubt, closed=True)
    for number, claim in enumerate(stated.claims, 1):
        claim.title = f"claim {number}, that {show(claim.arm)} is {show(claim.label)[1:-1]}: "
        demand(claim.label in ("good", "bad"), f"claim {number}: a claim is good or bad")
        for entry in claim.rests_on:
            lists = [entry.measurements, entry.sums, entry.scatters, entry.influential]
            two = (
                all(part is None or len(part) == 2 for part in lists)
                and min(entry.measurements) > 0
            )
            demand(two, f"{claim.title}an entry of rests_on must have two sides with measurements")
    return stated


def read_event(number: int, line: str) -> Part:
    """Return the event of a line of the log."""
    try:
        value = parse(line)
        event: Part = read(EVENT, value, closed=False)
        demand(event.seq == number, f"seq must be {number}")
        if event.kind not in EVENTS:
            raise InvalidCertificate(f"no event is of the kind {show(event.kind)}")
        is_first = event.kind == "created"
        demand(is_first == (number == 1), "the first event, and no other, must be created")
        event.__dict__.update(read(EVENTS[event.kind], value, closed=False).__dict__)
    except (ValueError, RecursionError) as error:
        raise InvalidCertificate(f"log, line {number}: {str(error)[:200]}") from None
    return event


def check_chain(lines: Sequence[str], events: Sequence[Part]) -> Iterator[str]:
    """Each line but the first names the SHA-256 of the line before it."""
    before = None
    for line, event in zip(lines, events, strict=True):
        if event.previous != before:
            yield f"log, line {event.seq}: previous is not the SHA-256 of the line before"
            return
        before = hashlib.sha256(line.encode()).hexdigest()


def digest(part: dict[str, Any]) -> str:
    """Return the SHA-256 of a part of a certificate, without that of the part itself."""
    rest = {key: value for key, value in part.items() if key != "sha256"}
    text = json.dumps(
        rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_lines(lines: Sequence[str]) -> str:
    """Return the SHA-256 of an exported file with these lines."""
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


def check_digests(certificate: dict[str, Any], stated: Part) -> Iterator[str]:
    """Each claim, each arm and the certificate have the SHA-256 of their content."""
    titles = [claim.title for claim in stated.claims]
    titles += [f"arms: number {i}: " for i in range(1, len(stated.arms) + 1)]
    parts = [*certificate["claims"], *certificate["arms"], certificate]
    for title, part in zip([*titles, "the certificate: "], parts, strict=True):
        if part["sha256"] != digest(part):
            yield f"{title}its sha256 is not that of its content"


# ---- 4. Log: apply the events


@dataclass(slots=True)
class Ticket:
    """A measurement: one that was asked for, one that nobody asked for, or the sum of many."""

    number: int
    arm: int
    pooled: bool
    batch: int = 0
    on_plate: bool = False
    value: float | None = None
    n: int = 1
    scatter: float = 0.0
    censored: bool = False
    normalised: bool = False
    failed: bool = False
    withdrawn: str = ""  # the basis: cause or values

    @property
    def is_open(self) -> bool:
        return self.value is None and not self.failed

    @property
    def has_value(self) -> bool:
        return self.value is not None and not self.withdrawn


class Arrival(NamedTuple):
    """The event that settles a value: told, failed or confirmed; the value only if confirmed.

    Or controls: those of a plate, in place of the ticket, are complete.
    """

    kind: str
    ticket: int
    value: float
    time: float


class Log:
    """The state of a study after its events so far.  Arms have numbers.

    Attributes:
        arms: their names, with those that were added; places: how many there may ever be, K.
        tickets: by number; of_arm: by arm.
        withdrawn: dropped arms that have no value, which leave the question.
        arrivals: what lets values count, in order.
        limits, copies: how many wells an arm may have, by plate, and how many it has, by plate and
            arm.
        plates: the control in each well, by plate; controls: name, value and time of each control,
            by plate and well; withdrawn_controls: those whose value was taken back; settled: plates
            whose controls are complete.
        problems: values that were not normalised as the log says.
    """

    def __init__(self, design: Part, work: Work) -> None:
        demand(len(design.arms) > 0, "there must be arms")
        demand(0.0 < design.delta < 1.0, "delta must lie strictly between 0 and 1")
        self.design, self.work = design, work
        self.arms: list[str] = list(design.arms)
        self.places = len(self.arms) + (design.max_new_arms or 0)
        self.model = read_model(design.model, len(self.arms))
        self.budget: float | None = design.budget
        self.tickets: dict[int, Ticket] = {}
        self.of_arm: dict[int, list[Ticket]] = defaultdict(list)
        self.dropped: set[int] = set()
        self.withdrawn: set[int] = set()
        self.arrivals: list[Arrival] = []
        self.plates: dict[int, dict[str, str]] = {}
        self.limits: dict[int, int] = {}
        self.copies: Counter[tuple[int, int]] = Counter()
        self.controls: dict[tuple[int, str], tuple[str, float, float]] = {}
        self.withdrawn_controls: set[tuple[int, str]] = set()
        self.settled: set[int] = set()
        self.problems: list[str] = []
        self.latest: QualityControl | None = None

    def quality(self) -> "QualityControl":
        """Return which values count now."""
        if self.latest is None:
            self.latest = QualityControl(self)
        self.latest.go_on()
        return self.latest

    def apply(self, event: Part) -> None:
        """Take an event but the first."""
        match event.kind:
            case "arms_added":
                demand(len(self.arms) == len(self.design.arms), "arms were added before")
                self.arms += event.data.arms
                demand(len(self.arms) <= self.places, "there are not so many places for new arms")
            case "arm_dropped":
                self.check_arm(event)
                demand(event.arm not in self.dropped, "its arm was dropped before")
                self.dropped.add(event.arm)
                self.leave({event.arm}, event.time)
            case "arm_restored":
                self.restore_arm(event)
            case "budget_set":
                self.budget = event.data.budget
            case "arm_notes":
                demand(not self.tickets, "notes must stand before all tickets")
            case "plate":
                wells = event.data.placed
                demand(all(isinstance(x, str) for x in wells.values()), "controls have names")
                self.plates[event.batch] = wells
                self.limits[event.batch] = event.data.max_per_arm
            case "control" | "control_corrected":
                self.tell_control(event, event.kind == "control_corrected")
                self.note_controls([event.batch], event.time)
            case "replaced":
                self.replace(event)
            case "withdrawn":
                self.withdraw(event)
            case "ticket" | "unrequested" | "counts":
                self.issue(event)
            case "measurement":
                self.tell(self.ticket(event), event)
            case "corrected":
                self.correct(event)
            case "failed":
                ticket = self.ticket(event)
                demand(ticket.is_open, "its ticket was told or has failed before")
                ticket.failed = True
                self.arrivals.append(Arrival("failed", ticket.number, 0.0, event.time))
            case "confirmed":
                self.confirm(self.ticket(event), event)
            case "lease":
                self.ticket(event)
            case _:  # copies and notes decide nothing
                pass

    def ticket(self, event: Part) -> Ticket:
        demand(event.ticket in self.tickets, "no such ticket was given")
        return self.tickets[event.ticket]

    def check_arm(self, event: Part) -> None:
        demand(event.arm < len(self.arms), f"there is no arm {event.arm}")

    def issue(self, event: Part) -> None:
        """Every ticket has a number of its own; only one that was asked for may be pooled."""
        demand(event.ticket not in self.tickets, "its ticket was given before")
        self.check_arm(event)
        pooled = event.kind == "ticket" and event.pooled
        ticket = Ticket(event.ticket, event.arm, pooled)
        if event.kind == "ticket":
            ticket.batch, ticket.on_plate = event.batch, bool(event.well)
            self.copies[event.batch, event.arm] += 1
            within = self.copies[event.batch, event.arm] <= self.limits.get(event.batch, math.inf)
            demand(within, "the plate has more wells of this arm than it allows")
        self.tickets[event.ticket] = ticket
        self.of_arm[event.arm].append(ticket)
        if event.kind != "ticket":
            self.tell(ticket, event)

    def tell(self, ticket: Ticket, event: Part) -> None:
        """A ticket is told once and corrected after that; a wait is censored at censor_at only."""
        demand(ticket.is_open, "its ticket was told or has failed before")
        self.arrivals.append(Arrival("told", ticket.number, event.value, event.time))
        self.set_value(ticket, event)

    def correct(self, event: Part) -> None:
        """A value is corrected after it was told, also if it was withdrawn: it counts again."""
        ticket = self.ticket(event)
        demand(ticket.value is not None, "nothing to correct")
        ticket.withdrawn = ""
        self.set_value(ticket, event)
        self.latest = None  # the values must be taken again from the first

    def replace(self, event: Part) -> None:
        """Many values and controls are corrected at once."""
        values, controls = event.data.values or [], event.data.controls or []
        demand(bool(values or controls), "it replaces nothing")
        for control in controls:
            self.tell_control(Part(time=event.time, **vars(control)), True)
        for value in values:
            self.correct(value)
        self.note_controls(sorted({control.batch for control in controls}), event.time)

    def withdraw(self, event: Part) -> None:
        """Values that were told do not count: for a cause, or because of what they are."""
        basis, batch = event.data.basis, event.batch or 0
        demand(basis in ("cause", "values"), "its basis is neither a cause nor the values")
        demand(bool(event.data.tickets or event.data.controls), "it withdraws nothing")
        arms = set()
        for number in event.data.tickets:
            ticket = self.tickets.get(number)
            if ticket is None or not ticket.has_value:
                raise InvalidCertificate(f"ticket {number} has no value to withdraw")
            ticket.withdrawn = basis
            arms.add(ticket.arm)
        for well in event.data.controls:
            demand(well in self.plates.get(batch, {}), f"no control is in well {show(well)}")
            key = batch, well
            demand(key not in self.withdrawn_controls, f"control {show(well)} is withdrawn")
            self.controls.pop(key, None)  # it may have no value, and will have none
            self.withdrawn_controls.add(key)
        self.latest = None
        self.note_controls([batch] if event.data.controls else [], event.time)
        self.leave(arms, event.time)

    def set_value(self, ticket: Ticket, event: Part) -> None:
        data, value = event.data or NO_DATA, event.value
        if data.n is not None:
            ticket.n, ticket.scatter = data.n, data.scatter or 0.0
            demand(ticket.n > 0 and ticket.scatter >= 0.0, "no values have these counts")
        limit = self.design.censor_at
        in_time = value == limit if data.censored else limit is None or value <= limit
        demand(in_time, "it does not respect the censoring time")
        ticket.value, ticket.censored = value, bool(data.censored)
        ticket.normalised = data.normalised is not None
        normalised = ticket.normalised == (self.design.normalise is not None)
        demand(normalised, "all values are normalised, or none: as the design of the study says")
        if data.normalised is not None:
            demand(data.raw is not None, "raw is missing")
            self.check_normalised(ticket, data.normalised, data.raw)

    def check_normalised(self, ticket: Ticket, how: Part, raw: float) -> None:
        """A normalised value is the raw one in units of the controls that its plate has by then."""
        named = f"{how.way}:{','.join(how.controls)}"
        way = self.design.normalise in (named, how.way)
        demand(way, f"it was normalised by {named}, and the study by {self.design.normalise}")
        demand(len(how.controls) <= 2, "it was normalised by more than two controls")
        keys = [(ticket.batch, well) for well in self.plates.get(ticket.batch, {})]
        self.work.spend(len(keys) // 100)
        told = [self.controls[key] for key in keys if key in self.controls]
        values = [[x for name, x, _ in told if name == control] for control in how.controls]
        again, value = in_units(how.way, raw, values), ticket.value or 0.0
        room = 1e-9 * abs(value)
        if not (again > value - room if ticket.censored else abs(again - value) <= room):
            self.problems.append(
                f"ticket {ticket.number} normalises to {again:.12g}: got {value:.12g}"
            )

    def confirm(self, ticket: Ticket, event: Part) -> None:
        """Only a suspect value is confirmed, and as it was told."""
        demand(ticket.value == event.value, "it confirms another value")
        held = self.quality().arms[ticket.arm].held
        demand(ticket.number in held, "it confirms a value that is not suspect")
        self.arrivals.append(Arrival("confirmed", ticket.number, event.value, event.time))

    def leave(self, arms: set[int], time: float) -> None:
        """A dropped arm without a value leaves the question, and its tickets will have none."""
        for arm in arms & self.dropped - self.withdrawn:
            rewards = [t for t in self.of_arm[arm] if t.has_value and not t.censored]
            if all(self.quality().is_rejected(ticket) for ticket in rewards):
                self.withdrawn.add(arm)
                waiting = [ticket.number for ticket in self.of_arm[arm] if ticket.is_open]
                self.arrivals += [Arrival("failed", number, 0.0, time) for number in waiting]

    def restore_arm(self, event: Part) -> None:
        """A dropped arm may be measured again; open tickets from before it left have failed."""
        demand(event.arm in self.dropped, "its arm is not dropped")
        self.dropped.discard(event.arm)
        if event.arm in self.withdrawn:
            self.withdrawn.discard(event.arm)
            for ticket in self.of_arm[event.arm]:
                ticket.failed = ticket.failed or ticket.is_open
        self.latest = None

    def tell_control(self, event: Part, again: bool) -> None:
        """A control is told once, and corrected after that, in a well that has one."""
        key, time = (event.batch, event.well), event.time
        demand(event.well in self.plates.get(event.batch, {}), "no control is in this well")
        known = key in self.controls or key in self.withdrawn_controls
        demand(again == known, "a control is told once, and corrected after that")
        if key in self.controls:
            time = self.controls[key][2]
        self.withdrawn_controls.discard(key)
        self.controls[key] = self.plates[event.batch][event.well], event.value, time
        if again and self.design.min_z_prime is not None:
            self.latest = None

    def note_controls(self, plates: Sequence[int], time: float) -> None:
        """With min_z_prime, the values of a plate wait until all its controls have been told."""
        if self.design.min_z_prime is None:
            return
        for plate in plates:
            keys = [(plate, well) for well in self.plates.get(plate, {})]
            self.work.spend(len(keys) // 10)
            known = all(key in self.controls or key in self.withdrawn_controls for key in keys)
            if known and plate not in self.settled:
                self.settled.add(plate)
                self.arrivals.append(Arrival("controls", plate, 0.0, time))
            if plate in self.settled and not self.passes(plate):
                told = [t for t in self.tickets.values() if t.batch == plate and t.has_value]
                self.leave({ticket.arm for ticket in told}, time)

    def passes(self, plate: int) -> bool:
        """The values of a plate count if Z' = 1 - 3 (s1 + s2)/|m1 - m2| of its controls does."""
        samples: dict[str, list[float]] = defaultdict(list)
        for well, name in self.plates[plate].items():
            if (plate, well) in self.controls:
                samples[name].append(self.controls[plate, well][1])
        if len(samples) != 2 or any(len(sample) < 2 for sample in samples.values()):
            return False
        first, second = (statistics.fmean(sample) for sample in samples.values())
        spread = sum(statistics.stdev(sample) for sample in samples.values())
        limit: float = self.design.min_z_prime
        return first != second and 1.0 - 3.0 * spread / abs(first - second) >= limit

    def measured(self) -> int:
        """Return how many measurements were told."""
        return sum(ticket.n for ticket in self.tickets.values() if ticket.has_value)

    def withdrawn_values(self, basis: str) -> int:
        """Return how many measurements were withdrawn on this basis."""
        return sum(ticket.n for ticket in self.tickets.values() if ticket.withdrawn == basis)

    def conditions(self) -> list[dict[str, Any]]:
        """Return the statements of people on which the guarantee depends."""
        number = self.withdrawn_values("cause")
        return [{"kind": CONDITION, "values": number}] if number else []

    def question(self) -> Part:
        """Return the question as the certificate must state it."""
        left = None if self.design.max_new_arms is None else self.places - len(self.arms)
        withdrawn = [self.arms[arm] for arm in sorted(self.withdrawn)]
        return Part(
            objective=self.design.objective,
            delta=self.design.delta,
            arms=self.arms,
            withdrawn=withdrawn,
            max_new_arms=left,
            normalise=self.design.normalise,
        )


NO_DATA = read(VALUE_DATA, {})


def in_units(way: str, x: float, values: list[list[float]]) -> float:
    """Return a value in units of controls: percent of them, or standard deviations from one."""
    demand(len(values) in (1, 2) and all(values), "it was normalised without controls")
    means = [math.fsum(part) / len(part) for part in values]
    if way == "z":
        demand(len(values[0]) > 1, "one control well has no spread")
        squares = math.fsum((y - means[0]) ** 2 for y in values[0])
        return (x - means[0]) / math.sqrt(squares / (len(values[0]) - 1))
    demand(way == "percent", f"no way to normalise is called {show(way)}")
    zero, full = means if len(means) == 2 else (0.0, means[0])
    return 100.0 * (x - zero) / (full - zero)


@dataclass(frozen=True)
class Model:
    """The distribution of the values of an arm: its family, its range, and sigma of each arm."""

    family: str
    low: float
    high: float
    sigmas: list[float]  # one for all, or one per arm

    def sigma(self, arm: int) -> float:
        return self.sigmas[arm] if len(self.sigmas) > 1 else self.sigmas[0]

    def allows(self, x: float, n: int) -> bool:
        """Return whether n values may have the sum x; a censored wait counts as one value."""
        if self.family == "exponential" and x == 0.0:
            return False
        whole = self.family not in ("bernoulli", "poisson") or x == math.floor(x)
        return whole and max(n, 1) * self.low <= x <= max(n, 1) * self.high


def read_model(stated: dict[str, Any], arms: int) -> Model:
    """Return the model that a certificate or a log states."""
    name, missing = stated.get("name"), "missing"
    if name == "gaussian" and stated.get("sigma", missing) is None:
        return Model(UNKNOWN, -math.inf, math.inf, [1.0])
    if name == "gaussian":
        sigma = stated.get("sigma", missing)
        sigmas = sigma if isinstance(sigma, list) else [sigma]
        right = not isinstance(sigma, list) or len(sigma) == arms
        right = right and all(is_number(x) and x >= 1.0 / LARGEST for x in sigmas)
        demand(right, f"sigma must be positive, null, or one per arm: got {show(sigma)}")
        return Model(NORMAL, -math.inf, math.inf, [float(x) for x in sigmas])
    if name == "bounded":
        low, high = stated.get("low", missing), stated.get("high", missing)
        right = is_number(low) and is_number(high) and high - low >= 1.0 / LARGEST
        demand(right, "low and high must be numbers, low less than high")
        return Model(NORMAL, low, high, [(high - low) / 2.0])
    known = name in ("bernoulli", "poisson", "exponential")
    demand(known, f"no model has the name {show(name)}")
    return Model(str(name), 0.0, 1.0 if name == "bernoulli" else math.inf, [1.0])


# ---- 5. Quality: which values count, and in which order


@dataclass(slots=True)
class Tally:
    """Weighted values: sums of weights, of values and of their sizes; mean; scatter around it."""

    n: float = 0.0
    S: float = 0.0
    size: float = 0.0
    m: float = 0.0
    Q: float = 0.0

    def add(self, x: float, weight: float = 1.0, n: int = 1, scatter: float = 0.0) -> None:
        """Add a value, or the sum of n; n = 0 for a censored wait."""
        before = self.n
        self.n += n * weight
        self.S += weight * x
        self.size += weight * abs(x)
        if n == 0:
            self.m = self.S / self.n if self.n > 0.0 else 0.0
        elif n > 1:
            step = x / n - self.m
            self.Q += scatter + step * step * before * n * weight / self.n
            self.m = self.S / self.n
        else:
            step = x - self.m
            self.m += step * weight / self.n
            self.Q += weight * step * (x - self.m)


@dataclass(slots=True)
class ArmValues:
    """The values of one arm.

    Attributes:
        tickets: those that count, without censored ones; slots: their places among all that count.
        tally: of these; waited: the sum of the censored waits.
        low, high: the least and the largest single value that was not confirmed.
        held: suspect tickets and their times.
    """

    tickets: list[Ticket] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    waited: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    held: dict[int, float] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        tally = self.tally
        return tally.m if self.waited == 0.0 else (tally.S + self.waited) / tally.n


class CountedValue(NamedTuple):
    """A value that counts, the influential value of its arm from then on, and the time."""

    ticket: Ticket
    influential: float | None
    time: float


class QualityControl:
    """Decide which values count, in which order; which are suspect, and which wait.

    If values are checked, a thousandth of delta pays for those that are held back as suspect: the
    j-th value of an arm, j >= 2, if the chance that a value lies at least so far from those before
    is below delta/1000 / (K j (j - 1)).

    A value that was withdrawn, or whose plate has too low a Z', is treated as a failure.
    """

    def __init__(self, log: Log) -> None:
        self.log, self.design = log, log.design
        self.order: list[CountedValue] = []
        self.confirmed: set[int] = set()
        self.waiting: dict[int, bool] = {}  # tickets that wait for earlier ones: with a value?
        self.arms: dict[int, ArmValues] = defaultdict(ArmValues)
        self.level = math.log(RISK_OF_SUSPICION * self.design.delta / log.places)
        self.following, self.taken = 1, 0
        self.passed: dict[int, bool] = {}  # plates with complete controls: do their values count?
        self.held: dict[int, list[Ticket]] = defaultdict(list)  # values that wait for controls

    def go_on(self) -> None:
        """Take what has come since: as it comes, or in the order of the tickets."""
        for kind, number, value, time in itertools.islice(self.log.arrivals, self.taken, None):
            self.log.work.spend()
            if kind == "controls":
                self.passed[number] = self.log.passes(number)
                for ticket in self.held.pop(number, []):
                    self.tell(ticket, time)
            elif kind == "confirmed":
                self.confirm(self.log.tickets[number], value, time)
            elif kind == "told":
                self.tell(self.log.tickets[number], time)
            else:
                self.settle(number, False, time)
        self.taken = len(self.log.arrivals)

    def tell(self, ticket: Ticket, time: float) -> None:
        """Take a value when the controls of its plate are there, if they decide about it."""
        left = ticket.arm in self.log.withdrawn and not ticket.censored
        counts = not ticket.withdrawn and not left
        if counts and self.needs_controls(ticket):
            if ticket.batch not in self.passed:
                self.held[ticket.batch].append(ticket)
                return
            counts = self.passed[ticket.batch]
        self.settle(ticket.number, counts, time)

    def settle(self, number: int, has_value: bool, time: float) -> None:
        """Let a value count, or a failure make way for others, perhaps after earlier tickets."""
        if not self.design.in_order:
            if has_value:
                self.process(self.log.tickets[number], time)
        elif number >= self.following:
            self.waiting[number] = has_value
            while self.following in self.waiting:
                if self.waiting.pop(self.following):
                    self.process(self.log.tickets[self.following], time)
                self.following += 1

    def needs_controls(self, ticket: Ticket) -> bool:
        return ticket.on_plate and self.design.min_z_prime is not None

    def is_rejected(self, ticket: Ticket) -> bool:
        return self.needs_controls(ticket) and not self.passed.get(ticket.batch, True)

    def process(self, ticket: Ticket, time: float) -> None:
        """Let a value count, unless its chance beside the others of its arm is too low.

        Of two values that exclude each other, the only ones of their arm, the one counts that
        agrees with an earlier suspect value or else is nearer to the middle of the other arms.
        """
        mine, x, k = self.arms[ticket.arm], value_of(ticket), ticket.n
        if not self.design.check_values or ticket.censored or not mine.tickets:
            self.count(ticket, time)
            return
        j = len(mine.tickets) + len(mine.held) + 1
        level, tally = self.level - math.log(j * (j - 1)), mine.tally
        is_short_beside_waits = mine.waited > 0.0 and x < mine.mean
        chance = functools.partial(self.log_chance, ticket.arm)
        if is_short_beside_waits or chance(x / k, int(tally.n), mine.mean, tally.Q, k) >= level:
            self.count(ticket, time)
            return
        first = mine.tickets[0]
        if tally.n != 1 or k != 1 or first.number in self.confirmed:
            mine.held[ticket.number] = time
            return
        self.log.work.spend(len(mine.held))
        suspects = [t for t in map(self.log.tickets.__getitem__, mine.held) if t.n == 1]
        agreeing = [t for t in suspects if chance(x, 1, value_of(t), 0.0) >= level]
        if agreeing:
            del mine.held[agreeing[0].number]
            self.replace_first(mine, agreeing[0])
            self.count(ticket, time)
        elif self.is_nearer(ticket.arm, x, value_of(first)):
            self.replace_first(mine, ticket)
        else:
            mine.held[ticket.number] = time

    def replace_first(self, mine: ArmValues, instead: Ticket) -> None:
        """Let another value count in the place of the only one of an arm."""
        slot, x = mine.slots[0], value_of(instead)
        mine.held[mine.tickets[0].number] = self.order[slot].time
        self.order[slot] = CountedValue(instead, x, self.order[slot].time)
        mine.tickets[0], mine.tally = instead, Tally()
        mine.tally.add(x)
        mine.low = mine.high = x

    def count(self, ticket: Ticket, time: float) -> None:
        mine, x = self.arms[ticket.arm], value_of(ticket)
        if ticket.censored:
            mine.waited += x
        else:
            mine.tickets.append(ticket)
            mine.slots.append(len(self.order))
            mine.tally.add(x, n=ticket.n, scatter=ticket.scatter)
            if ticket.n == 1 and ticket.number not in self.confirmed:
                mine.low, mine.high = min(mine.low, x), max(mine.high, x)
        self.order.append(CountedValue(ticket, self.influential(ticket.arm), time))

    def influential(self, arm: int) -> float | None:
        """Return the value that no label of the arm may rest on: the only one, or an unlikely one.

        Of the least and the largest value that were not confirmed: the one whose chance, with all
        the others given, is lower, if that is below INFLUENTIAL over the number of values.
        """
        mine = self.arms[arm]
        tally = mine.tally
        if not self.design.check_values or tally.n == 0:
            return None
        if tally.n == 1:
            return tally.S
        limit = INFLUENTIAL_TIME if self.log.model.family == "exponential" else INFLUENTIAL
        unlikely, least_chance = None, math.log(limit / tally.n)
        n, S, m = int(tally.n) - 1, tally.S + mine.waited, mine.mean
        for x in (mine.low, mine.high):
            if math.isfinite(x):
                rest = (S - x) / n
                Q = max(tally.Q - (x - m) * (x - rest), 0.0)
                chance = self.log_chance(arm, x, n, rest, Q)
                if chance < least_chance:
                    unlikely, least_chance = x, chance
        return unlikely

    def log_chance(self, arm: int, x: float, n: int, m: float, Q: float, k: int = 1) -> float:
        return log_chance(self.log.model.family, self.log.model.sigma(arm), x, n, m, Q, k)

    def confirm(self, ticket: Ticket, value: float, time: float) -> None:
        """Let a suspect value count; one that was corrected since must be confirmed again."""
        if ticket.value != value or ticket.withdrawn:
            return
        self.confirmed.add(ticket.number)
        mine = self.arms[ticket.arm]
        if ticket.number in mine.held:
            del mine.held[ticket.number]
            self.count(ticket, time)
            return
        self.log.work.spend(len(mine.tickets) // 10)
        unsure = [t for t in mine.tickets if t.n == 1 and t.number not in self.confirmed]
        mine.low = min(map(value_of, unsure), default=math.inf)
        mine.high = max(map(value_of, unsure), default=-math.inf)

    def is_nearer(self, arm: int, x: float, y: float) -> bool:
        """Return whether x is nearer than y to the middle of the other arms."""
        others = [mine.mean for a, mine in self.arms.items() if a != arm and mine.tickets]
        self.log.work.spend(len(others) // 10)
        if not others:
            return False
        middle = statistics.median(others)
        return abs(x - middle) < abs(y - middle)

    def suspects(self) -> dict[int, float]:
        """Return the suspect tickets, with the times at which they were told."""
        return {number: time for mine in self.arms.values() for number, time in mine.held.items()}

    def values(self) -> dict[str, Any]:
        """Return the tickets that a certificate must name, or count."""
        tickets = self.log.tickets.values()
        told = [ticket for ticket in tickets if ticket.has_value]
        waiting = [number for number, has_value in self.waiting.items() if has_value]
        waiting += [ticket.number for held in self.held.values() for ticket in held]
        return {
            "suspect": sorted(self.suspects()),
            "confirmed": sorted(self.confirmed),
            "waiting": sorted(waiting),
            "withdrawn": sorted(ticket.number for ticket in tickets if ticket.withdrawn),
            "rejected": sorted(ticket.number for ticket in told if self.is_rejected(ticket)),
            "censored": sum(ticket.censored for ticket in told),
            "normalised": sum(ticket.normalised for ticket in told),
        }


def value_of(ticket: Ticket) -> float:
    assert ticket.value is not None
    return ticket.value


def log_chance(
    family: str, sigma: float, x: float, n: int, m: float, Q: float, k: int = 1
) -> float:
    """Return the log of a bound on the chance that the mean x of k values is so far from m.

    m is the mean of n others, and Q their scatter.  0 if there is no such bound.  For k = 1, with
    f = n - 1 degrees of freedom if sigma is unknown:

        normal:         2 exp(-z^2/2),  z = (x - m)/(sigma sqrt(1 + 1/n))
        Poisson:        2 exp(-T d(x/T, 1/(n + 1))),  T = n m + x, d the divergence of Bernoulli
        exponential:    2 min(p, 1 - p),  p = (1 + x/(n m))^-n
        Bernoulli:      2 exp(-n d(m, c) - d(x, c)),  c the mean of all n + 1
        unknown sigma:  2 c f/((f - 1) t) (1 + t^2/f)^(-(f - 1)/2), t = (x - m)/sqrt(Q/f (1 + 1/n)),
                        c the density of Student's distribution at 0; 2/(pi t) for f = 1
    """
    if family == NORMAL:
        z = (x - m) / (sigma * math.sqrt(1.0 / k + 1.0 / n))
        return min(math.log(2.0) - z * z / 2.0, 0.0)
    if family == "bernoulli" or k > 1:
        return log_chance_of_means(family, x, n, m, k)
    if family == "poisson":
        v = n * (m - x) / (n + 1.0)
        parts = ((x, v), (n * m, -v))
        D = sum(step - (k * math.log1p(step / k) if k > 0.0 else 0.0) for k, step in parts)
        return min(math.log(2.0) - D, 0.0)
    if family == "exponential":
        p = -n * math.log1p(x / (n * m))
        below = math.log(-math.expm1(p)) if p < 0.0 else -math.inf
        return min(math.log(2.0) + min(p, below), 0.0)
    f = n - 1.0
    if family != UNKNOWN or f < 1.0 or Q <= 0.0 or x == m:
        return 0.0
    t = abs(x - m) / math.sqrt(Q / f * (1.0 + 1.0 / n))
    if f == 1.0:
        return min(math.log(2.0 / (math.pi * t)), 0.0)
    c = math.lgamma((f + 1.0) / 2.0) - math.lgamma(f / 2.0) - math.log(math.pi * f) / 2.0
    tail = c + math.log(f / ((f - 1.0) * t)) - (f - 1.0) / 2.0 * math.log1p(t * t / f)
    return min(math.log(2.0) + tail, 0.0)


def log_chance_of_means(family: str, x: float, n: int, m: float, k: int) -> float:
    """2 exp(-D): D is what it costs, in likelihood, that both means are that of all values."""
    if family not in ("bernoulli", "poisson"):
        return 0.0
    c, D = (n * m + k * x) / (n + k), 0.0
    for number, mean in ((n, m), (k, x)):
        parts = [(mean, c)] + ([(1.0 - mean, 1.0 - c)] if family == "bernoulli" else [])
        D += number * sum(p * math.log(p / q) if p > 0.0 else 0.0 for p, q in parts)
        D += number * (c - mean) if family == "poisson" else 0.0
    return min(math.log(2.0) - D, 0.0)


# ---- 6. Evidence: what it must reach, and its formulas


@dataclass(frozen=True)
class Rules:
    """The question in the letters of the head, its model, and what evidence must reach."""

    arms: list[str]  # not withdrawn
    model: Model
    sigmas: dict[str, float]
    c: float
    e: float
    needs: dict[str, float]  # "good", "pool" (if there is one), "rival"
    check_values: bool
    # rho (normal), eta, or 1/sqrt(rho) (unknown sigma).  The latter two end with 0: no effect.
    effects: list[float]
    W: list[list[float]]
    T: list[float]
    work: Work = field(default_factory=Work, repr=False, compare=False)

    @property
    def family(self) -> str:
        return self.model.family

    @property
    def signed(self) -> bool:
        """True if an arm is its own rival: its mean may be below zero, which would make it bad."""
        return self.c < 1.0 and self.family in (NORMAL, UNKNOWN)


def rules_of(
    question: Part, model: dict[str, Any], strategy: Part, check_values: bool, work: Work
) -> Rules:
    """Return the rules for a question, or raise InvalidCertificate if nobody can ask it.

    The risk is delta; 0.999 delta if values are checked; a quarter of it if arms may be added.
    """
    arms, withdrawn, delta = question.arms, set(question.withdrawn), question.delta
    demand(len(set(arms)) == len(arms), "question: arms must have different names")
    some = len(withdrawn) == len(question.withdrawn) and withdrawn <= set(arms)
    demand(some, "question: withdrawn must be some of the arms")
    demand(0.0 < delta < 1.0, f"question: delta must lie between 0 and 1: got {show(delta)}")
    name, epsilon = question.objective.name, question.objective.epsilon
    known = name in ("additive", "multiplicative")
    demand(known, f"question: the objective is additive or multiplicative: got {show(name)}")
    c, e = (1.0, float(epsilon)) if name == "additive" else (1.0 - epsilon, 0.0)
    in_range = e > 0.0 if name == "additive" else 0.0 < c < 1.0
    demand(in_range, f"question: epsilon is out of range: got {show(epsilon)}")
    demand(strategy.name == STRATEGY, f"strategy: name must be {STRATEGY}")
    risk = (1.0 - RISK_OF_SUSPICION) * delta if check_values else delta
    if question.max_new_arms is not None:
        demand(check_values, "quality: values must be checked if arms may be added")
        risk /= CASES_WITH_NEW_ARMS
    K = len(arms) + (question.max_new_arms or 0)
    values = read_model(model, len(arms))
    sigmas = {arm: values.sigma(a) for a, arm in enumerate(arms) if arm not in withdrawn}
    needs = needs_of(values.family, c, K, risk, strategy.pool)
    prior = prior_of(values.family, K)
    return Rules(list(sigmas), values, sigmas, c, e, needs, check_values, *prior, work)


def needs_of(family: str, c: float, K: int, risk: float, pool: bool) -> dict[str, float]:
    """Return what evidence must reach, with L = log(K/risk) and n possible rivals.

    n = K - 1 (additive, but at least 1) or K; p = 0.9 if there is a pool, n > 1 and sigma is known;
    otherwise p = 0.

        bad:   L + log(1/p) against the pool, L + log(n/(1 - p)) against one rival
        good:  L against each rival that is not certified bad; log((K - 1)/risk) if additive, p = 0
               and K > 1
        If sigma is unknown: y with (1 + y) exp(-y) = exp(-that) instead.
    """
    n = max(K - 1 if c == 1.0 else K, 1)
    p = POOL_SHARE if pool and n > 1 and family != UNKNOWN else 0.0
    L = math.log(K / risk)
    needs = {"good": L, "rival": L + math.log(n / (1.0 - p))}
    if p > 0.0:
        needs["pool"] = L - math.log(p)
    elif c == 1.0 and K > 1:
        needs["good"] = math.log((K - 1) / risk)
    return {key: stretched(x) for key, x in needs.items()} if family == UNKNOWN else needs


def stretched(x: float) -> float:
    """Return the y > 0 with y - log(1 + y) = x, by Newton's method from above."""
    y = 2.0 * x + 2.0
    for _ in range(100):
        y -= (y - math.log1p(y) - x) * (1.0 + y) / y
    return y


def prior_of(family: str, K: int) -> tuple[list[float], list[list[float]], list[float]]:
    """Return the effects, and their weights W and T."""
    if family == UNKNOWN:
        w = [(1.0 - NO_EFFECT) * x / sum(WEIGHTS_UNKNOWN) for x in WEIGHTS_UNKNOWN] + [NO_EFFECT]
        effects = [1.0 / math.sqrt(rho) for rho in PRECISIONS_UNKNOWN]
        return [*effects, 0.0], [[x * y for y in w] for x in w], []
    if family == NORMAL:
        tied = TIED_OF_TWO if K == 2 else min((2.0 / K) ** TIED_EXPONENT, 1.0)
        w = list(WEIGHTS_OF_TWO if K == 2 else WEIGHTS)
        W = products(w, lambda distance: UNLIKE**distance)
        T = [tied * sum(row) for row in W]
        W = [[(1 - tied) * x for x in row] for row in W]
        return list(PRECISIONS_OF_TWO if K == 2 else PRECISIONS), W, T
    tied = TIED_OF_TWO if K == 2 else TIED
    w = [math.exp(-0.5 * (math.log(x / CENTRE) / SPREAD) ** 2) for x in SHIFTS]
    w = [x / sum(w) for x in w]
    W = products(w, lambda distance: (1.0 + distance) ** -TAIL)
    W = [
        [(1 - tied) * x + tied * w[i] * (i == j) for j, x in enumerate(row)]
        for i, row in enumerate(W)
    ]
    W = [[*((1.0 - 2.0 * NO_EFFECT) * x for x in row), NO_EFFECT * w[i]] for i, row in enumerate(W)]
    return [*SHIFTS, 0.0], [*W, [*(NO_EFFECT * x for x in w), 0.0]], []


def products(w: list[float], falloff: Callable[[int], float]) -> list[list[float]]:
    """Return weights of pairs that sum to 1 and are less if the two effects are less alike."""
    W = [[math.sqrt(x * y) * falloff(abs(i - j)) for j, y in enumerate(w)] for i, x in enumerate(w)]
    total = sum(map(sum, W))
    return [[x / total for x in row] for row in W]


class Side(NamedTuple):
    """One side of a comparison: an arm, or the pool."""

    n: float
    m: float
    Q: float
    sigma: float


# A side, and what is left of it without its influential value: None if that is too little.
Pair = tuple[Side, Side | None]


def with_rest(side: Side, x: float | None) -> Pair:
    """Return a side, and what is left of it without its influential value x, if it has one."""
    n, m, Q, sigma = side
    if x is None:
        return side, side
    if n < 3:
        return side, None
    mean = (n * m - x) / (n - 1.0)
    return side, Side(n - 1.0, mean, max(Q - (x - m) * (x - mean), 0.0), sigma)


def pool_pair(rules: Rules, V: float, W: float, largest: tuple[float, float], m_k: float) -> Pair:
    """Return the pool, and what is left of it without its largest value, if that lies above k.

    V and W are the sums of the weights and of the weighted values; ``largest`` has its weight.
    """
    sigma = max(rules.sigmas.values()) if rules.family == NORMAL else 1.0
    side = Side(V * sigma**2, W / V, 0.0, sigma)
    if not rules.check_values or largest[1] == 0.0:
        return side, side
    V, W = V - largest[1], W - largest[1] * largest[0]
    if V <= 0.0 or not rules.c * W > (rules.e + m_k) * V:
        return side, None
    return side, Side(V * sigma**2, W / V, 0.0, sigma)


def least_evidence(rules: Rules, up: int, k: Pair, l: Pair | None, need: float) -> float:
    """Return the evidence, whichever influential values are left out; at most 0 if one is needed.

    No label rests on one value: the evidence must reach its need with and without it.  ``up`` is 1
    for "k is good" and -1 for "k is bad".  l is None for the sign of the mean of k.  If the
    evidence is less than ``need``, any number between the two is returned.
    """
    rivals: Sequence[Side | None] = (None, None) if l is None else l
    value = evidence(rules, up, k[0], rivals[0], need)
    for first, second in list(dict.fromkeys(itertools.product(k, rivals)))[1:]:
        if first is None or (second is None and l is not None):
            value = min(value, 0.0)
        elif value >= need:
            value = min(evidence(rules, up, first, second, need), value)  # nan stays nan
    return value


def evidence(rules: Rules, up: int, k: Side, l: Side | None, need: float) -> float:
    """Return E of two sides; or that the mean of k is above zero (below, if up = -1)."""
    if l is None:
        return sign_evidence(rules, up, k)
    if rules.family != NORMAL:
        return searched_evidence(rules, up, k, l, need)
    # The ratio of normal likelihoods is never less than their evidence, and is found at once.
    G = up * (k.m + rules.e - rules.c * l.m)
    ratio = normal_ratio(max(G, 0.0), precision(rules, k), precision(rules, l), rules.c)
    return ratio if ratio < need else convex_minimum(*normal_function(rules, up, k, l), need)


def sign_evidence(rules: Rules, up: int, k: Side) -> float:
    T = rules.T or [0.0] * len(rules.W)
    w = [sum(row) + tied for row, tied in zip(rules.W, T, strict=True)]
    if rules.family == UNKNOWN:
        return log_sum(w, [log_factor(UNKNOWN, k, 0.0, up * eta) for eta in rules.effects])
    v = k.n / k.sigma**2
    logs = [log_normal_factor(v, up * v * k.m, rho / k.sigma**2) for rho in rules.effects]
    return log_sum(w, logs)


def log_sum(weights: Sequence[float], logs: Sequence[float]) -> float:
    top = max(logs)
    return top + math.log(sum(w * math.exp(x - top) for w, x in zip(weights, logs, strict=True)))


def log_half_normal(y: float) -> float:
    """Return log(2 Phi(y) exp(y^2/2)); far below zero by the asymptotic series."""
    if y > -20.0:
        return math.log(math.erfc(-y / math.sqrt(2.0))) + 0.5 * y * y
    x = 1.0 / (y * y)
    series = -x * (1 - 3 * x * (1 - 5 * x * (1 - 7 * x)))
    return math.log(math.sqrt(2.0 / math.pi) / -y) + math.log1p(series)


def log_normal_factor(v: float, vd: float, r: float) -> float:
    return log_half_normal(vd / math.sqrt(v + r)) - 0.5 * math.log1p(v / r)


def normal_function(
    rules: Rules, up: int, k: Side, l: Side
) -> tuple[Callable[[float], float], float, float]:
    """Return f, the log of the sum, where to begin the search for its minimum, and the first step.

    Bounded values count as sub-Gaussian with sigma = (high - low)/2.  v = n/sigma^2.  Effects are
    half-normal with precision rho_j in units of sigma.  At a distance d in the favoured direction:

        M = 2 Phi(y) exp(y^2/2) sqrt(r/(v + r)),    y = v d / sqrt(v + r),    r = rho_j/sigma^2;

        tied (T): one effect, the same multiple of either sigma:
        y = (sigma_k v_k d_k + sigma_l v_l d_l) / sqrt(N + rho_j), and M with N = n_k + n_l and
        rho_j in place of v and r.

    With G = m_k + e - c m_l (its negative for "bad"), d_k = z and d_l = (G - z)/c.
    """
    v_k, v_l, N, c = k.n / k.sigma**2, l.n / l.sigma**2, k.n + l.n, rules.c
    G = up * (k.m + rules.e - c * l.m)
    weights = [x for row in rules.W for x in row] + rules.T

    def f(z: float) -> float:
        rules.work.spend()
        vd_k, vd_l = v_k * z, v_l * (G - z) / c
        both = k.sigma * vd_k + l.sigma * vd_l
        a = [log_normal_factor(v_k, vd_k, rho / k.sigma**2) for rho in rules.effects]
        b = [log_normal_factor(v_l, vd_l, rho / l.sigma**2) for rho in rules.effects]
        tied = [log_normal_factor(N, both, rho) for rho in rules.effects]
        return log_sum(weights, [x + y for x in a for y in b] + tied)

    v = v_l + c * c * v_k
    return f, G * v_l / v, c / math.sqrt(v)


def convex_minimum(f: Callable[[float], float], start: float, step: float, need: float) -> float:
    """Return a lower bound on a convex function that its minimum hardly exceeds, by golden section.

    Three values f(a) >= f(b) <= f(c) bound it: on [b, c] by the line through those at a and b, on
    [a, b] by the line through those at b and c.  A value below ``need`` ends the search.
    """
    golden = (3.0 - math.sqrt(5.0)) / 2.0
    a, b, c, fb = start - step, start, start + step, f(start)
    if fb < need:
        return fb
    fa, fc = f(a), f(c)
    for _ in range(200):
        if fb < need:
            return fb
        if fa < fb:
            a, b, c, fb, fc = a - 2.0 * (b - a), a, b, fa, fb
            fa = f(a)
        elif fc < fb:
            a, b, c, fa, fb = b, c, c + 2.0 * (c - b), fb, fc
            fc = f(c)
        else:
            if not a < b < c:
                break
            slack = max((fa - fb) * (c - b) / (b - a), (fc - fb) * (b - a) / (c - b))
            if slack <= 1e-7 + 1e-12 * abs(fb):
                return fb - slack
            x = b + golden * (c - b) if c - b > b - a else b - golden * (b - a)
            fx = f(x)
            if x > b:
                a, b, c, fa, fb, fc = (b, x, c, fb, fx, fc) if fx < fb else (a, b, x, fa, fb, fx)
            else:
                a, b, c, fa, fb, fc = (a, x, b, fa, fx, fb) if fx < fb else (x, b, c, fx, fb, fc)
    return -math.inf


def log_factor(family: str, side: Side, x: float, eta: float) -> float:
    """Return log M against the mean x: in favour of more if eta > 0, of less if eta < 0.

    Effects are shifts eta of the natural parameter, and no effect.  With S = n m:

        Bernoulli:      M = exp(eta S) (1 + x (exp(eta) - 1))^-n
        Poisson:        M = exp(eta S - n x (exp(eta) - 1))
        exponential:    M = exp(-n eta + (S/x)(1 - exp(-eta)))
        no effect:      M = 1
        unknown sigma:  as for normal values, M = 2 Phi(..) exp(u^2/2) sqrt(rho/(n + rho)), with
                        s = n d of either sign, u^2 = n log(1 + s^2/((n + rho) Q + rho s^2/n)),
                        Phi at u sqrt(1 - 1/(2n)) if s > 0, at -u if s < 0; eta = rho^(-1/2)
    """
    if eta == 0.0:
        return 0.0
    n, S = side.n, side.n * side.m
    if family == "bernoulli":
        return eta * S - n * math.log1p(x * math.expm1(eta))
    if family == "poisson":
        return eta * S - n * x * math.expm1(eta)
    if family == "exponential":
        return -n * eta - S / x * math.expm1(-eta) if x > 0.0 else math.copysign(math.inf, eta)
    rho, s = 1.0 / eta**2, n * (side.m - x if eta > 0.0 else x - side.m)
    square = n * math.log1p(1.0 / ((n + rho) * side.Q / s / s + rho / n)) if s != 0.0 else 0.0
    part = 1.0 - 0.5 / n if s > 0.0 else 1.0
    y = math.copysign(math.sqrt(part * square), s)
    return log_half_normal(y) + 0.5 * (1.0 - part) * square - 0.5 * math.log1p(n / rho)


Scaled = tuple[float, list[float]]  # a logarithm, and numbers to be multiplied by its exponential
Factors = tuple[Scaled, Scaled]  # of k, and of l summed over the weights


def factors(rules: Rules, side: Side, x: float, sign: int) -> Scaled:
    logs = [log_factor(rules.family, side, x, sign * eta) for eta in rules.effects]
    top = max(logs)
    return top, [math.exp(y - top) if y < top else 1.0 for y in logs]


def factors_at(rules: Rules, up: int, k: Side, l: Side, t: float) -> Factors:
    """Return the factors of k against t, and those of l at the place where it meets k at t."""
    rules.work.spend()
    top, b = factors(rules, l, min((t + rules.e) / rules.c, rules.model.high), -up)
    return factors(rules, k, t, up), (top, [sum(map(operator.mul, row, b)) for row in rules.W])


def joint(of_k: Factors, of_l: Factors) -> float:
    """Return the log of the sum with k at one place and l at another."""
    (top_a, a), (top_b, b) = of_k[0], of_l[1]
    total = sum(map(operator.mul, a, b))
    return top_a + top_b + math.log(total) if total > 0.0 else -math.inf


def meeting(here: Factors) -> float:
    """Return the log of the sum with k and l at the same place."""
    return joint(here, here)


def places_to_meet(rules: Rules, up: int) -> tuple[float, float]:
    """Return the least and the largest t; the first is above the second if there is none."""
    low, high = rules.model.low, rules.model.high
    return low, min(high, rules.c * high - rules.e) if up > 0 else high


def searched_evidence(rules: Rules, up: int, k: Side, l: Side, need: float) -> float:
    """Return a lower bound on E if it is shown to reach ``need``; else a number below ``need``.

    (t + e)/c is cut at the largest mean, 1 for Bernoulli.  One factor falls with t and the other
    grows.  So on an interval E is at least what the factors give with each at its lower end.  The
    interval with the lowest bound is halved until this bound reaches the need, or E at one of the
    middles does not.
    """
    low, high = places_to_meet(rules, up)
    if low > high:
        return math.inf  # no means of the family make k bad
    at = functools.partial(factors_at, rules, up, k, l)
    first, second = (min(max(t, low), high) for t in (k.m, rules.c * l.m - rules.e))
    p, q = sorted((first, second))
    width = q - p or 1e-3 * (1.0 + abs(p))
    # Where normal values would meet: often this one place shows that E does not reach the need.
    v_k, v_l = rules.c**2 * precision(rules, k), precision(rules, l)
    share = v_l / (v_k + v_l) if 0.0 < v_k + v_l < math.inf else 0.5
    middle = (1.0 - share) * first + share * second or min(0.01 * first, high)
    value = meeting(at(middle))
    if value < need:
        return value
    intervals: list[tuple[float, float, float, Factors, Factors]] = []

    def add(left: float, right: float, at_left: Factors, at_right: Factors) -> None:
        bound = joint(at_right, at_left) if up > 0 else joint(at_left, at_right)
        bound = -math.inf if math.isnan(bound) else bound
        heapq.heappush(intervals, (bound, left, right, at_left, at_right))

    for left, right in itertools.pairwise(sorted({low, p, q, high})):
        add(left, right, at(left), at(right))
    for _ in range(40_000):
        bound, left, right, at_left, at_right = heapq.heappop(intervals)
        if bound >= need:
            return bound
        if math.isinf(right):
            middle = 2.0 * left - p + width
        elif math.isinf(left):
            middle = 2.0 * right - q - width
        else:
            middle = 0.5 * (left + right)
        if not left < middle < right:
            return bound
        at_middle = at(middle)
        value = meeting(at_middle)
        if value < need:
            return value
        add(left, middle, at_left, at_middle)
        add(middle, right, at_middle, at_right)
    return math.nextafter(need, -math.inf)  # not decided within this work


def precision(rules: Rules, side: Side) -> float:
    """Return one over the variance of the mean, as the study estimates it."""
    n, m = side.n, side.m
    if rules.family == NORMAL:
        return n / side.sigma**2
    variance = m * m
    if rules.family in ("bernoulli", "poisson"):
        variance = (n * m + 0.5) / (n + 1.0)
        variance *= 1.0 - variance if rules.family == "bernoulli" else 1.0
    elif rules.family == UNKNOWN:
        if n <= 1.0:
            return 0.0
        variance = max(side.Q / (n - 1.0), 1e-12 * (1e-300 + m * m))
    return n / variance if variance > 0.0 else math.inf


def normal_ratio(G: float, v_k: float, v_l: float, c: float) -> float:
    """Return the log of the ratio of normal likelihoods of two means that are G apart."""
    if v_k == 0.0 or v_l == 0.0:
        return 0.0
    variance = 1.0 / v_k + c * c / v_l
    return 0.5 * G * G / variance if variance > 0.0 else math.inf


# ---- 7. Labels: certify as the study did


class Reward(NamedTuple):
    """A value that the labels see: the sum of n, with their scatter; n = 0 for a censored wait."""

    arm: str
    value: float
    pooled: bool
    n: int
    scatter: float
    influential: float | None  # that of the arm from now on
    ends_tell: bool


def rewards_of(log: Log, order: Sequence[CountedValue]) -> list[Reward]:
    """Return the values in the order in which they count: none before every arm has one.

    The first value of an arm comes with the waits that were censored before it.  Withdrawn arms
    have none.
    """
    rewards: list[Reward] = []
    seen: set[int] = set()
    before: dict[int, float] = defaultdict(float)
    for i, (ticket, influential, time) in enumerate(order):
        x, arm = value_of(ticket), ticket.arm
        ends = i + 1 == len(order) or order[i + 1].time != time
        if arm in log.withdrawn or (ticket.censored and arm not in seen):
            before[arm] += x
            if ends and rewards:
                rewards[-1] = rewards[-1]._replace(ends_tell=True)
            continue
        if arm not in seen:
            seen.add(arm)
            x += before[arm]
        n, scatter = (0, 0.0) if ticket.censored else (ticket.n, ticket.scatter)
        rewards.append(Reward(log.arms[arm], x, ticket.pooled, n, scatter, influential, ends))
    return rewards if len(seen) + len(log.withdrawn) == len(log.arms) else []


class ArmState:
    """The part of one arm in the state of the labels.

    Attributes:
        influential: its value that no label may rest on.
        pair: the arm with and without it; precision: that of its mean.
        label: good, bad or open; passed: so many rivals, in their order, and ``entries`` of these.
        short: rivals, by the side of the claim, that did not show it since its last value.
        cleared: the highest mean of rivals of one kind that it passed since its last value.
    """

    def __init__(self, name: str, sigma: float) -> None:
        self.name, self.sigma, self.tally = name, sigma, Tally()
        self.influential: float | None = None
        self.pair: Pair = (Side(0.0, 0.0, 0.0, sigma), None)
        self.precision = 0.0
        self.label, self.passed = "open", 0
        self.entries: dict[str | None, LoggedEntry] = {}
        self.short: dict[tuple[int, str | None], Pair | None] = {}
        self.cleared: dict[tuple[float, ...], float] = {}

    def add(self, reward: Reward, rules: Rules) -> None:
        tally = self.tally
        tally.add(reward.value, n=reward.n, scatter=reward.scatter)
        self.influential = reward.influential
        self.pair = with_rest(Side(tally.n, tally.m, tally.Q, self.sigma), reward.influential)
        self.precision = precision(rules, self.pair[0])
        self.short, self.cleared = {}, {}


class LoggedEntry(NamedTuple):
    """The basis of a claim: tallies and influential values of both sides at one moment."""

    after: int
    sides: tuple[Tally, Tally]
    influential: tuple[float | None, float | None]
    weight: float


class LoggedClaim(NamedTuple):
    """A label that the log gives."""

    arm: str
    label: str
    after: int
    entries: dict[str | None, LoggedEntry]


class Rival(NamedTuple):
    """Something that may show an arm to be bad: the pool (None), an arm, or zero (the arm)."""

    name: str | None
    need: float
    side: Pair | None  # None: zero


class Labels:
    """Take the values of a log one by one, and certify as the study did.

    ``claims`` grows in the order of certification.  ``stated`` are the claims of the certificate:
    they decide only what lies within rounding.
    """

    def __init__(self, rules: Rules, stated: Sequence[Part]) -> None:
        self.rules = rules
        self.stated = {
            (claim.arm, claim.label): {entry.against: entry.after for entry in claim.rests_on}
            for claim in stated
        }
        self.arms = {name: ArmState(name, sigma) for name, sigma in rules.sigmas.items()}
        self.list = list(self.arms.values())
        self.open = dict(self.arms)
        self.pool, self.largest, self.weight = Tally(), -math.inf, 0.0
        self.missing, self.after, self.rows = len(self.list), 0, 0
        self.stride = max(len(self.list) // LOOKS_PER_ROUND, 1)
        self.front: list[ArmState] = []  # of the present look, once it is needed
        self.claims: list[LoggedClaim] = []

    def take(self, reward: Reward) -> None:
        """Add a value; look when a tell ends and after every K/10 values, if every arm has one."""
        arm = self.arms[reward.arm]
        self.missing -= arm.tally.n == 0
        arm.add(reward, self.rules)
        self.after += max(reward.n, 1)
        if reward.pooled:
            weight = arm.sigma**-2
            self.pool.add(reward.value, weight, reward.n)
            if self.rules.check_values and reward.n == 1 and reward.value > self.largest:
                self.largest, self.weight = reward.value, weight
        self.rows += 1
        if self.missing == 0 and (reward.ends_tell or self.rows % self.stride == 0):
            self.look()

    def look(self) -> None:
        """Certify every label whose evidence is there: arms below c max m - e as bad first."""
        bar = self.rules.c * max(arm.tally.m for arm in self.list) - self.rules.e
        self.front.clear()
        for arm in [arm for arm in self.open.values() if arm.tally.m < bar]:
            self.try_bad(arm)
        for arm in [arm for arm in self.open.values() if arm.tally.m >= bar]:
            self.try_good(arm)

    def frontier(self) -> list[ArmState]:
        """Return the arms that no other arm exceeds in both mean and precision, up to rounding.

        The ratio of likelihoods grows with both, so the likeliest rival of an arm is one of them.
        """
        if not self.front:
            self.rules.work.spend(len(self.list) // 20)
            order = sorted(self.list, key=lambda arm: -arm.tally.m)
            higher, most = 0, -math.inf  # how many are clearly higher, and their largest precision
            for arm in order:
                clearly = arm.tally.m + 1e-9 * (abs(arm.tally.m) + 1e-300)
                while order[higher].tally.m > clearly:
                    most = max(most, order[higher].precision)
                    higher += 1
                if arm.precision > most:
                    self.front.append(arm)
        return self.front

    def rivals_of_bad(self, arm: ArmState) -> list[Rival]:
        """Return what the study tries: the pool, the likeliest rival (or those as likely), zero."""
        rules, needs, m = self.rules, self.rules.needs, arm.tally.m

        def ratio_to(mean: float, v: float) -> float:
            G = rules.c * mean - rules.e - m
            return normal_ratio(G, arm.precision, v, rules.c) if G > 0.0 else -math.inf

        tried: list[Rival] = []
        by_pool = -math.inf
        if self.pool.n > 0.0 and "pool" in needs:
            shared = pool_pair(rules, self.pool.n, self.pool.S, (self.largest, self.weight), m)
            by_pool = ratio_to(shared[0].m, precision(rules, shared[0])) - needs["pool"]
            if by_pool > -math.inf:
                tried.append(Rival(None, needs["pool"], shared))
        # A negative bar may lie above k even if the mean of the rival does not.
        among = self.list if rules.signed and m < 0.0 else self.frontier()
        rules.work.spend(len(among) // 20)
        ratios = [(ratio_to(l.tally.m, l.precision), l) for l in among if l is not arm]
        most = max((ratio for ratio, _ in ratios), default=-math.inf)
        if most > -math.inf and most - needs["rival"] > by_pool - 1.0 - 1e-9 * most:
            near = [l for ratio, l in ratios if ratio >= most * (1.0 - 1e-9)]
            tried += [Rival(l.name, needs["rival"], l.pair) for l in near[:10]]
        if rules.signed and m < 0.0:
            tried.append(Rival(arm.name, needs["rival"], None))
        return tried

    def shown(self, up: int, arm: ArmState, rival: Rival, stated: bool) -> float | None:
        """Return the evidence if it is there, else None.

        If the certificate states it, it may miss the need by REACH; if not, it must exceed the need
        by more than rounding, or the search of the study, may take away.
        """
        key, rules = (up, rival.name), self.rules
        if not stated and key in arm.short and arm.short[key] == rival.side:
            return None
        searched = rules.family != NORMAL and rival.side is not None
        least = rival.need - REACH if stated else rival.need + (SEARCH if searched else REACH)
        value = least_evidence(rules, up, arm.pair, rival.side, least)
        if value >= least:
            return value
        if not stated:
            arm.short[key] = rival.side
        return None

    def try_bad(self, arm: ArmState) -> None:
        """Certify an arm as bad if a rival that the study tries, the pool or zero shows it."""
        listed = self.stated.get((arm.name, "bad"), {})
        stated = self.after in listed.values()
        surplus: dict[str | None, float] = {}
        for rival in self.rivals_of_bad(arm):
            value = self.shown(-1, arm, rival, stated)
            if value is not None:
                surplus[rival.name] = value - rival.need
        if surplus:
            # The study states the best; of those that rounding or its search may exchange, any.
            least = max(surplus.values()) - (1e-4 if self.rules.family == NORMAL else math.inf)
            name = max(surplus, key=lambda n: (surplus[n] >= least and n in listed, surplus[n]))
            arm.entries = {name: self.entry(arm, name)}
            self.certify(arm, "bad")

    def try_good(self, arm: ArmState) -> None:
        """Let an arm pass its rivals in their order; certify it as good if it has passed all."""
        rules, stated = self.rules, self.stated.get((arm.name, "good"), {})
        for rival in itertools.islice(self.list, arm.passed, None):
            certain = rival is arm and not rules.signed  # no mean is negative
            if certain and rules.c < 1.0 and arm.pair[1] is None:
                return  # but the label would rest on a single value
            if rival.label != "bad" and not certain:
                if not self.passes(arm, rival, stated.get(rival.name) == self.after):
                    return
                arm.entries[rival.name] = self.entry(arm, rival.name)
            arm.passed += 1
        self.certify(arm, "good")

    def passes(self, arm: ArmState, rival: ArmState, stated: bool) -> bool:
        """Return whether an arm is shown to be good against a rival.

        Evidence falls with the mean of the rival.  So if the arm has passed a rival, it passes
        those with as many, equally noisy values and a lower mean, as long as it has no new value.
        """
        alike = (rival.tally.n, rival.sigma, rival.tally.Q)
        plain = rival is not arm and rival.influential is None
        if plain and rival.tally.m <= arm.cleared.get(alike, -math.inf):
            return True
        side = None if rival is arm else rival.pair
        if self.shown(1, arm, Rival(rival.name, self.rules.needs["good"], side), stated) is None:
            return False
        if plain and not stated:
            arm.cleared[alike] = rival.tally.m
        return True

    def entry(self, arm: ArmState, name: str | None) -> LoggedEntry:
        """Return the numbers of both sides now."""
        mine, x = copy(arm.tally), arm.influential
        if name is None:
            sides, values = (mine, copy(self.pool)), (x, self.largest)
            return LoggedEntry(self.after, sides, values, self.weight)
        rival = self.arms[name]
        return LoggedEntry(self.after, (mine, copy(rival.tally)), (x, rival.influential), 0.0)

    def certify(self, arm: ArmState, label: str) -> None:
        arm.label = label
        del self.open[arm.name]
        self.claims.append(LoggedClaim(arm.name, label, self.after, arm.entries))


def outcome_of(log: Log, labels: Labels, started: bool) -> str:
    """Return where the study stands."""
    if started and not labels.open:
        return "certified"
    if log.budget is not None and log.measured() >= log.budget:
        return "budget exhausted"
    dropped = {log.arms[arm] for arm in log.dropped}
    left = list(labels.open) if started else log.arms
    return "dropped" if dropped and dropped.issuperset(left) else "running"


# ---- 8. Claims: check those of the certificate by their own numbers


def name_of(against: str | None) -> str:
    return "the pool" if against is None else show(against)


def check_arms(rules: Rules, stated: Part) -> Iterator[str]:
    """The arms are those of the question, and each has the label of its one claim, or is open."""
    if [part.arm for part in stated.arms] != rules.arms:
        yield "arms: they must be those of the question, in order"
    labels: dict[str, list[str]] = defaultdict(list)
    for claim in stated.claims:
        labels[claim.arm].append(claim.label)
    for part in stated.arms:
        claims = labels.get(part.arm, [])
        if claims != ([] if part.label == "open" else [part.label]) or part.label not in LABELS:
            yield (
                f"arms: {show(part.arm)} has the label {show(part.label)}, and these claims: "
                f"{show(claims)}"
            )
        if stated.outcome == "certified" and part.label == "open":
            yield f"arms: the outcome is certified, but {show(part.arm)} is open"
        if (part.scatter is not None) != (rules.family == UNKNOWN):
            yield f"arms: {show(part.arm)} has a scatter if sigma is unknown, and only then"
    total = sum(part.measurements for part in stated.arms)
    if total > stated.log.measurements:
        yield f"arms: they have {total} measurements, and the log {stated.log.measurements}"


def check_claims(rules: Rules, stated: Part) -> Iterator[str]:
    """Each claim has the need of its kind, and by its own numbers the evidence for it."""
    bad: dict[str, int] = {}
    for claim in stated.claims:
        if claim.label == "bad":
            bad.setdefault(claim.arm, claim.after)
    moments = sorted(bad.values())
    for claim in stated.claims:
        if claim.arm not in rules.sigmas:
            yield f"{claim.title}the question has no such arm"
            continue
        for problem in itertools.chain(
            check_rivals(rules, claim, bad, moments),
            check_claim(rules, claim, stated.log.measurements),
        ):
            yield f"{claim.title}{problem}"


def check_rivals(
    rules: Rules, claim: Part, bad: dict[str, int], moments: Sequence[int]
) -> Iterator[str]:
    """A bad claim rests on one rival or the pool, a good one on all rivals not certified bad.

    ``bad`` are the moments at which arms were certified bad; ``moments`` are these, sorted.
    """
    rivals = {entry.against for entry in claim.rests_on}
    if len(rivals) < len(claim.rests_on):
        yield "it names a rival twice in rests_on"
    if claim.label == "bad":
        if len(claim.rests_on) != 1:
            yield f"a bad claim rests on one rival: got {len(claim.rests_on)}"
        if None in rivals and "pool" not in rules.needs:
            yield "the study has no pool"
        return
    if None in rivals:
        yield "no arm is good because of the pool"
    if rules.signed and claim.arm not in rivals:
        yield "it does not say that the mean of the arm is above zero"
    listed = rivals | {claim.arm}
    known = sum(bad.get(name or "", math.inf) <= claim.after for name in listed)
    excused = bisect.bisect_right(moments, claim.after) - known
    if len(listed - {None}) + excused < len(rules.arms):
        left_out = next(
            (r for r in rules.arms if r not in listed and bad.get(r, math.inf) > claim.after), None
        )
        yield f"it leaves out {show(left_out)}, which was not certified bad by then"


def check_claim(rules: Rules, claim: Part, measurements: int) -> Iterator[str]:
    """A claim is made when its evidence is there, with the least of what it rests on."""
    entries = claim.rests_on
    by_pool = any(entry.against is None for entry in entries)
    key = "good" if claim.label == "good" else "pool" if by_pool else "rival"
    need = rules.needs.get(key, math.inf)
    last = max((entry.after for entry in entries), default=0)
    if claim.label == "bad" and claim.after != last:
        yield f"it was made after {claim.after} measurements, but rests on what came after {last}"
    if not max(last, len(rules.arms)) <= claim.after <= measurements:
        yield (
            f"after must lie between what it rests on, {last}, and the measurements, "
            f"{measurements}: got {claim.after}"
        )
    if not abs(claim.need - need) <= 1e-9:
        yield f"need recomputes to {need:.12g}: got {claim.need:.12g}"
    stated = [entry.evidence for entry in entries if entry.evidence is not None]
    if claim.evidence != min(stated, default=None):
        yield "its evidence is not the least of what it rests on"
    for entry in entries:
        problem = impossible(rules, claim.arm, entry)
        yield from [problem] if problem else check_entry(rules, claim, entry, need)


def impossible(rules: Rules, arm: str, entry: Part) -> str:
    """Return why no study has the numbers of an entry; empty if one may have them."""
    against, name, by_pool = entry.against, name_of(entry.against), entry.against is None
    for key, part, wanted in (
        ("scatters", entry.scatters, rules.family == UNKNOWN),
        ("influential", entry.influential, rules.check_values),
        ("weight", entry.weight, rules.check_values and by_pool),
    ):
        if (part is not None) != wanted:
            return f"{key} is missing" if wanted else f"the format has no {key} here"
    if not by_pool and against not in rules.sigmas:
        return f"{name} in rests_on is not an arm of the question"
    numbers = list(zip(entry.measurements, entry.sums, entry.scatters or [0.0, 0.0], strict=True))
    if against == arm and (not rules.signed or numbers[0] != numbers[1]):
        return "it is not a rival of its own, or not with these numbers"
    counts = entry.measurements[:1] if by_pool or against == arm else entry.measurements
    if not all(isinstance(n, int) for n in counts):
        return f"measurements against {name} must be whole numbers"
    if sum(counts) + len(rules.arms) - len({arm, against} - {None}) > entry.after:
        return f"the moment against {name}, after {entry.after}, is too early for so many of them"
    for n, S, Q in numbers:
        room = 1e-9 * abs(S)
        low, high = n * rules.model.low - room, n * rules.model.high + room
        if not low <= S <= high or Q < 0.0 or (rules.family == "exponential" and S <= 0.0):
            return f"no values have the sums against {name}"
    if rules.check_values and entry.influential is not None:
        if any(n == 1 and x is None for n, x in zip(counts, entry.influential, strict=False)):
            return f"a label rests on a single value, against {name}"
        if by_pool and (entry.influential[1] is None or not (entry.weight or 0.0) > 0.0):
            return "the pool must have a largest value"
    return ""


def check_entry(rules: Rules, claim: Part, entry: Part, need: float) -> Iterator[str]:
    """The evidence of an entry reaches its need, and is as stated."""
    up, influential = 1 if claim.label == "good" else -1, entry.influential or [None, None]
    (n_k, n_l), (S_k, S_l), (Q_k, Q_l) = (
        entry.measurements,
        entry.sums,
        entry.scatters or [0.0, 0.0],
    )
    k = with_rest(Side(n_k, S_k / n_k, Q_k, rules.sigmas[claim.arm]), influential[0])
    l: Pair | None = None
    if entry.against is None:
        l = pool_pair(rules, n_l, S_l, (influential[1] or 0.0, entry.weight or 0.0), k[0].m)
    elif entry.against != claim.arm:
        l = with_rest(Side(n_l, S_l / n_l, Q_l, rules.sigmas[entry.against]), influential[1])
    value = least_evidence(rules, up, k, l, need - REACH)
    recomputed = f"the evidence against {name_of(entry.against)} recomputes to {value:.6g}"
    if not value >= need - REACH:
        yield f"{recomputed}, less than the {need:.6g} it needs"
        return
    # If the study has to search for the minimum, it states what it has shown: the need.
    searched = rules.family != NORMAL and l is not None
    shown = need if searched and value < math.inf else value
    stated = math.inf if entry.evidence is None else entry.evidence
    if not math.isclose(stated, shown, rel_tol=1e-9, abs_tol=2e-3):
        yield f"{recomputed}, not {stated:.6g} as stated"


# ---- 9. Doubts: test the model


class SingleValue(NamedTuple):
    """A value for the tests of the model; plate 0 if it was not on one."""

    arm: int
    value: float
    plate: int
    time: float


def single_values(log: Log, quality: QualityControl) -> list[SingleValue]:
    """Return the values that count, and the suspect ones if these are too many to be slips."""
    tickets = [(time, t.number) for t, _, time in quality.order if t.n == 1 and not t.censored]
    suspects = quality.suspects()
    if len(suspects) > MOST_SLIPS:
        held = [(time, number) for number, time in suspects.items() if log.tickets[number].n == 1]
        tickets = sorted(tickets + held)
    values = []
    for time, number in tickets:
        ticket = log.tickets[number]
        plate = ticket.batch if ticket.on_plate else 0
        values.append(SingleValue(ticket.arm, value_of(ticket), plate, time))
    return values


def doubts_of(log: Log, quality: QualityControl) -> list[dict[str, Any]]:
    """Return why the guarantee may not hold, as the certificate must state it."""
    values, model = single_values(log, quality), log.model
    # If sigma of an arm is known, or bounded, values are compared in its units.
    has_scale = model.family in (NORMAL, "bernoulli")
    sigma = model.sigma if model.family == NORMAL else lambda arm: 0.5
    scaled = [x._replace(value=x.value / sigma(x.arm)) for x in values] if has_scale else []
    doubts: list[dict[str, Any]] = []
    if log.design.model["name"] == "gaussian":
        doubts += sigma_doubts(scaled)
        sigmas = model.sigmas if model.family == NORMAL else None
        doubts += repeats_doubts([x.value for x in values], sigmas)
    controls = {key: x for key, x in log.controls.items() if quality.passed.get(key[0], True)}
    drifts = list(control_drifts(log, controls, ARMS_SHARE if has_scale else 0.0))
    drifts += arm_drifts([x for x in scaled if x.plate > 0], DRIFT_RISK * ARMS_SHARE)
    moments = [(x.time, x.plate) for x in values]
    moments += [(time, plate) for (plate, _), (_, _, time) in controls.items()]
    begun = {plate: (time, plate) for time, plate in sorted(moments, reverse=True)}
    doubts += sorted(drifts, key=lambda doubt: begun[doubt["plate"]])
    by_values = log.withdrawn_values("values")
    return doubts + ([{"kind": "withdrawn by values", "values": by_values}] if by_values else [])


def log_average(logs: Sequence[float]) -> float:
    return log_sum([1.0 / len(logs)] * len(logs), logs)


def student_tail(t: float, f: float) -> float:
    """Return the chance that a variable with Student's distribution lies beyond -t or t.

    That is the incomplete beta integral I_x(f/2, 1/2), x = f/(f + t^2), by its continued fraction.
    """
    if math.isinf(t * t):
        return 0.0
    x, y, a, b = f / (f + t * t), t * t / (f + t * t), 0.5 * f, 0.5
    swapped = x > (a + 1.0) / (a + b + 2.0)
    if swapped:
        x, y, a, b = y, x, b, a
    if x <= 0.0:
        return 1.0 if swapped else 0.0
    fraction = 1.0
    for m in range(500, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1.0))
        fraction = 1.0 + odd / (1.0 + even / fraction)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    part = math.exp(a * math.log(x) + b * math.log(y) - log_beta) / (a * fraction)
    return 1.0 - part if swapped else part


def sigma_doubts(values: Sequence[SingleValue]) -> Iterator[dict[str, Any]]:
    """Doubt sigma if values, in its units, scatter too much around the averages of their arms."""
    by_arm: dict[int, list[float]] = defaultdict(list)
    for x in values:
        by_arm[x.arm].append(x.value)
    Q, N, free = 0.0, len(values), len(values) - len(by_arm)
    for sample in by_arm.values():
        m = math.fsum(sample) / len(sample)
        Q += math.fsum((x - m) ** 2 for x in sample)
    logs = [-0.5 * N * math.log(r) + 0.5 * (1.0 - 1.0 / r) * Q for r in VARIANCE_RATIOS]
    if free > 0 and log_average(logs) >= -math.log(SIGMA_RISK):
        yield {"kind": "sigma", "multiple": math.sqrt(Q / free), "values": free}


def repeats_doubts(
    values: Sequence[float], sigmas: Sequence[float] | None
) -> Iterator[dict[str, Any]]:
    """Doubt that values are normal if they repeat, and half of their range exceeds sigma."""
    if not values or (sigmas is not None and max(values) - min(values) <= 2.0 * min(sigmas)):
        return
    if won_by_repeats(values) >= -math.log(REPEATS_RISK):
        yield {"kind": "repeats", "different": len(set(values)), "values": len(values)}


def won_by_repeats(values: Sequence[float]) -> float:
    """Return the log of what bets win that a value is one of the k most frequent before it."""
    seen: Counter[float] = Counter()
    top: list[float] = []
    bets = list(itertools.product(BET_SIZES, BET_REST))
    won = [0.0] * len(bets)
    for i, value in enumerate(values):
        place = top.index(value) if value in top else max(BET_SIZES)
        if i >= FIRST_BET:
            for j, (k, left) in enumerate(bets):
                size = min(max(len(top), 1), k)
                P = math.erf(size / 8.0 / math.sqrt(2.0))
                won[j] += math.log((1.0 - left * (1.0 - P)) / P if place < size else left)
        seen[value] += 1
        if place < max(BET_SIZES):
            del top[place]
        elif len(top) == max(BET_SIZES) and seen[value] <= seen[top[-1]]:
            continue
        top.insert(sum(seen[other] >= seen[value] for other in top), value)
        del top[max(BET_SIZES) :]
    return log_average(won)


def control_shares(wells: Counter[tuple[int, str]]) -> dict[str, float]:
    """Return the share of the risk of each control: equal parts of what its first plate has."""
    first: dict[str, int] = {}
    for plate, name in sorted(wells):
        first.setdefault(name, plate)
    new = Counter(first.values())
    part = {
        plate: FIRST_CONTROLS_SHARE if g == 1 else (1.0 - FIRST_CONTROLS_SHARE) / (g * (g - 1))
        for g, plate in enumerate(sorted(new), start=1)
    }
    return {name: part[plate] / new[plate] for name, plate in first.items()}


def control_drifts(
    log: Log, controls: dict[tuple[int, str], tuple[str, float, float]], arms_share: float
) -> Iterator[dict[str, Any]]:
    """Compare each control with its average on the plates before, by Student's test."""
    wells = Counter(
        (plate, name)
        for plate, names in log.plates.items()
        for well, name in names.items()
        if (plate, well) not in log.withdrawn_controls
    )
    shares = control_shares(wells)
    samples: dict[str, dict[int, list[float]]] = {}
    for (plate, _), (name, value, _) in controls.items():
        samples.setdefault(name, {}).setdefault(plate, []).append(value)
    for name, by_plate in samples.items():
        risk = DRIFT_RISK * (1.0 - arms_share) * shares[name]
        n_before, mean_before, scatter, free = 0, 0.0, 0.0, 0
        last = list(by_plate)[-1]
        for p, (plate, sample) in enumerate(by_plate.items(), start=1):
            n, mean = len(sample), math.fsum(sample) / len(sample)
            scatter += math.fsum((x - mean) ** 2 for x in sample)
            free += n - 1
            spread = math.sqrt(scatter / free) if free else 0.0
            if spread > 0.0 and n_before and (plate != last or n >= wells[plate, name]):
                t = (mean - mean_before) / (spread * math.sqrt(1.0 / n + 1.0 / n_before))
                if student_tail(t, free) <= risk / (p * (p - 1)):
                    doubt = {"kind": "control drift", "plate": plate, "control": name}
                    yield doubt | {"shift": mean - mean_before}
            n_before += n
            mean_before += (mean - mean_before) * n / n_before


def arm_drifts(values: Sequence[SingleValue], risk: float) -> Iterator[dict[str, Any]]:
    """Compare the arms of each plate, all together, with what they gave on the plates before.

    Values are in sigmas, in the order of telling.  M of a value counts those of its arm that were
    told before it, on the plates before.
    """
    rank: dict[int, int] = {}
    earlier: dict[int, list[int]] = defaultdict(list)  # by arm: sorted ranks of plates so far
    of_plate: dict[int, list[tuple[int, float, int]]] = defaultdict(list)
    for arm, x, plate, _ in values:
        p = rank.setdefault(plate, len(rank) + 1)
        of_plate[plate].append((arm, x, bisect.bisect_left(earlier[arm], p)))
        bisect.insort(earlier[arm], p)
    before: dict[int, tuple[int, float]] = {}  # number and sum on the plates before, by arm
    C = [0.0] * len(DRIFT_PRECISIONS)
    for plate, p in rank.items():
        D = weight = squares = 0.0
        number: Counter[int] = Counter()
        b_sum: dict[int, float] = defaultdict(float)
        for arm, x, M in of_plate[plate]:
            if M > 0:
                number[arm] += 1
                b, (n, S) = M / (M + number[arm]), before[arm]
                D, weight, squares = D + b * (x - S / n), weight + b, squares + b * b
                b_sum[arm] += b
        logs = []
        for rho, c in zip(DRIFT_PRECISIONS, C, strict=True):
            terms = [y * y * (before[a][0] + rho) / before[a][0] ** 2 for a, y in b_sum.items()]
            V = squares + math.fsum(terms)
            logs.append(D * D / (2.0 * (1.0 + V)) - 0.5 * math.log1p(V) - c)
        if weight > 0.0 and log_average(logs) >= math.log(p * (p - 1) / risk):
            yield {"kind": "arm drift", "plate": plate, "shift": D / weight}
        for arm, x, _ in of_plate[plate]:
            n, S = before.get(arm, (0, 0.0))
            before[arm] = n + 1, S + x
            for i, rho in enumerate(DRIFT_PRECISIONS):
                C[i] += 0.5 * math.log((n + 1 + rho) / (n + rho))


# ---- 10. Comparison: what the certificate states with what the log gives


def check_log(
    certificate: dict[str, Any],
    stated: Part,
    lines: Sequence[str],
    later: Sequence[str],
    work: Work,
) -> Iterator[str]:
    """The certificate is what the log gives: the question, the values, labels and doubts.

    ``later`` are the lines after the moment of the certificate.
    """
    work.most += STEPS_PER_EVENT * (len(lines) + len(later))
    same = digest_of_lines(lines) == stated.log.sha256
    if not same and lines:
        check_study(stated.study, read_event(1, lines[0]).data)
    if not same:
        yield "log: its sha256 is not that of the lines"
    demand(len(lines) > 0, "log: it is empty")
    events = [read_event(number, line) for number, line in enumerate([*lines, *later], 1)]
    yield from check_chain([*lines, *later], events)
    log = replay(events[: len(lines)], work)
    yield from (f"log: {problem}" for problem in log.problems)
    quality, design = log.quality(), log.design
    rules = rules_of(log.question(), design.model, design.strategy, design.check_values, work)
    labels, rewards = Labels(rules, stated.claims), rewards_of(log, quality.order)
    for arm, value, _, n, *_ in rewards:
        if not rules.model.allows(value, n):
            yield f"log: {show(arm)} has the value {value:g}, which the model does not know"
    for reward in rewards:
        labels.take(reward)
    outcome = outcome_of(log, labels, bool(rewards))
    yield from compare_parts(certificate, log, quality, outcome, len(lines))
    yield from compare_claims(labels.claims, stated.claims)
    yield from compare_arms(labels, stated.arms)
    yield from compare_doubts(stated.doubts or [], doubts_of(log, quality))
    yield from check_later(log, events[len(lines) :])


def replay(events: Sequence[Part], work: Work) -> Log:
    """Return the log after these events."""
    design = events[0].data
    known = (design.format, design.rules) == (LOG_FORMAT, RULES)
    demand(known, f"log: its format must be {LOG_FORMAT} and its rules {RULES}")
    log = Log(design, work)
    for event in events[1:]:
        apply(log, event)
    return log


def apply(log: Log, event: Part) -> None:
    try:
        log.apply(event)
    except ValueError as error:
        raise InvalidCertificate(f"log, line {event.seq}: {error}") from None


def check_study(stated: Part, design: Part) -> None:
    """Raise InvalidCertificate if a log is of another study."""
    if stated.uid != design.uid:
        here, there = show(stated.name), show(design.name)
        if stated.name == design.name:
            here, there = f"{here} with uid {stated.uid[:40]}", f"the {there} with uid {design.uid}"
        raise InvalidCertificate(
            f"this certificate is of study {here}, not of {there[:120]}, whose log was given"
        )


def compare_parts(
    certificate: dict[str, Any], log: Log, quality: QualityControl, outcome: str, events: int
) -> Iterator[str]:
    """Compare the parts that a certificate repeats from the log with the log."""
    design, question = log.design, log.question()
    expected = {
        "study: name": design.name,
        "study: uid": design.uid,
        "question: objective": vars(question.objective),
        "question: delta": question.delta,
        "question: arms": question.arms,
        "question: withdrawn": question.withdrawn,
        "question: max_new_arms": question.max_new_arms,
        "question: normalise": question.normalise,
        "model": design.model,
        "strategy": vars(design.strategy),
        "outcome": outcome,
        "log: events": events,
        "log: measurements": log.measured(),
        "quality: check_values": design.check_values,
        "quality: in_order": design.in_order,
        "quality: censor_at": design.censor_at,
        "quality: min_z_prime": design.min_z_prime,
        "conditions": log.conditions() or None,
        "source": None,
    } | {f"values: {key}": value for key, value in quality.values().items()}
    for title, value in expected.items():
        part, _, key = title.partition(": ")
        stated = certificate[part].get(key) if key else certificate.get(part)
        if stated != value:
            yield f"{title} is {show(value)} in the log: got {show(stated)}"


def compare_claims(logged: Sequence[LoggedClaim], stated: Sequence[Part]) -> Iterator[str]:
    """The claims are those that the log gives, at their moments and in their order."""
    by_arm, named_arms = {claim.arm: claim for claim in logged}, {claim.arm for claim in stated}
    for claim in logged:
        if claim.arm not in named_arms:
            moment = f"{claim.label} after {claim.after} measurements"
            yield f"arms: the log certifies {show(claim.arm)} as {moment}: no claim does"
    for statement in stated:
        title, right = statement.title, by_arm.get(statement.arm)
        if right is None:
            yield f"{title}the log does not certify it"
            continue
        if (right.label, right.after) != (statement.label, statement.after):
            yield f"{title}the log certifies it as {right.label} after {right.after} measurements"
        if right.label == statement.label:
            for problem in compare_entries(right, statement):
                yield f"{title}{problem}"
    order, stated_order = [claim.arm for claim in logged], [claim.arm for claim in stated]
    if order != stated_order and sorted(order) == sorted(stated_order):
        yield "claims: they are not in the order in which the log certifies them"


def compare_entries(right: LoggedClaim, stated: Part) -> Iterator[str]:
    """A claim rests on what the log shows, with its numbers."""
    for against in right.entries.keys() - {entry.against for entry in stated.rests_on}:
        yield f"it leaves out what the log shows against {name_of(against)}"
    for entry in stated.rests_on:
        logged, name = right.entries.get(entry.against), name_of(entry.against)
        if logged is None:
            yield f"the log does not show it by {name}"
            continue
        if entry.after != logged.after:
            yield (
                f"against {name} it was shown after {logged.after} measurements: got {entry.after}"
            )
            continue
        influential: Sequence[float | None] = entry.influential or logged.influential
        scatters: Sequence[float | None] = entry.scatters or [None, None]
        for side, tally in enumerate(logged.sides):
            known, here = logged.influential[side], influential[side]
            problem = differs(tally, entry.measurements[side], entry.sums[side], scatters[side])
            if not problem and entry.influential and not nearly(here, known, 1e-9 * tally.size):
                problem = f"the influential value is {show(known)} in the log: got {show(here)}"
            if problem:
                whose = name if side else show(stated.arm)
                yield f"after {entry.after} measurements, for {whose} {problem}"
        if not nearly(entry.weight, logged.weight, 1e-9 * logged.weight) and entry.weight:
            yield f"weight is {logged.weight:.12g} in the log: got {entry.weight:.12g}"


def compare_arms(labels: Labels, stated: Sequence[Part]) -> Iterator[str]:
    """Each arm has the values that count in the log."""
    for part in stated:
        arm = labels.arms.get(part.arm)
        problem = arm and differs(arm.tally, part.measurements, part.sum, part.scatter)
        if problem:
            yield f"arm {show(part.arm)}: {problem}"


def differs(tally: Tally, n: float, S: float, Q: float | None) -> str:
    """Return which number is not that of the values, but for rounding; empty if all are.

    Scatters are compared by their roots.
    """
    if not abs(n - tally.n) <= 1e-9 * tally.n:
        return f"measurements are {tally.n:.12g} in the log: got {n:.12g}"
    if not abs(S - tally.S) <= 1e-9 * tally.size:
        return f"the sum is {tally.S:.12g} in the log: got {S:.12g}"
    root, size = math.sqrt(tally.Q), tally.size / math.sqrt(max(tally.n, 1.0))
    if Q is not None and not abs(math.sqrt(max(Q, 0.0)) - root) <= 1e-9 * (root + size):
        return f"the scatter is {tally.Q:.12g} in the log: got {Q:.12g}"
    return ""


def nearly(x: float | None, y: float | None, room: float) -> bool:
    """Return whether two numbers agree but for rounding, or both are missing."""
    return x is y if x is None or y is None else abs(x - y) <= room


def compare_doubts(
    stated: Sequence[dict[str, Any]], doubts: Sequence[dict[str, Any]]
) -> Iterator[str]:
    """The certificate has the doubts that the log raises, in their order, and no others."""
    for here, logged in itertools.zip_longest(stated[: len(doubts) + 1], doubts):
        if here is None:
            yield f"doubts: the log raises one that is not there: {sentence_of(logged)}"
        elif logged is None or not same_numbers(here, logged):
            yield f"doubts: the log does not raise this one: {sentence_of(here)}"


def sentence_of(doubt: dict[str, Any]) -> str:
    return DOUBTS[doubt["kind"]][1].format(**doubt)[:1000]


def same_numbers(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Return whether two parts agree, but for the rounding of numbers."""
    return first.keys() == second.keys() and all(
        math.isclose(first[key], x, rel_tol=1e-6) if isinstance(x, float) else first[key] == x
        for key, x in second.items()
    )


def check_later(log: Log, events: Sequence[Part]) -> Iterator[str]:
    """Events after the moment of the certificate leave its values as they are."""
    known = {number for number, ticket in log.tickets.items() if ticket.value is not None}
    before = len(log.problems)
    for event in events:
        apply(log, event)
    yield from (f"log: {problem}" for problem in log.problems[before:])
    late = [e.seq for e in events if known.intersection(tickets_changed(e))]
    if late:
        more = f" and {len(late) - 1} more" if len(late) > 1 else ""
        yield (
            f"log: event {late[0]}{more}, after the certificate, changed a value that it has. "
            "A new certificate has the right ones"
        )


def tickets_changed(event: Part) -> list[int]:
    """Return the tickets whose values an event corrects, replaces or withdraws."""
    match event.kind:
        case "corrected":
            return [event.ticket]
        case "replaced":
            return [value.ticket for value in event.data.values or []]
        case "withdrawn":
            return list(event.data.tickets)
    return []


# ---- 11. The whole check, and the command line


def verify(
    certificate: object,
    lines: Sequence[str] | None = None,
    pause: Callable[[], object] | None = None,
) -> Verification:
    """Check a certificate, read from JSON, and the exported log if there is one.

    Never raises an exception, whatever they hold; but ``pause``, which is called now and then, may
    end the check by one of its own.
    """
    problems: list[str] = []
    doubts: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    claims, log_checked, remark = 0, False, ""
    try:
        stated = read_certificate(certificate)
        claims = len(stated.claims)
        doubts = tuple(f"{sentence_of(x)}." for x in (stated.doubts or [])[:MOST_PROBLEMS])
        conditions = tuple(CONDITION_SENTENCE.format(**vars(x)) for x in stated.conditions or [])
        now, later = split_log(stated.log, lines or [])
        if later:
            moment = f"event {len(now)} of {len(now) + len(later)}"
            remark = f"The certificate is of an earlier moment: {moment}."
        work, now_or_none = Work(pause=pause), None if lines is None else now
        for problem in check_all(certificate, stated, now_or_none, later, work):
            if len(problems) == MOST_PROBLEMS:
                problems.append(
                    f"The check stopped after {MOST_PROBLEMS} problems: there may be more."
                )
                break
            problems.append(f"{problem}.")
        else:
            log_checked = lines is not None
    except InvalidCertificate as error:
        problems.append(f"{error}.")
    except (ArithmeticError, ValueError, RecursionError) as error:
        problems.append(f"it cannot be checked: {type(error).__name__}.")
    if remark and not problems:
        remark += " Up to there everything agrees."
    return Verification(tuple(problems), claims, log_checked, remark, doubts, conditions)


def split_log(stated: Part, lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the lines up to the moment of a certificate, and those after it.

    If the beginning does not have the stated digest, all lines are compared.
    """
    lines = [line.removesuffix("\n") for line in lines]
    if 0 < stated.events < len(lines) and digest_of_lines(lines[: stated.events]) == stated.sha256:
        return lines[: stated.events], lines[stated.events :]
    return lines, []


def check_all(
    certificate: Any, stated: Part, lines: list[str] | None, later: list[str], work: Work
) -> Iterator[str]:
    """Yield the problems of a certificate: by itself, and by the log if there is one."""
    question, check_values = stated.question, stated.quality.check_values
    rules = rules_of(question, stated.model, stated.strategy, check_values, work)
    yield from check_claims(rules, stated)
    yield from check_arms(rules, stated)
    yield from check_digests(certificate, stated)
    if lines is not None:
        yield from check_log(certificate, stated, lines, later, work)


def main(arguments: Sequence[str]) -> int:
    if len(arguments) not in (1, 2):
        print("usage: python verify.py certificate.json [events.jsonl]", file=sys.stderr)
        return USAGE
    try:
        texts = []
        for path in reversed(arguments):
            with open(path, encoding="utf-8", newline="") as file:
                texts.append(file.read())
        certificate = parse(texts.pop())
    except (OSError, ValueError, RecursionError) as error:
        print(f"{path} cannot be read: {str(error)[:200]}")
        return EXIT_CODES["not verified"]
    result = verify(certificate, texts[0].removesuffix("\n").split("\n") if texts else None)
    for line in result.lines():
        print(line.encode("ascii", "backslashreplace").decode())
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
