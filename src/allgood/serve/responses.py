"""What is answered, as OpenAPI describes it.

Nothing is checked or made with these classes when a request is answered.  The tests compare every
answer with its description.  A number that is not finite is written as null: where that can happen,
a number may be null here.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from ..study.engine import Label
from ..study.events import KINDS
from ..study.receipts import Remedy, RowStatus
from ..study.state import Outcome
from .tokens import Role


def says(text: str) -> Any:
    """What a field means, where its name does not say it."""
    return Field(description=text)


Time = Annotated[float, says("In seconds since 1970.")]
StudyNumber = Annotated[int, says("The study's number.")]
TicketId = Annotated[str, says("The id of its ticket.")]
ArmName = Annotated[str, says("The arm's name.")]
Client = Annotated[str | None, says("Who, as the client says of itself.")]
More = Annotated[bool, says("Whether there are more than were asked for.")]
Sha256 = Annotated[str, says("SHA-256 of all the rest.")]
EventCount = Annotated[int, says("The number of events so far.")]
Sentence = Annotated[str, says("A sentence for people.")]


class Problem(TypedDict):
    """Why a request was refused."""

    type: str
    title: Annotated[str, says("The status in words.")]
    status: int
    detail: Annotated[str, says("A sentence that says what is wrong.")]
    error: NotRequired[Annotated[str, says("The name of the error in Python.")]]


class Nothing(TypedDict):
    """Done, and nothing to say."""


class Health(TypedDict):
    """The server is there."""

    ok: bool


# ---- who


class Session(TypedDict):
    """Who you are here."""

    role: Annotated[Role | None, says("Null if you are not logged in.")]
    needs_token: bool
    read_only: Annotated[bool, says("Whether nobody may change anything.")]
    version: Annotated[str, says("Of allgood.")]
    database: Annotated[str | None, says("Its name; null if you are not logged in.")]


class LoggedIn(TypedDict):
    """What the token allows."""

    role: Role


# ---- studies


class NamedStudy(TypedDict):
    """A study's number and name."""

    id: StudyNumber
    name: str


class StudyNames(TypedDict):
    """Numbers and names of studies."""

    studies: list[NamedStudy]
    more: More


class Summary(TypedDict):
    """A study in the list."""

    id: StudyNumber
    name: str
    question: Sentence
    outcome: Outcome
    arms: Annotated[int, says("The number of arms.")]
    good: Annotated[int, says("How many arms are certified good.")]
    bad: Annotated[int, says("How many arms are certified bad.")]
    open: Annotated[int, says("How many arms have no certified label yet.")]
    pulls: Annotated[int, says("Measurements that count.")]
    pending: Annotated[int, says("Measurements that were asked for and have no value.")]
    suspects: Annotated[int, says("Values that do not count until somebody looks at them.")]
    waiting: Annotated[int, says("Values that wait for earlier tickets.")]
    warnings: Annotated[
        list[Sentence], says("Why its certified labels should not be trusted; usually none.")
    ]
    budget: Annotated[int | None, says("Null: no limit.")]
    created: Time
    last: Annotated[float, says("Time of the last event, in seconds since 1970.")]
    events: EventCount
    spark: Annotated[
        list[Annotated[list[int], Field(min_length=2, max_length=2)]],
        says("For a small picture: measurements, and labels certified by then."),
    ]


class StudyInList(TypedDict):
    """A study whose state is not known here yet: ask for its summary."""

    id: StudyNumber
    name: str
    events: EventCount


class StudyList(TypedDict):
    """The studies of the database."""

    studies: list[Summary | StudyInList]
    more: More


class ObjectiveOfStudy(TypedDict):
    """What a good arm is."""

    name: Literal["additive", "multiplicative"]
    epsilon: float


class ModelOfStudy(TypedDict):
    """The model of the measurements of one arm."""

    name: str
    sigma: NotRequired[Annotated[float | list[float] | None, says("Null: unknown.")]]
    low: NotRequired[Annotated[float, says("The smallest value that can be.")]]
    high: NotRequired[Annotated[float, says("The largest value that can be.")]]


class StrategyOfStudy(TypedDict):
    """How arms are chosen."""

    name: str
    pool: Annotated[bool, says("Whether arms are also compared with the pool of good ones.")]


