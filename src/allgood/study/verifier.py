"""Check a certificate: recompute every claim of a study from the numbers it rests on.

    python verifier.py certificate.json [events.jsonl]

This file shares no code with the engine and needs nothing but the standard library.

Arm k is good when mu_k >= c mu_l - e for every arm l.  Additive: c = 1, e = epsilon.
Multiplicative: c = 1 - epsilon, e = 0.  There are K arms, with those that were withdrawn and those
that may still be added (the reserve), and the risk is delta; a quarter of it if there was a
reserve.  Each arm has n rewards with mean m (and scatter Q, where sigma is unknown).  Evidence is a
likelihood ratio, averaged over effects, at the worst place where k and l could meet:

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

Where values are checked (``hearing``), 0.999 delta stands in the place of delta.  A thousandth of
delta pays for values that are held back as suspect: the j-th value of an arm, j >= 2, if the chance
that one lies at least so far from the n before, with mean m and scatter Q, is below

    delta/1000 / (K j (j - 1)).

Bounds on that chance, with f = n - 1 degrees of freedom for unknown sigma:

    normal:         2 exp(-z^2/2),  z = (x - m)/(sigma sqrt(1 + 1/n))
    Poisson:        2 exp(-T d(x/T, 1/(n + 1))),  T = n m + x, d the divergence of Bernoulli laws
    exponential:    2 min(p, 1 - p),  p = (1 + x/(n m))^-n
    Bernoulli:      2 exp(-n d(m, c) - d(x, c)),  c the mean of all n + 1
    unknown sigma:  2 c f/((f - 1) t) (1 + t^2/f)^(-(f - 1)/2),  t = (x - m)/sqrt(Q/f (1 + 1/n)),
                    c the density of Student's law at 0; 2/(pi t) for f = 1

The pool counts as one arm with the largest sigma.  Multiplicative: k itself is a rival, and M
averaged over the effects of one arm, against 0, is the evidence for the sign of mu_k.
"""

import hashlib
import itertools
import json
import math
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

FORMAT, RULES, STRATEGY = "allgood certificate 2", 6, "weakest-claim"
LOG_FORMAT, SHARE, CASES = 1, 0.001, 4
PRECISIONS, WEIGHTS = (5.0, 70.0, 1e3, 1.4e4, 2e5), (0.18, 0.34, 0.26, 0.14, 0.08)
PRECISIONS_OF_TWO, WEIGHTS_OF_TWO = (8.0, 100.0, 1.5e3, 3e4), (0.3, 0.4, 0.2, 0.1)  # where K = 2
UNLIKE, TIED, TIED_OF_TWO, TIED_OF_MANY, POOLED = 0.4, 0.3, 0.95, 0.7, 0.9
SHIFTS = tuple(3.0 / 2**j for j in range(12))
CENTRE, SPREAD, TAIL, NO_EFFECT = 0.15, 1.8, 1.5, 0.02
PRECISIONS_UNKNOWN = (0.3, 3.0, 30.0, 3e2, 3e3, 3e4, 3e5)
WEIGHTS_UNKNOWN = (0.05, 0.10, 0.17, 0.24, 0.22, 0.12, 0.08)
REACH = 1e-6  # by which recomputed evidence may miss the need
NORMAL, UNKNOWN = "normal", "unknown sigma"
LARGEST, GOLDEN = 1e100, (3.0 - math.sqrt(5.0)) / 2.0


@dataclass(frozen=True)
class Verification:
    """The result of a check.

    Attributes:
        problems: one sentence each; none if all is well.
        claims: how many were recomputed.
        log_checked: whether the log was given and read to its end.
        remark: a sentence if the certificate is of an earlier moment of the log; else empty.
    """

    problems: tuple[str, ...]
    claims: int
    log_checked: bool
    remark: str = ""

    @property
    def ok(self) -> bool:
        return not self.problems


class Wrong(ValueError):
    """A part of the file is not what it must be."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison: an arm, or the pool."""

    n: float
    m: float
    Q: float
    sigma: float


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
    # rho (normal), eta, or 1/sqrt(rho) (unknown sigma).  The latter two end with 0: no effect.
    effects: list[float]
    W: list[list[float]]
    T: list[float]

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


