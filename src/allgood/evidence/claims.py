"""Evidence for one arm's label, and the claims that rest on it: certified good or bad, or open.

Arm k is good when mu_k >= c mu_l - e for every arm l (``objectives.py``).  Each arm's label is
certified by itself, with a bound for just the arms that the mistake would involve, so that the
number of arms enters through log K only.

One arm.  Let it have precision v = N / sigma^2 and empirical mean m.  Against the mean x, in favour
of a larger one, average the likelihood ratio over a half-normal effect of precision rho (in units
of the arm's own 1/sigma^2):

    M = 2 Phi(y) exp(y^2/2) sqrt(rho / (v + rho)),        y = v (m - x) / sqrt(v + rho).

If the true mean is at most x, M is a supermartingale started at 1, for normal and for sub-Gaussian
rewards.  It grows with y.  In favour of a smaller mean: the same with -y.

Two arms.  Let G = m_k - c m_l + e.  Suppose that k and l meet on the threshold, at t and (t + e)/c;
then k was seen z = m_k - t above its place, and l (G - z)/c below its own.  The evidence for mu_k
>= c mu_l - e is the least over all places to meet,

    E = min over z of  log( sum_ij W_ij M_i(y_i) M_j(y_j) + sum_j T_j M_j(y'_j) ),

    y_i = v_k z / sqrt(v_k + rho_i),        y_j = v_l (G - z)/c / sqrt(v_l + rho_j),

    y'_j = (sigma_k v_k z + sigma_l v_l (G - z)/c) / sqrt(N + rho_j),

where N = N_k + N_l stands in the place of v in M_j.

The function of z is convex.  The evidence for mu_k < c mu_l - e is the same with -G.  W and T are a
prior over the two effects, and sum to 1.  W: independent, of precisions mostly alike, but not
always, for a much better known arm moves less.  T: *tied*, the same multiple of sigma, as at the
minimum for two arms that are pulled in the best proportions. One effect costs less than two, so
with two arms, which nothing keeps from these proportions, T is most of the prior.

Claims, with L = log(K/delta) and n the number of possible rivals:

    "k is good"   when for every rival l, now or earlier,
                                         E(k good against l)        >= L'  (below; at most L);
    "k is bad"    when                   E(k bad against the pool)  >= L + log(1/p),
                  or for one rival l     E(k bad against l)         >= L + log(n/(1 - p)).

The *pool* is made of rewards put aside, each chosen **before it was seen**, and treated as those of
one arm.  Whether there is one is settled before the experiment: p is POOLED if so, else 0, as it is
where there is a single rival.  With a multiplicative objective each arm is also a rival of its own:
mu_k >= c mu_k says that mu_k >= 0, and the evidence is that of one arm against x = 0.  L' is log((K
- 1)/delta) if the objective is additive, K > 1 and p = 0, else L.

Theorem.  With probability at least 1 - delta no label is ever certified wrongly, whatever chooses
the arms and however often one looks.  Proof.  Fix the true means and an arm k.

(k is bad.)  Let l be k itself if the objective is multiplicative and mu_k < 0, else the best arm,
which is good; then mu_k < c mu_l - e.  At t = mu_k the arm k is tested against its true mean, and
l, in favour of less, against (mu_k + e)/c < mu_l.  Each reward belongs to at most one of the two,
so the product of two likelihood ratios with effects >= 0, and the average of such products over W
and T, is a supermartingale started at 1; by Ville's inequality it ever reaches exp L' with
probability at most exp -L'.  E is at most the log of its value at this t.  (Rivals certified bad
may be left out: until the first wrong label l is not among them.)

(k is good.)  Every arm l has mu_l <= (mu_k + e)/c.  At t = mu_k the average for "k is bad against
l" is again a supermartingale started at 1.  So is the one for the pool: whether a reward joins is
settled before it is drawn, and its mean is at most (mu_k + e)/c.  A reward of k itself may join:
with effects -a and b in the two factors its expected contribution is at most exp(-a b / sigma^2) <=
1.  Hence a wrong claim comes from the pool with probability at most p delta/K, and from each of n
rivals with at most (1 - p)/n delta/K.

Each arm is in one of the two cases; if L' = L, the sum over arms is at most delta.

(L' < L.)  Then c = 1, and "k is bad" rests on one of n = K - 1 rivals.  Let B arms be bad, and let
* be the best arm. If l is bad, "* is bad because of l" needs no risk of its own: E(l good against
*) is a function of m_l - m_* + e that grows, and stays the same when the two arms change places;
E(* bad because of l) is its value at m_l - m_* - e.  So where the latter reaches L + log n the
former exceeds L', which was counted for l.  There remain B wrong "good" at delta/(K - 1) each, K -
1 - B good arms other than * at delta/K each, and * because of these, at delta/(K (K - 1)) each:
delta times B/(K - 1) + (K - 1 - B) (1/K + 1/(K (K - 1))), which is 1.

Other models (``models/exponential_family.py``).  The effects are shifts of the natural parameter,
from 3 down to 3/2048, and none:

    M = likelihood of the rewards at the mean x shifted by eta, over that at x.

They have mean at most 1 where they have to, and a reward that enters both factors contributes at
most 1, because the cumulant function is convex and zero at zero: the proof above holds word for
word.  Where (t + e)/c would exceed the largest mean, l is tested against that mean.  Shifts of two
arms are alike with weight T.  (L' < L: whatever t' is, at t = t' + e the average for "* is bad
because of l" has the same factor for *, and one for l against t' + 2e instead of t', which is
smaller; so E is.)

Unknown sigma.  With Q the scatter of the n rewards about their mean, s = n (m - x) and a
half-normal effect of precision rho in units of sigma, the scale integrated out (Haar), the average
is

    M = 2 T(n) exp(u^2/2) sqrt(rho / (n + rho)),
    u^2 = n log(1 + s^2 / ((n + rho) Q + rho s^2 / n)),  u with the sign of s,

T(n) being Student's distribution function with n degrees of freedom at sqrt(n) s / sqrt((n + rho) Q
+ rho s^2 / n).  It is at least Phi(u) if s < 0 and Phi(u sqrt(1 - 1/(2n))) if s > 0 (Wallace 1959),
which is used in its place.  M is a martingale among what the arm's own rewards tell up to scale,
not among what is known in all, so a product of two need not be one.  But P(sup over n of M >= u) <=
1/u for each arm's stream of rewards, whatever is pulled when, and the streams are independent: so
the sum of two logs, at the true means, ever exceeds y with probability at most (1 + y) exp(-y).  E
is then the least of log M_k + log M_l, each M averaged over rho by itself, and L is where (1 + y)
exp(-y) = delta/K; likewise with delta/(K n) for "bad".  M falls as x grows, so a mean beyond x
costs nothing. There is no pool.

For these the minimum over z is certified without convexity: one factor falls with t and the other
grows, so that on an interval both are at least what they are at one of its ends.
"""

