"""Strategies step by step, in plain Python, on a table of rewards.

table[arm][n] is the n-th reward of the arm.  Each returns (arms pulled in order, whether it stopped
by itself).
"""

import math


class Book:
    """Rewards seen so far."""

    def __init__(self, table):
        self.table = table
        self.K = len(table)
        self.rewards = [[] for _ in table]
        self.arms = []

    def pull(self, arm):
        self.rewards[arm].append(table_entry(self.table, arm, len(self.rewards[arm])))
        self.arms.append(arm)

    def count(self, arm):
        return len(self.rewards[arm])

    def mean(self, arm):
        return sum(self.rewards[arm]) / len(self.rewards[arm])

    def means(self):
        return [self.mean(a) for a in range(self.K)]


def table_entry(table, arm, n):
    return float(table[arm][n])


def width(kind, n, K, delta, sigma):
    if kind == "mason":
        return 2 * sigma * math.sqrt(math.log(K * math.log2(2 * n) / delta) / n)
    if kind == "mason-data":
        return sigma * math.sqrt(2.08 * math.log(K * math.log2(2 * n) / delta) / n)
    grid = [10.0, 1e2, 1e3, 1e4, 1e5, 1e6]
    return min(
        sigma
        * math.sqrt(
            2 * (n + c) / n**2 * (math.log(len(grid) * K / delta) + math.log(1 + n / c) / 2)
        )
        for c in grid
    )


def bounds_strategy(name, table, c, e, delta, kind, sigmas, budget):
    """(ST)^2, UCB or uniform sampling; all stop when every label is certain."""
    book = Book(table)
    K = book.K
    upper, lower = [math.inf] * K, [-math.inf] * K

    def take(arm):
        book.pull(arm)
        C = width(kind, book.count(arm), K, delta, sigmas[arm])
        upper[arm] = min(upper[arm], book.mean(arm) + C)
        lower[arm] = max(lower[arm], book.mean(arm) - C)

    for arm in range(K):
        take(arm)
    while True:
        means = book.means()
        bar, U, L = c * max(means) - e, c * max(upper) - e, c * max(lower) - e
        good = [a for a in range(K) if means[a] >= bar and lower[a] <= U]
        bad = [a for a in range(K) if means[a] < bar and upper[a] >= L]
        if not good and not bad:
            return book.arms, True
        if name == "uniform":
            queue = [len(book.arms) % K]
        else:
            queue = [max(range(K), key=lambda a: upper[a])]
        if name == "st2" and good:
            queue.append(min(good, key=lambda a: lower[a]))
        if name == "st2" and bad:
            queue.append(max(bad, key=lambda a: upper[a]))
        for arm in queue:
            if len(book.arms) == budget:
                return book.arms, False
            take(arm)


def projection(w, eta):
    """max(w_a - tau, eta) with tau such that the sum is one, by bisection."""
    low, high = 0.0, max(w)
    for _ in range(60):
        tau = (low + high) / 2
        low, high = (tau, high) if sum(max(x - tau, eta) for x in w) > 1 else (low, tau)
    return [max(x - low, eta) for x in w]


def track_and_stop(table, weights_of, evidence_of, beta_of, period, budget):
    """C-tracking with the GLR stopping rule, both recomputed in full at every pull."""
    book = Book(table)
    K = book.K
    for arm in range(K):
        book.pull(arm)
    target = [(K - 1) / K] * K
    weights = None
    while True:
        t, means = len(book.arms), book.means()
        counts = [book.count(a) for a in range(K)]
        if evidence_of(means, counts) > beta_of(counts):
            return book.arms, True
        if (t - K) % period == 0:
            weights = list(weights_of(means))
        eta = 1 / (2 * math.sqrt(K**2 + t))
        target = [x + y for x, y in zip(target, projection(weights, eta), strict=True)]
        if t == budget:
            return book.arms, False
        book.pull(min(range(K), key=lambda a: counts[a] - target[a]))


class Spent(Exception):
    """The budget is gone."""


