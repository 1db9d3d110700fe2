"""Newton's method for the fewest pulls that rule out every alternative.

The problem is that of ``game.py``: T* = min sum_a price_a v_a subject to g_j(v) >= 1 for every
alternative j.  The method is primal-dual path following on slack_j = 1 - 1/g_j, multipliers lam_j,
lam_j slack_j = mu.  ``system.py`` solves for the step.  Steps are common to v and lam, and mu never
falls far below the residual R = price v - sum_j (lam_j / g_j) pi_j.

References: Boyd and Vandenberghe, Convex Optimization, section 11.7, for the method; docs/solver.md
for the proofs.
"""

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import exp, fabs, inf
from cython.cimports.allgood.theory.solver.costs import (
    Costs,
    Point,
    admit_shares,
    cheapest,
    copy_point,
    dual_bound,
    duality_gap,
    evaluate,
    pulls_held,
)
from cython.cimports.allgood.theory.solver.game import Game, group_arms, kept_pairs, starting_point
from cython.cimports.allgood.theory.solver.system import INVERSE, System, V, assemble, newton_step

if not cython.compiled:
    SOLVED, ITERATION_LIMIT, STALLED, TOO_MANY_PAIRS = range(4)

FRACTION = cython.declare(cython.double, 0.01)  # a step leaves this part of slacks and multipliers
COUPLING = cython.declare(cython.double, 0.3)  # mu stays above this part of the residual
ATTEMPT = cython.declare(cython.Py_ssize_t, 200)  # steps before starting elsewhere
MANY = cython.declare(cython.Py_ssize_t, 500)  # with more groups, start further from the border
SHORTEST = cython.declare(cython.double, 1e-9)  # a step shorter than this is no progress
IDLE = cython.declare(cython.Py_ssize_t, 30)  # so many steps without a better bound are a stall