def normal_evidence(question: Question, up: int, k: Side, l: Side) -> float:
    v_k, v_l, N, c = k.n / k.sigma**2, l.n / l.sigma**2, k.n + l.n, question.c
    G = up * (k.m + question.e - c * l.m)
    weights = [x for row in question.W for x in row] + question.T

    def f(z: float) -> float:
        vd_k, vd_l = v_k * z, v_l * (G - z) / c
        a = [log_normal_factor(v_k, vd_k, rho / k.sigma**2) for rho in question.effects]
        b = [log_normal_factor(v_l, vd_l, rho / l.sigma**2) for rho in question.effects]
        tied = [
            log_normal_factor(N, k.sigma * vd_k + l.sigma * vd_l, rho) for rho in question.effects
        ]
        return log_sum(weights, [x + y for x in a for y in b] + tied)

    v = v_l + c * c * v_k
    return least(f, G * v_l / v, c / math.sqrt(v))[1]


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


def other_evidence(question: Question, up: int, k: Side, l: Side, need: float) -> float:
    """The least value seen if the minimum is shown to reach ``need``; else a value below it."""
    low, high = (
        question.low,
        min(question.high, question.c * question.high - question.e) if up > 0 else question.high,
    )
    if low > high:
        return math.inf  # no means of the family make k bad

    def at(t: float) -> tuple[Scaled, Scaled]:
        top, b = factors(question, l, min((t + question.e) / question.c, question.high), -up)
        return factors(question, k, t, up), (
            top,
            [sum(map(operator.mul, row, b)) for row in question.W],
        )

    def joint(first: tuple[Scaled, Scaled], second: tuple[Scaled, Scaled]) -> float:
        (top_a, a), (top_b, b) = first[0], second[1]
        total = sum(map(operator.mul, a, b))
        return top_a + top_b + math.log(total) if total > 0.0 else -math.inf

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
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = f"{type(value).__name__} too large to show"
    return text if len(text) <= 60 else f"{text[:57]}..."


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
}


def take(part: object, key: str, kind: str) -> Any:
    if not isinstance(part, dict):
        raise Wrong(f"must be an object: got {show(part)}")
    if key not in part:
        raise Wrong(f"{key} is missing")
    if not KINDS[kind](part[key]):
        raise Wrong(f"{key} must be {kind}: got {show(part[key])}")
    return part[key]


def demand(truth: bool, message: str) -> None:
    if not truth:
        raise Wrong(message)


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
    demand(len(set(arms)) == len(arms), "arms must have different names")
    demand(
        len(set(withdrawn)) == len(withdrawn) and set(withdrawn) <= set(arms),
        "withdrawn must be some of the arms",
    )
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
    left = {arm: float(x) for arm, x in zip(arms, sigmas, strict=True) if arm not in withdrawn}
    pool = take(strategy, "pool", "true or false")
    checked = take(take(certificate, "hearing", "an object"), "check_values", "true or false")
    risk = (1.0 - SHARE) * delta if checked else delta
    reserve = 0
    if "reserve" in asked:
        reserve, risk = take(asked, "reserve", "a whole number"), risk / CASES
        demand(checked, "values must be checked where arms may be added")
    K = len(arms) + reserve  # arms that were withdrawn, or not added, count here
    required = needs(family, c, K, risk, pool)
    return Question(list(left), family, left, c, e, low, high, required, *prior(family, K))


@dataclass(frozen=True)
class Entry:
    """What a claim rests on: numbers of the arm and of its rival or the pool, at one moment."""

    claim: str
    arm: str
    against: str | None
    after: int
    numbers: list[tuple[float, float, float]]  # of either side: pulls, sum, scatter
    evidence: float  # as stated; inf for null: certain


def read_entry(question: Question, claim: str, arm: str, part: object) -> Entry:
    pulls, sums = take(part, "pulls", "two numbers"), take(part, "sums", "two numbers")
    scatters = take(part, "scatters", "two numbers") if question.family == UNKNOWN else [0.0, 0.0]
    after, stated = (
        take(part, "after", "a whole number"),
        take(part, "evidence", "a number or null"),
    )
    demand(isinstance(part, dict) and "against" in part, "against is missing")
    against: Any = part["against"] if isinstance(part, dict) else None
    name = "the pool" if against is None else show(against)
    known = against is None or (isinstance(against, str) and against in question.arms)
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
    return Entry(claim, arm, against, after, numbers, math.inf if stated is None else stated)


