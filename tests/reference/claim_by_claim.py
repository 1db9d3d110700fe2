"""ClaimByClaim for normal rewards, pull by pull: scans over all arms in the place of heaps.

The rule is that of the package, said again in plain Python: what is looked at when, and in what
order.  Of equal numbers the arm with the lower one wins.  Evidence is found by ``evidence.py``, and
only when the likelihood ratio reaches what is needed.
"""

import math

from . import evidence

OPEN, GOOD, BAD = range(3)
POOL = -1


def root(x, v):
    return math.sqrt(x / v) if x > 0 else 0.0


def top(arms, key):
    """The arm with the highest key, the lower number among equals; None if there is no arm."""
    return max(arms, key=lambda a: (key(a), -a), default=None)


class Player:
    """Choose with ``arm``, then pass the reward to ``update``."""

    early, late = 20, 50  # pulls per arm
    early_turns, turns, power = 5, 6, 2
    ripe_pulls, more_pulls, cost, doubt, looks, every, nearly = 1.5, 150.0, 3.0, 4.0, 3, 256, 0.1

    def __init__(self, c, e, delta, sigmas, pool=True):
        self.c, self.e, self.sigmas = c, e, list(sigmas)
        K = self.K = len(self.sigmas)
        self.unit = [1.0 / s**2 for s in self.sigmas]
        rivals = max(K - (c == 1), 1)
        pool = pool and rivals > 1
        self.need = math.log(K / delta)
        self.need_good = math.log((K - (c == 1 and K > 1 and not pool)) / delta)
        self.surcharge_pool = -math.log(0.9) if pool else math.inf
        self.surcharge_rival = math.log(rivals / (1 - 0.9 if pool else 1.0))
        self.t = 0
        self.N, self.S, self.m, self.v = [0] * K, [0.0] * K, [0.0] * K, [0.0] * K
        self.labels, self.certified_at = [OPEN] * K, [0] * K
        self.lacks, self.price, self.weight = [math.inf] * K, [0.0] * K, [0.0] * K
        self.rival, self.rise, self.passed = [POOL] * K, [0.0] * K, [0] * K
        self.owed = [0.0] * K
        self.is_ripe = [False] * K
        self.pool = [0.0, 0.0]
        self.level, self.anchor, self.log_t = math.inf, 0, 0.0
        self.next_sweep = self.turn = 0
        self.arm, self.left, self.pooled = 0, 1, False
        self.new = []
        self.done = False

    # ---- what can be read off the rewards

    def open_arms(self):
        return [a for a in range(self.K) if self.labels[a] == OPEN]

    def best(self, but=None):
        return top([a for a in range(self.K) if a != but], lambda a: self.m[a])

    def leader(self, but):
        arms = [a for a in range(self.K) if self.labels[a] != BAD and a != but]
        return top(arms, lambda a: self.m[a] + root(self.log_t, self.v[a]))

    def bar(self):
        return self.c * self.m[self.best()] - self.e

    def safe(self, a):
        return self.m[a] - root(self.doubt, self.v[a])

    def pool_mean(self):
        return self.pool[1] / self.pool[0]

    def ratio(self, G, v_k, v_l):
        """The log likelihood ratio of a gap."""
        return 0.5 * G * G / (1.0 / v_k + self.c * self.c / v_l)

    def pair(self, k, v_l, sigma_l, G):
        return evidence.pair_and_place(
            self.v[k], v_l, G, self.c, self.sigmas[k], sigma_l, arms=self.K
        )

    # ---- claims

    def look(self, k):
        if self.labels[k] == OPEN:
            (self.look_good if self.m[k] >= self.bar() else self.look_bad)(k)

    def certify(self, k, label):
        self.labels[k], self.certified_at[k] = label, self.t

    def gap_good(self, k, l):
        return self.m[k] if l == k else self.m[k] + self.e - self.c * self.m[l]

    def ratio_good(self, k, l):
        if l == k:
            return 0.5 * self.v[k] * self.m[k] * abs(self.m[k])
        return self.ratio(self.gap_good(k, l), self.v[k], self.v[l])

    def evidence_good(self, k, l):
        if l == k:
            return evidence.one(self.v[k], self.m[k], self.sigmas[k], self.K)
        return self.pair(k, self.v[l], self.sigmas[l], self.gap_good(k, l))[0]

    def is_rival(self, k, l):
        return self.labels[l] != BAD and (l != k or self.c < 1)

    def look_good(self, k):
        E, chosen, least = math.inf, None, math.inf
        for l in (k, self.rival[k], self.best(k), self.leader(k)):
            known = l is not None and self.passed[k] <= l < self.K
            if known and self.is_rival(k, l) and self.ratio_good(k, l) < least:
                chosen, least = l, self.ratio_good(k, l)
        if chosen is not None:
            promising = least >= self.need_good
            E = self.evidence_good(k, chosen) if promising else least - self.cost
        if self.need_good <= E:
            chosen = self.passed[k]
            while chosen < self.K:
                if self.is_rival(k, chosen):
                    E = self.evidence_good(k, chosen)
                    if self.need_good > E:
                        break
                chosen += 1
            self.passed[k] = chosen
            if chosen == self.K:
                self.certify(k, GOOD)
                return
        self.rival[k], self.lacks[k] = chosen, self.need_good - E
        var = 1.0 / self.v[k]
        if chosen != k:
            var += self.c * self.c / self.v[chosen]
        self.weigh(k, self.gap_good(k, chosen), var)

    def ways_to_be_bad(self, k):
        """(rival, its precision, its sigma, gap, surcharge, log likelihood ratio), the pool first.

        A single rival with a much smaller ratio than the pool's is not worth a look at its
        evidence.
        """
        ways = []
        if self.pool[0] > 0 and self.surcharge_pool < math.inf:
            v, G = self.pool[0], self.c * self.pool_mean() - self.e - self.m[k]
            if G > 0:
                ratio = self.ratio(G, self.v[k], v)
                ways.append((POOL, v, max(self.sigmas), G, self.surcharge_pool, ratio))
        singles = []
        for l in (self.best(), self.anchor):
            G = self.c * self.m[l] - self.e - self.m[k]
            if l != k and G > 0:
                ratio = self.ratio(G, self.v[k], self.v[l])
                singles.append((l, self.v[l], self.sigmas[l], G, self.surcharge_rival, ratio))
        ways += sorted(singles, key=lambda way: -way[-1])[:1]
        if self.c < 1 and self.m[k] < 0:
            ratio = 0.5 * self.v[k] * self.m[k] * self.m[k]
            ways.append((k, 0.0, 0.0, -self.m[k], self.surcharge_rival, ratio))
        return ways

    def crossing_point(self, k, way):
        l, v_l, _, G, _, ratio = way
        if l == k:
            return G
        v_k, v_l = self.v[k], v_l / (self.c * self.c)
        share = v_l / (v_l + v_k)
        width = math.sqrt(1.0 / v_k + 1.0 / v_l)
        return G * share + 1.7 * (2.0 * share - 1.0) * math.exp(-ratio / 2.2) * width

    def evidence_bad(self, k, ways):
        """(evidence, surcharge, rival, rise) of the way with the most evidence less surcharge."""
        found = [(-math.inf, self.surcharge_pool, POOL, 0.0)]
        for way in ways:
            l, v_l, sigma_l, G, surcharge, ratio = way
            if l == k:
                E, z = evidence.one(self.v[k], G, self.sigmas[k], self.K), G
            elif (
                l != POOL
                and ways[0][0] == POOL
                and ratio - surcharge <= ways[0][5] - ways[0][4] - 1.0
            ):
                continue
            else:
                E, z = self.pair(k, v_l, sigma_l, G)
            found.append((E, surcharge, l, z))
        return max(found, key=lambda one: one[0] - one[1])

    def look_bad(self, k):
        ways = self.ways_to_be_bad(k)
        E, surcharge, self.rival[k], self.rise[k] = -math.inf, self.surcharge_pool, POOL, 0.0
        if ways:
            way = max(ways, key=lambda one: one[5] - one[4])
            E, surcharge, self.rival[k] = way[5] - self.cost, way[4], way[0]
            self.rise[k] = self.crossing_point(k, way)
            if way[5] - surcharge >= self.need:
                E, surcharge, self.rival[k], self.rise[k] = self.evidence_bad(k, ways)
        self.lacks[k] = self.need + surcharge - E
        if self.lacks[k] <= 0:
            self.certify(k, BAD)
            return
        var = 1.0 / self.v[k] + self.c * self.c / self.v[self.best()]
        self.weigh(k, self.bar() - self.m[k], var)

    def is_late(self):
        return self.t >= self.late * self.K

    def ripe_from(self):
        pulls = self.ripe_pulls * self.t / self.K
        if self.is_late():
            pulls += self.more_pulls
        return 2.0 * (self.need + self.cost) / pulls

    def weigh(self, k, G, var):
        q = self.v[k] / self.N[k]
        self.price[k] = 0.0
        if self.lacks[k] < math.inf:
            self.price[k] = (G * G + var) * q / max(self.lacks[k], self.nearly)
        self.weight[k] = G * G * q
        self.is_ripe[k] = self.weight[k] >= self.ripe_from()

    # ---- choices

    def sweep(self):
        self.log_t = math.log(self.t / self.K)
        self.next_sweep = self.t + 1 + self.t // 4
        for a in range(self.K):
            self.move_anchor(a)
        for a in range(self.K):
            self.look(a)

    def move_anchor(self, a):
        if self.safe(a) > self.safe(self.anchor):
            self.anchor = a

    def cheapest(self):
        return top([a for a in self.open_arms() if self.is_ripe[a]], lambda a: self.price[a])

    def most_doubtful(self):
        bar, arms = self.bar(), self.open_arms()

        def reach(a, sign):
            return root(self.doubt, self.v[a]) + sign * self.m[a]

        below = top([a for a in arms if self.m[a] < bar], lambda a: reach(a, 1))
        above = top([a for a in arms if self.m[a] >= bar], lambda a: reach(a, -1))
        if below is None or above is None:
            return above if below is None else below
        over, under = reach(below, 1) - bar, reach(above, -1) + bar
        return below if over > under or (over == under and below < above) else above

    def takes_doubtful(self):
        """Five decisions in ten, later six, at last none."""
        if self.is_late():
            return False
        self.turn += self.early_turns if self.t < self.early * self.K else self.turns
        tens, self.turn = divmod(self.turn, 10)
        return tens == 1

    def choose_claim(self):
        if not self.takes_doubtful():
            for a in self.open_arms():
                self.is_ripe[a] |= self.weight[a] >= self.ripe_from()
            looks, k = 0, self.cheapest()
            while k is not None:
                self.look(k)
                still_open = self.labels[k] == OPEN
                looks += still_open
                after = self.cheapest()
                if after == k or (looks >= self.looks and still_open):
                    return k
                k = after
        while (k := self.most_doubtful()) is not None:
            self.look(k)
            if self.labels[k] == OPEN:
                return k
        return None

    def decide(self):
        if self.t >= self.next_sweep:
            self.sweep()
        for a in self.new:
            self.look(a)
        self.new = []
        k = self.choose_claim()
        if k is None:
            self.done, self.pooled = True, False
            self.arm, self.left = (self.arm + 1) % self.K, 1
        else:
            self.plan(k)

    def plan(self, k):
        l, other = self.rival[k], self.rival[k]
        v_l = self.pool[0] if l == POOL else self.v[l]
        if self.m[k] < self.bar() and l != k:
            other = self.leader(k)
            self.level = (self.m[k] + self.rise[k] + self.e) / self.c
        share = 0.0
        if v_l > 0:
            part = self.c * self.c * self.v[k] / v_l
            rival_is_open = l != POOL and self.labels[l] == OPEN
            if rival_is_open and self.is_late():
                part = part**self.power
            share = 1.0 / (1.0 + part)
        arm = k
        if other is None or other == k:
            other = k
        elif self.owed[other] + 1.0 - share > self.owed[k] + share:
            arm = other
        n = 1 + self.N[arm] // self.every
        if other != k:
            self.owed[k] += n * share
            self.owed[other] += n * (1.0 - share)
            self.owed[arm] -= n
        self.arm, self.left = arm, n
        M = self.m[self.best()]
        if self.pool[0] > 0:
            M = min(M, self.pool_mean())
        self.pooled = self.m[arm] >= 0.5 * (self.level + M)

    def process(self, reward):
        """The reward of ``arm``; of every arm once, in order, at first."""
        a = self.arm if self.t >= self.K else self.t
        if self.pooled:
            self.pool[0] += self.unit[a]
            self.pool[1] += self.unit[a] * reward
        self.t += 1
        self.N[a] += 1
        self.S[a] += reward
        self.m[a] = self.S[a] / self.N[a]
        self.v[a] = self.N[a] * self.unit[a]
        if self.t < self.K:
            return
        if self.next_sweep > 0:
            self.move_anchor(a)
            if a not in self.new:
                self.new.append(a)
        self.left -= 1
        if self.done or self.left <= 0:
            self.decide()
