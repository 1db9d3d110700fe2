"""What bad data can do to a study: values told as they are ready, and moved decimal points.

The guarantee rests on the order in which values are heard, and on the chance that a true value is
held back.  Both are tried out on the ledgers of simulated studies, with controls that must fail.
"""

import numpy as np
from scipy.stats import binom

from allgood import Additive, Bernoulli, Exponential, Gaussian, Multiplicative, Poisson

from ..support.study_cache import StudyCache

DELTA = 0.1


def side_by_side(seed, in_order, n=600, at_once=40):
    """A study of n waiting times that all begin at once: the short ones are told first.

    Returns whether it is wrong, and whether all labels are certified.
    """
    rng, means = np.random.default_rng(seed), np.array([1.0, 0.32])
    study_cache = StudyCache(Exponential(), Multiplicative(0.5), 2, DELTA, in_order=in_order)
    times = sorted((rng.exponential(means[arm]), number) for number, arm in study_cache.ask(n))
    for first in range(0, n, at_once):
        study_cache.tell(*((number, time) for time, number in times[first : first + at_once]))
        if study_cache.engine.is_done():
            break
    return study_cache.wrong(means) > 0, study_cache.engine.is_done()


def test_waiting_times_are_heard_in_the_order_of_their_tickets():
    """Fails with probability at most 1e-6 where the theorem holds.

    The control hears them as they are told, which a study refuses.
    """
    runs = 12
    found = [side_by_side(seed, in_order=True) for seed in range(runs)]
    wrong, done = np.sum(found, axis=0)
    assert done > runs / 2  # there was something to see
    assert binom.sf(wrong - 1, runs, DELTA) > 1e-6
    wrong = sum(side_by_side(seed, in_order=False)[0] for seed in range(runs))
    assert binom.sf(wrong - 1, runs, DELTA) <= 1e-6


ARMS = 6
MODELS = {  # model, question, means of the arms, and a reward
    "normal": (
        Gaussian(10.0),
        Additive(8.0),
        lambda rng: rng.normal(45.0, 15.0, ARMS),
        lambda rng, mean: rng.normal(mean, 10.0),
    ),
    "unknown": (
        Gaussian(None),
        Additive(8.0),
        lambda rng: rng.normal(45.0, 15.0, ARMS),
        lambda rng, mean: rng.normal(mean, 10.0),
    ),
    "counts": (
        Poisson(),
        Additive(5.0),
        lambda rng: rng.gamma(4.0, 5.0, ARMS),
        lambda rng, mean: float(rng.poisson(mean)),
    ),
    "times": (
        Exponential(),
        Multiplicative(0.4),
        lambda rng: rng.gamma(4.0, 5.0, ARMS),
        lambda rng, mean: rng.exponential(mean),
    ),
    "bernoulli": (
        Bernoulli(),
        Additive(0.2),
        lambda rng: rng.uniform(0.1, 0.9, ARMS),
        lambda rng, mean: float(rng.random() < mean),
    ),
}


def batches(name, seed, check, mistake, n):
    """A study of n batches of ARMS values; with a mistake: one of the first has its point moved.

    Returns whether it is wrong, which true values were ever suspect, and whether the mistake was.
    """
    model, objective, draw_means, draw = MODELS[name]
    rng = np.random.default_rng([seed, len(name)])
    means, suspects = draw_means(rng), set()
    study_cache = StudyCache(
        model, objective, ARMS, DELTA, check_values=check, in_order=model.takes_time
    )
    at = int(rng.integers(1, 2 * ARMS + 1)) if mistake else 0
    for _ in range(n):
        values = []
        for number, arm in study_cache.ask(ARMS):
            value = draw(rng, means[arm])
            if number == at:
                value = float(round(value * 10.0 ** rng.choice([1, 2])))
            values.append((number, value))
        if not values:
            break
        study_cache.tell(*values)
        suspects |= set(study_cache.state.quality.suspects)
    return study_cache.wrong(means) > 0, suspects - {at}, at in suspects


def test_a_moved_decimal_point_does_no_harm_where_values_are_checked():
    """The control is the same 30 studies, unchecked: more wrong than delta, but for 1e-6."""
    checked, unchecked, held_back = 0, 0, 0
    for name in ("normal", "counts"):
        for seed in range(15):
            wrong, others, found = batches(name, seed, check=True, mistake=True, n=12)
            assert not others
            checked, held_back = checked + wrong, held_back + found
            unchecked += batches(name, seed, check=False, mistake=True, n=12)[0]
    assert checked == 0
    assert held_back > 25
    assert binom.sf(unchecked - 1, 30, DELTA) <= 1e-6


def test_no_true_value_is_held_back():
    """Of 20 studies without a mistake.

    Fails with probability at most 20 delta/1000 = 0.002.  The control is above: mistakes are held
    back.
    """
    for name in MODELS:
        for seed in range(4):
            _, suspects, _ = batches(name, 100 + seed, check=True, mistake=False, n=20)
            assert not suspects