class StudyDesign(TypedDict):
    """What a study is to find out, and how."""

    format: Annotated[int, says("Version of the stored events.")]
    rules: Annotated[int, says("Version of how arms are chosen and labels certified.")]
    name: str
    uid: Annotated[str, says("32 hexadecimal digits of its own.")]
    arms: list[str]
    objective: ObjectiveOfStudy
    delta: Annotated[float, says("Risk that any label is ever certified wrongly.")]
    model: ModelOfStudy
    strategy: StrategyOfStudy
    seed: int
    budget: Annotated[int | None, says("Null: no limit.")]
    check_values: Annotated[bool, says("Whether values that cannot be are held back.")]
    in_order: Annotated[bool, says("Whether values count in the order of their tickets.")]
    censor_at: Annotated[float | None, says("When a waiting time is given up.")]
    max_new_arms: NotRequired[Annotated[int, says("How many arms may be added.")]]


class NewStudyAnswer(TypedDict):
    """The study that has begun."""

    id: StudyNumber
    name: str
    design: StudyDesign


class OneStudy(TypedDict):
    """What a study is to find out."""

    id: StudyNumber
    name: str
    design: StudyDesign
    question: Sentence
    created: Time
    events: EventCount


class Deleted(TypedDict):
    """The study that is no more."""

    deleted: StudyNumber


# ---- status

Average = Annotated[float | None, says("The average; null before the first measurement.")]
Low = Annotated[float | None, says("Lower end of the any-time interval; null: no end.")]
High = Annotated[float | None, says("Upper end of the any-time interval; null: no end.")]
Evidence = Annotated[float | None, says("For the label that the averages suggest; null: none yet.")]
Need = Annotated[float | None, says("What the evidence must reach; null: not known yet.")]
RestsOn = Annotated[str | None, says("The arm with which it is compared; null: the pool, or none.")]
CertifiedAfter = Annotated[
    int | None, says("Measurements of the whole study when its label was certified.")
]
Dropped = Annotated[str | None, says("Why it is not measured any more; null if it is.")]
ArmNotes = Annotated[dict[str, str], says("What was known beforehand, by headings.")]


class ArmStatus(TypedDict):
    """One arm."""

    arm: ArmName
    label: Label
    pulls: Annotated[int, says("Measurements that count.")]
    pending: Annotated[int, says("Measurements that were asked for and have no value.")]
    mean: Average
    low: Low
    high: High
    evidence: Evidence
    need: Need
    rests_on: RestsOn
    on_pool: Annotated[bool, says("Whether it is compared with the pool.")]
    certified_after: CertifiedAfter
    dropped: Dropped
    withdrawn: Annotated[bool, says("Whether it left the question before it was measured.")]
    suspect: Annotated[int, says("Values that are held back.")]
    waiting: Annotated[int, says("Values that wait for earlier tickets.")]
    censored: Annotated[int, says("Measurements that were given up at the deadline.")]
    notes: ArmNotes


class ArmColumns(TypedDict):
    """The same of all arms, a list for each field, with `arms=columns`."""

    arm: list[str]
    label: list[Label]
    pulls: list[int]
    pending: list[int]
    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]
    evidence: list[float | None]
    need: list[float | None]
    rests_on: list[str | None]
    on_pool: list[bool]
    certified_after: list[int | None]
    dropped: list[str | None]
    withdrawn: list[bool]
    suspect: list[int]
    waiting: list[int]
    censored: list[int]
    notes: list[dict[str, str]]


class Suspect(TypedDict):
    """A value that was told and does not count."""

    ticket: TicketId
    arm: ArmName
    value: float
    others: Annotated[int, says("How many other values of the arm count.")]
    mean: Annotated[float | None, says("Their average; null if there are none.")]
    message: Annotated[str, says("Why it does not count.")]


class Ticket(TypedDict):
    """One measurement of one arm that was asked for."""

    id: Annotated[str, says("By which its value is told.")]
    arm: ArmName
    batch: Annotated[int, says("The number of the call that asked for it; of its plate.")]
    well: Annotated[str | None, says("Its well, if there is a plate.")]
    client: Client
    lease_until: Annotated[float | None, says("When it is offered again; null: never.")]
    time: Annotated[float, says("When it was first asked for, in seconds since 1970.")]


class Note(TypedDict):
    """A remark, on an arm, on a ticket or on the whole study."""

    text: str
    time: Time
    client: Client
    arm: str | None
    ticket: str | None


