"""Check a certificate: recompute every claim of a study from the numbers it rests on.

    python verifier.py certificate.json [events.jsonl]

This file shares no code with the engine and needs nothing but the standard library.  It ends with
one of these codes, and its last line begins with these words:

    0   Verified            the log agrees with all that the certificate states
    1   Not verified        there are problems, one sentence each
    2                       the arguments are wrong
    3   Recomputed only     the claims recompute from their own numbers; no log was given
    4   Verified, doubtful  as 0, but the certificate carries doubts: the guarantee may not hold

With the log it does the whole study again: which values count, when each label was certified and on
what it rests, the outcome and the doubts; and compares that with the certificate.  Without the log
it cannot know whether the numbers come from measurements, nor whether a claim was left out.

Arm k is good when mu_k >= c mu_l - e for every arm l.  Additive: c = 1, e = epsilon.
Multiplicative: c = 1 - epsilon, e = 0.  There are K arms, with those that were withdrawn and those
that may still be added (places for new arms), and the risk is delta; a quarter of it if there was a
max_new_arms.  Each arm has n rewards with mean m (and scatter Q, where sigma is unknown).  Evidence
is a likelihood ratio, averaged over effects, at the worst place where k and l could meet:

    E = min over t of  log sum_ij W_ij M_i(k against t) M_j(l against (t + e)/c)
                           (+ sum_j T_j M_j, for normal rewards)

For "k is good" M(k) favours a mean above t, and M(l) one below (t + e)/c.  For "k is bad" it is the
reverse.

Normal rewards, and bounded ones as sub-Gaussian with sigma = (high - low)/2.  v = n/sigma^2.
Effects are half-normal with precision rho_j in units of sigma.  At a distance d in the favoured
direction:

    M = 2 Phi(y) exp(y^2/2) sqrt(r/(v + r)),    y = v d / sqrt(v + r),    r = rho_j/sigma^2;

    tied (T): one effect, the same multiple of either sigma:
    y = (sigma_k v_k d_k + sigma_l v_l d_l) / sqrt(N + rho_j), and M with N = n_k + n_l and rho_j
    in place of v and r.

With G = m_k + e - c m_l (its negative for "bad"), d_k = z and d_l = (G - z)/c.  The log of the sum,
f, is convex in z.  So three values f(a) >= f(b) <= f(c) bound it from below: on [b, c] by the line
through those at a and b, on [a, b] by the line through those at b and c.

Other rewards.  Effects are shifts eta of the natural parameter, and no effect.  With S = n m:

    Bernoulli:      M = exp(eta S) (1 + x (exp(eta) - 1))^-n
    Poisson:        M = exp(eta S - n x (exp(eta) - 1))
    exponential:    M = exp(-n eta + (S/x)(1 - exp(-eta)))
    no effect:      M = 1
    unknown sigma:  as for normal rewards, M = 2 Phi(..) exp(u^2/2) sqrt(rho/(n + rho)), with
                    s = n d of either sign, u^2 = n log(1 + s^2/((n + rho) Q + rho s^2/n)),
                    Phi at u sqrt(1 - 1/(2n)) if s > 0, at -u if s < 0; W = w w'.

(t + e)/c is cut at the largest mean, 1 for Bernoulli.  One factor falls with t and the other grows.
So on an interval E is at least what the factors give with each at its lower end.  Intervals are
halved until this reaches the need on all of them.

Needs.  There are n possible rivals: K - 1 (additive, but at least 1) or K.  p = 0.9 if there is a
pool, n > 1 and sigma is known; otherwise p = 0.  L = log(K/delta).

    bad:   L + log(1/p) against the pool, L + log(n/(1 - p)) against one rival
    good:  L against each rival that is not certified bad; log((K - 1)/delta) if additive, p = 0
           and K > 1
    With unknown sigma: y with (1 + y) exp(-y) = exp(-that) instead.

Where values are checked (``quality``), 0.999 delta stands in the place of delta.  A thousandth of
delta pays for values that are held back as suspect: the j-th value of an arm, j >= 2, if the chance
that one lies at least so far from the n before, with mean m and scatter Q, is below

    delta/1000 / (K j (j - 1)).

Bounds on that chance, with f = n - 1 degrees of freedom for unknown sigma:

    normal:         2 exp(-z^2/2),  z = (x - m)/(sigma sqrt(1 + 1/n))
    Poisson:        2 exp(-T d(x/T, 1/(n + 1))),  T = n m + x, d the divergence of Bernoulli models
    exponential:    2 min(p, 1 - p),  p = (1 + x/(n m))^-n
    Bernoulli:      2 exp(-n d(m, c) - d(x, c)),  c the mean of all n + 1
    unknown sigma:  2 c f/((f - 1) t) (1 + t^2/f)^(-(f - 1)/2),  t = (x - m)/sqrt(Q/f (1 + 1/n)),
                    c the density of Student's distribution at 0; 2/(pi t) for f = 1

No label rests on a single value, where values are checked.  Each arm may have one *influential*
value: its only one; or the least or the largest that nobody confirmed, if its chance, by the same
bounds with all others given, is below 0.01/n (0.5/n for waiting times), the lower of the two.  The
evidence must reach its need with it and without it, whichever influential values of the two sides
are left out; if fewer than two values would be left, it does not.  Likewise for the largest value
of the pool, without which the pool must still lie above k.

When.  The study looks where a tell ends, which is where the time of the events changes, and after
every K/10 rewards (at least 1), from the moment on when every arm has a value.  An arm below
c max m - e is tried as bad: against the pool; against the rival with the largest ratio of
likelihoods, G^2/(2 (1/v_k + c^2/v_l)) with v the precision of a mean, unless that trails the pool's
by more than 1; and against zero, if it is its own rival and its mean is below zero.  Then every
other arm passes its rivals in their order, as far as the evidence reaches; those certified bad
count as passed.  Labels stay.

Doubts.  With values in units of the stated sigma, N of them in K arms and Q their scatter:

    sigma too small:    the average over theta of theta^(-N/2) exp((1 - 1/theta) Q/2) reaches 200
    values repeat:      bets that the next value is one of the k most frequent win 100 times as much
    a control drifts:   Student's test of a plate against all before
    the arms drift:     the average over rho of exp(-C) (1 + V)^(-1/2) exp(D^2/(2 (1 + V)))

Where this lies at its limit within rounding, either answer is accepted.  That holds for evidence,
too: within REACH of its need; or, for families whose minimum the engine has to search for, within
SEARCH above it.

The pool counts as one arm with the largest sigma.  Multiplicative: k itself is a rival, and M
averaged over the effects of one arm, against 0, is the evidence for the sign of mu_k.
"""

import bisect
import functools
import hashlib
import itertools
import json
import math
import operator
import re
import reprlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

FORMAT, RULES, STRATEGY = "allgood certificate 1", 1, "claim-by-claim"
LOG_FORMAT, SHARE, CASES, LOOKS = 1, 0.001, 4, 10
PRECISIONS, WEIGHTS = (5.0, 70.0, 1e3, 1.4e4, 2e5), (0.18, 0.34, 0.26, 0.14, 0.08)
PRECISIONS_OF_TWO, WEIGHTS_OF_TWO = (8.0, 100.0, 1.5e3, 3e4), (0.3, 0.4, 0.2, 0.1)  # where K = 2
UNLIKE, TIED, TIED_OF_TWO, TIED_OF_MANY, POOLED = 0.4, 0.3, 0.95, 0.7, 0.9
SHIFTS = tuple(3.0 / 2**j for j in range(12))
CENTRE, SPREAD, TAIL, NO_EFFECT = 0.15, 1.8, 1.5, 0.02
PRECISIONS_UNKNOWN = (0.3, 3.0, 30.0, 3e2, 3e3, 3e4, 3e5)
WEIGHTS_UNKNOWN = (0.05, 0.10, 0.17, 0.24, 0.22, 0.12, 0.08)
REACH = 1e-6  # by which recomputed evidence may miss the need
SEARCH = 0.05  # by which the engine's search may miss what it could show; not for normal rewards
INFLUENTIAL, INFLUENTIAL_TIME = 0.01, 0.5  # for all families; for waiting times
MOST_PROBLEMS = 100  # the check stops there
STEPS = 4_000_000  # of a check: evaluations of the evidence, and values heard again
STEPS_PER_EVENT = 50  # in addition
NORMAL, UNKNOWN = "normal", "unknown sigma"

# Tests of the model: their risks, what they average over, and the bets on repeats.
SIGMA_RISK, REPEATS_RISK, DRIFT_RISK = 0.005, 0.01, 0.01
AT_FIRST, OF_ARMS, SURE, SLIPS = 0.9, 0.2, 0.95, 2
LARGER = tuple(x * x for x in (1.01, 1.02, 1.04, 1.08, 1.16, 1.32, 1.64, 2.3, 3.6))
RHO = (2.0, 8.0, 32.0, 128.0, 512.0)
BETS, BETS_LEFT, FIRST_BET = (2, 5, 10), (0.5, 0.125), 5
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")

# The keys that the parts of a certificate may have.
OF_ENTRY = {"against", "after", "pulls", "sums", "scatters", "evidence", "influential", "weight"}
OF_CLAIM = {"arm", "label", "after", "need", "evidence", "rests_on", "sha256"}
OF_ARM = {"arm", "label", "pulls", "sum", "scatter", "sha256"}
OF_PARTS = {
    "study": {"name", "uid"},
    "question": {"objective", "delta", "arms", "withdrawn", "max_new_arms"},
    "log": {"events", "measurements", "sha256"},
    "quality": {"check_values", "in_order", "censor_at"},
    "values": {"suspect", "confirmed", "waiting", "censored", "normalised"},
    "versions": {"allgood", "rules", "python", "numpy"},
    "source": {"file", "sha256"},
}
OF_CERTIFICATE = {"format", "model", "strategy", "outcome", "arms", "claims", "doubts", "sha256"}
OF_CERTIFICATE |= OF_PARTS.keys()

USAGE = 2
EXIT_CODES = {"verified": 0, "not verified": 1, "recomputed only": 3, "verified, doubtful": 4}
LARGEST, GOLDEN = 1e100, (3.0 - math.sqrt(5.0)) / 2.0


