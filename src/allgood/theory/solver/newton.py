"""Newton's method for the fewest pulls that rule out every alternative, for normal rewards.

``game.py`` states the problem: T* = min sum_a price_a v_a subject to g_j(v) >= 1 for every
alternative j.  The method is primal-dual path following with slacks slack_j = 1 - 1/g_j and
multipliers lam_j, along the path lam_j slack_j = mu.  Here mu is the barrier parameter, not the
means.  ``system.py`` solves for the step.  A step has the same length in v and in lam, and mu never
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
LARGE_GAME = cython.declare(
    cython.Py_ssize_t, 500
)  # with more groups, start further from the border
SHORTEST = cython.declare(cython.double, 1e-9)  # a step shorter than this is no progress
IDLE = cython.declare(cython.Py_ssize_t, 30)  # so many steps without a better bound are a stall


class Newton:
    """The solver for one number of arms.  It allocates its arrays once and may solve many
    instances.

    Args:
        at: the instance, to be placed before each solution.
        sigma: the noise of each arm.

    Attributes:
        pulls: the pulls of each arm, optimal up to a common factor, after ``optimal_pulls``.
    """

    def __init__(self, at, sigma):
        K = at.K
        floats: cython.double[:, ::1] = np.empty((4, K))
        self.start, self.solution, self.best, self.pulls = (
            floats[0],
            floats[1],
            floats[2],
            floats[3],
        )
        self.at, self.sigma = at, np.ascontiguousarray(sigma, np.float64)
        self.game = Game(K)
        self.current, self.candidate = Point(K), Point(K)
        self.lam, self.change = Costs(K), Costs(K)
        self.system = System(K)

    def optimal_pulls(self, start, rtol, max_iterations, max_pairs):
        """Find ``pulls``; return ``(lower bound on T*, iterations, status)``.

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
        """Solve the game as ``optimal_pulls`` does, with the arms grouped and the pairs kept.

        If the method stalls (one instance in a thousand if prices differ a thousandfold), it starts
        again elsewhere.  The lower bound of every attempt holds, so the best of each side is kept.
        """
        K, N = self.at.K, self.game.G + self.game.B
        best: cython.double = inf
        lower: cython.double = 0.0
        iterations: cython.Py_ssize_t = 0
        status: cython.int = STALLED
        slack: cython.double
        coupling: cython.double
        for attempt in range(3 if self.reserve() else 0):
            slack, coupling = 0.1 if N <= LARGE_GAME else 1.0, COUPLING
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
                    self.best[a] = self.solution[a]
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
        """Allocate arrays for the pairs of the game; return False if memory is short."""
        P = self.game.P
        return (
            self.current.reserve(P)
            and self.candidate.reserve(P)
            and self.lam.reserve(P)
            and self.change.reserve(P)
            and self.system.reserve(P)
        )

    def blend(self, weights):
        """Start from these weights over arms, mixed with a tenth of the usual start."""
        N = self.game.G + self.game.B
        usual_spend, start_spend = 0.0, 0.0
        for a in range(N):
            self.best[a] = self.solution[a] = 0.0
        for a in range(self.at.K):
            i = self.game.group[a]
            self.solution[i] += weights[a] / (self.sigma[a] * self.sigma[a])
            self.best[i] += 1.0
        for i in range(N):
            self.solution[i] /= self.best[i]
            start_spend += self.game.price[i] * self.solution[i]
            usual_spend += self.game.price[i] * self.start[i]
        for i in range(N):
            self.start[i] = 0.9 * self.solution[i] / start_spend + 0.1 * self.start[i] / usual_spend

    def solve(self, slack, coupling, rtol, max_iterations):
        """Find the precisions ``solution``; return ``(their value, lower bound on T*, steps,
        status)``.

        ``start`` are precisions up to a common factor; they are scaled so that every cost is at
        least 1 + ``slack``.
        """
        N = self.game.G + self.game.B
        value: cython.double
        bound: cython.double
        for a in range(N):
            self.current.v[a] = self.start[a]
        evaluate(self.game, self.current)
        factor = (1.0 + slack) / cheapest(self.game, self.current)
        for a in range(N):
            self.current.v[a] *= factor
            self.solution[a] = self.current.v[a]
        evaluate(self.game, self.current)
        start_multipliers(self.game, self.current, self.lam)

        number: cython.Py_ssize_t = self.game.P + self.game.B + (1 if self.game.c < 1.0 else 0)
        best: cython.double = inf
        lower: cython.double = 0.0
        length: cython.double = 0.5
        idle: cython.Py_ssize_t = 0
        for iteration in range(max_iterations + 1):
            pulls_held(self.game, self.lam, self.current)
            spent, residual = 0.0, 0.0
            for a in range(N):
                x = self.game.price[a] * self.current.v[a]
                spent += x
                residual += fabs(x - (self.current.by_pairs[a] + self.current.by_others[a]))
            value = spent / cheapest(self.game, self.current)
            bound = dual_bound(self.game, self.lam, self.current)
            idle = 0 if value < best or bound > lower else idle + 1
            lower = max(lower, bound)
            if value < best:
                best = value
                for a in range(N):
                    self.solution[a] = self.current.v[a]
            if best <= lower * (1.0 + rtol):
                return best, lower, iteration, SOLVED
            if idle > IDLE or length == 0.0:
                return best, lower, iteration, STALLED
            length = self.advance(length, coupling * residual, number)
        return best, lower, max_iterations, ITERATION_LIMIT

    def advance(self, length, least_mu, number):
        """Take one step after one of this length; return its length, 0 if none is possible."""
        centring = max((1.0 - length) * (1.0 - length), 0.02)
        mu = max(centring * duality_gap(self.game, self.lam, self.current), least_mu) / number
        if not assemble(self.game, self.lam, self.current, self.system, mu):
            return 0.0
        if not newton_step(self.game, self.lam, self.current, self.system):
            return 0.0
        return self.take_step(mu)

    def take_step(self, mu):
        """Move the point and the multipliers; return the step's length, 0 if none is possible."""
        length: cython.double = min(
            multiplier_steps(self.game, self.lam, self.current, self.system, mu, self.change),
            room_on_curves(self.game, self.system),
        )
        while length >= SHORTEST:
            move_along(self.game, self.system, length, self.current, self.candidate)
            evaluate(self.game, self.candidate)
            if keeps_slack(self.game, self.current, self.candidate):
                for j in range(self.game.P):
                    self.lam.pair[j] += length * self.change.pair[j]
                for k in range(self.game.B):
                    self.lam.admit[k] += length * self.change.admit[k]
                self.lam.empty += length * self.change.empty
                copy_point(self.game, self.candidate, self.current)
                return length
            length *= 0.7
        return 0.0