class Origin(TypedDict):
    """The study from which this one was copied."""

    name: str
    uid: str
    events: Annotated[int, says("How many events were copied.")]
    sha256: Annotated[str, says("SHA-256 of the lines of these events.")]


class SigmaCheck(TypedDict):
    """How far values scatter, as a multiple of the stated sigma."""

    multiple: float
    low: Annotated[float, says("Lower end of an interval for it.")]
    high: Annotated[float | None, says("Its upper end; null: no end.")]
    values: Annotated[int, says("How many values this is from.")]
    verdict: Annotated[Literal["", "too small", "too large"], says("What the stated sigma is.")]


class ArmsOnPlate(TypedDict):
    """What the arms on a plate gave beyond their averages on earlier plates, in sigmas."""

    shift: float
    low: Annotated[float | None, says("Lower end of an interval for it; null: no end.")]
    high: Annotated[float | None, says("Its upper end; null: no end.")]
    chance: Annotated[float, says("At most that of such values without drift.")]
    drifts: Annotated[bool, says("Whether that is too small to be chance.")]


class ControlOnPlate(TypedDict):
    """One control on one plate."""

    n: Annotated[int, says("The number of its values.")]
    mean: float
    low: Annotated[float | None, says("Lower end of an interval of 95 %; null: none yet.")]
    high: Annotated[float | None, says("Its upper end.")]
    before: Annotated[float | None, says("The average on all earlier plates.")]
    chance: Annotated[float | None, says("Of such a difference without drift; null: no test.")]
    drifts: Annotated[bool, says("Whether that is too small to be chance.")]


class PlateCheck(TypedDict):
    """How one plate compares with those before."""

    plate: Annotated[int, says("The plate's number.")]
    time: Annotated[float, says("Of its first value, in seconds since 1970.")]
    n: Annotated[int, says("The number of values of arms.")]
    arms: Annotated[ArmsOnPlate | None, says("Null where there is nothing to compare.")]
    controls: Annotated[dict[str, ControlOnPlate], says("By name.")]


class Checks(TypedDict):
    """Whether the model fits what was told.  This changes no label."""

    sigma: Annotated[SigmaCheck | None, says("Null if there is nothing to check yet.")]
    repeats: Annotated[str, says("What is to say of values that repeat; or empty.")]
    plates: list[PlateCheck]
    with_arms: Annotated[bool, says("Whether plates are also compared by the values of arms.")]
    sentences: Annotated[list[str], says("All that is to say; empty if the model fits.")]


class Status(TypedDict):
    """A study at one moment."""

    id: StudyNumber
    name: str
    question: Sentence
    outcome: Outcome
    verdict: Sentence
    guarantee: Annotated[str, says("A sentence for people; empty if there are warnings.")]
    warnings: Annotated[
        list[Sentence], says("Why its certified labels should not be trusted; usually none.")
    ]
    good: Annotated[list[str], says("Arms that are certified good.")]
    bad: Annotated[list[str], says("Arms that are certified bad.")]
    open: Annotated[list[str], says("Arms that have no certified label yet.")]
    looks_good: Annotated[list[str], says("Open arms that are good if averages are means.")]
    looks_bad: Annotated[list[str], says("Open arms that are bad if averages are means.")]
    contradicted: Annotated[list[str], says("Arms with evidence against their certified label.")]
    arms: Annotated[list[ArmStatus] | ArmColumns | None, says("In the form that was asked for.")]
    pulls: Annotated[int, says("Measurements that count.")]
    pending: Annotated[int, says("Measurements that were asked for and have no value.")]
    failed: Annotated[int, says("Measurements that failed.")]
    corrections: Annotated[int, says("Values that were corrected.")]
    suspects: Annotated[list[Suspect], says("They do not count until somebody looks at them.")]
    waiting: Annotated[int, says("Values that wait for earlier tickets.")]
    waits_for: Annotated[Ticket | None, says("The ticket that they wait for first.")]
    budget: Annotated[int | None, says("Null: no limit.")]
    max_new_arms: Annotated[int, says("How many arms may still be added.")]
    notes: list[Note]
    origin: Annotated[Origin | None, says("Null unless the study is a copy.")]
    events: EventCount
    time: Annotated[float, says("When the status was made, in seconds since 1970.")]
    delta: Annotated[float, says("Risk that any label is ever certified wrongly.")]
    wording: Annotated[str, says("What a good arm is.")]
    model: ModelOfStudy
    typical_sigma: Annotated[float, says("Standard deviation of the values of one arm.")]
    checks: Checks