def fareast(table, c, e, delta, kind, sigmas, budget, bad_filter=True):
    """FAREAST as nested loops: ``(arms pulled, stopped, answer)``; ``bad_filter=False`` is EAST."""
    book = Book(table)
    K = book.K
    good_risk = delta / 2 if bad_filter else delta
    largest = max(sigmas)
    active, good, bad = set(range(K)), set(), set()
    mine = [[] for _ in range(K)]  # the good filter's own rewards
    upper, lower = [math.inf] * K, [-math.inf] * K

    def draw(arm):
        if len(book.arms) == budget:
            raise Spent
        book.pull(arm)
        return book.rewards[arm][-1]

    def average(rewards):
        return sum(rewards) / len(rewards)

    def done():
        return active <= good

    def good_step(arm):
        mine[arm].append(draw(arm))
        C = width(kind, len(mine[arm]), K, good_risk, sigmas[arm])
        upper[arm] = min(upper[arm], average(mine[arm]) + C)
        lower[arm] = max(lower[arm], average(mine[arm]) - C)
        if len({len(mine[a]) for a in active}) == 1:
            highest_upper, highest_lower = (
                max(upper[a] for a in active),
                max(lower[a] for a in active),
            )
            for a in sorted(active):
                if lower[a] >= c * highest_upper - e:
                    good.add(a)
                if a in good and upper[a] < highest_lower:
                    active.discard(a)
                if a not in good and upper[a] < c * highest_lower - e:
                    active.discard(a)
                    bad.add(a)

    def lucb(candidates, accuracy):
        if len(candidates) == 1:
            return candidates[0]
        seen = {a: [] for a in candidates}
        for a in candidates:
            seen[a].append(draw(a))

        def C(a):
            n = len(seen[a])
            return 2 * sigmas[a] * math.sqrt(math.log(math.log2(2 * n) / 0.5) / n)

        while True:
            lead = max(candidates, key=lambda a: average(seen[a]))
            challenger = max(
                (a for a in candidates if a != lead), key=lambda a: average(seen[a]) + C(a)
            )
            if (
                average(seen[challenger]) + C(challenger) - (average(seen[lead]) - C(lead))
                <= accuracy
            ):
                return lead
            seen[lead].append(draw(lead))
            seen[challenger].append(draw(challenger))

    try:
        for arm in range(K):
            good_step(arm)
        r = 0
        while not done():
            if not bad_filter:
                good_step(min(sorted(active), key=lambda a: len(mine[a])))
                continue
            r += 1
            before, accuracy = len(book.arms), largest * 2.0**-r
            chosen = lucb(sorted(good) or list(range(K)), accuracy)
            log_term = math.log(4 / (delta / (2 * K * r * r)))
            fresh = {}
            for a in range(K):
                if a == chosen or (a in active and a not in good):
                    fresh[a] = average(
                        [
                            draw(a)
                            for _ in range(
                                math.ceil(4 * (sigmas[a] / largest) ** 2 * 4**r * log_term)
                            )
                        ]
                    )
            for a, mean in fresh.items():
                if (
                    a != chosen
                    and a in active
                    and a not in good
                    and c * fresh[chosen] - e - mean >= (1 + c) * accuracy
                ):
                    active.discard(a)
                    bad.add(a)
            for _ in range(len(book.arms) - before):
                if done():
                    break
                good_step(min(sorted(active), key=lambda a: len(mine[a])))
    except Spent:
        pass
    means = book.means()
    bar = c * max(means) - e
    answer = [a in good or (a not in bad and means[a] >= bar) for a in range(K)]
    return book.arms, done(), answer


def successive_elimination(table, c, e, delta, sigma, budget):
    """Everything anew at each pull, from all rewards: ``(arms pulled, stopped, answer)``.

    The bounds of an arm are the best of all times.  Their risk after n pulls is delta/(2 K n^2), so
    that the sum over all arms and all n is less than delta.
    """
    book = Book(table)
    arms = range(book.K)

    def bounds(arm):
        lows, highs = [], []
        for n in range(1, book.count(arm) + 1):
            average = sum(book.rewards[arm][:n]) / n
            risk = delta / (2 * book.K * n**2)
            width = sigma * math.sqrt(2 * math.log(2 / risk) / n)
            lows.append(average - width)
            highs.append(average + width)
        return max(lows), min(highs)

    for arm in arms:
        book.pull(arm)
    while True:
        low, high = zip(*(bounds(a) for a in arms), strict=True)
        good = [all(low[a] >= c * high[b] - e for b in arms) for a in arms]
        bad = [any(high[a] < c * low[b] - e for b in arms) for a in arms]
        undecided = [a for a in arms if not good[a] and not bad[a]]
        if not undecided or len(book.arms) == budget:
            return book.arms, not undecided, good
        perhaps_best = [a for a in arms if all(high[a] >= low[b] for b in arms)]
        book.pull(min({*undecided, *perhaps_best}, key=lambda a: (book.count(a), a)))
