"""The solver's parts: elimination against the full system, kept pairs against an optimiser."""

import numpy as np
import pytest
from scipy.optimize import linprog

from allgood import Additive
from allgood.theory.alternatives.response import instance
from allgood.theory.solver.costs import Costs, Point, cheapest, evaluate, pulls_held
from allgood.theory.solver.dense import cholesky_solve, reserve_matrix
from allgood.theory.solver.game import Game, group_arms, kept_pairs, starting_point
from allgood.theory.solver.merging import groups_of, merged
from allgood.theory.solver.newton import start_multipliers
from allgood.theory.solver.system import System, assemble, choose_core, newton_step

from ..reference import newton_system
from ..support.instances import draw_instance


def games(seed, how_many, low, high, shape=None):
    rng = np.random.default_rng(seed)
    made = 0
    while made < how_many:
        means, objective = draw_instance(rng, int(rng.integers(low, high + 1)), shape)
        if means.max() <= 0 or np.unique(means).size < 2:
            continue
        unequal = rng.random() < 0.3
        sigma = rng.choice([1.0, 2.0], size=means.size) if unequal else np.ones(means.size)
        game = Game(means.size)
        group_arms(game, instance(means, objective, tie=sigma), sigma)
        yield rng, game, groups_of(game)
        made += 1


def listed(game):
    """The pairs kept, as tuples."""
    return list(zip(game.k[: game.P], game.l[: game.P], strict=True))


def costs_of(game, costs):
    """One array: pairs, admissions, and the empty answer if multiplicative."""
    empty = [costs.empty] if game.c < 1.0 else []
    return np.concatenate((costs.pair[: game.P], costs.admit[: game.B], empty))


def filled(game, v):
    """The point with these precisions."""
    at = Point(game.group.shape[0], game.P)
    np.asarray(at.v)[: v.size] = v
    evaluate(game, at)
    return at


def first_point(game):
    v = np.empty(game.group.shape[0])
    starting_point(game, v)
    return v[: game.G + game.B]


def half(game, k, l):
    return (game.height[k] + game.c * game.depth[l]) ** 2 / 2


def all_pairs(game):
    G = game.height.size
    return [(k, l) for k in range(G) for l in range(G) if k != l or game.copies[k] > 1]


def test_dropped_pairs_follow_from_the_kept_ones():
    """The largest a_k + c^2 a_l under the kept pairs stays below the dropped pair's limit."""
    dropped = 0
    for _, game, groups in games(11, 40, 3, 9):
        assert kept_pairs(game, 10_000)
        kept = set(listed(game))
        if not kept:
            continue
        rows, limits = [], []
        for k, l in kept:
            row = np.zeros(game.G)
            row[k] += 1.0
            row[l] += game.c**2
            rows.append(row)
            limits.append(half(groups, k, l))
        for k, l in set(all_pairs(groups)) - kept:
            goal = np.zeros(game.G)
            goal[k] -= 1.0
            goal[l] -= game.c**2
            found = linprog(goal, A_ub=rows, b_ub=limits, bounds=(0, None))
            assert found.status == 0
            assert -found.fun <= half(groups, k, l) * (1 + 1e-7)
            dropped += 1
    assert dropped > 100


def test_kept_pairs_are_as_cheap_as_all_pairs():
    for rng, game, groups in games(13, 200, 3, 40):
        assert kept_pairs(game, 10_000)
        if game.P == 0:
            continue
        v = rng.exponential(size=game.G) ** 3
        cost = {
            (k, l): half(groups, k, l) / (1 / v[k] + game.c**2 / v[l]) for k, l in all_pairs(groups)
        }
        assert min(cost[pair] for pair in listed(game)) == pytest.approx(
            min(cost.values()), rel=1e-12
        )


def test_a_limit_on_the_pairs_is_reported():
    (_, game, _), *_ = games(5, 1, 30, 30, "near-tied")
    assert not kept_pairs(game, 3)


def test_room_for_pairs_grows():
    """All pairs of 60 near-tied groups are kept: more than there was room for at first."""
    rng = np.random.default_rng(3)
    means = 1.0 + 1e-3 * rng.normal(size=60)
    game = Game(60)
    before = game.k.shape[0]
    group_arms(game, instance(means, Additive(0.5)), np.ones(60))
    assert kept_pairs(game, 10_000)
    assert before < game.P <= game.k.shape[0]
    groups = groups_of(game)
    expected = [half(groups, k, l) for k, l in listed(game)]
    assert np.asarray(game.half[: game.P]) == pytest.approx(expected, rel=1e-15)
    degree = np.bincount(np.ravel([pair for pair in listed(game) if pair[0] != pair[1]]))
    assert np.asarray(game.degree[: game.G]).tolist() == degree.tolist()


