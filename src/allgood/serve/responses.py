"""Responses of the server that are not results of the package: lists, pages and views of studies.

All other responses are results of the package, such as ``Receipt`` or ``StudyStatus``.
"""

from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from .._internal.results import Hint, NullableFloat, ResultData
from ..study.diagnostics.plate import PlateCheck
from ..study.entries import HistoryEntry
from ..study.state import Outcome, Ticket
from ..study.tables.sheets import AskedRow
from .tokens import Role


@dataclass(frozen=True)
class ProblemPart(ResultData):
    """One error of a request.

    Attributes:
        pointer: a JSON pointer to the field of the body, such as /rows/0/value; for a parameter of
            the path, the query or the headers, a slash and its name.
        detail: what the field must be.
    """

    pointer: str
    detail: str


@dataclass(frozen=True)
class Problem(ResultData):
    """The reason why a request failed (RFC 9457).

    Attributes:
        title: the status in words.
        detail: a sentence that says what is wrong and what to do.
        error: the name of the error in Python, if it is one of the package.
        errors: the fields that are wrong, if that is known.
        hints: what the caller could try next.
    """

    type: str
    title: str
    status: int
    detail: str
    error: str | None = None
    errors: tuple[ProblemPart, ...] = ()
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class Done(ResultData):
    """An empty answer: the request has been carried out."""


@dataclass(frozen=True)
class Health(ResultData):
    """The server runs."""

    ok: bool = True


@dataclass(frozen=True)
class Session(ResultData):
    """The rights of the caller, and the server that answers.

    Attributes:
        role: what the caller may do; null before logging in.
        needs_token: whether the server asks for a token.
        read_only: whether the server refuses all changes.
        version: the version of allgood.
        database: the name of the database; null before logging in.
    """

    role: Role | None
    needs_token: bool
    read_only: bool
    version: str
    database: str | None


@dataclass(frozen=True)
class SessionRole(ResultData):
    """The role of the token with which a session began."""

    role: Role


# ---- studies


@dataclass(frozen=True)
class StudyName(ResultData):
    """The number and the name of a study."""

    id: int
    name: str


@dataclass(frozen=True)
class StudyNames(ResultData):
    """Numbers and names of studies.

    Attributes:
        more: whether there are more studies than were asked for.
    """

    studies: list[StudyName]
    more: bool


@dataclass(frozen=True)
class StudyEntry(ResultData):
    """A study whose state the server has not computed yet: request its summary.

    Attributes:
        id: the study's number.
        events: the number of events so far.
    """

    id: int
    name: str
    events: int


@dataclass(frozen=True)
class StudySummary(ResultData):
    """A study in a few numbers.

    Attributes:
        id: the study's number.
        question: the question of the study, in a sentence.
        arms, good, bad, open: the number of arms, of arms certified good, of arms certified bad,
            and of arms without a certified label.
        measurements: the number of measurements that count.
        pending: the number of tickets without a value.
        suspects: the number of values that do not count until somebody confirms or corrects them.
        waiting: the number of values that wait for earlier tickets.
        warnings: why certified labels should not be trusted; usually none.
        budget: null: no limit.
        created, last: the time of the first and of the last event, in seconds since 1970.
        events: the number of events so far.
        spark: points of a small curve: measurements, and labels certified by then.
    """

    id: int
    name: str
    question: str
    outcome: Outcome
    arms: int
    good: int
    bad: int
    open: int
    measurements: int
    pending: int
    suspects: int
    waiting: int
    warnings: list[str]
    budget: int | None
    created: float
    last: float
    events: int
    spark: list[tuple[int, int]]


@dataclass(frozen=True)
class StudyList(ResultData):
    """Studies of the database.

    Attributes:
        more: whether there are more studies than were asked for.
    """

    studies: list[StudySummary | StudyEntry]
    more: bool


class ObjectiveData(TypedDict):
    """The objective: it defines the good arms."""

    name: Literal["additive", "multiplicative"]
    epsilon: float