class Newton:
    """The solver for one number of arms.  All its room is made once; it may solve many instances.

    Args:
        at: the instance, to be placed before each solution.
        sigma: the noise of each arm.

    Attributes:
        pulls: the pulls of each arm, optimal up to a common factor, after ``optimal_pulls``.
    """

    def __init__(self, at, sigma):
        K = at.K
        floats: cython.double[:, ::1] = np.empty((4, K))
        self.start, self.found, self.best, self.pulls = floats[0], floats[1], floats[2], floats[3]
        self.at, self.sigma = at, np.ascontiguousarray(sigma, np.float64)
        self.game = Game(K)
        self.here, self.there = Point(K), Point(K)
        self.lam, self.change = Costs(K), Costs(K)
        self.system = System(K)

    def optimal_pulls(self, start, rtol, max_iterations, max_pairs):
        """Find ``pulls``: ``(lower bound on T*, iterations, status)``.

        ``start`` holds weights to start from, or nothing.  The instance must be decided, with at
        least two arms and a positive best mean if multiplicative.
        """
        group_arms(self.game, self.at, self.sigma)
        if not kept_pairs(self.game, max_pairs):
            for a in range(self.at.K):
                self.pulls[a] = 1.0
            return 0.0, 0, TOO_MANY_PAIRS
        return self.solve_from(start, rtol, max_iterations)

    def solve_from(self, start, rtol, max_iterations):
        """``optimal_pulls`` with the arms grouped and the pairs kept.

        Should it jam (one instance in a thousand where prices differ a thousandfold), it starts
        again elsewhere.  Every attempt's lower bound holds, so the best of each side is kept.
        """
        K, N = self.at.K, self.game.G + self.game.B
        best: cython.double = inf
        lower: cython.double = 0.0
        iterations: cython.Py_ssize_t = 0
        status: cython.int = STALLED
        slack: cython.double
        coupling: cython.double
        for attempt in range(3 if self.reserve() else 0):
            slack, coupling = 0.1 if N <= MANY else 1.0, COUPLING
            starting_point(self.game, self.start)
            if attempt == 0:
                if start.shape[0] > 0:
                    self.blend(start)
                for a in range(N):
                    self.best[a] = self.start[a]
            elif attempt == 1:
                slack, coupling = 0.01, 1.0
            else:
                for a in range(N):
                    self.start[a] = 1.0 / self.game.price[a]
            limit = min(ATTEMPT, max_iterations - iterations)
            value, bound, steps, status = self.solve(slack, coupling, rtol, limit)
            iterations += steps
            lower = max(lower, bound)
            if value < best:
                best = value
                for a in range(N):
                    self.best[a] = self.found[a]
            if best <= lower * (1.0 + rtol):
                status = SOLVED
                break
            if iterations >= max_iterations:
                status = ITERATION_LIMIT
                break
        for a in range(K):
            self.pulls[a] = self.best[self.game.group[a]] * (self.sigma[a] * self.sigma[a])
        return lower / (self.game.unit * self.game.unit), iterations, status

    def reserve(self):
        """Make room for the pairs of the game; False if there is no memory for them."""
        P = self.game.P
        return (
            self.here.reserve(P)
            and self.there.reserve(P)
            and self.lam.reserve(P)
            and self.change.reserve(P)
            and self.system.reserve(P)
        )

    def blend(self, weights):
        """Start from these weights over arms, and a tenth of the usual start."""
        N = self.game.G + self.game.B
        usual, given = 0.0, 0.0
        for a in range(N):
            self.best[a] = self.found[a] = 0.0
        for a in range(self.at.K):
            i = self.game.group[a]
            self.found[i] += weights[a] / (self.sigma[a] * self.sigma[a])
            self.best[i] += 1.0
        for i in range(N):
            self.found[i] /= self.best[i]
            given += self.game.price[i] * self.found[i]
            usual += self.game.price[i] * self.start[i]
        for i in range(N):
            self.start[i] = 0.9 * self.found[i] / given + 0.1 * self.start[i] / usual

    def solve(self, slack, coupling, rtol, max_iterations):
        """Find the precisions ``found``: ``(their value, lower bound on T*, steps, status)``.

        ``start`` are precisions up to a common factor; they are scaled so that every cost is at
        least 1 + ``slack``.
        """
        N = self.game.G + self.game.B
        value: cython.double
        bound: cython.double
        for a in range(N):
            self.here.v[a] = self.start[a]
        evaluate(self.game, self.here)
        factor = (1.0 + slack) / cheapest(self.game, self.here)
        for a in range(N):
            self.here.v[a] *= factor
            self.found[a] = self.here.v[a]
        evaluate(self.game, self.here)
        start_multipliers(self.game, self.here, self.lam)

        number: cython.Py_ssize_t = self.game.P + self.game.B + (1 if self.game.c < 1.0 else 0)
        best: cython.double = inf
        lower: cython.double = 0.0
        length: cython.double = 0.5
        idle: cython.Py_ssize_t = 0
        for iteration in range(max_iterations + 1):
            pulls_held(self.game, self.lam, self.here)
            spent, residual = 0.0, 0.0
            for a in range(N):
                x = self.game.price[a] * self.here.v[a]
                spent += x
                residual += fabs(x - (self.here.by_pairs[a] + self.here.by_others[a]))
            value = spent / cheapest(self.game, self.here)
            bound = dual_bound(self.game, self.lam, self.here)
            idle = 0 if value < best or bound > lower else idle + 1
            lower = max(lower, bound)
            if value < best:
                best = value
                for a in range(N):
                    self.found[a] = self.here.v[a]
            if best <= lower * (1.0 + rtol):
                return best, lower, iteration, SOLVED
            if idle > IDLE or length == 0.0:
                return best, lower, iteration, STALLED
            length = self.advance(length, coupling * residual, number)
        return best, lower, max_iterations, ITERATION_LIMIT

    def advance(self, length, least_mu, number):
        """Take one step, after one of this length; return its length, 0 if none is possible."""
        centring = max((1.0 - length) * (1.0 - length), 0.02)
        mu = max(centring * duality_gap(self.game, self.lam, self.here), least_mu) / number
        if not assemble(self.game, self.lam, self.here, self.system, mu):
            return 0.0
        if not newton_step(self.game, self.lam, self.here, self.system):
            return 0.0
        return self.take_step(mu)

    def take_step(self, mu):
        """Move the point and the multipliers; return the step's length, 0 if none is possible."""
        length: cython.double = min(
            multiplier_steps(self.game, self.lam, self.here, self.system, mu, self.change),
            room_on_curves(self.game, self.system),
        )
        while length >= SHORTEST:
            move_along(self.game, self.system, length, self.here, self.there)
            evaluate(self.game, self.there)
            if keeps_slack(self.game, self.here, self.there):
                for j in range(self.game.P):
                    self.lam.pair[j] += length * self.change.pair[j]
                for k in range(self.game.B):
                    self.lam.admit[k] += length * self.change.admit[k]
                self.lam.empty += length * self.change.empty
                copy_point(self.game, self.there, self.here)
                return length
            length *= 0.7
        return 0.0


