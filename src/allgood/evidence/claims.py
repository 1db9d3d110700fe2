"""Claims: certify single arms good or bad from counts and averages.

Arm k is good when mu_k >= c mu_l - e for every arm l (``objectives.py``).  Each arm's label is
certified by itself, when its evidence, the log of an averaged likelihood ratio at the worst
crossing of two arms, reaches its need.  With L = log(K/delta) and n the number of possible rivals:

    "k is good"   when for every rival l, now or earlier,
                                         E(k good against l)        >= L'  (at most L);
    "k is bad"    when                   E(k bad against the pool)  >= L + log(1/p),
                  or for one rival l     E(k bad against l)         >= L + log(n/(1 - p)).

The *pool* is made of rewards put aside, each chosen **before it was seen**.  With probability at
least 1 - delta no label is ever certified wrongly, for every way of choosing the arms and any
number of looks.  docs/evidence.md has the formulas of the evidence and of L', and the proof.
"""

import math
import warnings
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from .._internal.arguments import Vector, counts_and_means, probability, weights_array
from .._internal.tables import Table, Tabular, arms, html_table
from ..models import ModelWarning
from ..models.base import Model
from ..models.gaussian import Gaussian
from ..objectives import Objective
from .certify import claim_all
from .grid_mixture import GridSpec
from .normal import NormalSpec
from .open_claims import OpenClaims
from .spec import BAD, GOOD, OPEN, ClaimSpec, Sides
from .thresholds import hinv

Labels = npt.NDArray[np.bool_]

POOLED = 0.9  # part of the risk of a wrong "bad" that the pool may run; the rest: single rivals


def claim_spec(
    objective: Objective,
    delta: float,
    num_arms: int,
    model: Model,
    pooled: float,
    at_first: int | None = None,
    rough: bool = False,
) -> ClaimSpec:
    """Return the question, the needs and the prior for the kernels.

    Args:
        pooled: p.  With a single rival, or an unknown sigma, a pool cannot help, so p is 0.
        at_first: K, if it was larger when the question was put, and some arms have been
            dropped before they were measured.
        rough: for choosing arms in a run: evidence far from its need may be computed roughly.
    """
    K = num_arms if at_first is None else at_first
    additive = objective.factor == 1.0
    rivals = max(K - 1 if additive else K, 1)
    pooled = pooled if rivals > 1 and model.noise_known else 0.0
    fewer = additive and pooled == 0.0 and K > 1
    need_good, need = math.log((K - fewer) / delta), math.log(K / delta)
    need_rival = need + math.log(rivals / (1.0 - pooled))
    if not model.noise_known:
        need_good, need, need_rival = (hinv(1.0 + x) - 1.0 for x in (need_good, need, need_rival))
    surcharge_pool = -math.log(pooled) if pooled > 0.0 else math.inf
    kind = NormalSpec if model.normal else GridSpec
    needs = (need_good, need, surcharge_pool, need_rival - need)
    return kind(model, objective, units(model, num_arms), needs, rough, K)


def units(model: Model, num_arms: int) -> Vector:
    """Return the precision of one reward of each arm; 1 for models that are not normal."""
    if not model.normal:
        return np.ones(num_arms)
    precisions: Vector = 1.0 / model.sigmas(num_arms) ** 2
    return precisions


@dataclass(frozen=True)
class Question:
    """The question that claims answer: labels of one question say nothing about another."""

    arms: int
    objective: Objective
    delta: float
    model: Model
    pool: bool

    def differences(self, other: "Question") -> str:
        """Return each part that differs, with both values, in words; empty if none does."""
        parts = [
            (part.name, getattr(self, part.name), getattr(other, part.name))
            for part in fields(self)
        ]
        return ", ".join(
            f"{name} {old!r} instead of {new!r}" for name, old, new in parts if old != new
        )