def start_multipliers(game, at, lam):
    """Set multipliers of the shape of the central path, lam_j ~ 1 / slack_j, that balance all
    pulls.
    """
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
    """Return the step of one multiplier if log g rises by ``rise``, and its longest step."""
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
    """Return the longest step that keeps every precision positive and changes none by more than
    e^4.
    """
    length: cython.double = 1.0
    for a in range(game.G + game.B):
        if s.curve[a] == V and s.z[a] < 0.0:
            length = min(length, -0.95 / s.z[a])
        elif s.curve[a] == INVERSE and s.z[a] > 0.0:
            length = min(length, 0.95 / s.z[a])
        elif s.z[a] != 0.0:
            length = min(length, 4.0 / fabs(s.z[a]))
    return length


def move_along(game, s, length, at, candidate):
    """Compute the precisions after a step of this length, each on its own curve."""
    for a in range(game.G + game.B):
        step = length * s.z[a]
        if s.curve[a] == V:
            candidate.v[a] = at.v[a] * (1.0 + step)
        elif s.curve[a] == INVERSE:
            candidate.v[a] = at.v[a] / (1.0 - step)
        else:
            candidate.v[a] = at.v[a] * exp(step)


def keeps_slack(game, old, new):
    """Return whether each slack 1 - 1/g is at least FRACTION of its old value."""
    for j in range(game.P):
        if 1.0 - 1.0 / new.pair[j] < FRACTION * (1.0 - 1.0 / old.pair[j]):
            return False
    for k in range(game.B):
        if 1.0 - 1.0 / new.admit[k] < FRACTION * (1.0 - 1.0 / old.admit[k]):
            return False
    return not (game.c < 1.0 and 1.0 - 1.0 / new.empty < FRACTION * (1.0 - 1.0 / old.empty))