def start_multipliers(game, at, lam):
    """Multipliers on the central path's shape, lam_j ~ 1 / slack_j, that hold all that is spent."""
    for j in range(game.P):
        lam.pair[j] = 1.0 / (1.0 - 1.0 / at.pair[j])
    for k in range(game.B):
        lam.admit[k] = 1.0 / (1.0 - 1.0 / at.admit[k])
    lam.empty = 1.0 / (1.0 - 1.0 / at.empty) if game.c < 1.0 else 0.0
    pulls_held(game, lam, at)
    spent, by_pairs, by_others = 0.0, 0.0, 0.0
    for a in range(game.G + game.B):
        spent += game.price[a] * at.v[a]
        by_pairs += at.by_pairs[a]
        by_others += at.by_others[a]
    scale = spent / (by_pairs + by_others)
    for j in range(game.P):
        lam.pair[j] *= scale
    for k in range(game.B):
        lam.admit[k] *= scale
    lam.empty *= scale


def multiplier_step(lam, g, rise, mu):
    """Step of one multiplier when log g rises by ``rise`` to first order; the longest it allows."""
    change = (mu - lam * rise / g) / (1.0 - 1.0 / g) - lam
    return change, (-(1.0 - FRACTION) * lam / change if change < 0.0 else inf)


def multiplier_steps(game, lam, at, s, mu, change):
    """Fill the steps of all multipliers; return the longest common step."""
    G, B = game.G, game.B
    length: cython.double = 1.0
    rise: cython.double
    for j in range(game.P):
        rise = at.share[j] * s.z[game.k[j]] + (1.0 - at.share[j]) * s.z[game.l[j]]
        change.pair[j], longest = multiplier_step(lam.pair[j], at.pair[j], rise, mu)
        length = min(length, longest)
    for k in range(B):
        rise = admit_shares(game, at, k) * s.z[G + k]
        for i in range(at.reach[k]):
            rise += at.pi[i] * s.z[i]
        change.admit[k], longest = multiplier_step(lam.admit[k], at.admit[k], rise, mu)
        length = min(length, longest)
    if game.c < 1.0:
        rise = 0.0
        for a in range(G + B):
            rise += game.lift[a] * at.v[a] * s.z[a] / at.empty
        change.empty, longest = multiplier_step(lam.empty, at.empty, rise, mu)
        length = min(length, longest)
    return length


def room_on_curves(game, s):
    """Longest step that leaves every precision positive and changes none by more than e^4."""
    length: cython.double = 1.0
    for a in range(game.G + game.B):
        if s.curve[a] == V and s.z[a] < 0.0:
            length = min(length, -0.95 / s.z[a])
        elif s.curve[a] == INVERSE and s.z[a] > 0.0:
            length = min(length, 0.95 / s.z[a])
        elif s.z[a] != 0.0:
            length = min(length, 4.0 / fabs(s.z[a]))
    return length


def move_along(game, s, length, at, there):
    """Precisions after a step of this length, each on its own curve."""
    for a in range(game.G + game.B):
        step = length * s.z[a]
        if s.curve[a] == V:
            there.v[a] = at.v[a] * (1.0 + step)
        elif s.curve[a] == INVERSE:
            there.v[a] = at.v[a] / (1.0 - step)
        else:
            there.v[a] = at.v[a] * exp(step)


def keeps_slack(game, old, new):
    """Whether each slack 1 - 1/g is at least FRACTION of what it was."""
    for j in range(game.P):
        if 1.0 - 1.0 / new.pair[j] < FRACTION * (1.0 - 1.0 / old.pair[j]):
            return False
    for k in range(game.B):
        if 1.0 - 1.0 / new.admit[k] < FRACTION * (1.0 - 1.0 / old.admit[k]):
            return False
    return not (game.c < 1.0 and 1.0 - 1.0 / new.empty < FRACTION * (1.0 - 1.0 / old.empty))