class Left(TypedDict):
    """How many measurements may still be needed: the 10 % and the 90 % point.

    Null: more than could be simulated.
    """

    low: float | None
    high: float | None


class Forecast(TypedDict):
    """The lower bound, and how much is left."""

    events: EventCount
    pulls: Annotated[int, says("Measurements that count.")]
    lower_bound: Annotated[
        float | None,
        says("On the expected number of measurements, if the averages were the means; null: none."),
    ]
    lower_bound_gap: Annotated[
        float | None, says("Worked out exactly it would be at most this part higher.")
    ]
    lower_bound_remark: Annotated[
        str | None, says("A sentence if it may be loose, or takes too long to compute; or null.")
    ]
    left: Annotated[Left | None, says("Null before every arm has a value, or at the end.")]
    exceeds_budget: Annotated[bool, says("Whether the budget will probably end first.")]
    sentences: Annotated[list[Sentence], says("All of this in words.")]


# ---- events, tickets, plates, values


class Event(TypedDict):
    """One event, without the fields that it does not have."""

    seq: Annotated[int, says("Its number, from 1.")]
    kind: Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})]
    time: Time
    client: NotRequired[str]
    ticket: NotRequired[str]
    arm: NotRequired[str]
    value: NotRequired[float]
    pooled: NotRequired[Annotated[bool, says("Whether the value joins the pool.")]]
    batch: NotRequired[int]
    well: NotRequired[str]
    lease_until: NotRequired[float]
    note: NotRequired[Annotated[str, says("A reason, a source or a remark.")]]
    data: NotRequired[Annotated[dict[str, Any], says("What only this kind of event has.")]]
    previous: NotRequired[Annotated[str, says("SHA-256 of the exported line before.")]]


class EventList(TypedDict):
    """Events, in their order."""

    events: list[Event]
    last: Annotated[int, says("Page on with after= this number.")]
    more: More


class TicketList(TypedDict):
    """Tickets without a value."""

    tickets: list[Ticket]


class SheetRow(TypedDict):
    """One line of a sheet to be filled in: a ticket, or a control."""

    ticket: Annotated[str, says("Empty for a control.")]
    arm: Annotated[str, says("The name of the arm, or of the control.")]
    plate: Annotated[int | Literal[""], says("Empty if there is none.")]
    well: Annotated[str, says("Empty if there is none.")]


class Asked(TypedDict):
    """What to measure."""

    tickets: list[Ticket]
    sheet: Annotated[list[SheetRow], says("The same, with the controls of the plate.")]
    outcome: Annotated[Outcome, says("If it is not running, there is nothing more to ask for.")]
    pending: Annotated[int, says("All tickets without a value.")]


class Plate(TypedDict):
    """One plate."""

    batch: Annotated[int, says("The plate's number.")]
    rows: int
    columns: int
    open: Annotated[int, says("Wells of arms without a value.")]
    told: Annotated[int, says("Wells of arms with a value.")]
    failed: Annotated[int, says("Wells of arms that failed.")]
    client: Client
    time: Annotated[float | None, says("When it was asked for, in seconds since 1970.")]


class PlateList(TypedDict):
    """The plates of a study, the newest first."""

    plates: list[Plate]


class Well(TypedDict):
    """One well, with an arm or with a control."""

    well: str
    arm: NotRequired[str]
    ticket: NotRequired[str]
    control: NotRequired[str]
    value: Annotated[float | None, says("Null before it is told.")]
    state: Literal["open", "told", "failed", "suspect"]


class PlateMap(TypedDict):
    """What stands in each well of a plate."""

    batch: Annotated[int, says("The plate's number.")]
    rows: int
    columns: int
    wells: Annotated[list[Well], says("Row by row, without the empty ones.")]


