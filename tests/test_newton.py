"""The solver's parts: the elimination against the full system, the kept pairs against a linear programme."""

import numpy as np
import pytest
from scipy.optimize import linprog

from allgood import _newton
from allgood.characteristic import _merged

from .instances import draw_instance
from .reference import newton_system


def games(seed, how_many, low, high, shape=None):
    rng = np.random.default_rng(seed)
    made = 0
    while made < how_many:
        means, objective = draw_instance(rng, int(rng.integers(low, high + 1)), shape)
        if means.max() <= 0 or np.unique(means).size < 2:
            continue
        sigma = rng.choice([1.0, 2.0], size=means.size) if rng.random() < 0.3 else np.ones(means.size)
        height, depth = objective.distances(means)
        order = np.lexsort((sigma, depth))
        yield rng, _newton.group_arms(means, sigma, height, depth, order, objective.factor)[0]
        made += 1


def half(game, k, l):
    return (game.height[k] + game.c * game.depth[l]) ** 2 / 2


def all_pairs(game):
    G = game.height.size
    return [(k, l) for k in range(G) for l in range(G) if k != l or game.copies[k] > 1]


def test_dropped_pairs_follow_from_the_kept_ones():
    """max a_k + c^2 a_l under the kept pairs, by linear programming, stays below the dropped pair's limit."""
    dropped = 0
    for _, game in games(11, 60, 3, 9):
        pairs, few = _newton.kept_pairs(game, 10_000)
        assert few
        kept = set(zip(pairs.k.tolist(), pairs.l.tolist(), strict=True))
        if not kept:
            continue
        rows, limits = [], []
        for k, l in kept:
            row = np.zeros(game.height.size)
            row[k] += 1.0
            row[l] += game.c**2
            rows.append(row)
            limits.append(half(game, k, l))
        for k, l in set(all_pairs(game)) - kept:
            goal = np.zeros(game.height.size)
            goal[k] -= 1.0
            goal[l] -= game.c**2
            found = linprog(goal, A_ub=rows, b_ub=limits, bounds=(0, None))
            assert found.status == 0
            assert -found.fun <= half(game, k, l) * (1 + 1e-7)
            dropped += 1
    assert dropped > 100


def test_kept_pairs_are_as_cheap_as_all_pairs():
    for rng, game in games(13, 200, 3, 40):
        pairs, _ = _newton.kept_pairs(game, 10_000)
        if pairs.k.size == 0:
            continue
        v = rng.exponential(size=game.height.size) ** 3
        cost = {(k, l): half(game, k, l) / (1 / v[k] + game.c**2 / v[l]) for k, l in all_pairs(game)}
        kept = min(cost[pair] for pair in zip(pairs.k.tolist(), pairs.l.tolist(), strict=True))
        assert kept == pytest.approx(min(cost.values()), rel=1e-12)


def test_a_limit_on_the_pairs_is_reported():
    (_, game), *_ = games(5, 1, 30, 30, "near-tied")
    assert _newton.kept_pairs(game, 3)[1] is False


@pytest.mark.parametrize("size", [(2, 10), (40, 60)])
def test_elimination_gives_the_step_of_the_full_system(size):
    """Bad groups, leaves and the bordered row, against one dense solve with nothing eliminated."""
    leaves = 0
    for rng, game in games(21, 60, *size):
        pairs, _ = _newton.kept_pairs(game, 100_000)
        at = _newton.new_point(game, pairs)
        at.v[:] = _newton.starting_point(game) * rng.uniform(0.7, 1.4, size=game.price.size)
        _newton.evaluate(game, pairs, at)
        at.v[:] *= 1.5 / _newton.cheapest(at)
        _newton.evaluate(game, pairs, at)
        lam = _newton.new_costs(game, pairs)
        by_pairs, by_others = np.empty(game.price.size), np.empty(game.price.size)
        _newton.start_multipliers(game, pairs, at, lam, by_pairs, by_others)
        for part in lam:
            part[:] = part * rng.uniform(0.5, 2.0, size=part.size)
        _newton.pulls_held(game, pairs, lam, at, by_pairs, by_others)
        mu = 0.3 * float(game.price @ at.v) / (pairs.k.size + game.gap.size + 1)
        system = _newton.assemble(game, pairs, lam, at, by_pairs, by_others, mu)
        leaves += (_newton.choose_core(game, pairs, system.rows.shape[1]) < 0).sum()
        z = _newton.newton_step(game, pairs, lam, at, system)
        listed = list(zip(pairs.k.tolist(), pairs.l.tolist(), strict=True))
        expected = newton_system.step(
            game.height, game.depth, game.copies, game.gap, game.price, game.lift, game.c,
            listed, at.v, np.concatenate(lam), mu,
        )  # fmt: skip
        assert z == pytest.approx(expected, rel=1e-5, abs=1e-6 * np.abs(expected).max())
    assert leaves > 100 or size[1] < 20


def test_shares_are_relative_derivatives():
    """d log g / d log v by central differences, at random points; they sum to one (Euler)."""
    for rng, game in games(31, 30, 3, 9):
        pairs, _ = _newton.kept_pairs(game, 10_000)
        v = _newton.starting_point(game) * rng.uniform(0.5, 2.0, size=game.price.size)

        def logs(v, game=game, pairs=pairs):
            at = _newton.new_point(game, pairs)
            at.v[:] = v
            _newton.evaluate(game, pairs, at)
            return np.log(np.concatenate(at.cost))

        listed = list(zip(pairs.k.tolist(), pairs.l.tolist(), strict=True))
        rows = newton_system.alternatives(game.height, game.depth, game.copies, game.gap, game.lift, game.c, listed, v)
        shares = np.array([pi for _, _, pi, _ in rows])
        assert shares.sum(axis=1) == pytest.approx(1.0)
        for a in range(v.size):
            up, down = v.copy(), v.copy()
            up[a] *= 1 + 1e-5
            down[a] *= 1 - 1e-5
            assert (logs(up) - logs(down)) / 2e-5 == pytest.approx(shares[:, a], abs=1e-5)


@pytest.mark.parametrize("size", [1, 2, 47, 48, 49, 130])
def test_cholesky_solves(size):
    rng = np.random.default_rng(size)
    factor = rng.normal(size=(size, size))
    matrix, x = factor @ factor.T + 0.1 * np.eye(size), rng.normal(size=(size, 2))
    solution = x.copy()
    _newton.cholesky_solve(matrix.copy(), solution)
    assert solution == pytest.approx(np.linalg.solve(matrix, x), rel=1e-6, abs=1e-8)


def test_a_lost_pivot_leaves_its_variable_alone():
    x = np.array([[1.0], [1.0], [1.0]])
    _newton.cholesky_solve(np.array([[1.0, 0, 0], [0, 0.0, 0], [0, 0, 4.0]]), x)
    assert x[:, 0] == pytest.approx([1.0, 0.0, 0.25])


def test_merging_makes_the_game_easier_and_keeps_the_arms():
    for _, game in games(41, 20, 20, 40, "near-tied clusters"):
        easier, place = _merged(game, 1e-3)
        G = game.height.size
        assert easier.height.size < G
        assert (easier.depth[place[:G]] <= game.depth).all()
        for k, l in all_pairs(game):
            assert half(easier, place[k], place[l]) >= half(game, k, l) * (1 - 1e-12)
        assert easier.copies.sum() == game.copies.sum()
        assert easier.price.sum() <= game.price.sum() * (1 + 1e-12)
        assert (np.diff(easier.depth) > 0).all()