@dataclass(frozen=True)
class Verification:
    """The result of a check.

    Attributes:
        problems: one sentence each; none if all agrees.
        claims: how many were recomputed.
        log_checked: whether the log was given and read to its end.
        remark: a sentence if the certificate is of an earlier moment of the log; else empty.
        doubts: why the guarantee may not hold, as the certificate states it.
    """

    problems: tuple[str, ...]
    claims: int
    log_checked: bool
    remark: str = ""
    doubts: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no problem was found; ``status`` says what that means."""
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
        if self.problems:
            number = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            return f"Not verified: {number}."
        if not self.log_checked:
            return (
                f"Recomputed only: {claims} recomputed from their own numbers. No log was given, "
                "so nothing shows that these numbers come from measurements."
            )
        agree = f"{claims} recomputed, and the events of the study agree"
        if self.doubts:
            return f"Verified, doubtful: {agree}; but the guarantee may not hold (see the doubts)."
        return f"Verified: {agree}."

    def lines(self) -> list[str]:
        """What to print: problems, doubts, the remark, and the verdict at the end."""
        doubts = [f"The certificate itself doubts the guarantee: {text}" for text in self.doubts]
        return [*self.problems, *doubts, *([self.remark] if self.remark else []), self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """The result for JSON."""
        return {
            "status": self.status,
            "ok": self.ok,
            "verdict": self.verdict,
            "claims": self.claims,
            "log": self.log_checked,
            "problems": list(self.problems),
            "doubts": list(self.doubts),
            "remark": self.remark or None,
        }


class InvalidCertificate(ValueError):
    """A part of the file is not what it must be."""


@dataclass
class Work:
    """Steps that a check may still take, so that no file keeps it busy without end."""

    most: int = STEPS
    spent: int = 0
    pause: Callable[[], object] | None = None  # called between steps; may raise an exception

    def spend(self, steps: int = 1) -> None:
        if self.pause is not None and self.spent // 1000 < (self.spent + steps) // 1000:
            self.pause()
        self.spent += steps
        if self.spent > self.most:
            raise InvalidCertificate(
                f"it takes more than the {self.most:,} steps that a check may take"
            )


@dataclass(frozen=True)
class Side:
    """One side of a comparison: an arm, or the pool."""

    n: float
    m: float
    Q: float
    sigma: float


# A side, and what is left of it without its influential value: None if that is too little.
Pair = tuple[Side, Side | None]


@dataclass(frozen=True)
class Question:
    """What is asked, under which model, and what evidence must reach."""

    arms: list[str]  # not withdrawn
    family: str
    sigmas: dict[str, float]
    c: float
    e: float
    low: float
    high: float
    needs: dict[str, float]  # "good", "pool" (if there is one), "rival"
    checked: bool  # whether values are checked, and labels must not rest on influential ones
    # rho (normal), eta, or 1/sqrt(rho) (unknown sigma).  The latter two end with 0: no effect.
    effects: list[float]
    W: list[list[float]]
    T: list[float]
    work: Work = field(default_factory=Work, repr=False, compare=False)

    @property
    def signed(self) -> bool:
        """Whether an arm is its own rival: its mean may be below zero, which would make it bad."""
        return self.c < 1.0 and self.family in (NORMAL, UNKNOWN)


# ---- the mathematics


def prior(family: str, K: int) -> tuple[list[float], list[list[float]], list[float]]:
    """Effects, and their weights W and T."""
    if family == UNKNOWN:
        w = [(1.0 - NO_EFFECT) * x / sum(WEIGHTS_UNKNOWN) for x in WEIGHTS_UNKNOWN] + [NO_EFFECT]
        return (
            [1.0 / math.sqrt(rho) for rho in PRECISIONS_UNKNOWN] + [0.0],
            [[x * y for y in w] for x in w],
            [],
        )
    tied_of_many = min((2.0 / K) ** TIED_OF_MANY, 1.0) if family == NORMAL else TIED
    tied = TIED_OF_TWO if K == 2 else tied_of_many
    if family == NORMAL:
        w = list(WEIGHTS_OF_TWO if K == 2 else WEIGHTS)
        W = [
            [math.sqrt(x * y) * UNLIKE ** abs(i - j) for j, y in enumerate(w)]
            for i, x in enumerate(w)
        ]
        total = sum(map(sum, W))
        W = [[x / total for x in row] for row in W]
        T = [tied * sum(row) for row in W]
        return (
            list(PRECISIONS_OF_TWO if K == 2 else PRECISIONS),
            [[(1 - tied) * x for x in row] for row in W],
            T,
        )
    w = [math.exp(-0.5 * (math.log(x / CENTRE) / SPREAD) ** 2) for x in SHIFTS]
    w = [x / sum(w) for x in w]
    W = [
        [math.sqrt(x * y) / (1 + abs(i - j)) ** TAIL for j, y in enumerate(w)]
        for i, x in enumerate(w)
    ]
    total, rest = sum(map(sum, W)), 1.0 - 2.0 * NO_EFFECT
    W = [
        [rest * ((1 - tied) * x / total + tied * w[i] * (i == j)) for j, x in enumerate(r)]
        for i, r in enumerate(W)
    ]
    return (
        [*SHIFTS, 0.0],
        [[*row, NO_EFFECT * x] for row, x in zip(W, w, strict=True)]
        + [[NO_EFFECT * x for x in w] + [0.0]],
        [],
    )


def needs(family: str, c: float, K: int, delta: float, pool: bool) -> dict[str, float]:
    n = max(K - 1 if c == 1.0 else K, 1)
    p = POOLED if pool and n > 1 and family != UNKNOWN else 0.0
    L = math.log(K / delta)
    needed = {"good": L, "rival": L + math.log(n / (1.0 - p))}
    if p > 0.0:
        needed["pool"] = L - math.log(p)
    elif c == 1.0 and K > 1:
        needed["good"] = math.log((K - 1) / delta)
    return {key: stretched(x) for key, x in needed.items()} if family == UNKNOWN else needed


def stretched(x: float) -> float:
    """The y > 0 with y - log(1 + y) = x, by Newton's method from above."""
    y = 2.0 * x + 2.0
    for _ in range(100):
        y -= (y - math.log1p(y) - x) * (1.0 + y) / y
    return y


def log_half_normal(y: float) -> float:
    """log(2 Phi(y) exp(y^2/2)); far below zero by the asymptotic series."""
    if y > -20.0:
        return math.log(math.erfc(-y / math.sqrt(2.0))) + 0.5 * y * y
    x = 1.0 / (y * y)
    return math.log(math.sqrt(2.0 / math.pi) / -y) + math.log1p(
        -x * (1 - 3 * x * (1 - 5 * x * (1 - 7 * x)))
    )


def log_normal_factor(v: float, vd: float, r: float) -> float:
    return log_half_normal(vd / math.sqrt(v + r)) - 0.5 * math.log1p(v / r)


def log_sum(weights: Sequence[float], logs: Sequence[float]) -> float:
    top = max(logs)
    return top + math.log(sum(w * math.exp(x - top) for w, x in zip(weights, logs, strict=True)))


def normal_function(
    question: Question, up: int, k: Side, l: Side
) -> tuple[Callable[[float], float], float, float]:
    """Return f of the head, where to begin the search for its minimum, and the first step."""
    v_k, v_l, N, c = k.n / k.sigma**2, l.n / l.sigma**2, k.n + l.n, question.c
    G = up * (k.m + question.e - c * l.m)
    weights = [x for row in question.W for x in row] + question.T

    def f(z: float) -> float:
        question.work.spend()
        vd_k, vd_l = v_k * z, v_l * (G - z) / c
        a = [log_normal_factor(v_k, vd_k, rho / k.sigma**2) for rho in question.effects]
        b = [log_normal_factor(v_l, vd_l, rho / l.sigma**2) for rho in question.effects]
        tied = [
            log_normal_factor(N, k.sigma * vd_k + l.sigma * vd_l, rho) for rho in question.effects
        ]
        return log_sum(weights, [x + y for x in a for y in b] + tied)

    v = v_l + c * c * v_k
    return f, G * v_l / v, c / math.sqrt(v)


def normal_evidence(question: Question, up: int, k: Side, l: Side) -> float:
    return least(*normal_function(question, up, k, l))[1]


def least(f: Callable[[float], float], start: float, step: float) -> tuple[float, float]:
    """The least value of golden section, and a lower bound on a convex function (see the head)."""
    a, b, c = start - step, start, start + step
    fa, fb, fc = f(a), f(b), f(c)
    for _ in range(200):
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
                return fb, fb - slack
            x = b + GOLDEN * (c - b) if c - b > b - a else b - GOLDEN * (b - a)
            fx = f(x)
            if x > b:
                a, b, c, fa, fb, fc = (b, x, c, fb, fx, fc) if fx < fb else (a, b, x, fa, fb, fx)
            else:
                a, b, c, fa, fb, fc = (a, x, b, fa, fx, fb) if fx < fb else (x, b, c, fx, fb, fc)
    return fb, -math.inf


def log_factor(family: str, side: Side, x: float, eta: float) -> float:
    """log M against the mean x: in favour of more if eta > 0, of less if eta < 0."""
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


def factors(question: Question, side: Side, x: float, sign: int) -> Scaled:
    logs = [log_factor(question.family, side, x, sign * eta) for eta in question.effects]
    top = max(logs)
    return top, [math.exp(y - top) if y < top else 1.0 for y in logs]


def meeting_at(question: Question, up: int, k: Side, l: Side, t: float) -> tuple[Scaled, Scaled]:
    """Factors of k against t, and of l where it meets k at t, summed over their weights."""
    question.work.spend()
    top, b = factors(question, l, min((t + question.e) / question.c, question.high), -up)
    return factors(question, k, t, up), (
        top,
        [sum(map(operator.mul, row, b)) for row in question.W],
    )


def joint(first: tuple[Scaled, Scaled], second: tuple[Scaled, Scaled]) -> float:
    (top_a, a), (top_b, b) = first[0], second[1]
    total = sum(map(operator.mul, a, b))
    return top_a + top_b + math.log(total) if total > 0.0 else -math.inf


def places_to_meet(question: Question, up: int) -> tuple[float, float]:
    """Return the least and the largest t; the first is above the second if there is none."""
    high = min(question.high, question.c * question.high - question.e) if up > 0 else question.high
    return question.low, high


def other_evidence(question: Question, up: int, k: Side, l: Side, need: float) -> float:
    """The least value seen if the minimum is shown to reach ``need``; else a value below it."""
    low, high = places_to_meet(question, up)
    if low > high:
        return math.inf  # no means of the family make k bad

    def at(t: float) -> tuple[Scaled, Scaled]:
        return meeting_at(question, up, k, l, t)

    def f(t: float) -> float:
        here = at(t)
        return joint(here, here)

    def inside(t: float) -> float:
        return min(max(t, low), high)

    p, q = sorted((inside(k.m), inside(question.c * l.m - question.e)))
    width = q - p or 1e-3 * (1.0 + abs(p))
    steps = [0.0] + [
        sign * width / 2**j for j in range(14) for sign in (1, -1)
    ]  # valleys may be wide or narrow
    probes = sorted({inside(x + step) for x in (p, q) for step in steps})
    heights = [math.inf, *map(f, probes), math.inf]
    value = min(heights)
    valleys = [i for i, h in enumerate(heights[1:-1]) if heights[i] >= h <= heights[i + 2]]
    for i in sorted(valleys, key=lambda i: heights[i + 1])[:3]:
        step = max(
            (abs(probes[i] - x) for x in probes[max(i - 1, 0) : i + 2] if x != probes[i]),
            default=width,
        )
        value = min(value, least(lambda t: f(inside(t)), probes[i], step)[0])
    ends = sorted({low, p, q, high})
    intervals = [(x, y, at(x), at(y)) for x, y in itertools.pairwise(ends)]
    for _ in range(40_000):
        if value < need or not intervals:
            return value
        left, right, at_left, at_right = intervals.pop()
        bound = joint(at_right, at_left) if up > 0 else joint(at_left, at_right)
        if bound >= need:
            continue
        if math.isinf(right):
            middle = 2.0 * left - p + width
        elif math.isinf(left):
            middle = 2.0 * right - q - width
        else:
            middle = 0.5 * (left + right)
        if not left < middle < right:
            return bound
        at_middle = at(middle)
        value = min(value, joint(at_middle, at_middle))
        intervals += [(left, middle, at_left, at_middle), (middle, right, at_middle, at_right)]
    return math.nextafter(need, -math.inf)  # not decided within this work


def own_evidence(question: Question, up: int, k: Side) -> float:
    """That the mean is above zero (up = 1) or below."""
    w = [
        sum(row) + tied
        for row, tied in zip(question.W, question.T or [0.0] * len(question.W), strict=True)
    ]
    if question.family == UNKNOWN:
        return log_sum(w, [log_factor(UNKNOWN, k, 0.0, up * eta) for eta in question.effects])
    v = k.n / k.sigma**2
    return log_sum(
        w, [log_normal_factor(v, up * v * k.m, rho / k.sigma**2) for rho in question.effects]
    )


def precision(question: Question, side: Side) -> float:
    """Return one over the variance of the mean, as the study estimates it."""
    n, m = side.n, side.m
    if question.family == NORMAL:
        return n / side.sigma**2
    variance = m * m
    if question.family in ("bernoulli", "poisson"):
        variance = (n * m + 0.5) / (n + 1.0)
        variance *= 1.0 - variance if question.family == "bernoulli" else 1.0
    elif question.family == UNKNOWN:
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


def falls_short(question: Question, up: int, k: Side, l: Side, need: float) -> bool:
    """Return True if one place to meet shows that the evidence is less than ``need``.

    The ratio of normal likelihoods is never less than their evidence.
    """
    G = up * (k.m + question.e - question.c * l.m)
    v_k, v_l = precision(question, k), precision(question, l)
    if question.family == NORMAL:
        if G <= 0.0 or normal_ratio(G, v_k, v_l, question.c) < need:
            return True
        f, start, _ = normal_function(question, up, k, l)
        return f(start) < need
    low, high = places_to_meet(question, up)
    v = v_l + question.c**2 * v_k
    if low > high or not 0.0 < v < math.inf:
        return False
    t = min(max(k.m - up * G * v_l / v, low), high)
    if t <= 0.0 and low == 0.0:
        t = min(0.01 * k.m, high)
    if t <= 0.0 and question.family == "exponential":
        return False
    here = meeting_at(question, up, k, l, t)
    return joint(here, here) < need


def with_rest(n: float, m: float, Q: float, sigma: float, x: float | None) -> Pair:
    """Return a side, and what is left of it without the value x."""
    side = side_of(n, m, Q, sigma)
    if x is None:
        return side, side
    if n < 3:
        return side, None
    mean = (n * m - x) / (n - 1.0)
    return side, side_of(n - 1.0, mean, max(Q - (x - m) * (x - mean), 0.0), sigma)


def side_of(n: float, m: float, Q: float, sigma: float) -> Side:
    return Side(n, m, Q, sigma)


def pool_pair(
    question: Question, V: float, W: float, largest: tuple[float, float], m_k: float
) -> Pair:
    """Return the pool, and what is left of it without its largest value, if that lies above k.

    V and W are the sums of the weights and of the weighted rewards; ``largest`` has its weight.
    """
    sigma = max(question.sigmas.values()) if question.family == NORMAL else 1.0
    side = side_of(V * sigma**2, W / V, 0.0, sigma)
    if not question.checked or largest[1] == 0.0:
        return side, side
    V, W = V - largest[1], W - largest[1] * largest[0]
    if V <= 0.0 or not question.c * W > (question.e + m_k) * V:
        return side, None
    return side, side_of(V * sigma**2, W / V, 0.0, sigma)