@pytest.mark.parametrize("size", [(2, 10), (40, 60)])
def test_elimination_gives_the_step_of_the_full_system(size):
    """Bad groups, leaves and the bordered row, against one dense solve with nothing eliminated."""
    leaves = 0
    for rng, game, groups in games(21, 25, *size):
        assert kept_pairs(game, 100_000)
        v = first_point(game) * rng.uniform(0.7, 1.4, size=game.G + game.B)
        at = filled(game, v)
        at = filled(game, v * (1.5 / cheapest(game, at)))
        v = np.array(at.v[: v.size])
        lam = Costs(game.group.shape[0], game.P)
        start_multipliers(game, at, lam)
        for part in (np.asarray(lam.pair)[: game.P], np.asarray(lam.admit)[: game.B]):
            part[:] *= rng.uniform(0.5, 2.0, size=part.size)
        lam.empty *= rng.uniform(0.5, 2.0)
        pulls_held(game, lam, at)
        mu = 0.3 * float(groups.price @ v) / (game.P + game.B + 1)
        system = System(game.group.shape[0], game.P)
        assert assemble(game, lam, at, system, mu)
        choose_core(game, system)
        leaves += (np.asarray(system.place)[: game.G] < 0).sum()
        assert newton_step(game, lam, at, system)
        expected = newton_system.step(*groups, listed(game), v, costs_of(game, lam), mu)
        z = np.asarray(system.z)[: v.size]
        assert z == pytest.approx(expected, rel=1e-5, abs=1e-6 * np.abs(expected).max())
    assert leaves > 100 or size[1] < 20


def test_shares_are_relative_derivatives():
    """d log g / d log v by central differences, at random points; they sum to one (Euler)."""
    for rng, game, groups in games(31, 30, 3, 9):
        assert kept_pairs(game, 10_000)
        v = first_point(game) * rng.uniform(0.5, 2.0, size=game.G + game.B)
        rows = newton_system.alternatives(
            groups.height, groups.depth, groups.copies, groups.gap, groups.lift, groups.c,
            listed(game), v,
        )  # fmt: skip
        shares = np.array([pi for _, _, pi, _ in rows])
        assert shares.sum(axis=1) == pytest.approx(1.0)
        for a in range(v.size):
            up, down = v.copy(), v.copy()
            up[a] *= 1 + 1e-5
            down[a] *= 1 - 1e-5
            rise = np.log(costs_of(game, filled(game, up)) / costs_of(game, filled(game, down)))
            assert rise / 2e-5 == pytest.approx(shares[:, a], abs=1e-5)


def solve_dense(matrix, x):
    """By ``cholesky_solve``, which sees the lower triangle only."""
    size, columns = x.shape
    system = System(max(size, 1))
    assert reserve_matrix(system, size)
    np.asarray(system.matrix)[:size, :size] = np.tril(matrix)
    np.asarray(system.core)[:columns, :size] = x.T
    cholesky_solve(system, size, columns)
    return np.array(system.core)[:columns, :size].T


@pytest.mark.parametrize("size", [1, 2, 47, 48, 49, 130])
def test_cholesky_solves(size):
    rng = np.random.default_rng(size)
    factor = rng.normal(size=(size, size))
    matrix, x = factor @ factor.T + 0.1 * np.eye(size), rng.normal(size=(size, 2))
    expected = np.linalg.solve(matrix, x)
    assert solve_dense(matrix, x) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_a_lost_pivot_leaves_its_variable_alone():
    x = solve_dense(np.array([[1.0, 0, 0], [0, 0.0, 0], [0, 0, 4.0]]), np.ones((3, 1)))
    assert x[:, 0] == pytest.approx([1.0, 0.0, 0.25])


def test_merging_makes_the_game_easier_and_keeps_the_arms():
    for _, _, game in games(41, 20, 20, 40, "near-tied clusters"):
        easier, place = merged(game, 1e-3)
        G = game.height.size
        assert easier.height.size < G
        assert (easier.depth[place[:G]] <= game.depth).all()
        for k, l in all_pairs(game):
            assert half(easier, place[k], place[l]) >= half(game, k, l) * (1 - 1e-12)
        assert easier.copies.sum() == game.copies.sum()
        assert easier.price.sum() <= game.price.sum() * (1 + 1e-12)
        assert (np.diff(easier.depth) > 0).all()