import math
import warnings
from dataclasses import dataclass

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
    """What the kernels need to know.

    Args:
        pooled: p.  With a single rival, or where sigma is unknown, a pool cannot help, so p is 0.
        at_first: K, where it was larger when the question was put, and some arms have been
            withdrawn before they were measured.
        rough: for choosing arms in a run: evidence far from its need may be found roughly.
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
    toll_pool = -math.log(pooled) if pooled > 0.0 else math.inf
    kind = NormalSpec if model.normal else GridSpec
    needs = (need_good, need, toll_pool, need_rival - need)
    return kind(model, objective, units(model, num_arms), needs, rough, K)


def units(model: Model, num_arms: int) -> Vector:
    """The precision of one reward of each arm; 1 for models that are not normal."""
    if not model.normal:
        return np.ones(num_arms)
    precisions: Vector = 1.0 / model.sigmas(num_arms) ** 2
    return precisions


@dataclass(frozen=True, eq=False, repr=False)
class Claims(Tabular):
    """What is certain about each arm.

    Attributes:
        good, bad, open: which arms are certified good, certified bad, and neither; one True or
            False per arm.
        evidence: for the label that the empirical means suggest, one number per arm.  With rewards
            that are not normal, or an unknown sigma, it is the least value found.  Far above its
            need there may be lower ones; that it reaches its need is certified.
        need: what that evidence must reach.
        rival: the arm that the evidence rests on, beside the arm itself: the hardest one for good
            arms, the likeliest one for bad arms.  The arm itself where there is none; -1 for the
            pool.
    """

    good: "Labels"
    bad: "Labels"
    open: "Labels"
    evidence: "Vector"
    need: "Vector"
    rival: "npt.NDArray[np.int64]"

    def __repr__(self) -> str:
        parts = [arms(label, getattr(self, label)) for label in ("good", "bad", "open")]
        return f"Claims({'; '.join(parts)})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table().columns)

    def table(self) -> Table:
        """One row for each arm."""
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
    """Which arms are certified good or bad by these counts and empirical means.

    All certified labels of a whole experiment are right with probability at least 1 - delta,
    however often one looks.  The work grows with the square of the number of arms at most: about a
    second at ten thousand.

    For an arm that looks bad, of single rivals only the one with the largest likelihood ratio is
    tried.  Where sigmas or counts differ much, another may now and then certify the label sooner.

    Args:
        counts: measurements of each arm, none or more.
        means: their averages; any number, or nan, where there are none.
        objective: the question.
        delta: the risk.
        model: the noise.
        variances: with Gaussian(None), and only then: the mean squared distance of each arm's
            rewards from their average (the sum divided by the count).  ModelWarning is issued where
            all arms look as if their rewards were 0 or 1.
        before: earlier claims of the same experiment, which stay certified.
        pool: rewards put aside before they were seen: the sums of 1 / sigma^2 and of
            reward / sigma^2 over them; for models that are not normal, their number and their sum.
            Given always or never in one experiment.

    >>> from allgood import Additive, claims
    >>> found = claims([4000, 4000, 4000], [1.0, 0.9, 0.0], Additive(0.5), delta=0.05)
    >>> found.good, found.bad
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
    sums = np.zeros(2) if pool is None else np.asarray(pool, dtype=np.float64)
    if sums.shape != (2,) or not np.isfinite(sums).all() or sums[0] < 0.0:
        raise ValueError(
            f"pool must hold two finite numbers, the first not negative: got {pool!r}."
        )
    if before is not None and (not isinstance(before, Claims) or before.good.size != m.size):
        raise ValueError(
            f"before must be earlier Claims about the same {m.size} arms: got {before!r}."
        )
    pooled = 0.0 if pool is None else POOLED
    spec = claim_spec(objective, probability("delta", delta), m.size, model, pooled)
    labels = np.zeros(m.size, np.int64)
    if before is not None:
        labels[before.good], labels[before.bad] = GOOD, BAD
    sides = Sides(model, np.asarray(spec.unit), N, m, Q)
    return claims_from(spec, sides, sums, labels)