def check_entry(question: Question, good: bool, entry: Entry, need: float) -> Iterator[str]:
    name = "the pool" if entry.against is None else repr(entry.against)
    (n_k, S_k, Q_k), (n_l, S_l, Q_l) = entry.numbers
    k, l = Side(n_k, S_k / n_k, Q_k, question.sigmas[entry.arm]), None
    if entry.against is None:
        sigma = max(question.sigmas.values()) if question.family == NORMAL else 1.0
        l = Side(n_l * sigma**2, S_l / n_l, Q_l, sigma)
    elif entry.against != entry.arm:
        l = Side(n_l, S_l / n_l, Q_l, question.sigmas[entry.against])
    value = evidence(question, 1 if good else -1, k, l, need)
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


def check_claim(
    question: Question,
    bad: dict[str, int],
    observations: int,
    title: str,
    claim: object,
    entries: list[Entry],
) -> Iterator[str]:
    """Check one claim.  Adds what it rests on to ``entries``.

    ``bad`` holds, for each arm certified bad, after how many observations it was.
    """
    arm, label = take(claim, "arm", "a text"), take(claim, "label", "a text")
    after, need = take(claim, "after", "a whole number"), take(claim, "need", "a number")
    stated = take(claim, "evidence", "a number or null")
    demand(arm in question.arms, "the question has no such arm")
    demand(label in ("good", "bad"), "a claim is good or bad")
    rests = [read_entry(question, title, arm, part) for part in take(claim, "rests_on", "a list")]
    entries += rests
    named = [entry.against for entry in rests]
    demand(len(set(named)) == len(named), "it names a rival twice in rests_on")
    last, key = max((entry.after for entry in rests), default=0), "good"
    left_out = [
        rival for rival in question.arms if rival not in named and (rival != arm or question.signed)
    ]
    too_late = (
        f"it was made after {after} observations, but what it rests on was there after {last}"
    )
    if label == "good":
        demand(None not in named, "no arm is good because of the pool")
        for rival in left_out:
            if rival == arm or bad.get(rival, math.inf) > after:
                yield f"it leaves out {rival!r}, which was not certified bad by then"
        late = (
            after > last
            and not any(bad.get(rival, -1) >= last for rival in left_out)
            and len(question.arms) > 1
        )
        if late:
            yield too_late
    else:
        demand(len(rests) == 1, f"a bad claim rests on one rival: got {len(rests)}")
        key = "pool" if named[0] is None else "rival"
        demand(key in question.needs, "the study has no pool")
        if after != last:
            yield too_late
    if not max(last, len(question.arms)) <= after <= observations:
        yield (
            f"after must lie between what it rests on, {last}, and the observations, "
            f"{observations}: got {after}"
        )
    if not abs(need - question.needs[key]) <= 1e-9:
        yield f"need recomputes to {question.needs[key]:.12g}: got {need:.12g}"
    if (math.inf if stated is None else stated) != min(
        (entry.evidence for entry in rests), default=math.inf
    ):
        yield "its evidence is not the least of what it rests on"
    for entry in rests:
        yield from check_entry(question, label == "good", entry, question.needs[key])


def check_arms(question: Question, certificate: dict[str, Any], observations: int) -> Iterator[str]:
    arms, claims = take(certificate, "arms", "a list"), take(certificate, "claims", "a list")
    outcome = certificate["outcome"]
    demand(
        [take(part, "arm", "a text") for part in arms] == question.arms,
        "they must be those of the question, in order",
    )
    total = 0
    for part in arms:
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
                f"the scatter of {arm!r} must not be negative",
            )
        made = [
            claim.get("label")
            for claim in claims
            if isinstance(claim, dict) and claim.get("arm") == arm
        ]
        if made != ([] if label == "open" else [label]) or label not in ("good", "bad", "open"):
            yield f"{arm!r} has the label {label}, and these claims: {show(made)}"
        if outcome == "certified" and label == "open":
            yield f"the outcome is certified, but {arm!r} is open"
    if total > observations:
        yield f"they have {total} pulls in all, more than the {observations} observations"


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


