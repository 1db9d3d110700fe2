"""Describe the JSON of a certificate for OpenAPI; docs/certificates.md explains the format."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from .._internal.results import NullableFloat
from ..study.engine import Label
from ..study.state import Outcome
from .responses import ModelData, ObjectiveData, StrategyData


class CertificateStudy(TypedDict):
    """The study of a certificate."""

    name: str
    uid: str


class CertificateQuestion(TypedDict):
    """The question of the study.

    Attributes:
        withdrawn: arms that left the question before they were measured.
        max_new_arms: the number of arms that may still be added.
        normalise: how every value is put into units of the controls of its plate.
    """

    objective: ObjectiveData
    delta: float
    arms: list[str]
    withdrawn: list[str]
    max_new_arms: NotRequired[int]
    normalise: NotRequired[str]


class CertificateLog(TypedDict):
    """The events that a certificate rests on.

    Attributes:
        sha256: SHA-256 of the exported lines.
    """

    events: int
    measurements: int
    sha256: str


class CertificateQuality(TypedDict):
    """The options that decide which values count, and when."""

    check_values: bool
    in_order: bool
    censor_at: float | None
    min_z_prime: NotRequired[float]


class CertificateValues(TypedDict):
    """Values of special kinds: the numbers of their tickets, or how many there are."""

    suspect: list[int]
    confirmed: list[int]
    waiting: list[int]
    withdrawn: list[int]
    rejected: list[int]
    censored: int
    normalised: int


class CertificateArm(TypedDict):
    """One arm of a certificate.

    Attributes:
        scatter: the sum of squares about the mean, if sigma is unknown.
        sha256: SHA-256 of the other fields.
    """

    arm: str
    label: Label
    measurements: int
    sum: float
    scatter: NotRequired[float]
    sha256: str


class CertificateEvidence(TypedDict):
    """The numbers of an arm and of its rival when the label was certified.

    Attributes:
        against: the rival; null: the pool.
        after: the number of measurements of the whole study by then.
        measurements, sums, scatters: of the arm, and of its rival.
        evidence: null: infinite.
        influential: values without which the evidence suffices, too, if values are checked.
        weight: of the largest value of the pool.
    """

    against: str | None
    after: int
    measurements: list[float]
    sums: list[float]
    evidence: NullableFloat
    scatters: NotRequired[list[float]]
    influential: NotRequired[list[NullableFloat]]
    weight: NotRequired[float]


class CertificateClaim(TypedDict):
    """A certified label and the evidence for it.

    Attributes:
        after: the number of measurements of the whole study by then.
        evidence: the least evidence among ``rests_on``; null: infinite.
        sha256: SHA-256 of the other fields.
    """

    arm: str
    label: Literal["good", "bad"]
    after: int
    need: float
    evidence: NullableFloat
    rests_on: list[CertificateEvidence]
    sha256: str


class CertificateDoubt(TypedDict):
    """A reason why the guarantee may not hold.

    Attributes:
        multiple: kind sigma: how many times as much as sigma says values scatter.
        different: kind repeats: the number of different values.
        values: kinds sigma, repeats and withdrawn by values: the number of values.
        plate, control: kinds of drift: the plate that differs from those before, and the control.
        shift: kinds of drift: by how much; of arms in sigmas.
    """

    kind: Literal["sigma", "repeats", "control drift", "arm drift", "withdrawn by values"]
    multiple: NotRequired[float]
    different: NotRequired[int]
    values: NotRequired[int]
    plate: NotRequired[int]
    control: NotRequired[str]
    shift: NotRequired[float]


class CertificateCondition(TypedDict):
    """A statement of people on which the guarantee depends.

    Attributes:
        kind: withdrawn for a cause: the causes have nothing to do with the values.
        values: the number of values.
    """

    kind: Literal["withdrawn for a cause"]
    values: int


class CertificateVersions(TypedDict):
    """The versions of the programs that wrote a certificate."""

    allgood: str
    rules: int
    python: str
    numpy: str


class Certificate(TypedDict):
    """The verdict of a study, with every number that it rests on.

    Attributes:
        claims: the certified labels, in the order of certification.
        doubts: why the guarantee does not hold; absent if it does.
        conditions: statements of people on which the guarantee depends; absent if there are none.
        sha256: SHA-256 of the other fields.
    """

    format: str
    study: CertificateStudy
    question: CertificateQuestion
    model: ModelData
    strategy: StrategyData
    outcome: Outcome
    log: CertificateLog
    quality: CertificateQuality
    values: CertificateValues
    arms: list[CertificateArm]
    claims: list[CertificateClaim]
    versions: CertificateVersions
    doubts: NotRequired[list[CertificateDoubt]]
    conditions: NotRequired[list[CertificateCondition]]
    sha256: str