class ModelData(TypedDict):
    """The model of the measurements of one arm.

    Attributes:
        sigma: the standard deviation; null: unknown.
        low, high: the smallest and the largest possible value.
    """

    name: str
    sigma: NotRequired[float | list[float] | None]
    low: NotRequired[float]
    high: NotRequired[float]


class StrategyData(TypedDict):
    """The strategy that chooses arms.

    Attributes:
        pool: whether arms are also compared with the pool.
    """

    name: str
    pool: bool


class DesignData(TypedDict):
    """The design of a study, as it is stored."""

    format: int
    rules: int
    name: str
    uid: str
    arms: list[str]
    objective: ObjectiveData
    delta: float
    model: ModelData
    strategy: StrategyData
    seed: int
    budget: int | None
    check_values: bool
    in_order: bool
    censor_at: float | None
    max_new_arms: NotRequired[int]
    min_z_prime: NotRequired[float]
    normalise: NotRequired[str]


class StudyDetails(TypedDict):
    """The design of a study and its size.

    Attributes:
        id: the study's number.
        question: the question of the study, in a sentence.
        wording: what a good arm is, such as "within 0.3 of the best".
        condition: what the guarantee assumes about the measurements.
        created: the time of the first event, in seconds since 1970.
        events: the number of events so far.
    """

    id: int
    name: str
    design: DesignData
    question: str
    wording: str
    condition: str
    created: float
    events: int


@dataclass(frozen=True)
class DeletedStudy(ResultData):
    """The number of the study that has been deleted."""

    deleted: int


# ---- events, tickets, plates, values


class EventData(TypedDict):
    """An event, with names of arms and tickets; fields that it does not have are absent.

    Attributes:
        seq: the number of the event, from 1.
        time: in seconds since 1970.
        pooled: whether the value goes into the pool.
        sentence: the event in words, without the name of its arm and without a full stop.
        note: a reason, a source or a remark.
        data: what only this kind of event has.
        previous: SHA-256 of the exported line before.
    """

    seq: int
    kind: str
    time: float
    sentence: str
    client: NotRequired[str]
    ticket: NotRequired[str]
    arm: NotRequired[str]
    value: NotRequired[float]
    pooled: NotRequired[bool]
    batch: NotRequired[int]
    well: NotRequired[str]
    lease_until: NotRequired[float]
    note: NotRequired[str]
    data: NotRequired[dict[str, Any]]
    previous: NotRequired[str]


class EventPage(TypedDict):
    """Events, in the order that was asked for.

    Attributes:
        last: the number with which the next page begins: its ``after``, or its ``before`` if the
            newest event comes first.
        more: whether there are more events than were asked for.
    """

    events: list[EventData]
    last: int
    more: bool


@dataclass(frozen=True)
class StudyHistory(ResultData):
    """What happened in a study, the newest first.

    Attributes:
        name, question, events: the study: its name, its question and its number of events.
        entries: one for each request.
        before: the ``before`` of the next page; null if there is none.
    """

    name: str
    question: str
    events: int
    entries: list[HistoryEntry]
    before: int | None


@dataclass(frozen=True)
class TicketList(ResultData):
    """Tickets without a value."""

    tickets: list[Ticket]


@dataclass(frozen=True)
class TicketBatch(ResultData):
    """The tickets to measure next.

    Attributes:
        sheet: the same, with the controls of the plate.
        outcome: unless it is "running", there are no more tickets to ask for.
        pending: the number of all tickets without a value.
    """

    tickets: list[Ticket]
    sheet: list[AskedRow]
    outcome: Outcome
    pending: int


@dataclass
class PlateSummary(ResultData):
    """One plate.

    Attributes:
        batch: the plate's number.
        open, told, failed, withdrawn: the number of wells of arms without a value, with a value,
            that failed, and whose value was withdrawn.
        rejected: why no value of the plate counts, by its controls; null if they count.
        client, time: who asked for the plate, and when, in seconds since 1970.
    """

    batch: int
    rows: int
    columns: int
    open: int = 0
    told: int = 0
    failed: int = 0
    withdrawn: int = 0
    rejected: str | None = None
    client: str | None = None
    time: float | None = None