@dataclass(frozen=True, eq=False, repr=False)
class Claims(Tabular):
    """The label that the data certify for each arm: good, bad or open.

    Attributes:
        good, bad, open: one True or False per arm: certified good, certified bad, neither.
        evidence: for the label that the empirical means suggest, one number per arm.  With rewards
            that are not normal, or an unknown sigma, it is the least value found.  Far above its
            need there may be lower ones; that it reaches its need is certified.
        need: the evidence that the label needs.
        rival: the arm that the evidence rests on, beside the arm itself: the hardest one for good
            arms, the likeliest one for bad arms.  The arm itself if there is none; -1 for the
            pool.
        question: the arms, objective, delta and model that the labels hold for; None for those of a
            strategy's run, which go on in that run only.
    """

    good: "Labels"
    bad: "Labels"
    open: "Labels"
    evidence: "Vector"
    need: "Vector"
    rival: "npt.NDArray[np.int64]"
    question: Question | None = None

    def __repr__(self) -> str:
        parts = [arms(label, getattr(self, label)) for label in ("good", "bad", "open")]
        return f"Claims({'; '.join(parts)})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table().columns)

    def table(self) -> Table:
        """Return one row for each arm."""
        label = np.select([self.good, self.bad], ["good", "bad"], "open")
        return Table(
            {
                "arm": list(range(self.good.size)),
                "label": label.tolist(),
                "evidence": self.evidence.tolist(),
                "need": self.need.tolist(),
                "rival": self.rival.tolist(),
            }
        )


def claims(
    counts: "npt.ArrayLike",
    means: "npt.ArrayLike",
    objective: Objective,
    delta: float,
    model: Model = Gaussian(),  # noqa: B008 - immutable
    *,
    variances: "npt.ArrayLike | None" = None,
    before: Claims | None = None,
    pool: tuple[float, float] | None = None,
) -> Claims:
    """Certify arms as good or bad from these counts and empirical means.

    All certified labels of a whole experiment are right with probability at least 1 - delta,
    for any number of looks.  The work grows with the square of the number of arms at most: about a
    second at ten thousand.

    For an arm that looks bad, of single rivals only the one with the largest likelihood ratio is
    tried.  If sigmas or counts differ much, another may now and then certify the label sooner.

    Args:
        counts: measurements of each arm, none or more.
        means: their averages; any number, or nan, for an arm without measurements.
        objective: the question.
        delta: the risk.
        model: the noise.
        variances: with Gaussian(None), and only then: the mean squared distance of each arm's
            rewards from their average (the sum divided by the count).  ModelWarning is issued if
            all arms look as if their rewards were 0 or 1.
        before: earlier claims of the same experiment, which stay certified.  They must be about the
            same number of arms, objective, delta and model, with a pool or without one as now.
        pool: rewards put aside before they were seen: the sums of 1 / sigma^2 and of
            reward / sigma^2 over them; for models that are not normal, their number and their sum.
            Pass it always or never in one experiment.

    >>> from allgood import Additive, claims
    >>> result = claims([4000, 4000, 4000], [1.0, 0.9, 0.0], Additive(0.5), delta=0.05)
    >>> result.good, result.bad
    (array([ True,  True, False]), array([False, False,  True]))
    """
    objective, model = Objective.check(objective), Model.check(model)
    N, m = counts_and_means(counts, means)
    m = model.check_means(m, among=N > 0.0)
    Q = scatter_of(N, variances, model)
    if not model.noise_known and are_zeros_and_ones(N, m, Q):
        warnings.warn(
            "The rewards seem to be 0 or 1: they are not normal, and Gaussian(None) would certify "
            "too early.  Use Bernoulli() instead.",
            ModelWarning,
            stacklevel=2,
        )
    sums = pool_sums(pool)
    question = Question(m.size, objective, probability("delta", delta), model, pool is not None)
    labels = labels_before(before, question)
    pooled = POOLED if question.pool else 0.0
    spec = claim_spec(objective, question.delta, m.size, model, pooled)
    sides = Sides(model, np.asarray(spec.unit), N, m, Q)
    return replace(claims_from(spec, sides, sums, labels), question=question)


def labels_before(before: Claims | None, question: Question) -> npt.NDArray[np.int64]:
    """Return the labels of earlier claims, all open if there are none.

    Raise ValueError if they answer another question: their risk was that of the other one.
    """
    labels = np.full(question.arms, OPEN, np.int64)
    if before is None:
        return labels
    if not isinstance(before, Claims) or before.question is None:
        raise ValueError(f"before must be Claims that allgood.claims returned: got {before!r}.")
    if differences := before.question.differences(question):
        raise ValueError(
            "before must be earlier Claims about the same question, as labels keep the risk with "
            f"which they were certified: got {differences}."
        )
    labels[before.good], labels[before.bad] = GOOD, BAD
    return labels