def least_evidence(question: Question, up: int, k: Pair, l: Pair | None, need: float) -> float:
    """The evidence, whichever influential values are left out; at most 0 if one is needed."""
    if l is None:
        value = evidence(question, up, k[0], None, need)
        return min(value, 0.0 if k[1] is None else evidence(question, up, k[1], None, need))
    value = evidence(question, up, k[0], l[0], need)
    if k[1] is None or l[1] is None:
        return min(value, 0.0)
    for first, second in {(k[1], l[0]): 0, (k[0], l[1]): 0, (k[1], l[1]): 0}:
        if value < need - REACH:
            break
        if (first, second) != (k[0], l[0]):
            value = min(value, evidence(question, up, first, second, need))
    return value


def evidence(question: Question, up: int, k: Side, l: Side | None, need: float) -> float:
    """That k is good (up = 1) or bad (-1) against l; against itself if there is no l."""
    if l is None:
        return own_evidence(question, up, k)
    return (
        normal_evidence(question, up, k, l)
        if question.family == NORMAL
        else other_evidence(question, up, k, l, need - REACH)
    )


# ---- the file


def show(value: object) -> str:
    """Show the beginning of a value, however large it is."""
    try:
        text = SHORT.repr(value)
    except (ValueError, RecursionError):
        text = f"{type(value).__name__} too large to show"
    return text if len(text) <= 60 else f"{text[:57]}..."


SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = SHORT.maxlong = 60
SHORT.maxlist = SHORT.maxdict = 12


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


KINDS: dict[str, Callable[[Any], bool]] = {
    "a text": lambda x: isinstance(x, str),
    "true or false": lambda x: isinstance(x, bool),
    "a number": is_number,
    "a number or null": lambda x: x is None or is_number(x),
    "a whole number": lambda x: is_number(x) and isinstance(x, int) and x >= 0,
    "an object": lambda x: isinstance(x, dict),
    "a list": lambda x: isinstance(x, list),
    "a list of texts": lambda x: isinstance(x, list) and all(isinstance(y, str) for y in x),
    "two numbers": lambda x: isinstance(x, list) and len(x) == 2 and all(map(is_number, x)),
    "two numbers or null": lambda x: (
        isinstance(x, list) and len(x) == 2 and all(y is None or is_number(y) for y in x)
    ),
}


def take(part: object, key: str, kind: str) -> Any:
    if not isinstance(part, dict):
        raise InvalidCertificate(f"must be an object: got {show(part)}")
    if key not in part:
        raise InvalidCertificate(f"{key} is missing")
    if not KINDS[kind](part[key]):
        raise InvalidCertificate(f"{key} must be {kind}: got {show(part[key])}")
    return part[key]


def demand(truth: bool, message: str) -> None:
    if not truth:
        raise InvalidCertificate(message)


def demand_keys(part: object, known: set[str]) -> None:
    """Refuse what the format does not have: nothing would check it."""
    if isinstance(part, dict):
        unknown = next((key for key in part if key not in known), None)
        demand(unknown is None, f"the format has no {show(unknown)} here")