@dataclass(frozen=True)
class PlateList(ResultData):
    """The plates of a study, the newest first."""

    plates: list[PlateSummary]


WellState = Literal["open", "told", "failed", "suspect", "withdrawn", "rejected"]


@dataclass(frozen=True)
class Well(ResultData):
    """One well: it has an arm and a ticket, or a control.

    Attributes:
        value: null before it is told.
    """

    well: str
    state: WellState
    value: float | None
    arm: str | None = None
    ticket: str | None = None
    control: str | None = None


@dataclass(frozen=True)
class PlateMap(ResultData):
    """The wells of a plate, row by row, without the empty ones.

    Attributes:
        batch: the plate's number.
        check: controls, Z', edge, gradients and residuals; null before a value is told.
    """

    batch: int
    rows: int
    columns: int
    wells: list[Well]
    check: PlateCheck | None


@dataclass(frozen=True)
class MeasurePage(ResultData):
    """Everything that the page for measuring shows of a study.

    Attributes:
        question: the question of the study, in a sentence.
        events: the number of events so far.
        verdict: the outcome, and how many arms have each label, in a sentence.
        takes_time: whether measurements are waiting times; their tickets have no lease.
        plates: the plates of the study, the newest first.
        tickets: open tickets that are on no plate, the first of many.
        num_tickets: the number of all open tickets that are on no plate.
        plate: the plate that was asked for; null if there is none of that number.
    """

    name: str
    question: str
    events: int
    outcome: Outcome
    verdict: str
    takes_time: bool
    plates: list[PlateSummary]
    tickets: list[Ticket]
    num_tickets: int
    plate: PlateMap | None


class ValueData(TypedDict):
    """A value that was told.

    Attributes:
        value: the value; of counts, their sum.
        time: in seconds since 1970.
        batch: null if nobody had asked for the measurement.
        pooled: whether the value goes into the pool.
        censored: whether the wait was given up at the censoring time.
        first: the value before any correction.
        raw: the value before it was normalised, if it was.
        source: the source of an unrequested measurement.
        n: the number of measurements; more than 1 only for counts.
        period: the period of counts.
        scatter: the sum of squares of counts about their mean.
    """

    ticket: str
    arm: str
    value: float
    state: Literal["counts", "suspect", "waiting", "withdrawn", "rejected"]
    time: float
    batch: int | None
    well: str | None
    client: str | None
    pooled: bool
    censored: bool
    first: float | None
    raw: float | None
    source: str | None
    n: int
    period: str | None
    scatter: NullableFloat


class ValuePage(TypedDict):
    """Values, in the order in which they were told, or the newest first.

    Attributes:
        last: the number with which the next page begins: its ``after``, or its ``before`` if the
            newest value comes first.
        more: whether there are more values than were asked for.
    """

    values: list[ValueData]
    last: int
    more: bool


class VerificationData(TypedDict):
    """The result of checking a certificate.

    Attributes:
        status: "verified": the log agrees with everything.  "recomputed only": no log was given.
            "verified, doubtful": as verified, but the certificate carries doubts.
        ok: whether no problem was found.
        verdict: the result in one sentence.
        claims: the number of claims that were recomputed.
        log: whether the study's events were compared, too.
        problems: at most 101 sentences.
        doubts: why the guarantee may not hold.
        conditions: statements of people on which the guarantee depends.
        remark: a sentence if the certificate is of an earlier moment; or null.
    """

    status: Literal["verified", "not verified", "recomputed only", "verified, doubtful"]
    ok: bool
    verdict: str
    claims: int
    log: bool
    problems: list[str]
    doubts: list[str]
    conditions: list[str]
    remark: str | None