def are_zeros_and_ones(N: Vector, m: Vector, Q: Vector) -> bool:
    """Whether every arm's sum is a whole number and its scatter that of so many zeros and ones.

    Z zeros and S ones have the scatter S Z / N.  Where variances were computed with N - 1 in the
    place of N, it arrives here as S Z / (N - 1).
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
    """``claims`` from what the kernels know; ``labels`` are those certified before, and stay."""
    labels = labels.copy()
    evidence, need = np.empty(labels.size), np.empty(labels.size)
    rival, front = np.empty(labels.size, np.int64), np.empty(labels.size, np.int64)
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
    """Return the labels that can be certified now; and the rivals on which "bad" rests.

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
    """Return the arms group by group, the highest mean of each first; and the group of each arm.

    Arms of a group have equally many and equally noisy rewards.
    """
    n, u = np.asarray(sides.n), np.asarray(sides.u)
    # An odd reward makes its arm one of its own, but for arms that have no other.
    strange = ~np.isnan(sides.influential) & (n > 1.0)
    columns = [n, u] if spec.model.noise_known else [n, u, np.asarray(sides.Q)]
    columns.append(np.where(strange, np.arange(n.size), -1))
    order = np.lexsort((np.negative(sides.m), *reversed(columns)))
    begins = np.zeros(n.size, np.bool_)  # where another group begins
    for column in columns:
        begins[1:] |= np.diff(column[order]) != 0.0
    group = np.empty(n.size, np.int64)
    group[order] = np.cumsum(begins)
    return order, group


def scatter_of(N: Vector, variances: npt.ArrayLike | None, model: Model) -> Vector:
    """The scatter of each arm's rewards, from variances that are given where sigma is unknown."""
    if (variances is None) == (not model.noise_known):
        raise ValueError(
            "variances must be given with Gaussian(None), and only then: "
            f"got {variances!r} with {model}."
        )
    if variances is None:
        return np.zeros(N.size)
    return N * weights_array(variances, N.size, "variances")