class Value(TypedDict):
    """A value that was told."""

    ticket: TicketId
    arm: ArmName
    value: Annotated[float, says("Of counts, their sum.")]
    state: Literal["counts", "suspect", "waiting"]
    time: Time
    batch: Annotated[int | None, says("Null if nobody had asked for it.")]
    well: str | None
    client: Client
    pooled: Annotated[bool, says("Whether it joins the pool.")]
    censored: Annotated[bool, says("Whether it is a time that was waited in vain.")]
    first: Annotated[float | None, says("The value before any correction.")]
    raw: Annotated[float | None, says("The value before it was normalised, if it was.")]
    source: Annotated[str | None, says("Of a value that nobody had asked for.")]
    n: Annotated[int, says("How many measurements; more than 1 for counts.")]
    period: Annotated[str | None, says("Of counts.")]
    scatter: Annotated[float | None, says("Of counts, about their mean.")]


class ValueList(TypedDict):
    """Values, in the order in which they were told."""

    values: list[Value]
    more: More


# ---- what became of what was told


class ReceiptRow(TypedDict):
    """What became of one value."""

    status: RowStatus
    ticket: Annotated[str, says("Of a control its plate and well, as 3:A1.")]
    value: Annotated[float | str | None, says("As it was read; a text if it is no number.")]
    message: Annotated[str, says("What is wrong, and what would mend it; or empty.")]
    line: Annotated[int, says("In the sheet or in the list, from 1; 0: of an earlier one.")]
    arm: str | None
    remedy: Annotated[Remedy, says("What would mend it, if anything does.")]


class Receipt(TypedDict):
    """What became of what was told, row by row."""

    ok: Annotated[bool, says("Whether no row was refused.")]
    counts: Annotated[dict[str, int], says("How many rows have each status.")]
    notes: Annotated[list[str], says("What should be known of how the sheet was read.")]
    warnings: Annotated[list[str], says("Why the values do not look like those of the model.")]
    rows: list[ReceiptRow]


class Change(TypedDict):
    """What a change did to the labels."""

    labels: Annotated[
        dict[str, Annotated[list[Label], Field(min_length=2, max_length=2)]],
        says("Those that differ, by arm: before and after."),
    ]
    consequence: Sentence


# ---- certificates


class CertificateStudy(TypedDict):
    """Which study it is about."""

    name: str
    uid: str


class CertificateQuestion(TypedDict):
    """What was to be found out."""

    objective: ObjectiveOfStudy
    delta: float
    arms: list[str]
    withdrawn: Annotated[list[str], says("Arms that left the question.")]
    max_new_arms: NotRequired[Annotated[int, says("How many arms may still be added.")]]


class CertificateLog(TypedDict):
    """The events that it rests on."""

    events: int
    measurements: int
    sha256: Annotated[str, says("SHA-256 of the exported lines.")]


class CertificateQuality(TypedDict):
    """Which values count, and when."""

    check_values: bool
    in_order: bool
    censor_at: float | None


class CertificateValues(TypedDict):
    """Values that need a word: numbers of tickets, or how many there are."""

    suspect: list[int]
    confirmed: list[int]
    waiting: list[int]
    censored: int
    normalised: int


class CertificateArm(TypedDict):
    """One arm."""

    arm: ArmName
    label: Label
    pulls: int
    sum: float
    scatter: NotRequired[Annotated[float, says("About its mean, where sigma is unknown.")]]
    sha256: Sha256


class CertificateEvidence(TypedDict):
    """The numbers of two sides at one moment."""

    against: Annotated[str | None, says("The rival; null: the pool.")]
    after: Annotated[int, says("Measurements of the whole study by then.")]
    pulls: Annotated[list[float], says("Of the arm, and of its rival.")]
    sums: Annotated[list[float], says("Of the arm, and of its rival.")]
    evidence: Annotated[float | None, says("Null: infinite.")]
    scatters: NotRequired[list[float]]
    influential: NotRequired[
        Annotated[
            list[float | None],
            says("Values without which the evidence is there, too, where values are checked."),
        ]
    ]
    weight: NotRequired[Annotated[float, says("Of the largest value of the pool.")]]


class CertificateClaim(TypedDict):
    """A certified label and what it rests on."""

    arm: ArmName
    label: Literal["good", "bad"]
    after: Annotated[int, says("Measurements of the whole study by then.")]
    need: float
    evidence: Annotated[float | None, says("The least of all below; null: infinite.")]
    rests_on: list[CertificateEvidence]
    sha256: Sha256


class CertificateVersions(TypedDict):
    """Of the programs that made it."""

    allgood: str
    rules: int
    python: str
    numpy: str