def digest(part: dict[str, Any]) -> str:
    rest = {key: value for key, value in part.items() if key != "sha256"}
    text = json.dumps(
        rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def check_digest(part: dict[str, Any]) -> Iterator[str]:
    if take(part, "sha256", "a text") != digest(part):
        yield "its sha256 is not that of its content"


def read_question(certificate: dict[str, Any]) -> Question:
    asked, model, strategy = (
        take(certificate, key, "an object") for key in ("question", "model", "strategy")
    )
    objective, delta = take(asked, "objective", "an object"), take(asked, "delta", "a number")
    arms, withdrawn = (
        take(asked, "arms", "a list of texts"),
        take(asked, "withdrawn", "a list of texts"),
    )
    gone = set(withdrawn)
    demand(len(set(arms)) == len(arms), "arms must have different names")
    demand(len(gone) == len(withdrawn) and gone <= set(arms), "withdrawn must be some of the arms")
    demand(0.0 < delta < 1.0, f"delta must lie strictly between 0 and 1: got {show(delta)}")
    kind, epsilon = take(objective, "name", "a text"), take(objective, "epsilon", "a number")
    demand(
        kind in ("additive", "multiplicative"),
        f"the objective must be additive or multiplicative: got {show(kind)}",
    )
    c, e = (1.0, float(epsilon)) if kind == "additive" else (1.0 - epsilon, 0.0)
    demand(
        e > 0.0 if kind == "additive" else 0.0 < c < 1.0,
        f"epsilon is out of range: got {show(epsilon)}",
    )
    name, low, high, sigmas = take(model, "name", "a text"), -math.inf, math.inf, [1.0] * len(arms)
    family = name
    if name == "gaussian":
        sigma = model.get("sigma", "missing")
        family = UNKNOWN if sigma is None else NORMAL
        if sigma is not None:
            sigmas = sigma if isinstance(sigma, list) else [sigma] * len(arms)
            right = len(sigmas) == len(arms) and all(
                is_number(x) and x >= 1.0 / LARGEST for x in sigmas
            )
            demand(right, f"sigma must be positive, null, or one per arm: got {show(sigma)}")
    elif name == "bounded":
        family, low, high = NORMAL, take(model, "low", "a number"), take(model, "high", "a number")
        demand(high - low >= 1.0 / LARGEST, "low must be less than high")
        sigmas = [(high - low) / 2.0] * len(arms)
    else:
        demand(
            name in ("bernoulli", "poisson", "exponential"), f"no model has the name {show(name)}"
        )
        low, high = 0.0, 1.0 if name == "bernoulli" else math.inf
    demand(take(strategy, "name", "a text") == STRATEGY, f"the strategy must be {STRATEGY}")
    left = {arm: float(x) for arm, x in zip(arms, sigmas, strict=True) if arm not in gone}
    pool = take(strategy, "pool", "true or false")
    checked = take(take(certificate, "quality", "an object"), "check_values", "true or false")
    risk = (1.0 - SHARE) * delta if checked else delta
    max_new_arms = 0
    if "max_new_arms" in asked:
        max_new_arms, risk = take(asked, "max_new_arms", "a whole number"), risk / CASES
        demand(checked, "values must be checked where arms may be added")
    K = len(arms) + max_new_arms  # arms that were withdrawn, or not added, count here
    required = needs(family, c, K, risk, pool)
    return Question(list(left), family, left, c, e, low, high, required, checked, *prior(family, K))


@dataclass(frozen=True)
class Entry:
    """What a claim rests on: numbers of the arm and of its rival or the pool, at one moment."""

    claim: str
    arm: str
    against: str | None
    after: int
    numbers: list[tuple[float, float, float]]  # of either side: pulls, sum, scatter
    influential: list[float | None]  # of the arm, and of its rival; or the largest of the pool
    weight: float  # of the largest of the pool
    evidence: float  # as stated; inf for null: certain


@dataclass(frozen=True)
class Claim:
    """A claim of the certificate that could be read."""

    title: str
    arm: str
    label: str
    after: int
    entries: dict[str | None, Entry]


def read_entry(question: Question, claim: str, arm: str, part: object) -> Entry:
    demand_keys(part, OF_ENTRY)
    pulls, sums = take(part, "pulls", "two numbers"), take(part, "sums", "two numbers")
    scatters = take(part, "scatters", "two numbers") if question.family == UNKNOWN else [0.0, 0.0]
    after, stated = (
        take(part, "after", "a whole number"),
        take(part, "evidence", "a number or null"),
    )
    demand(isinstance(part, dict) and "against" in part, "against is missing")
    against: Any = part["against"] if isinstance(part, dict) else None
    name = "the pool" if against is None else show(against)
    known = against is None or (isinstance(against, str) and against in question.sigmas)
    demand(known, f"{name} in rests_on is no arm of the question")
    demand(against != arm or question.signed, "an arm is no rival of its own here")
    whole = pulls if against is not None else pulls[:1]
    demand(
        all(isinstance(n, int) for n in whole) and min(*pulls) > 0,
        f"pulls against {name} must be whole numbers above 0",
    )
    seen = sum(whole) if against != arm else pulls[0]
    others = len(question.arms) - len({arm, against} - {None})
    demand(
        seen + others <= after,
        f"the moment against {name}, after {after}, is too early for so many pulls",
    )
    numbers = list(zip(pulls, sums, scatters, strict=True))
    demand(against != arm or numbers[0] == numbers[1], "both sides against itself must be the same")
    for n, S, Q in numbers:
        room = 1e-9 * abs(S)
        inside = n * question.low - room <= S <= n * question.high + room and (
            question.family != "exponential" or S > 0.0
        )
        demand(inside and Q >= 0.0, f"no rewards have the sums against {name}")
    influential: list[float | None] = [None, None]
    weight = 0.0
    if question.checked:
        influential = take(part, "influential", "two numbers or null")
        for n, x in zip(whole, influential, strict=False):
            demand(n > 1 or x is not None, f"a label rests on a single value, against {name}")
        if against is None:
            weight = take(part, "weight", "a number")
            demand(
                influential[1] is not None and weight > 0.0, "the pool must have a largest value"
            )
    evidence = math.inf if stated is None else stated
    return Entry(claim, arm, against, after, numbers, influential, weight, evidence)


def sides_of(question: Question, entry: Entry) -> tuple[Pair, Pair | None]:
    """Both sides of an entry, each with what is left of it without its influential value."""
    (n_k, S_k, Q_k), (n_l, S_l, Q_l) = entry.numbers
    k = with_rest(n_k, S_k / n_k, Q_k, question.sigmas[entry.arm], entry.influential[0])
    if entry.against is None:
        largest = (entry.influential[1] or 0.0, entry.weight)
        return k, pool_pair(question, n_l, S_l, largest, k[0].m)
    if entry.against == entry.arm:
        return k, None
    sigma = question.sigmas[entry.against]
    return k, with_rest(n_l, S_l / n_l, Q_l, sigma, entry.influential[1])


def check_entry(question: Question, good: bool, entry: Entry, need: float) -> Iterator[str]:
    name = "the pool" if entry.against is None else show(entry.against)
    k, l = sides_of(question, entry)
    value = least_evidence(question, 1 if good else -1, k, l, need)
    recomputed = f"the evidence against {name} recomputes to {value:.6g}"
    if not value >= need - REACH:
        yield f"{recomputed}, less than the {need:.6g} it needs"
        return
    # For other families the engine minimises roughly.  It shows that the need is reached, and
    # states the least value that it saw.  That may be far above the minimum, but never below it.
    stated = entry.evidence
    exact = question.family == NORMAL or l is None
    below = (2e-3 if exact else 0.1) + 1e-9 * abs(value)
    above = below if exact else math.inf
    agree = value == stated or value - below <= stated <= value + above
    if not agree or (stated == math.inf) != (value == math.inf):
        yield f"{recomputed}, not {stated:.6g} as stated"


@dataclass
class BadArms:
    """The arms that claims call bad, and after how many observations."""

    after: dict[str, int] = field(default_factory=dict)
    moments: list[int] = field(default_factory=list)  # sorted

    def add(self, arm: str, after: int) -> None:
        if arm not in self.after:
            self.after[arm] = after
            bisect.insort(self.moments, after)

    def by(self, after: int) -> int:
        """Return how many were called bad by then."""
        return bisect.bisect_right(self.moments, after)


def check_claim(
    question: Question,
    bad: BadArms,
    measurements: int,
    title: str,
    claim: object,
    claims: list[Claim],
) -> Iterator[str]:
    """Check one claim by its own numbers, and add it to ``claims``."""
    demand_keys(claim, OF_CLAIM)
    arm, label = take(claim, "arm", "a text"), take(claim, "label", "a text")
    after, need = take(claim, "after", "a whole number"), take(claim, "need", "a number")
    stated = take(claim, "evidence", "a number or null")
    demand(arm in question.sigmas, "the question has no such arm")
    demand(label in ("good", "bad"), "a claim is good or bad")
    rests = [read_entry(question, title, arm, part) for part in take(claim, "rests_on", "a list")]
    named = {entry.against: entry for entry in rests}
    claims.append(Claim(title, arm, label, after, named))
    demand(len(named) == len(rests), "it names a rival twice in rests_on")
    last, key = max((entry.after for entry in rests), default=0), "good"
    if label == "good":
        demand(None not in named, "no arm is good because of the pool")
        listed = {arm} | {name for name in named if name is not None}
        excused = bad.by(after) - sum(bad.after.get(name, math.inf) <= after for name in listed)
        if question.signed and arm not in named:
            yield "it does not say that the mean of the arm is above zero"
        if len(listed) + excused < len(question.arms):
            left_out = next(
                rival
                for rival in question.arms
                if rival not in listed and bad.after.get(rival, math.inf) > after
            )
            yield f"it leaves out {show(left_out)}, which was not certified bad by then"
    else:
        demand(len(rests) == 1, f"a bad claim rests on one rival: got {len(rests)}")
        key = "pool" if rests[0].against is None else "rival"
        demand(key in question.needs, "the study has no pool")
        if after != last:
            yield (
                f"it was made after {after} observations, but what it rests on was there after "
                f"{last}"
            )
    if not max(last, len(question.arms)) <= after <= measurements:
        yield (
            f"after must lie between what it rests on, {last}, and the observations, "
            f"{measurements}: got {after}"
        )
    if not abs(need - question.needs[key]) <= 1e-9:
        yield f"need recomputes to {question.needs[key]:.12g}: got {need:.12g}"
    if (math.inf if stated is None else stated) != min(
        (entry.evidence for entry in rests), default=math.inf
    ):
        yield "its evidence is not the least of what it rests on"
    for entry in rests:
        yield from check_entry(question, label == "good", entry, question.needs[key])


def check_arms(question: Question, certificate: dict[str, Any], measurements: int) -> Iterator[str]:
    arms, claims = take(certificate, "arms", "a list"), take(certificate, "claims", "a list")
    outcome = certificate["outcome"]
    demand(
        [take(part, "arm", "a text") for part in arms] == question.arms,
        "they must be those of the question, in order",
    )
    made: dict[str, list[Any]] = {}
    for claim in claims:
        if isinstance(claim, dict) and isinstance(claim.get("arm"), str):
            made.setdefault(claim["arm"], []).append(claim.get("label"))
    total = 0
    for part in arms:
        demand_keys(part, OF_ARM)
        arm, label, pulls = (
            part["arm"],
            take(part, "label", "a text"),
            take(part, "pulls", "a whole number"),
        )
        total += pulls
        take(part, "sum", "a number")
        if question.family == UNKNOWN:
            demand(
                take(part, "scatter", "a number") >= 0.0,
                f"the scatter of {show(arm)} must not be negative",
            )
        labels = made.get(arm, [])
        if labels != ([] if label == "open" else [label]) or label not in ("good", "bad", "open"):
            yield f"{show(arm)} has the label {show(label)}, and these claims: {show(labels)}"
        if outcome == "certified" and label == "open":
            yield f"the outcome is certified, but {show(arm)} is open"
    if total > measurements:
        yield f"they have {total} pulls in all, more than the {measurements} observations"


# ---- the log


@dataclass
class Tally:
    """Weighted rewards: sums of weights, of rewards and of their sizes; mean; scatter around it."""

    n: float = 0.0
    S: float = 0.0
    size: float = 0.0
    m: float = 0.0
    Q: float = 0.0

    def add(self, x: float, weight: float = 1.0, n: int = 1, scatter: float = 0.0) -> None:
        """Add a reward, or the sum of n; n = 0 for a time that was waited in vain."""
        before = self.n
        self.n, self.S, self.size = (
            self.n + n * weight,
            self.S + weight * x,
            self.size + weight * abs(x),
        )
        if n == 0:
            self.m = self.S / self.n if self.n > 0.0 else 0.0
            return
        if n > 1:
            step = x / n - self.m
            self.Q += scatter + step * step * before * n * weight / self.n
            self.m = self.S / self.n
            return
        step = x - self.m
        self.m += step * weight / self.n
        self.Q += weight * step * (x - self.m)

    def differs(self, n: float, S: float, Q: float, scatter: bool) -> str:
        """Which number is not that of the rewards; empty if all are.  Scatters: by their roots."""
        if not abs(n - self.n) <= 1e-9 * self.n:
            return f"pulls are {self.n:.12g} in the log: got {n:.12g}"
        if not abs(S - self.S) <= 1e-9 * self.size:
            return f"the sum is {self.S:.12g} in the log: got {S:.12g}"
        root = math.sqrt(self.Q)
        if scatter and not abs(math.sqrt(Q) - root) <= 1e-9 * (
            root + self.size / math.sqrt(max(self.n, 1.0))
        ):
            return f"the scatter is {self.Q:.12g} in the log: got {Q:.12g}"
        return ""


@dataclass(frozen=True)
class Ticket:
    """A measurement that was asked for, or that came unasked."""

    arm: int
    pooled: bool
    batch: int
    on_plate: bool


@dataclass
class Log:
    """The log after its last event.  Arms have indices.

    Attributes:
        family: of the rewards, as far as values are checked; sigmas: by name of arm.
        arms: their names, with those that were added.
        places: K: how many arms there may ever be.
        budget: how many measurements may be made; None if there is no limit.
        tickets: by number; of_arm: their numbers, by arm.
        told: the value of each ticket that has one.
        arrivals: what lets values count, in order: told, failed or confirmed, the ticket, the value
            and the time.
        censored, normalised: tickets told as waited in vain, and those told in units of controls.
        plates: what stands in the wells of each plate; controls: their values, by plate and name.
        control_values: plate, name, value and time of each control, by plate and well.
        wrong: what was found on the way.
    """

    family: str
    sigmas: dict[str, float]
    work: Work = field(default_factory=Work)
    created: dict[str, Any] = field(default_factory=dict)
    arms: list[str] = field(default_factory=list)
    places: int = 0
    budget: float | None = None
    tickets: dict[int, Ticket] = field(default_factory=dict)
    of_arm: dict[int, list[int]] = field(default_factory=dict)
    told: dict[int, float] = field(default_factory=dict)
    arrivals: list[tuple[str, int, float, float]] = field(default_factory=list)
    numbers: dict[int, tuple[int, float]] = field(default_factory=dict)  # rewards and scatter
    censored: set[int] = field(default_factory=set)
    normalised: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    dropped: set[int] = field(default_factory=set)
    withdrawn: set[int] = field(default_factory=set)
    plates: dict[int, dict[str, str]] = field(default_factory=dict)
    controls: dict[tuple[int, str], dict[str, float]] = field(default_factory=dict)
    control_values: dict[tuple[int, str], tuple[str, float, float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    latest: "Gate | None" = None

    def gate(self) -> "Gate":
        """Return which values count now."""
        if self.latest is None:
            self.latest = Gate(self)
        self.latest.go_on()
        return self.latest

    def add(self, seq: int, event: Any) -> None:
        demand(take(event, "seq", "a whole number") == seq, f"seq must be {seq}")
        kind, time = take(event, "kind", "a text"), take(event, "time", "a number")
        demand((kind == "created") == (seq == 1), "the first event, and no other, must be created")
        if kind == "created":
            self.create(take(event, "data", "an object"))
        elif kind == "arms_added":
            demand(len(self.arms) == len(self.created["arms"]), "arms were added before")
            self.arms += take(take(event, "data", "an object"), "arms", "a list of texts")
            demand(len(self.arms) <= self.places, "there are not so many places for new arms")
        elif kind == "arm_dropped":
            self.drop_arm(self.arm(event), time)
        elif kind == "budget_set":
            self.budget = take(take(event, "data", "an object"), "budget", "a number or null")
        elif kind == "copy":
            take(event, "data", "an object")  # no label depends on it
        elif kind == "note":
            take(event, "note", "a text")
        elif kind == "arm_notes":
            demand(not self.tickets, "notes must stand before all tickets")
        elif kind == "plate":
            layout = take(take(event, "data", "an object"), "placed", "an object")
            demand(all(isinstance(name, str) for name in layout.values()), "controls have names")
            self.plates[take(event, "batch", "a whole number")] = layout
        elif kind in ("control", "control_corrected"):
            self.control(event, kind == "control", time)
        elif kind in ("ticket", "unrequested", "counts"):
            number = take(event, "ticket", "a whole number")
            demand(number not in self.tickets, "its ticket was given before")
            arm, pooled = (
                self.arm(event),
                kind == "ticket" and take(event, "pooled", "true or false"),
            )
            batch = take(event, "batch", "a whole number") if "batch" in event else 0
            self.tickets[number] = Ticket(arm, pooled, batch, bool(event.get("well")))
            self.of_arm.setdefault(arm, []).append(number)
        elif kind in ("measurement", "corrected", "confirmed", "lease", "failed"):
            known = take(event, "ticket", "a whole number") in self.tickets
            demand(known, "no such ticket was given")
        else:
            demand(False, f"no event is of the kind {show(kind)}")
        if kind in ("measurement", "unrequested", "counts", "corrected"):
            self.tell(event["ticket"], kind == "corrected", event, time)
        elif kind == "failed":
            demand(self.is_open(event["ticket"]), "its ticket was told or has failed before")
            self.failed.add(event["ticket"])
            self.arrivals.append(("failed", event["ticket"], 0.0, time))
        elif kind == "confirmed":
            value = take(event, "value", "a number")
            demand(self.told.get(event["ticket"]) == value, "it confirms another value")
            demand(self.gate().is_held(event["ticket"]), "it confirms a value that is not suspect")
            self.arrivals.append(("confirmed", event["ticket"], value, time))

    def create(self, data: dict[str, Any]) -> None:
        self.created = data
        self.arms = list(take(data, "arms", "a list of texts"))
        demand(len(self.arms) > 0, "there must be arms")
        demand(take(data, "delta", "a number") > 0.0, "delta must be positive")
        max_new_arms = take(data, "max_new_arms", "a whole number") if "max_new_arms" in data else 0
        self.places = len(self.arms) + max_new_arms
        self.budget = take(data, "budget", "a number or null") if "budget" in data else None

    def drop_arm(self, arm: int, time: float) -> None:
        demand(arm not in self.dropped, "its arm was abandoned before")
        self.dropped.add(arm)
        mine = self.of_arm.get(arm, [])
        if all(number in self.censored for number in mine if number in self.told):
            self.withdrawn.add(arm)
            self.arrivals += [
                ("failed", number, 0.0, time) for number in mine if self.is_open(number)
            ]

    def control(self, event: dict[str, Any], new: bool, time: float) -> None:
        plate, well = take(event, "batch", "a whole number"), take(event, "well", "a text")
        demand(well in self.plates.get(plate, {}), "no control is in this well")
        name, value = self.plates[plate][well], take(event, "value", "a number")
        known = self.control_values.get((plate, well))
        demand(new == (known is None), "a control is told once, and corrected after that")
        self.controls.setdefault((plate, name), {})[well] = value
        self.control_values[plate, well] = name, value, time if known is None else known[2]

    def is_open(self, number: int) -> bool:
        return number not in self.told and number not in self.failed

    def tell(self, number: int, corrected: bool, event: dict[str, Any], time: float) -> None:
        if corrected:
            demand(number in self.told, "nothing to correct")
            self.latest = None  # all values must be heard again
        else:
            demand(self.is_open(number), "its ticket was told or has failed before")
        self.told[number] = value = take(event, "value", "a number")
        data = take(event, "data", "an object") if "data" in event else {}
        if "n" in data:
            scatter = take(data, "scatter", "a number") if "scatter" in data else 0.0
            n = take(data, "n", "a whole number")
            demand(n > 0 and scatter >= 0.0, "no rewards have these counts")
            self.numbers[number] = n, scatter
        censored = "censored" in data and take(data, "censored", "true or false")
        censor_at = self.created.get("censor_at")
        right = censor_at is None or value <= censor_at
        right = right and (not censored or value == censor_at)
        demand(right, "it does not respect the censoring time")
        (self.censored.add if censored else self.censored.discard)(number)
        (self.normalised.add if "normalised" in data else self.normalised.discard)(number)
        if "normalised" in data:
            how, plate = take(data, "normalised", "an object"), self.tickets[number].batch
            names = take(how, "controls", "a list of texts")
            demand(len(names) <= 2, "it was normalised by more than two controls")
            values = [list(self.controls.get((plate, name), {}).values()) for name in names]
            self.work.spend(sum(map(len, values)) // 100)
            again = in_units(take(how, "way", "a text"), take(data, "raw", "a number"), values)
            room = 1e-9 * abs(value)
            if not (again > value - room if censored else abs(again - value) <= room):
                self.wrong.append(f"ticket {number} normalises to {again:.12g}: got {value:.12g}")
        if not corrected:
            self.arrivals.append(("told", number, value, time))

    def arm(self, event: object) -> int:
        arm: int = take(event, "arm", "a whole number")
        demand(arm < len(self.arms), f"there is no arm {arm}")
        return arm

    def measured(self) -> int:
        """Return how many measurements were told."""
        return sum(self.numbers.get(number, (1, 0.0))[0] for number in self.told)

    def taken_in(self, order: "list[ProcessedValue]") -> "list[Row]":
        """Return the rewards in the order in which the study took them in.

        That is the order in which they came, the first reward of an arm with what was waited in
        vain before it.  There are none before every arm has one.
        """
        rows: list[Row] = []
        seen: set[int] = set()
        before: dict[int, float] = {}
        for i, processed in enumerate(order):
            ticket, x = self.tickets[processed.number], self.told[processed.number]
            ends = i + 1 == len(order) or order[i + 1].time != processed.time
            arm, vain = ticket.arm, processed.number in self.censored
            if arm in self.withdrawn or (vain and arm not in seen):
                before[arm] = before.get(arm, 0.0) + x
                if ends and rows:
                    rows[-1] = replace(rows[-1], ends=True)
                continue
            if arm not in seen:
                seen.add(arm)
                x += before.get(arm, 0.0)
            n, scatter = (0, 0.0) if vain else self.numbers.get(processed.number, (1, 0.0))
            rows.append(Row(arm, x, ticket.pooled, n, scatter, processed.influential, ends))
        return rows if len(seen) + len(self.withdrawn) == len(self.arms) else []


@dataclass(frozen=True)
class Row:
    """A reward that is taken in; or the sum of n, with their scatter; n = 0 for a wait in vain.

    ``influential`` is that of the arm from then on, and ``ends`` whether a tell ends here.
    """

    arm: int
    value: float
    pooled: bool
    n: int
    scatter: float
    influential: float | None
    ends: bool


@dataclass(frozen=True)
class ProcessedValue:
    """A value that counts: its ticket, the influential value of its arm from then on, the time."""

    number: int
    influential: float | None
    time: float


def in_units(way: str, x: float, values: list[list[float]]) -> float:
    """A value in units of controls."""
    demand(len(values) in (1, 2) and all(values), "it was normalised without controls")
    means = [math.fsum(part) / len(part) for part in values]
    if way == "z":
        demand(len(values[0]) > 1, "one control well has no spread")
        squares = math.fsum((y - means[0]) ** 2 for y in values[0])
        return (x - means[0]) / math.sqrt(squares / (len(values[0]) - 1))
    demand(way == "percent", f"no way to normalise is called {show(way)}")
    zero, full = means if len(means) == 2 else (0.0, means[0])
    return 100.0 * (x - zero) / (full - zero)


def log_chance(
    family: str, sigma: float, x: float, n: int, m: float, Q: float, k: int = 1
) -> float:
    """The log of a bound on the chance that the mean of k rewards is so far from that of n others.

    0 if there is no such bound.
    """
    if family == NORMAL:
        z = (x - m) / (sigma * math.sqrt(1.0 / k + 1.0 / n))
        return min(math.log(2.0) - z * z / 2.0, 0.0)
    if family == "bernoulli" or k > 1:
        return shared_mean(family, x, n, m, k)
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


def shared_mean(family: str, x: float, n: int, m: float, k: int) -> float:
    """2 exp(-D): D is what it costs, in likelihood, that both means are that of all rewards."""
    c = (n * m + k * x) / (n + k)
    D = 0.0
    for number, mean in ((n, m), (k, x)):
        parts = [(mean, c)] + ([(1.0 - mean, 1.0 - c)] if family == "bernoulli" else [])
        D += number * sum(p * math.log(p / q) if p > 0.0 else 0.0 for p, q in parts)
        D += number * (c - mean) if family == "poisson" else 0.0
    return min(math.log(2.0) - D, 0.0) if family in ("bernoulli", "poisson") else 0.0


@dataclass
class Values:
    """The values of one arm.

    Attributes:
        numbers: tickets that count; slots: where they stand among all that count.
        tally: of these; waited: times waited in vain.
        low, high: the least and the largest single value that was not confirmed.
        held: suspect tickets and their times; sorted_held: the single values among them.
    """

    numbers: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    waited: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    held: dict[int, float] = field(default_factory=dict)
    sorted_held: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        tally = self.tally
        return tally.m if self.waited == 0.0 else (tally.S + self.waited) / tally.n


@dataclass
class Gate:
    """Decide which values count, in which order; which are suspect, and which wait."""

    log: Log
    order: list[ProcessedValue] = field(default_factory=list)
    confirmed: set[int] = field(default_factory=set)
    waiting: dict[int, bool] = field(default_factory=dict)  # whether it has a value

    def __post_init__(self) -> None:
        made = self.log.created
        self.level = math.log(SHARE * made["delta"] / self.log.places)
        self.arms: dict[int, Values] = {}
        self.following, self.processed = 1, 0

    def go_on(self) -> None:
        """Take what has come since."""
        for kind, number, value, time in itertools.islice(self.log.arrivals, self.processed, None):
            self.log.work.spend()
            if kind == "confirmed":
                self.confirm(number, value, time)
            elif not self.log.created.get("in_order"):
                if kind == "told":
                    self.process(number, time)
            elif number >= self.following:
                self.waiting[number] = kind == "told"
                while self.following in self.waiting:
                    if self.waiting.pop(self.following):
                        self.process(self.following, time)
                    self.following += 1
        self.processed = len(self.log.arrivals)

    def values_of(self, number: int) -> Values:
        return self.arms.setdefault(self.log.tickets[number].arm, Values())

    def is_single(self, number: int) -> bool:
        return self.log.numbers.get(number, (1, 0.0))[0] == 1

    def count(self, number: int, time: float) -> None:
        mine, x = self.values_of(number), self.log.told[number]
        if number in self.log.censored:
            mine.waited += x
        else:
            mine.numbers.append(number)
            mine.slots.append(len(self.order))
            n, scatter = self.log.numbers.get(number, (1, 0.0))
            mine.tally.add(x, n=n, scatter=scatter)
            if n == 1 and number not in self.confirmed:
                mine.low, mine.high = min(mine.low, x), max(mine.high, x)
        self.order.append(
            ProcessedValue(number, self.influential(self.log.tickets[number].arm), time)
        )

    def influential(self, arm: int) -> float | None:
        """Return the value that no label of the arm may rest on: the only one, or an unlikely one.

        Of the least and the largest value that were not confirmed: the one whose chance, with all
        the others given, is lower, if that is below INFLUENTIAL over the number of values.
        """
        mine = self.arms[arm]
        tally = mine.tally
        if not self.log.created.get("check_values") or tally.n == 0:
            return None
        if tally.n == 1:
            return tally.S
        limit = INFLUENTIAL_TIME if self.log.family == "exponential" else INFLUENTIAL
        found, least = None, math.log(limit / tally.n)
        n, S, m = int(tally.n) - 1, tally.S + mine.waited, mine.mean
        for x in (mine.low, mine.high):
            if math.isfinite(x):
                rest = (S - x) / n
                Q = max(tally.Q - (x - m) * (x - rest), 0.0)
                chance = self.chance(arm, x, n, rest, Q)
                if chance < least:
                    found, least = x, chance
        return found

    def is_held(self, number: int) -> bool:
        return number in self.values_of(number).held

    def chance(self, arm: int, x: float, n: int, m: float, Q: float, k: int = 1) -> float:
        sigma = self.log.sigmas.get(self.log.arms[arm], 1.0)
        return log_chance(self.log.family, sigma, x, n, m, Q, k)

    def confirm(self, number: int, value: float, time: float) -> None:
        if self.log.told[number] != value:
            return  # it was corrected, and must be confirmed again
        self.confirmed.add(number)
        mine = self.values_of(number)
        if number in mine.held:
            self.release(mine, number)
            self.count(number, time)
            return
        self.log.work.spend(len(mine.numbers) // 10)
        unsure = [
            self.log.told[other]
            for other in mine.numbers
            if self.is_single(other) and other not in self.confirmed
        ]
        mine.low, mine.high = min(unsure, default=math.inf), max(unsure, default=-math.inf)

    def hold(self, mine: Values, number: int, time: float) -> None:
        mine.held[number] = time
        if self.is_single(number):
            bisect.insort(mine.sorted_held, self.log.told[number])

    def release(self, mine: Values, number: int) -> float:
        if self.is_single(number):
            mine.sorted_held.remove(self.log.told[number])
        return mine.held.pop(number)

    def process(self, number: int, time: float) -> None:
        arm, x, mine = self.log.tickets[number].arm, self.log.told[number], self.values_of(number)
        free = not self.log.created.get("check_values") or number in self.log.censored
        if free or not mine.numbers:
            self.count(number, time)
            return
        m, tally, told = mine.mean, mine.tally, self.log.told
        k = self.log.numbers.get(number, (1, 0.0))[0]
        j = len(mine.numbers) + len(mine.held) + 1
        level = self.level - math.log(j * (j - 1))
        short = mine.waited > 0.0 and x < m
        if short or self.chance(arm, x / k, int(tally.n), m, tally.Q, k) >= level:
            self.count(number, time)
            return
        first = mine.numbers[0]
        friend = None
        if tally.n == 1 and k == 1 and first not in self.confirmed:
            friend = self.friend(arm, mine, x, level)
            replaced = friend is not None or self.is_nearer(arm, x, told[first])
        else:
            replaced = False
        if not replaced:
            self.hold(mine, number, time)
            return
        instead = number if friend is None else friend
        if friend is not None:
            self.release(mine, friend)
        slot = mine.slots[0]
        self.hold(mine, first, self.order[slot].time)
        self.order[slot] = replace(self.order[slot], number=instead, influential=told[instead])
        mine.numbers[0], mine.tally = instead, Tally()
        mine.tally.add(told[instead])
        mine.low = mine.high = told[instead]
        if friend is not None:
            self.count(number, time)

    def friend(self, arm: int, mine: Values, x: float, level: float) -> int | None:
        """Return the earliest suspect value with which x agrees; None if there is none.

        The chance falls with the distance, so that the nearest values tell whether there is one.
        """
        place = bisect.bisect_left(mine.sorted_held, x)
        near = mine.sorted_held[max(place - 1, 0) : place + 1]
        if not any(self.chance(arm, x, 1, y, 0.0) >= level for y in near):
            return None
        for number in mine.held:
            y = self.log.told[number]
            if self.is_single(number) and self.chance(arm, x, 1, y, 0.0) >= level:
                return number
        return None

    def is_nearer(self, arm: int, x: float, y: float) -> bool:
        """Return whether x is nearer than y to the middle of the other arms."""
        others = sorted(some.mean for a, some in self.arms.items() if a != arm and some.numbers)
        self.log.work.spend(len(others) // 10)
        if not others:
            return False
        half = len(others) // 2
        middle = others[half] if len(others) % 2 else (others[half - 1] + others[half]) / 2.0
        return abs(x - middle) < abs(y - middle)

    def suspects(self) -> dict[int, float]:
        """Return the suspect tickets, with the times at which they were told."""
        return {number: time for mine in self.arms.values() for number, time in mine.held.items()}

    def values(self) -> dict[str, Any]:
        """The tickets that a certificate must name, or count."""
        return {
            "suspect": sorted(self.suspects()),
            "confirmed": sorted(self.confirmed),
            "waiting": sorted(number for number, told in self.waiting.items() if told),
            "censored": len(self.log.censored),
            "normalised": len(self.log.normalised),
        }


# ---- the labels, once more


class Course:
    """Take in the rewards of a log, and certify as the study did.

    Claims are looked at when a tell ends, and after every K/10 rewards.

    Each arm that looks bad is tried against the pool, against its likeliest rival and, if the
    objective is multiplicative, against zero.  Then each arm that looks good passes its rivals in
    their order.  Where evidence lies within rounding of its need, the certificate may have it
    either way.

    Attributes:
        claims: those of the certificate, by arm.
        order: the arms, in the order in which they were certified.
        problems: where the certificate says something else.
    """

    def __init__(self, question: Question, claims: Sequence[Claim]) -> None:
        K = len(question.arms)
        self.question, self.names = question, question.arms
        self.claims = {claim.arm: claim for claim in claims}
        self.tallies = [Tally() for _ in range(K)]
        self.means = [0.0] * K
        self.influential: list[float | None] = [None] * K
        self.pool, self.largest, self.weight = Tally(), -math.inf, 0.0
        self.labels: list[str] = ["open"] * K
        self.open = dict.fromkeys(range(K))
        self.passed = [0] * K
        self.checked = [0] * K  # entries of a claim that were compared
        self.versions = [0] * K
        self.stopped: list[tuple[int, int, int]] = [(-1, 0, 0)] * K
        self.unlikely: list[tuple[int, float]] = [(-1, 0.0)] * K
        self.unseen, self.after, self.rows = K, 0, 0
        self.front: list[int] = []  # of the present look, once it is needed
        self.cleared: dict[int, tuple[int, dict[tuple[float, ...], float]]] = {}  # see passes
        self.not_bad: dict[int, tuple[Any, ...]] = {}  # where an arm was not shown to be bad
        self.order: list[str] = []
        self.problems: list[str] = []

    def take_in(self, row: Row, k: int) -> None:
        tally = self.tallies[k]
        self.unseen -= tally.n == 0
        tally.add(row.value, n=row.n, scatter=row.scatter)
        self.means[k] = tally.m
        self.versions[k] += 1
        self.influential[k] = row.influential
        self.after += max(row.n, 1)
        if row.pooled:
            weight = self.question.sigmas[self.names[k]] ** -2
            self.pool.add(row.value, weight, row.n)
            if self.question.checked and row.n == 1 and row.value > self.largest:
                self.largest, self.weight = row.value, weight
        self.rows += 1
        stride = max(len(self.names) // LOOKS, 1)
        if self.unseen == 0 and (row.ends or self.rows % stride == 0):
            self.look()

    def look(self) -> None:
        """Certify every label whose evidence is there."""
        question = self.question
        bar = question.c * max(self.means) - question.e
        self.front.clear()
        highest = bar
        if self.pool.n > 0.0 and "pool" in question.needs:
            highest = max(bar, question.c * self.pool.S / self.pool.n - question.e)
        for k in list(self.open):
            if self.means[k] < bar and self.could_be_bad(k, highest):
                self.try_bad(k)
        for k in list(self.open):
            if self.means[k] >= bar:
                self.try_good(k)

    def pair(self, k: int) -> Pair:
        tally, sigma = self.tallies[k], self.question.sigmas[self.names[k]]
        return with_rest(tally.n, tally.m, tally.Q, sigma, self.influential[k])

    def could_be_bad(self, k: int, highest: float) -> bool:
        """Return False if no rival whose bar is at most ``highest`` can show that k is bad.

        The evidence is at most the largest factor of k against the bar of its rival: there the
        rival stands at its own mean, and its factors are at most 1.
        """
        question, m = self.question, self.means[k]
        least = min(question.needs[key] for key in ("pool", "rival") if key in question.needs)
        if question.family == NORMAL:
            distance = max(highest, 0.0) - m if question.signed else highest - m
            sigma = question.sigmas[self.names[k]]
            return 0.5 * self.tallies[k].n * (distance / sigma) ** 2 >= least - REACH
        version, bar = self.unlikely[k]
        highest = max(highest, 0.0) if question.signed else highest
        if version == self.versions[k] and highest <= bar:
            return False
        self.question.work.spend()
        side = self.pair(k)[0]
        if factors(question, side, min(highest, question.high), -1)[0] >= least - REACH:
            return True
        self.unlikely[k] = self.versions[k], highest
        return False

    def ratio_bad(self, v_k: float, k: int, l: int) -> float:
        G = self.question.c * self.means[l] - self.question.e - self.means[k]
        if G <= 0.0 or l == k:
            return -math.inf
        return normal_ratio(G, v_k, precision(self.question, self.pair(l)[0]), self.question.c)

    def frontier(self) -> list[int]:
        """Return the arms that no other arm exceeds in both mean and precision, up to rounding.

        The ratio of likelihoods grows with both, so the likeliest rival of an arm is one of them.
        """
        if not self.front:
            self.question.work.spend(len(self.names) // 20)
            v = [precision(self.question, self.pair(l)[0]) for l in range(len(self.names))]
            order = sorted(range(len(self.names)), key=lambda l: -self.means[l])
            higher, most = 0, -math.inf  # how many are clearly higher, and the largest of their v
            for l in order:
                clearly = self.means[l] + 1e-9 * (abs(self.means[l]) + 1e-300)
                while self.means[order[higher]] > clearly:
                    most = max(most, v[order[higher]])
                    higher += 1
                if v[l] > most:
                    self.front.append(l)
            self.front.sort()
        return self.front

    def rivals_of_bad(self, k: int) -> list[tuple[int | None, str, Pair | None]]:
        """Return what the study tries: None for the pool, or an arm; its need, and its side."""
        question, m = self.question, self.means[k]
        v_k = precision(question, self.pair(k)[0])
        tried: list[tuple[int | None, str, Pair | None]] = []
        by_pool = -math.inf
        if self.pool.n > 0.0 and "pool" in question.needs:
            largest = (self.largest, self.weight)
            shared = pool_pair(question, self.pool.n, self.pool.S, largest, m)
            G = question.c * shared[0].m - question.e - m
            if G > 0.0:
                ratio = normal_ratio(G, v_k, precision(question, shared[0]), question.c)
                by_pool = ratio - question.needs["pool"]
                tried.append((None, "pool", shared))
        # A negative bar may lie above k even if the mean of the rival does not.
        among = range(len(self.names)) if question.signed and m < 0.0 else self.frontier()
        question.work.spend(len(among) // 20)
        ratios = {l: self.ratio_bad(v_k, k, l) for l in among}
        most = max(ratios.values())
        if most > -math.inf and most - question.needs["rival"] > by_pool - 1.0 - 1e-9 * most:
            near = [l for l, ratio in ratios.items() if ratio >= most * (1.0 - 1e-9)]
            tried += [(l, "rival", self.pair(l)) for l in near[:10]]
        if question.signed and m < 0.0:
            tried.append((k, "rival", None))
        return tried

    def reaches(self, up: int, k: int, l: Pair | None, need: float, stated: bool) -> float | None:
        """Return the evidence if it reaches the need, else None.

        If the certificate does not state it, it must do so by more than rounding, or the search of
        the engine, may take away.
        """
        question, mine = self.question, self.pair(k)
        if l is not None and falls_short(question, up, mine[0], l[0], need - REACH):
            return None
        value = least_evidence(question, up, mine, l, need)
        if value < need - REACH or stated:
            return value if value >= need - REACH else None
        if question.family == NORMAL or l is None:
            return value if value >= need + REACH else None
        return value if least_evidence(question, up, mine, l, need + SEARCH) >= need else None

    def try_bad(self, k: int) -> None:
        claim = self.claims.get(self.names[k])
        stated = claim is not None and claim.label == "bad" and claim.after == self.after
        found: dict[str | None, float] = {}
        rivals = self.rivals_of_bad(k)
        state = (
            self.versions[k],
            self.pool.n,
            *((l, -1 if l is None else self.versions[l]) for l, *_ in rivals),
        )
        if self.not_bad.get(k) == state and not stated:
            return
        for l, key, side in rivals:
            need = self.question.needs[key]
            value = self.reaches(-1, k, side, need, stated)
            if value is not None:
                found[None if l is None else self.names[l]] = value - need
        if not found:
            self.not_bad[k] = state
            return
        if not self.certify(k, "bad"):
            return
        assert claim is not None
        for against, entry in claim.entries.items():
            best = max(found.values())
            exact = self.question.family == NORMAL
            if against not in found or (exact and found[against] < best - 1e-4):
                name = "the pool" if against is None else show(against)
                self.problems.append(f"{claim.title}the study did not show it by {name}")
            else:
                self.compare(k, entry)

    def try_good(self, k: int) -> None:
        claim, question, l = self.claims.get(self.names[k]), self.question, self.passed[k]
        while l < len(self.names):
            certain = l == k and not question.signed  # no mean is negative
            if certain and question.c < 1.0 and self.pair(k)[1] is None:
                break  # but the label would rest on a single value
            if self.labels[l] == "bad" or certain:
                l += 1
                continue
            state = (l, self.versions[k], self.versions[l])
            if self.stopped[k] == state:
                break
            entry = claim.entries.get(self.names[l]) if claim and claim.label == "good" else None
            stated = entry is not None and entry.after == self.after
            if not self.passes(k, l, stated):
                self.stopped[k] = state
                break
            if entry is not None:
                self.compare(k, entry)
                self.checked[k] += 1
            l += 1
        self.passed[k] = l
        if l == len(self.names) and self.certify(k, "good"):
            assert claim is not None
            if self.checked[k] != len(claim.entries):
                self.problems.append(f"{claim.title}it rests on more than the study did")

    def passes(self, k: int, l: int, stated: bool) -> bool:
        """Return whether k is shown to be good against l.

        Evidence falls with the mean of the rival.  So where k has passed a rival, it passes those
        with as many, equally noisy rewards and a lower mean, as long as k has no new reward.
        """
        rival, tally = None if l == k else self.pair(l), self.tallies[l]
        alike = (tally.n, self.question.sigmas[self.names[l]], tally.Q)
        version, passed = self.cleared.get(k, (-1, {}))
        if version != self.versions[k]:
            self.cleared[k] = self.versions[k], (passed := {})
        plain = l != k and self.influential[l] is None
        if plain and self.means[l] <= passed.get(alike, -math.inf):
            return True
        if self.reaches(1, k, rival, self.question.needs["good"], stated) is None:
            return False
        if plain and not stated:
            passed[alike] = self.means[l]
        return True

    def certify(self, k: int, label: str) -> bool:
        """Give an arm its label; return whether the certificate has it, at this moment."""
        self.labels[k], name = label, self.names[k]
        del self.open[k]
        self.order.append(name)
        claim = self.claims.get(name)
        if claim is not None and (claim.label, claim.after) == (label, self.after):
            return True
        moment = f"{label} after {self.after} observations"
        if claim is None:
            self.problems.append(f"arms: the log certifies {show(name)} as {moment}: no claim does")
        else:
            self.problems.append(f"{claim.title}the log certifies it as {moment}")
        return False

    def compare(self, k: int, entry: Entry) -> None:
        """Compare the numbers that a claim rests on with those of this moment."""
        question, i = self.question, self.after
        l = None if entry.against is None else self.index(entry.against)
        if entry.after != i:
            name = "the pool" if l is None else show(entry.against)
            self.problems.append(
                f"{entry.claim}against {name} it was shown after {i} observations: got "
                f"{entry.after}"
            )
            return
        sides = [self.tallies[k], self.pool if l is None else self.tallies[l]]
        influential = [self.influential[k], self.largest if l is None else self.influential[l]]
        for place, tally in enumerate(sides):
            wrong = tally.differs(*entry.numbers[place], question.family == UNKNOWN)
            same = nearly(entry.influential[place], influential[place], 1e-9 * tally.size)
            if not wrong and question.checked and not same:
                wrong = (
                    f"the influential value is {show(influential[place])} in the log: got "
                    f"{show(entry.influential[place])}"
                )
            if wrong:
                name = (
                    "the pool" if place and l is None else show((entry.arm, entry.against)[place])
                )
                self.problems.append(f"{entry.claim}after {i} observations, for {name} {wrong}")
        if l is None and abs(entry.weight - self.weight) > 1e-9 * self.weight:
            self.problems.append(f"{entry.claim}weight is {self.weight:.12g} in the log")

    def index(self, name: str) -> int:
        return self.places[name]

    @functools.cached_property
    def places(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    def finish(self, claims: Sequence[Claim]) -> Iterator[str]:
        """Yield the problems, with those that only the end shows."""
        yield from self.problems
        certified = set(self.order)
        for claim in claims:
            if claim.arm not in certified:
                yield f"{claim.title}the log does not certify it"
        if not self.problems and [claim.arm for claim in claims] != self.order:
            yield "claims: they are not in the order in which the log certifies them"


def nearly(x: float | None, y: float | None, room: float) -> bool:
    """Return whether two numbers agree but for rounding, or both are missing."""
    return x is y if x is None or y is None else abs(x - y) <= room


def outcome_of(log: Log, course: Course, started: bool) -> str:
    """Return where the study stands."""
    if started and not course.open:
        return "certified"
    if log.budget is not None and log.measured() >= log.budget:
        return "budget exhausted"
    closed = {log.arms[arm] for arm in log.dropped}
    left = [course.names[k] for k in course.open] if started else log.arms
    return "dropped" if closed and closed.issuperset(left) else "running"


# ---- the doubts, once more


def log_average(logs: Sequence[float]) -> float:
    return log_sum([1.0 / len(logs)] * len(logs), logs)


def crossing(value: Callable[[float], float]) -> float:
    """Return where a function that grows on (0, 1) crosses zero, by halving."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if value(middle) < 0.0 else (low, middle)
    return 0.5 * (low + high)


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
        influential = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1.0))
        fraction = 1.0 + influential / (1.0 + even / fraction)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    part = math.exp(a * math.log(x) + b * math.log(y) - log_beta) / (a * fraction)
    return 1.0 - part if swapped else part


def student_quantile(f: float) -> float:
    """Return the t beyond which, on both sides, Student's distribution has the chance 1 - SURE."""
    u = crossing(lambda u: 1.0 - SURE - student_tail(u / (1.0 - u), f))
    return u / (1.0 - u)


@dataclass(frozen=True)
class Told:
    """Single values for the tests of the model, in the order of telling; plate 0 for none."""

    arm: int
    value: float
    plate: int
    time: float


def told_values(log: Log, gate: Gate) -> list[Told]:
    """Return the values that count, and the suspect ones if these are too many to be slips."""
    counted = [
        (processed.time, processed.number)
        for processed in gate.order
        if gate.is_single(processed.number) and processed.number not in log.censored
    ]
    suspects = gate.suspects()
    if len(suspects) > SLIPS:
        held = [(time, number) for number, time in suspects.items() if gate.is_single(number)]
        counted = sorted(counted + held)
    found = []
    for time, number in counted:
        ticket = log.tickets[number]
        plate = ticket.batch if ticket.on_plate else 0
        found.append(Told(ticket.arm, log.told[number], plate, time))
    return found


def doubts_of(log: Log, gate: Gate) -> list[str]:
    """Return why the guarantee does not hold, in the sentences that the certificate must have."""
    told, model, K = told_values(log, gate), log.created["model"], len(log.arms)
    name, sigma = model.get("name"), model.get("sigma")
    sigmas: list[float] | None = None
    if name == "gaussian" and sigma is not None:
        sigmas = list(sigma) if isinstance(sigma, list) else [sigma] * K
    elif name in ("bernoulli", "bounded"):
        low, high = (model["low"], model["high"]) if name == "bounded" else (0.0, 1.0)
        sigmas = [(high - low) / 2.0] * K
    found = []
    normal = name == "gaussian"
    if normal and sigmas is not None:
        found.append(sigma_doubt([(x.arm, x.value / sigmas[x.arm]) for x in told]))
    if normal:
        found.append(repeats_doubt([x.value for x in told], sigmas))
    return [sentence for sentence in found if sentence] + drift_doubts(log, told, sigmas)


def sigma_doubt(values: Sequence[tuple[int, float]]) -> str:
    """Say that the values, in units of their stated sigma, scatter too much; empty if not."""
    by_arm: dict[int, list[float]] = {}
    for arm, x in values:
        by_arm.setdefault(arm, []).append(x)
    Q = rest = surcharge = 0.0
    for some in by_arm.values():
        n, m = len(some), math.fsum(some) / len(some)
        Q_a = math.fsum((x - m) ** 2 for x in some)
        Q += Q_a
        rest += Q_a - n / max(n - 1, 1) * (some[0] - m) ** 2
        surcharge += 0.5 * math.log(n)
    N, free = len(values), len(values) - len(by_arm)
    rest = max(rest, 0.0)

    def too_small(s: float) -> float:
        logs = [
            -0.5 * N * math.log(theta) + 0.5 * (1.0 - 1.0 / theta) * Q / s / s for theta in LARGER
        ]
        return log_average(logs)

    def too_large(s: float) -> float:
        logs = [0.5 * free * math.log(theta) + 0.5 * (rest - Q * theta) / s / s for theta in LARGER]
        return log_average(logs) - surcharge

    if free == 0 or too_small(1.0) < -math.log(SIGMA_RISK):
        return ""
    multiple, need = math.sqrt(Q / free), -math.log(0.5 * (1.0 - SURE))
    low = multiple * crossing(lambda u: need - too_small(multiple * u) if u > 0.0 else -math.inf)
    upper = "or more"
    if too_large(math.inf) > need:
        high = multiple / crossing(lambda u: need - too_large(multiple / u))
        upper = f"to {high:.3g}"
    return (
        f"Sigma is too small: measurements of an arm scatter {multiple:.3g} times as "
        f"much as it says ({low:.3g} {upper} times, from {free:,} values).  "
        "The guarantee does not hold with it.  Begin a new study with a larger sigma, or with an "
        "unknown one.  If sigma is right, the chance of ever seeing this sentence is at "
        f"most 1 in {1.0 / SIGMA_RISK:.0f}."
    )


def repeats_doubt(values: Sequence[float], sigmas: Sequence[float] | None) -> str:
    """Say that values repeat as normal ones cannot; empty if they do not."""
    if not values:
        return ""
    low, high = min(values), max(values)
    if sigmas is not None and 0.5 * (high - low) <= min(sigmas):
        return ""
    if won_by_repeats(values) < -math.log(REPEATS_RISK):
        return ""
    seen = Counter(values)
    value, times = seen.most_common(1)[0]
    found = f"{len(seen):,} different ones among {len(values):,}"
    if len(seen) > max(BETS):
        found = f"{value:g} was told {times:,} times in {len(values):,}"
    bounded = (
        "Bounded(low, high) with the least and the largest value that can occur "
        f"(so far {low:g} and {high:g})"
    )
    if set(seen) <= {0.0, 1.0}:
        advice = "The model of values that are 0 or 1 is Bernoulli()."
    elif len(seen) == 2:
        advice = f"If only {low:g} and {high:g} can occur, tell 0 and 1 instead, with Bernoulli()."
    elif low >= 0.0 and all(x == math.floor(x) for x in seen):
        advice = f"If they are counts, use Poisson(); else {bounded}."
    else:
        advice = f"If they were rounded, tell more digits; else use {bounded}."
    return (
        f"Values repeat as normal ones cannot: {found}.  {advice}  If values "
        "are normal, and rounded to a quarter of their standard deviation at most, the chance of "
        f"ever seeing this is at most 1 in {1.0 / REPEATS_RISK:.0f}."
    )


def won_by_repeats(values: Sequence[float]) -> float:
    """Return the log of what bets win that a value is one of the k most frequent before it."""
    seen: Counter[float] = Counter()
    top: list[float] = []
    won = [0.0] * (len(BETS) * len(BETS_LEFT))
    for i, value in enumerate(values):
        place = top.index(value) if value in top else max(BETS)
        if i >= FIRST_BET:
            pairs = itertools.product(BETS, BETS_LEFT)
            for j, (k, left) in enumerate(pairs):
                size = min(max(len(top), 1), k)
                P = math.erf(size / 8.0 / math.sqrt(2.0))
                won[j] += math.log((1.0 - left * (1.0 - P)) / P if place < size else left)
        seen[value] += 1
        if place < max(BETS):
            del top[place]
        elif len(top) == max(BETS) and seen[value] <= seen[top[-1]]:
            continue
        top.insert(sum(seen[other] >= seen[value] for other in top), value)
        del top[max(BETS) :]
    return log_average(won)


def odds(chance: float) -> str:
    power = min(int(-math.log10(max(chance, 1e-300))), 6)
    return f"without drift the chance of this is at most 1 in {10**power:,}"


def drift_doubts(log: Log, told: Sequence[Told], sigmas: Sequence[float] | None) -> list[str]:
    """Say which plates differ from those before, by their controls or by their arms."""
    times: dict[int, float] = {}
    on_plate = [x for x in told if x.plate > 0]
    for plate, time in [(x.plate, x.time) for x in on_plate] + [
        (plate, time) for (plate, _), (_, _, time) in log.control_values.items()
    ]:
        times[plate] = min(time, times.get(plate, math.inf))
    found: dict[int, list[str]] = {plate: [] for plate in times}
    for plate, sentence in control_drifts(log, 0.0 if sigmas is None else OF_ARMS):
        found[plate].append(sentence)
    if sigmas is not None:
        values = [(x.plate, x.arm, x.value / sigmas[x.arm]) for x in on_plate]
        for plate, sentence in arm_drifts(values, DRIFT_RISK * OF_ARMS):
            found[plate].append(sentence)
    plates = sorted(times, key=lambda plate: (times[plate], plate))
    sentences = [sentence for plate in plates for sentence in found[plate]]
    if sentences:
        sentences.append(
            "The guarantee is for means that do not change.  If sigma is right and controls "
            "are normal, the chance that a study without drift is ever told of one is at most "
            f"1 in {1.0 / DRIFT_RISK:.0f}."
        )
    return sentences


def control_drifts(log: Log, of_arms: float) -> Iterator[tuple[int, str]]:
    """Compare each control with its average on the plates before, by Student's test."""
    wells = Counter(
        (plate, name) for plate, placed in log.plates.items() for name in placed.values()
    )
    first: dict[str, int] = {}
    for plate, name in sorted(wells):
        first.setdefault(name, plate)
    new = Counter(first.values())
    part = {
        plate: (AT_FIRST if g == 1 else (1.0 - AT_FIRST) / (g * (g - 1))) / new[plate]
        for g, plate in enumerate(sorted(new), start=1)
    }
    samples: dict[str, dict[int, list[float]]] = {}
    for (plate, _), (name, value, _) in log.control_values.items():
        samples.setdefault(name, {}).setdefault(plate, []).append(value)
    for name, by_plate in samples.items():
        risk = DRIFT_RISK * (1.0 - of_arms) * part[first[name]]
        n_before, mean_before, scatter, free = 0, 0.0, 0.0, 0
        last = list(by_plate)[-1]
        for p, (plate, sample) in enumerate(by_plate.items(), start=1):
            n, mean = len(sample), math.fsum(sample) / len(sample)
            scatter += math.fsum((x - mean) ** 2 for x in sample)
            free += n - 1
            spread = math.sqrt(scatter / free) if free else 0.0
            if spread > 0.0 and n_before and (plate != last or n >= wells[plate, name]):
                t = (mean - mean_before) / (spread * math.sqrt(1.0 / n + 1.0 / n_before))
                chance = student_tail(t, free)
                if chance <= risk / (p * (p - 1)):
                    reach = student_quantile(free) * spread / math.sqrt(n)
                    yield (
                        plate,
                        f"Plate {plate}: control {name} is {mean:.4g} +- {reach:.2g}, against "
                        f"{mean_before:.4g} on the plates before; {odds(chance)}.",
                    )
            n_before += n
            mean_before += (mean - mean_before) * n / n_before


def arm_drifts(values: Sequence[tuple[int, int, float]], risk: float) -> Iterator[tuple[int, str]]:
    """Compare the arms of each plate, all together, with what they gave on the plates before.

    ``values`` are plate, arm and value in sigmas, in the order of telling.  M of a value counts
    those of its arm that were told before it, on the plates before.
    """
    rank: dict[int, int] = {}
    earlier: dict[int, list[int]] = {}  # by arm: ranks of the plates of its values so far, sorted
    of_plate: dict[int, list[tuple[int, float, int]]] = {}
    for plate, arm, x in values:
        p = rank.setdefault(plate, len(rank) + 1)
        ranks = earlier.setdefault(arm, [])
        of_plate.setdefault(plate, []).append((arm, x, bisect.bisect_left(ranks, p)))
        bisect.insort(ranks, p)
    before: dict[int, tuple[int, float]] = {}  # number and sum on the plates before, by arm
    C = [0.0] * len(RHO)
    for plate, p in rank.items():
        D = weight = squares = 0.0
        number: Counter[int] = Counter()
        b_sum: dict[int, float] = {}
        for arm, x, M in of_plate[plate]:
            if M > 0:
                number[arm] += 1
                b, (n, S) = M / (M + number[arm]), before[arm]
                D, weight, squares = D + b * (x - S / n), weight + b, squares + b * b
                b_sum[arm] = b_sum.get(arm, 0.0) + b
        V = [
            squares
            + math.fsum(
                y * y * (before[arm][0] + rho) / before[arm][0] ** 2 for arm, y in b_sum.items()
            )
            for rho in RHO
        ]
        if weight > 0.0:
            yield from plate_drift(plate, D / weight, weight, C, V, math.log(p * (p - 1) / risk))
        for arm, x, _ in of_plate[plate]:
            n, S = before.get(arm, (0, 0.0))
            before[arm] = n + 1, S + x
            C = [
                c + 0.5 * math.log((n + 1 + rho) / (n + rho)) for c, rho in zip(C, RHO, strict=True)
            ]


def plate_drift(
    plate: int, shift: float, weight: float, C: Sequence[float], V: Sequence[float], need: float
) -> Iterator[tuple[int, str]]:
    """Say by how many sigmas the arms of a plate have shifted, if the evidence reaches ``need``."""

    def evidence(distance: float) -> float:
        D = distance * weight
        pairs = zip(C, V, strict=True)
        return log_average([D * D / (2.0 * (1.0 + v)) - 0.5 * math.log1p(v) - c for c, v in pairs])

    E = evidence(shift)
    if need <= E:
        u = crossing(lambda u: evidence(u / (1.0 - u)) + math.log(1.0 - SURE))
        reach = u / (1.0 - u)
        yield (
            plate,
            f"Plate {plate}: arms give {abs(shift):.2g} sigmas "
            f"{'more' if shift > 0.0 else 'less'} than on the plates before "
            f"({shift - reach:.2g} to {shift + reach:.2g}); {odds(math.exp(min(-E, 0.0)))}.",
        )


def same_sentence(one: str, other: str) -> bool:
    """Return whether two sentences differ at most by one unit in the last digit of numbers."""
    if NUMBER.sub("0", one) != NUMBER.sub("0", other):
        return False
    for a, b in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True):
        unit = max(10.0 ** -len(x.partition(".")[2].partition("e")[0]) for x in (a, b))
        x, y = float(a.replace(",", "")), float(b.replace(",", ""))
        if abs(x - y) > 1.001 * (unit if "." in a + b else 0.0):
            return False
    return True


def check_doubts(stated: Sequence[str], found: Sequence[str]) -> Iterator[str]:
    """Compare the doubts of a certificate with those that the log raises."""
    for sentence in found:
        if not any(same_sentence(sentence, other) for other in stated[: len(found) + 1]):
            yield f"doubts: the log raises one that is not there: {sentence.removesuffix('.')}"
    if len(stated) > len(found):
        yield f"doubts: the log raises {len(found)}: got {len(stated)}"


def digest_of_lines(lines: Sequence[str]) -> str:
    sha256 = hashlib.sha256()
    for line in lines:
        sha256.update(line.encode() + b"\n")
    return sha256.hexdigest()


def check_chain(lines: Sequence[str]) -> Iterator[str]:
    """Check that each line but the first names the SHA-256 of the line before it."""
    before = None
    for number, line in enumerate(lines, 1):
        try:
            event = parse(line)
        except (ValueError, RecursionError) as error:
            raise InvalidCertificate(f"log, line {number}: {str(error)[:200]}") from None
        demand(isinstance(event, dict), f"log, line {number}: it is not an object")
        if before is None:
            demand("previous" not in event, "log, line 1: the first event has none before it")
        elif event.get("previous") != before:
            yield f"log, line {number}: previous is not the SHA-256 of the line before"
            return
        before = hashlib.sha256(line.encode()).hexdigest()


def read_lines(log: Log, first: int, lines: Sequence[str]) -> Iterator[str]:
    """Add lines to a log, numbered from ``first`` on."""
    found = len(log.wrong)
    for seq, line in enumerate(lines, first):
        try:
            log.add(seq, parse(line))
        except ValueError as error:
            raise InvalidCertificate(f"log, line {seq}: {str(error)[:200]}") from None
    yield from (f"log: {message}" for message in log.wrong[found:])


def check_later(log: Log, first: int, later: list[str]) -> Iterator[str]:
    """Lines after those of a certificate must be events that leave its values as they are.

    If they are no events, it is not a certificate of an earlier moment, and ``later`` is emptied.
    """
    told = set(log.told)
    try:
        wrong = list(itertools.islice(read_lines(log, first, later), MOST_PROBLEMS))
    except InvalidCertificate as error:
        wrong = [str(error)]
    if wrong:
        later.clear()
        yield "log: its sha256 is not that of the lines"
        yield from wrong
    corrected = [
        seq
        for seq, event in enumerate(map(parse, later), first)
        if event["kind"] == "corrected" and event["ticket"] in told
    ]
    if corrected:
        many = f" and {len(corrected) - 1} more" if len(corrected) > 1 else ""
        yield (
            f"log: event {corrected[0]}{many}, after the certificate, corrected a value that it "
            "has. A new certificate has the right ones"
        )


def check_study(certificate: dict[str, Any], first: str) -> None:
    """Raise Wrong if the first event of a log, which can be read, is that of another study."""
    mine = certificate.get("study")
    try:
        event = parse(first)
    except (ValueError, RecursionError):
        return
    made = event.get("data") if isinstance(event, dict) else None
    if not isinstance(mine, dict) or not isinstance(made, dict):
        return
    uid, other = mine.get("uid"), made.get("uid")
    if isinstance(uid, str) and isinstance(other, str) and uid != other:
        here, there = show(mine.get("name")), show(made.get("name"))
        if mine.get("name") == made.get("name"):
            here, there = f"{here} with uid {uid[:40]}", f"the {there} with uid {other[:40]}"
        raise InvalidCertificate(
            f"this certificate is of study {here}, not of {there}, whose log was given"
        )


def check_log(
    question: Question,
    certificate: dict[str, Any],
    lines: Sequence[str],
    claims: Sequence[Claim],
    later: list[str],
) -> Iterator[str]:
    """Check a certificate against a log, or against its beginning if that has the stated digest.

    Adds the lines after this beginning to ``later``.  They must be events, too.
    """
    stated = take(certificate, "log", "an object")
    question.work.most += STEPS_PER_EVENT * len(lines)
    log = Log(question.family, question.sigmas, question.work)
    lines = [line.removesuffix("\n") for line in lines]
    events, sha256 = stated.get("events"), stated.get("sha256")
    before = events if KINDS["a whole number"](events) else 0
    if 0 < before < len(lines) and digest_of_lines(lines[:before]) == sha256:
        later += lines[before:]
        lines = lines[:before]
    same = digest_of_lines(lines) == sha256
    if not same and lines:
        check_study(certificate, lines[0])
    if events != len(lines):
        yield f"log: it has {len(lines)} events: got {show(events)}"
    if not same:
        yield "log: its sha256 is not that of the lines"
    yield from check_chain([*lines, *later])
    yield from read_lines(log, 1, lines)
    demand(bool(log.created), "log: it is empty")
    gate = log.gate()
    yield from compare_parts(certificate, log, gate)
    course, started = Course(question, claims), False
    for row in log.taken_in(gate.order):
        started, arm, most = True, log.arms[row.arm], max(row.n, 1)
        demand(arm in question.sigmas, "log: its arms are not those of the question")
        if (
            not most * question.low <= row.value <= most * question.high
            or (question.family == "exponential" and row.value == 0.0)
            or (question.family in ("bernoulli", "poisson") and row.value != math.floor(row.value))
        ):
            yield f"log: {show(arm)} has the reward {row.value:g}, which the model does not know"
        course.take_in(row, course.index(arm))
        if len(course.problems) > MOST_PROBLEMS:
            break
    yield from course.finish(claims)
    for part, tally in zip(certificate["arms"], course.tallies, strict=True):
        wrong = tally.differs(
            part["pulls"], part["sum"], part.get("scatter", 0.0), question.family == UNKNOWN
        )
        if wrong:
            yield f"arm {show(part['arm'])}: {wrong}"
    outcome = outcome_of(log, course, started)
    if certificate["outcome"] != outcome:
        yield f"outcome is {outcome!r} in the log: got {show(certificate['outcome'])}"
    yield from check_doubts(certificate.get("doubts", []), doubts_of(log, gate))
    yield from check_later(log, len(lines) + 1, later)


def compare_parts(certificate: dict[str, Any], log: Log, gate: Gate) -> Iterator[str]:
    """Compare what a certificate repeats from the log: question, model, rules and values."""
    made, asked, arms = log.created, certificate["question"], log.arms
    pairs = [(f"question: {key}", asked[key], made.get(key)) for key in ("objective", "delta")]
    pairs += [("question: arms", asked["arms"], arms)]
    max_new_arms = log.places - len(arms) if "max_new_arms" in made else None
    pairs += [("question: max_new_arms", asked.get("max_new_arms"), max_new_arms)]
    pairs += [(key, certificate[key], made.get(key)) for key in ("model", "strategy")]
    pairs += [("source", certificate.get("source"), None)]
    pairs += [
        (f"study: {key}", take(certificate["study"], key, "a text"), made.get(key))
        for key in ("name", "uid")
    ]
    pairs += [("question: withdrawn", asked["withdrawn"], [arms[a] for a in sorted(log.withdrawn)])]
    pairs += [("log: observations", certificate["log"].get("measurements"), log.measured())]
    pairs += [
        ("log: format and rules", [LOG_FORMAT, RULES], [made.get("format"), made.get("rules")])
    ]
    processed = take(certificate, "quality", "an object")
    pairs += [
        (f"quality: {key}", processed.get(key), made.get(key))
        for key in ("check_values", "in_order", "censor_at")
    ]
    stated_values = take(certificate, "values", "an object")
    pairs += [
        (f"values: {key}", stated_values.get(key), numbers)
        for key, numbers in gate.values().items()
    ]
    for name, here, there in pairs:
        if here != there:
            yield f"{name} is {show(there)} in the log: got {show(here)}"


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parts = dict(pairs)
    if len(parts) < len(pairs):
        doubled = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise InvalidCertificate(f"the key {show(doubled)} is there twice")
    return parts


def refuse_constant(name: str) -> None:
    raise InvalidCertificate(f"{name} is no number")


def parse(text: str) -> Any:
    """The JSON value, with no key twice in an object, and no NaN."""
    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse_constant)


def check_head(certificate: dict[str, Any]) -> Iterator[str]:
    """Check the parts that do not depend on others."""
    if take(certificate, "format", "a text") != FORMAT:
        yield f"format must be {FORMAT}: got {show(certificate['format'])}"
    if take(take(certificate, "versions", "an object"), "rules", "a whole number") != RULES:
        yield f"versions: rules must be {RULES}: got {show(certificate['versions']['rules'])}"
    for key, known in OF_PARTS.items():
        if key in certificate:
            demand_keys(take(certificate, key, "an object"), known)
    demand_keys(certificate, OF_CERTIFICATE)
    take(certificate, "values", "an object")
    outcome = take(certificate, "outcome", "a text")
    if outcome not in ("certified", "running", "budget exhausted", "dropped"):
        yield f"outcome is unknown: got {show(outcome)}"
    for key, kind in (("name", "a text"), ("uid", "a text")):
        take(take(certificate, "study", "an object"), key, kind)
    for key, kind in (
        ("events", "a whole number"),
        ("measurements", "a whole number"),
        ("sha256", "a text"),
    ):
        take(take(certificate, "log", "an object"), key, kind)
    if "doubts" in certificate:
        demand(
            take(certificate, "doubts", "a list of texts") != [], "doubts must not be an empty list"
        )
    if "source" in certificate:  # a table that was added up
        for key in ("file", "sha256"):
            take(take(certificate, "source", "an object"), key, "a text")


class Enough(Exception):
    """So many problems were found that no more are looked for."""


@dataclass
class Findings:
    """The problems of a check, as they are found."""

    problems: list[str] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        if len(self.problems) == MOST_PROBLEMS:
            self.problems.append(
                f"The check stopped after {MOST_PROBLEMS} problems: there may be more."
            )
            raise Enough
        self.problems.append(sentence)

    def collect(self, name: str, check: Callable[..., Iterator[str]], *parts: Any) -> bool:
        """Run a check; return whether the part could be read to its end."""
        try:
            for message in check(*parts):
                self.add(f"{name}{message}.")
        except InvalidCertificate as error:
            self.add(f"{name}{error}.")
        except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
            self.add(f"{name}it cannot be checked: {type(error).__name__}.")
        else:
            return True
        return False


def verify(
    certificate: object,
    lines: Sequence[str] | None = None,
    pause: Callable[[], object] | None = None,
) -> Verification:
    """Check a certificate, read from JSON, and the exported log if there is one.

    Never raises an exception, whatever they hold; but ``pause``, which is called now and then, may
    end the check by one of its own.
    """
    if not isinstance(certificate, dict):
        return Verification(
            (f"the certificate must be an object: got {show(certificate)}.",), 0, False
        )
    found = Findings()
    later: list[str] = []
    claims: list[Claim] = []
    recomputed, log_checked = 0, False
    try:
        sound = found.collect("", check_head, certificate)
        questions: list[Question] = []

        def read() -> Iterator[str]:
            questions.append(read_question(certificate))
            questions[0].work.pause = pause
            yield from ()

        made, arms = (
            x if isinstance(x, list) else []
            for x in (certificate.get("claims"), certificate.get("arms"))
        )
        titles, bad = titles_of(made)
        if found.collect("question: ", read) and sound:
            measurements = certificate["log"]["measurements"]
            for title, claim in zip(titles, made, strict=True):
                parts = (questions[0], bad, measurements, title, claim, claims)
                recomputed += found.collect(title, check_claim, *parts)
            found.collect("arms: ", check_arms, questions[0], certificate, measurements)
        for title, claim in zip(titles, made, strict=True):
            found.collect(title, check_digest, claim)
        for i, arm in enumerate(arms, 1):
            found.collect(f"arms: number {i}: ", check_digest, arm)
        found.collect("the certificate: ", check_digest, certificate)
        if lines is not None and questions and sound:
            log_checked = found.collect(
                "", check_log, questions[0], certificate, lines, claims, later
            )
    except Enough:
        pass
    remark = ""
    if lines is not None and later:
        moment = f"event {len(lines) - len(later)} of {len(lines)}"
        remark = f"The certificate is of an earlier moment: {moment}."
        remark += "" if found.problems else " Up to there everything agrees."
    doubts = certificate.get("doubts", [])
    stated = doubts if KINDS["a list of texts"](doubts) else []
    shown = tuple(text[:1000] for text in stated[:MOST_PROBLEMS])
    return Verification(tuple(found.problems), recomputed, log_checked, remark, shown)


def titles_of(claims: Sequence[object]) -> tuple[list[str], BadArms]:
    """Name each claim for messages, and collect the arms that are called bad."""
    titles, bad = [], BadArms()
    for i, claim in enumerate(claims, 1):
        part = claim if isinstance(claim, dict) else {}
        arm, label, after = part.get("arm"), part.get("label"), part.get("after")
        known = label in ("good", "bad") if isinstance(label, str) else False
        titles.append(f"claim {i}, that {show(arm)} is {label}: " if known else f"claim {i}: ")
        if label == "bad" and isinstance(arm, str) and isinstance(after, int):
            bad.add(arm, after)
    return titles, bad


def main(arguments: Sequence[str]) -> int:
    if len(arguments) not in (1, 2):
        print("usage: python verifier.py certificate.json [events.jsonl]", file=sys.stderr)
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
    report = verify(certificate, texts[0].removesuffix("\n").split("\n") if texts else None)
    for line in report.lines():
        print(line.encode("ascii", "backslashreplace").decode())
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