@dataclass
class Log:
    """The log after its last event.  Arms have indices.

    Attributes:
        family: of the rewards, as far as values are checked; sigmas: by name of arm.
        arms: their names, with those that were added.
        places: K: how many arms there may ever be.
        tickets: of each ticket its arm, whether its reward joins the pool, and its plate.
        told: the value of each ticket that has one.
        arrivals: what lets values count, in order: told, failed or confirmed, and the ticket.
        in_vain, normalised: tickets told as waited in vain, and those told in units of controls.
        wrong: what was found on the way.
    """

    family: str
    sigmas: dict[str, float]
    created: dict[str, Any] = field(default_factory=dict)
    arms: list[str] = field(default_factory=list)
    places: int = 0
    tickets: dict[int, tuple[int, bool, int]] = field(default_factory=dict)
    told: dict[int, float] = field(default_factory=dict)
    arrivals: list[tuple[str, int, float]] = field(default_factory=list)
    numbers: dict[int, tuple[int, float]] = field(default_factory=dict)  # rewards and scatter
    in_vain: set[int] = field(default_factory=set)
    normalised: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    withdrawn: set[int] = field(default_factory=set)
    plates: dict[int, dict[str, str]] = field(default_factory=dict)
    controls: dict[tuple[int, str], float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    latest: "Gate | None" = None

    def gate(self) -> "Gate":
        """Which values count now."""
        if self.latest is None:
            self.latest = Gate(self)
        self.latest.go_on()
        return self.latest

    def add(self, seq: int, event: Any) -> None:
        demand(take(event, "seq", "a whole number") == seq, f"seq must be {seq}")
        kind = take(event, "kind", "a text")
        demand((kind == "created") == (seq == 1), "the first event, and no other, must be created")
        if kind == "created":
            self.created = take(event, "data", "an object")
            self.arms = list(take(self.created, "arms", "a list of texts"))
            demand(len(self.arms) > 0, "there must be arms")
            demand(take(self.created, "delta", "a number") > 0.0, "delta must be positive")
            reserved = "reserve" in self.created
            reserve = take(self.created, "reserve", "a whole number") if reserved else 0
            self.places = len(self.arms) + reserve
        elif kind == "addition":
            demand(len(self.arms) == len(self.created["arms"]), "arms were added before")
            self.arms += take(take(event, "data", "an object"), "arms", "a list of texts")
            demand(len(self.arms) <= self.places, "there are not so many places in reserve")
        elif kind == "abandonment":
            arm = self.arm(event)
            mine = {number for number, ticket in self.tickets.items() if ticket[0] == arm}
            told = mine & self.told.keys()
            if told <= self.in_vain:
                self.withdrawn.add(arm)
                self.arrivals += [("failed", number, 0.0) for number in sorted(mine - told)]
        elif kind in ("extension", "copy"):
            take(event, "data", "an object")  # no label depends on it
        elif kind == "note":
            take(event, "note", "a text")
        elif kind == "arm_notes":
            demand(not self.tickets, "notes must stand before all tickets")
        elif kind == "plate":
            layout = take(take(event, "data", "an object"), "placed", "an object")
            self.plates[take(event, "batch", "a whole number")] = layout
        elif kind in ("control", "recontrol"):
            place = take(event, "batch", "a whole number"), take(event, "well", "a text")
            demand(place[1] in self.plates.get(place[0], {}), "no control is in this well")
            self.controls[place] = take(event, "value", "a number")
        elif kind in ("ticket", "unasked", "counts"):
            number = take(event, "ticket", "a whole number")
            demand(number not in self.tickets, "its ticket was given before")
            joins = kind == "ticket" and take(event, "joins", "true or false")
            self.tickets[number] = self.arm(event), joins, event.get("batch", 0)
        elif kind in ("observation", "correction", "confirmation", "lease", "failure"):
            known = take(event, "ticket", "a whole number") in self.tickets
            demand(known, "no such ticket was given")
        else:
            demand(False, f"no event is of the kind {show(kind)}")
        if kind in ("observation", "unasked", "counts", "correction"):
            self.tell(event["ticket"], kind == "correction", event)
        elif kind == "failure":
            demand(self.is_open(event["ticket"]), "its ticket was told or has failed before")
            self.failed.add(event["ticket"])
            self.arrivals.append(("failed", event["ticket"], 0.0))
        elif kind == "confirmation":
            value = take(event, "value", "a number")
            demand(self.told.get(event["ticket"]) == value, "it confirms another value")
            demand(self.gate().is_held(event["ticket"]), "it confirms a value that is not suspect")
            self.arrivals.append(("confirmed", event["ticket"], value))

    def is_open(self, number: int) -> bool:
        return number not in self.told and number not in self.failed

    def tell(self, number: int, corrected: bool, event: dict[str, Any]) -> None:
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
        in_vain = "in_vain" in data and take(data, "in_vain", "true or false")
        deadline = self.created.get("deadline")
        right = deadline is None or value <= deadline
        demand(right and (not in_vain or value == deadline), "it does not respect the deadline")
        (self.in_vain.add if in_vain else self.in_vain.discard)(number)
        (self.normalised.add if "normalised" in data else self.normalised.discard)(number)
        if "normalised" in data:
            how, plate = take(data, "normalised", "an object"), self.tickets[number][2]
            names = take(how, "controls", "a list of texts")
            again = in_units(
                take(how, "way", "a text"),
                take(data, "raw", "a number"),
                [
                    [
                        x
                        for (p, well), x in self.controls.items()
                        if p == plate and self.plates[p][well] == name
                    ]
                    for name in names
                ],
            )
            room = 1e-9 * abs(value)
            if not (again > value - room if in_vain else abs(again - value) <= room):
                self.wrong.append(f"ticket {number} normalises to {again:.12g}: got {value:.12g}")
        if not corrected:
            self.arrivals.append(("told", number, value))

    def arm(self, event: object) -> int:
        arm: int = take(event, "arm", "a whole number")
        demand(arm < len(self.arms), f"there is no arm {arm}")
        return arm

    def measured(self) -> int:
        """How many measurements were told."""
        return sum(self.numbers.get(number, (1, 0.0))[0] for number in self.told)

    def taken_in(self, order: list[int]) -> list[tuple[int, float, bool, int, float]]:
        """Arm, reward, whether it joins the pool, how many rewards it is the sum of, their scatter.

        A time waited in vain is the sum of none.

        In the order in which they came, the first reward of an arm with what was waited in vain
        before it; none before every arm has one.
        """
        rows: list[tuple[int, float, bool, int, float]] = []
        seen: set[int] = set()
        before: dict[int, float] = {}
        for number in order:
            (arm, joins, _), x = self.tickets[number], self.told[number]
            if arm in self.withdrawn:
                continue
            if number in self.in_vain and arm not in seen:
                before[arm] = before.get(arm, 0.0) + x
                continue
            if arm not in seen:
                seen.add(arm)
                x += before.get(arm, 0.0)
            many = (0, 0.0) if number in self.in_vain else self.numbers.get(number, (1, 0.0))
            rows.append((arm, x, joins, *many))
        return rows if len(seen) + len(self.withdrawn) == len(self.arms) else []


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
class Gate:
    """Which values count, in which order; which are suspect, and which wait."""

    log: Log
    order: list[int] = field(default_factory=list)
    held: dict[int, list[int]] = field(default_factory=dict)  # suspect, by arm
    sure: set[int] = field(default_factory=set)
    waiting: dict[int, bool] = field(default_factory=dict)  # whether it has a value

    def __post_init__(self) -> None:
        made = self.log.created
        self.level = math.log(SHARE * made["delta"] / self.log.places)
        self.counted: dict[int, list[int]] = {}
        self.tallies: dict[int, Tally] = {}
        self.vain: dict[int, float] = {}
        self.following, self.heard = 1, 0

    def go_on(self) -> None:
        """Take what has come since."""
        for kind, number, value in self.log.arrivals[self.heard :]:
            if kind == "confirmed":
                self.confirm(number, value)
            elif not self.log.created.get("in_order"):
                if kind == "told":
                    self.hear(number)
            elif number >= self.following:
                self.waiting[number] = kind == "told"
                while self.following in self.waiting:
                    if self.waiting.pop(self.following):
                        self.hear(self.following)
                    self.following += 1
        self.heard = len(self.log.arrivals)

    def count(self, number: int) -> None:
        arm, x = self.log.tickets[number][0], self.log.told[number]
        self.order.append(number)
        if number in self.log.in_vain:
            self.vain[arm] = self.vain.get(arm, 0.0) + x
        else:
            self.counted.setdefault(arm, []).append(number)
            n, scatter = self.log.numbers.get(number, (1, 0.0))
            self.tallies.setdefault(arm, Tally()).add(x, n=n, scatter=scatter)

    def is_held(self, number: int) -> bool:
        return number in self.held.get(self.log.tickets[number][0], [])

    def chance(self, arm: int, x: float, n: int, m: float, Q: float, k: int = 1) -> float:
        sigma = self.log.sigmas.get(self.log.arms[arm], 1.0)
        return log_chance(self.log.family, sigma, x, n, m, Q, k)

    def mean(self, arm: int) -> float:
        tally = self.tallies[arm]
        return tally.m if arm not in self.vain else (tally.S + self.vain[arm]) / tally.n

    def confirm(self, number: int, value: float) -> None:
        if self.log.told[number] != value:
            return  # it was corrected, and must be confirmed again
        self.sure.add(number)
        if self.is_held(number):
            self.held[self.log.tickets[number][0]].remove(number)
            self.count(number)

    def hear(self, number: int) -> None:
        arm, x = self.log.tickets[number][0], self.log.told[number]
        mine, held = self.counted.get(arm, []), self.held.setdefault(arm, [])
        free = not self.log.created.get("check_values") or number in self.log.in_vain
        if free or not mine:
            self.count(number)
            return
        m, tally, told = self.mean(arm), self.tallies[arm], self.log.told
        k = self.log.numbers.get(number, (1, 0.0))[0]
        j = len(mine) + len(held) + 1
        level = self.level - math.log(j * (j - 1))
        short = arm in self.vain and x < m
        if short or self.chance(arm, x / k, int(tally.n), m, tally.Q, k) >= level:
            self.count(number)
            return
        first = mine[0]
        others = sorted(self.mean(a) for a, some in self.counted.items() if a != arm and some)
        single = [h for h in held if self.log.numbers.get(h, (1, 0.0))[0] == 1]
        friends = [h for h in single if self.chance(arm, x, 1, told[h], 0.0) >= level]
        nearer = False
        if others:
            half = len(others) // 2
            middle = others[half] if len(others) % 2 else (others[half - 1] + others[half]) / 2.0
            nearer = abs(x - middle) < abs(told[first] - middle)
        several = tally.n > 1 or k > 1
        if several or first in self.sure or not (friends or nearer):
            held.append(number)
            return
        instead = friends[0] if friends else number
        if friends:
            held.remove(instead)
        held.append(first)
        self.order[self.order.index(first)] = instead
        mine[0], self.tallies[arm] = instead, Tally()
        self.tallies[arm].add(told[instead])
        if friends:
            self.count(number)

    def values(self) -> dict[str, Any]:
        """The tickets that a certificate must name, or count."""
        return {
            "suspect": sorted(number for held in self.held.values() for number in held),
            "confirmed": sorted(self.sure),
            "waiting": sorted(number for number, told in self.waiting.items() if told),
            "in_vain": len(self.log.in_vain),
            "normalised": len(self.log.normalised),
        }


def digest_of_lines(lines: Sequence[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def read_lines(log: Log, first: int, lines: Sequence[str]) -> Iterator[str]:
    """Add lines to a log, numbered from ``first`` on."""
    found = len(log.wrong)
    for seq, line in enumerate(lines, first):
        try:
            log.add(seq, parse(line))
        except ValueError as error:
            raise Wrong(f"log, line {seq}: {error}") from None
    yield from (f"log: {message}" for message in log.wrong[found:])


def check_later(log: Log, first: int, later: list[str]) -> Iterator[str]:
    """Lines after those of a certificate must be events that leave its values as they are.

    If they are no events, it is not a certificate of an earlier moment, and ``later`` is emptied.
    """
    told = set(log.told)
    try:
        wrong = list(read_lines(log, first, later))
    except Wrong as error:
        wrong = [str(error)]
    if wrong:
        later.clear()
        yield "log: its sha256 is not that of the lines"
        yield from wrong
    corrected = [
        seq
        for seq, event in enumerate(map(parse, later), first)
        if event["kind"] == "correction" and event["ticket"] in told
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
    uids, names = [x.get("uid") for x in (mine, made)], [x.get("name") for x in (mine, made)]
    if all(isinstance(uid, str) for uid in uids) and uids[0] != uids[1]:
        here, there = map(show, names)
        if names[0] == names[1]:
            here, there = f"{here} with uid {uids[0]}", f"the {there} with uid {uids[1]}"
        raise Wrong(f"this certificate is of study {here}, not of {there}, whose log was given")


def check_log(
    question: Question,
    certificate: dict[str, Any],
    lines: Sequence[str],
    entries: list[Entry],
    later: list[str],
) -> Iterator[str]:
    """Check a certificate against a log, or against its beginning if that has the stated digest.

    Adds the lines after this beginning to ``later``.  They must be events, too.
    """
    stated = take(certificate, "log", "an object")
    log = Log(question.family, question.sigmas)
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
    yield from read_lines(log, 1, lines)
    made, asked = log.created, certificate["question"]
    demand(bool(made), "log: it is empty")
    arms, gate = log.arms, log.gate()
    rows = log.taken_in(gate.order)
    pairs = [(f"question: {key}", asked[key], made.get(key)) for key in ("objective", "delta")]
    pairs += [("question: arms", asked["arms"], arms)]
    reserve = log.places - len(arms) if "reserve" in made else None
    pairs += [("question: reserve", asked.get("reserve"), reserve)]
    pairs += [(key, certificate[key], made.get(key)) for key in ("model", "strategy")]
    pairs += [
        (f"study: {key}", take(certificate["study"], key, "a text"), made.get(key))
        for key in ("name", "uid")
    ]
    pairs += [
        ("question: withdrawn", sorted(asked["withdrawn"]), sorted(arms[a] for a in log.withdrawn))
    ]
    pairs += [("log: observations", stated.get("observations"), log.measured())]
    pairs += [
        ("log: format and rules", [LOG_FORMAT, RULES], [made.get("format"), made.get("rules")])
    ]
    heard = take(certificate, "hearing", "an object")
    pairs += [
        (f"hearing: {key}", heard.get(key), made.get(key))
        for key in ("check_values", "in_order", "deadline")
    ]
    stated_values = take(certificate, "values", "an object")
    pairs += [
        (f"values: {key}", stated_values.get(key), numbers)
        for key, numbers in gate.values().items()
    ]
    for name, here, there in pairs:
        if here != there:
            yield f"{name} is {show(there)} in the log: got {show(here)}"
    tallies, pool = {arm: Tally() for arm in question.arms}, Tally()
    moments: dict[int, list[Entry]] = {}
    total = sum(max(row[3], 1) for row in rows)
    for entry in entries:
        moments.setdefault(entry.after, []).append(entry)
        if entry.after > total:
            yield f"{entry.claim}it rests on more observations than the {total} taken in"
    i = 0
    for a, value, joins, n, scatter in rows:
        i += max(n, 1)
        arm = arms[a]
        demand(arm in tallies, "log: its arms are not those of the question")
        if (
            not max(n, 1) * question.low <= value <= max(n, 1) * question.high
            or (question.family == "exponential" and value == 0.0)
            or (question.family in ("bernoulli", "poisson") and value != math.floor(value))
        ):
            yield f"log: {arm!r} has the reward {value:g}, which the model does not know"
        tallies[arm].add(value, n=n, scatter=scatter)
        if joins:
            pool.add(value, question.sigmas[arm] ** -2, n)
        for entry in moments.get(i, []):
            for side, numbers in zip((entry.arm, entry.against), entry.numbers, strict=True):
                wrong = (pool if side is None else tallies[side]).differs(
                    *numbers, question.family == UNKNOWN
                )
                if wrong:
                    name = "the pool" if side is None else repr(side)
                    yield f"{entry.claim}after {i} observations, for {name} {wrong}"
    for part in certificate["arms"]:
        wrong = tallies[part["arm"]].differs(
            part["pulls"], part["sum"], part.get("scatter", 0.0), question.family == UNKNOWN
        )
        if wrong:
            yield f"arm {part['arm']!r}: {wrong}"
    yield from check_later(log, len(lines) + 1, later)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parts = dict(pairs)
    demand(len(parts) == len(pairs), "a key is there twice")
    return parts


def parse(text: str) -> Any:
    """The JSON value, with no key twice in an object, and no NaN."""
    return json.loads(
        text,
        object_pairs_hook=unique,
        parse_constant=lambda name: demand(False, f"{name} is no number"),
    )


def check_head(certificate: dict[str, Any]) -> Iterator[str]:
    """Check the parts that do not depend on others."""
    if take(certificate, "format", "a text") != FORMAT:
        yield f"format must be {FORMAT}: got {show(certificate['format'])}"
    if take(take(certificate, "versions", "an object"), "rules", "a whole number") != RULES:
        yield f"versions: rules must be {RULES}: got {show(certificate['versions']['rules'])}"
    take(certificate, "values", "an object")
    outcome = take(certificate, "outcome", "a text")
    if outcome not in ("certified", "running", "budget exhausted", "abandoned"):
        yield f"outcome is unknown: got {show(outcome)}"
    for key, kind in (("name", "a text"), ("uid", "a text")):
        take(take(certificate, "study", "an object"), key, kind)
    for key, kind in (
        ("events", "a whole number"),
        ("observations", "a whole number"),
        ("sha256", "a text"),
    ):
        take(take(certificate, "log", "an object"), key, kind)
    if "source" in certificate:  # a table that was added up
        for key in ("file", "sha256"):
            take(take(certificate, "source", "an object"), key, "a text")


def verify(certificate: object, lines: Sequence[str] | None = None) -> Verification:
    """Check a certificate, read from JSON, and the exported log if there is one.

    Never raises an exception, whatever they hold.
    """
    problems: list[str] = []

    def collect(name: str, check: Callable[..., Iterator[str]], *parts: Any) -> bool:
        """Whether the part could be read to its end."""
        try:
            for message in check(*parts):
                problems.append(f"{name}{message}.")
        except Wrong as error:
            problems.append(f"{name}{error}.")
        except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
            problems.append(f"{name}it cannot be checked: {type(error).__name__}.")
        else:
            return True
        return False

    if not isinstance(certificate, dict):
        return Verification(
            (f"the certificate must be an object: got {show(certificate)}.",), 0, False
        )
    sound = collect("", check_head, certificate)
    claims, arms = (
        x if isinstance(x, list) else []
        for x in (certificate.get("claims"), certificate.get("arms"))
    )
    titles, bad = [], {}
    for i, claim in enumerate(claims, 1):
        part = claim if isinstance(claim, dict) else {}
        arm, label, after = part.get("arm"), part.get("label"), part.get("after")
        titles.append(
            f"claim {i}, that {show(arm)} is {label}: "
            if label in ("good", "bad")
            else f"claim {i}: "
        )
        if label == "bad" and isinstance(arm, str) and KINDS["a whole number"](after):
            bad[arm] = after
    recomputed, log_checked = 0, False
    questions: list[Question] = []
    entries: list[Entry] = []

    def read() -> Iterator[str]:
        questions.append(read_question(certificate))
        yield from ()

    if collect("question: ", read) and sound:
        observations = certificate["log"]["observations"]
        for title, claim in zip(titles, claims, strict=True):
            recomputed += collect(
                title, check_claim, questions[0], bad, observations, title, claim, entries
            )
        collect("arms: ", check_arms, questions[0], certificate, observations)
    for title, claim in zip(titles, claims, strict=True):
        collect(title, check_digest, claim)
    for i, arm in enumerate(arms, 1):
        collect(f"arms: number {i}: ", check_digest, arm)
    collect("the certificate: ", check_digest, certificate)
    later: list[str] = []
    if lines is not None and questions:
        log_checked = collect("", check_log, questions[0], certificate, lines, entries, later)
    remark = ""
    if lines is not None and later:
        moment = f"event {len(lines) - len(later)} of {len(lines)}"
        remark = f"The certificate is of an earlier moment: {moment}."
        remark += "" if problems else " Up to there everything agrees."
    return Verification(tuple(problems), recomputed, log_checked, remark)


def main(arguments: Sequence[str]) -> int:
    if len(arguments) not in (1, 2):
        print("usage: python verifier.py certificate.json [events.jsonl]", file=sys.stderr)
        return 2
    try:
        texts = []
        for path in reversed(arguments):
            with open(path, encoding="utf-8", newline="") as file:
                texts.append(file.read())
        certificate = parse(texts.pop())
    except (OSError, ValueError, RecursionError) as error:
        print(f"{path} cannot be read: {error}")
        return 1
    report = verify(certificate, texts[0].removesuffix("\n").split("\n") if texts else None)
    for problem in report.problems:
        print(problem.encode("ascii", "backslashreplace").decode())
    if report.remark:
        print(report.remark)
    log = "the log agrees" if report.log_checked else "no log was given"
    if report.ok:
        claims = "1 claim" if report.claims == 1 else f"{report.claims} claims"
        print(f"All is well: {claims} recomputed, {log}.")
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