class Certificate(TypedDict):
    """The verdict, with every number that it rests on."""

    format: str
    study: CertificateStudy
    question: CertificateQuestion
    model: ModelOfStudy
    strategy: StrategyOfStudy
    outcome: Outcome
    log: CertificateLog
    quality: CertificateQuality
    values: CertificateValues
    arms: list[CertificateArm]
    claims: Annotated[list[CertificateClaim], says("In the order of certification.")]
    versions: CertificateVersions
    doubts: NotRequired[
        Annotated[list[str], says("Why the guarantee does not hold; only where that is so.")]
    ]
    sha256: Sha256


class Verification(TypedDict):
    """Whether a certificate is right."""

    status: Annotated[
        Literal["verified", "not verified", "recomputed only", "verified, doubtful"],
        says(
            "verified: the log agrees with everything. recomputed only: no log was given. "
            "verified, doubtful: as verified, but the certificate carries doubts."
        ),
    ]
    ok: Annotated[bool, says("Whether no problem was found; `status` says what that means.")]
    verdict: Annotated[str, says("The result in one sentence.")]
    claims: Annotated[int, says("How many were recomputed.")]
    log: Annotated[bool, says("Whether the study's events were compared, too.")]
    problems: Annotated[list[str], says("A sentence each, at most 101.")]
    doubts: Annotated[list[str], says("Why the guarantee may not hold, a sentence each.")]
    remark: Annotated[
        str | None, says("A sentence if the certificate is of an earlier moment; or null.")
    ]


# ---- without a study

Spread = Annotated[
    list[float],
    Field(
        min_length=3,
        max_length=3,
        description="The mean, and the ends between which `within` studies lie.",
    ),
]


class PlanAnswer(TypedDict):
    """What simulated studies needed from the beginning, and what was certain at their end."""

    arms: Annotated[int, says("How many, which is the number of all labels.")]
    batch: Annotated[int, says("Measurements asked for at once.")]
    runs: Annotated[int, says("Simulated studies.")]
    ended: Annotated[int, says("How many of them were certified within the budget.")]
    within: Annotated[int, says("All but the shortest and the longest tenth.")]
    pulls: Spread
    batches: Spread
    labels: Annotated[Spread, says("How many labels were certified at the end.")]
    good: Annotated[Spread, says("How many were certified good.")]
    bad: Annotated[Spread, says("How many were certified bad.")]
    right: Annotated[Spread, says("How many of all labels the best guess at the end has right.")]
    lower_bound: Annotated[float | None, says("On the expected number; null: there is none.")]
    lower_bound_remark: Annotated[str | None, says("A sentence if it may be loose; or null.")]
    characteristic_time: Annotated[float | None, says("T*; null: there is none.")]


class Alternative(TypedDict):
    """The cheapest means under which another answer would be right."""

    means: list[float]
    arm: Annotated[int | None, says("The arm whose label would be another, from 0.")]
    rival: Annotated[int | None, says("The arm that moves with it.")]
    sentence: Sentence


class Explored(TypedDict):
    """An instance: what is good, and what it costs to find out."""

    means: list[float]
    best: float
    threshold: Annotated[float, says("From here on an arm is good.")]
    good: Annotated[list[bool], says("For each arm.")]
    undecidable: Annotated[str | None, says("Why no number of measurements is enough; or null.")]
    characteristic_time: Annotated[float | None, says("T*; null if it is undecidable.")]
    weights: Annotated[list[float] | None, says("Optimal shares of the measurements.")]
    lower_bounds: Annotated[dict[str, float | None], says("By name; null: there is none.")]
    reasons: Annotated[dict[str, str], says("Why a bound is null.")]
    remark: Annotated[str | None, says("A sentence if the largest bound may be loose; or null.")]
    alternative: Alternative | None


class Frame(TypedDict):
    """A run at one moment."""

    pulls: Annotated[int, says("Measurements so far.")]
    counts: Annotated[list[int], says("Measurements of each arm.")]
    means: Annotated[list[float | None], says("Averages; null before the first measurement.")]
    labels: list[Label]


class RunAnswer(TypedDict):
    """One simulated run."""

    certified: Annotated[bool, says("Whether every label was certified.")]
    pulls: int
    wrong: Annotated[list[int], says("Arms that were labelled wrongly, from 0.")]
    frames: list[Frame]