def pool_sums(pool: tuple[float, float] | None) -> Vector:
    """Return the two sums of a pool, zeros if there is none; raise ValueError if they are wrong."""
    sums = np.zeros(2) if pool is None else np.asarray(pool, dtype=np.float64)
    if sums.shape != (2,) or not np.isfinite(sums).all() or sums[0] < 0.0:
        raise ValueError(
            f"pool must hold two finite numbers, the first not negative: got {pool!r}."
        )
    return sums


def are_zeros_and_ones(N: Vector, m: Vector, Q: Vector) -> bool:
    """Return whether the rewards of every arm may all be 0 or 1.

    Every sum is then a whole number, and Z zeros and S ones have the scatter S Z / N.  If variances
    were computed with N - 1 in the place of N, it arrives here as S Z / (N - 1).
    """
    N, m, Q = N[N > 0.0], m[N > 0.0], Q[N > 0.0]
    S = np.round(N * m)
    Z = N - S
    whole = (np.abs(N * m - S) <= 1e-6 * N) & (S >= 0.0) & (Z >= 0.0)
    as_stated = np.abs(Q - S * Z / N) <= 1e-6 * N
    as_usual = np.abs(Q - S * Z / np.maximum(N - 1.0, 1.0)) <= 1e-6 * N
    return bool(N.sum() > N.size and whole.all() and (as_stated.all() or as_usual.all()))


def claims_from(
    spec: ClaimSpec, sides: Sides, pool: Vector, labels: npt.NDArray[np.int64]
) -> Claims:
    """Return the claims from the data of the kernels; ``labels`` certified before stay."""
    labels = labels.copy()
    evidence, need = np.full((2, labels.size), math.nan)  # for a mean that is nan, too
    rival, front = np.arange(labels.size, dtype=np.int64), np.empty(labels.size, np.int64)
    order, group = alike(spec, sides)
    with np.errstate(all="ignore"):  # uncompiled: infinities are meant
        claim_all(spec, sides, pool, labels, order, group, front, evidence, need, rival)
    return Claims(labels == GOOD, labels == BAD, labels == OPEN, evidence, need, rival)


def labels_now(
    claims: OpenClaims,
    sides: Sides,
    pool: Vector,
    labels: npt.NDArray[np.int64],
    shown: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the labels that can be certified now, and the rivals on which "bad" rests.

    ``shown`` holds how many rivals each arm has passed, in their order, and is brought up to date.
    An arm is good once it has passed all that are not certified bad.
    """
    labels, rival = labels.copy(), np.empty(labels.size, np.int64)
    with np.errstate(all="ignore"):  # uncompiled: infinities are meant
        claims.begin_look(sides, pool)
        claims.find_bad(sides, labels, rival)
        number = claims.find_candidates(sides, labels, shown)
        if number:
            order, group = alike(claims.spec, sides)
            claims.pass_rivals(sides, labels, shown, order, group, number)
    return labels, rival


def alike(spec: ClaimSpec, sides: Sides) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the arms group by group, the highest mean of each first, and the group of each arm.

    Arms of a group have equally many and equally noisy rewards.
    """
    n, u = np.asarray(sides.n), np.asarray(sides.u)
    # An influential reward gives its arm a group of its own, unless the arm has no other.  So does
    # a mean that is nan: no other rival is harder.
    is_alone = (~np.isnan(sides.influential) & (n > 1.0)) | np.isnan(sides.m)
    columns = [n, u] if spec.model.noise_known else [n, u, np.asarray(sides.Q)]
    columns.append(np.where(is_alone, np.arange(n.size), -1))
    order = np.lexsort((np.negative(sides.m), *reversed(columns)))
    begins = np.zeros(n.size, np.bool_)  # where another group begins
    for column in columns:
        begins[1:] |= np.diff(column[order]) != 0.0
    group = np.empty(n.size, np.int64)
    group[order] = np.cumsum(begins)
    return order, group


def scatter_of(N: Vector, variances: npt.ArrayLike | None, model: Model) -> Vector:
    """Return the scatter of each arm's rewards, from variances, which an unknown sigma requires."""
    if (variances is None) == (not model.noise_known):
        raise ValueError(
            "variances must be given with Gaussian(None), and only then: "
            f"got {variances!r} with {model}."
        )
    if variances is None:
        return np.zeros(N.size)
    return N * weights_array(variances, N.size, "variances")
