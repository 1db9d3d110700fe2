"""The checks of a study, term by term, as the head of their module defines them."""

import math

import numpy as np

RATIOS = (1.01, 1.02, 1.04, 1.08, 1.16, 1.32, 1.64, 2.3, 3.6)
PRECISIONS = (2.0, 8.0, 32.0, 128.0, 512.0)


def log_average(logs):
    top = max(logs)
    return top + math.log(math.fsum(math.exp(x - top) for x in logs) / len(logs))


def log_density(x, mean, variance):
    return -0.5 * (x - mean) ** 2 / variance - 0.5 * math.log(2.0 * math.pi * variance)


def by_arm(arms, x):
    streams = {}
    for arm, value in zip(arms, x, strict=True):
        streams.setdefault(arm, []).append(value)
    return streams.values()


def mean(x):
    return math.fsum(x) / len(x)


def too_small(arms, x):
    """The likelihood ratio of every value about its arm's average, variance theta against 1."""
    logs = []
    for ratio in RATIOS:
        theta, log = ratio**2, 0.0
        for stream in by_arm(arms, x):
            m = mean(stream)
            log += sum(log_density(y, m, theta) - log_density(y, m, 1.0) for y in stream)
        logs.append(log)
    return log_average(logs)


def too_large(arms, x):
    """Each value but the first predicted from those before, against the best constant mean."""
    logs = []
    for ratio in RATIOS:
        theta, log = 1.0 / ratio**2, 0.0
        for stream in by_arm(arms, x):
            rest = stream[1:]
            for j, y in enumerate(rest, start=1):
                log += log_density(y, mean(stream[:j]), theta * (1.0 + 1.0 / j))
                log -= log_density(y, mean(rest), 1.0)
        logs.append(log)
    return log_average(logs)


def repeats(values):
    """What six bets have won.  The order of the most frequent values is found anew each time."""
    logs = []
    for k in (2, 5, 10):
        for left in (0.5, 0.125):
            log = 0.0
            for i in range(5, len(values)):
                count, reached = {}, {}
                for when, value in enumerate(values[:i]):
                    count[value] = count.get(value, 0) + 1
                    reached[value] = when
                top = sorted(count, key=lambda v, c=count, r=reached: (-c[v], r[v]))[:k]
                P = math.erf(len(top) / 8.0 / math.sqrt(2.0))
                miss = left * (1.0 - P)
                hit = values[i] in top
                log += math.log((1.0 - miss) / P) if hit else math.log(miss / (1.0 - P))
            logs.append(log)
    return log_average(logs)


def arms_drift(plates, arms, x, plate, shift=0.0):
    """Evidence against a shift of a plate, as a logarithm; None without an arm in common.

    For each rho and each shift s on a fine grid, the product over arms of its definition is a
    parabola in mu, and its least value is found from three points.
    """
    order = list(dict.fromkeys(plates))
    earlier = set(order[: order.index(plate)])
    x = [y - shift if p == plate else y for p, y in zip(plates, x, strict=True)]
    told = list(zip(plates, arms, x, strict=True))
    found = False
    pieces = []  # for each arm: earlier values; weight and value of those on the plate
    for arm in dict.fromkeys(arms):
        before, here, M, j = [], [], 0, 0
        for p, a, y in told:
            if a == arm and p in earlier:
                before.append(y)
                M += 1
            elif a == arm and p == plate and M > 0:
                j += 1
                here.append((M / (M + j), y))
        found = found or bool(here)
        if before:
            pieces.append((before, here))
    if not found:
        return None
    step, reach = 0.05, 40.0
    s = np.linspace(-reach, reach, int(2 * reach / step) + 1)
    logs = []
    for rho in PRECISIONS:
        terms = -0.5 * s * s - 0.5 * math.log(2.0 * math.pi) + math.log(step)
        for before, here in pieces:
            terms += least(lambda mu, b=before, h=here, r=rho: one_arm(b, h, r, s, mu))
        logs.append(log_average(terms.tolist()) + math.log(s.size))
    return log_average(logs)


def one_arm(before, here, rho, s, mu):
    """For an array of shifts s."""
    M, m = len(before), mean(before)
    log = 0.5 * math.log(rho / (M + rho)) + 0.5 * (M * (m - mu)) ** 2 / (M + rho)
    return log + sum((s * b * (y - mu) - 0.5 * (s * b) ** 2 for b, y in here), 0.0 * s)


def least(parabola):
    low, middle, high = parabola(-1.0), parabola(0.0), parabola(1.0)
    a, b = 0.5 * (low + high) - middle, 0.5 * (high - low)
    return middle - b * b / (4.0 * a)


def student_tail(t, freedom):
    """Both tails of Student's distribution, by Simpson's rule in the angle: t = sqrt(f)
    tan(angle)."""
    n = 4000

    def integral(start):
        h = (0.5 * math.pi - start) / n
        weights = np.array([1.0, *([4.0, 2.0] * (n // 2))[: n - 1], 1.0])
        cosines = np.maximum(np.cos(start + h * np.arange(n + 1)), 0.0)
        return h / 3.0 * math.fsum((weights * cosines ** (freedom - 1)).tolist())

    return integral(math.atan(t / math.sqrt(freedom))) / integral(0.0)


def control_chance(samples):
    """The chance of the last sample's distance from all before, without drift."""
    before = [y for sample in samples[:-1] for y in sample]
    last = samples[-1]
    squares = math.fsum((y - mean(sample)) ** 2 for sample in samples for y in sample)
    freedom = sum(len(sample) - 1 for sample in samples)
    error = math.sqrt(squares / freedom * (1.0 / len(last) + 1.0 / len(before)))
    return student_tail(abs(mean(last) - mean(before)) / error, freedom)
