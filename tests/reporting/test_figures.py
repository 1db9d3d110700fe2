"""Pictures show what they claim: checked on the drawn data, not on pixels."""

import numpy as np
import pytest

from allgood import (
    ST2,
    Additive,
    ClaimByClaim,
    Multiplicative,
    TrackAndStop,
    best_response,
    characteristic_time,
    follow,
    intervals,
    simulate,
)
from allgood.reporting.figures import (
    plot_alternative,
    plot_instance,
    plot_intervals,
    plot_labels,
    plot_means,
    plot_sets,
    plot_shares,
    plot_stopping_times,
    plot_tracks,
    plot_weights,
)

PAPER, QUESTION = [1, 1, 1, 1, 0.05], Additive(0.9)


def lines(figure, axes=0):
    return {line.get_label(): line for line in figure.axes[axes].get_lines()}


def test_means_are_coloured_by_label():
    drawn = lines(plot_means(PAPER, QUESTION))
    assert drawn["good (4)"].get_ydata().tolist() == [1, 1, 1, 1]
    assert drawn["bad (1)"].get_xdata().tolist() == [4]
    assert drawn["threshold 0.1"].get_ydata()[0] == pytest.approx(0.1)


def test_many_arms_are_sorted_and_weights_on_a_log_axis():
    means = np.random.default_rng(0).normal(size=100)
    figure = plot_instance(means, characteristic_time(means, QUESTION).weights, QUESTION)
    good = next(line for name, line in lines(figure).items() if name.startswith("good"))
    assert (np.diff(good.get_ydata()) <= 0).all()
    assert figure.axes[1].get_yscale() == "log"


def test_weights_are_bars():
    figure = plot_weights([0.125] * 4 + [0.5], PAPER, QUESTION, names=list("abcde"))
    heights = sorted(bar.get_height() for bar in figure.axes[0].patches)
    assert heights == [0.125] * 4 + [0.5]
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == list("abcde")


@pytest.mark.parametrize(
    ("means", "weights", "objective", "title"),
    [
        ([1, 0.8, 0.2], [1, 0.2, 3], Additive(0.35), "arm 1 becomes bad: arm 0 outdoes it"),
        ([1, 0.8, 0.55], [1, 1, 1], Additive(0.3), "arm 1 becomes bad"),
        (PAPER, [1, 1, 1, 1, 4], QUESTION, "arm 4 becomes good"),
        ([1, -1], [1, 1], Multiplicative(0.5), "no arm stays good"),
        ([-1, -2], [1, 1], Multiplicative(0.5), "arm 0 becomes good: it rises to zero"),
    ],
)
def test_an_alternative_shows_where_the_arms_went(means, weights, objective, title):
    response = best_response(means, weights, objective)
    figure = plot_alternative(means, response, objective)
    assert figure.axes[0].get_title().startswith(title)
    moved = response.means != np.asarray(means)
    assert lines(figure)["after"].get_ydata() == pytest.approx(response.means[moved])


def test_no_alternative_no_picture():
    with pytest.raises(ValueError, match="response must be an alternative: got none"):
        plot_alternative([1], best_response([1], [1], QUESTION), QUESTION)


def test_sets_of_two_arms():
    """The border of D meets the axis where moving arm 0 alone changes the answer.

    D = 0.25^2 / 2.
    """
    for shift in (0.0, 1000.0):
        figure = plot_sets([0.9 + shift, 0.6 + shift], Additive(0.05))
        border = next(
            c
            for c in figure.axes[1].collections
            if c.get_linewidth().size and len(c.get_edgecolor())
        )
        points = np.concatenate([path.vertices for path in border.get_paths()])
        assert points[:, 0].max() == pytest.approx(0.25**2 / 2, rel=0.05)
        assert points[:, 1].max() == pytest.approx(0.25**2 / 2, rel=0.15)
    with pytest.raises(ValueError, match="means must be those of two arms: got 3"):
        plot_sets([1, 2, 3], QUESTION)


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_pictures_save_in_print_formats(tmp_path, suffix):
    path = tmp_path / f"picture.{suffix}"
    plot_means(PAPER, QUESTION).savefig(path)
    assert path.stat().st_size > 1000


def test_stopping_times_show_every_run_the_mean_and_the_bound():
    simulations = {
        "st2": simulate(ST2(QUESTION, 0.1, "mixture"), PAPER, runs=12, budget=45_000),
        "tas": simulate(TrackAndStop(QUESTION, 0.1, "paper"), PAPER, runs=12),
    }
    figure = plot_stopping_times(simulations)
    drawn = figure.axes[0].get_lines()
    stopped = simulations["st2"].certified
    assert 0 < stopped.sum() < 12
    points = {tuple(sorted(line.get_xdata())) for line in drawn if line.get_linestyle() == "None"}
    assert tuple(sorted(simulations["st2"].pulls[stopped])) in points
    assert tuple(simulations["st2"].pulls[~stopped]) in points
    assert (simulations["tas"].pulls.mean(),) in points
    bound = next(
        line for name, line in lines(figure).items() if name.startswith("no strategy can beat")
    )
    assert bound.get_xdata()[0] == pytest.approx(5624.9, abs=0.1)
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["st2", "tas"]
    with pytest.raises(ValueError, match="simulations must hold at least one"):
        plot_stopping_times({})


def test_tracks_show_the_mean_f1_score():
    simulation = simulate(ST2(QUESTION, 0.1), PAPER, runs=6, grid=[5, 50, 500])
    drawn = lines(plot_tracks({"st2": simulation}))["st2"]
    assert drawn.get_xdata().tolist() == [5, 50, 500]
    assert drawn.get_ydata() == pytest.approx(simulation.f1.mean(axis=0))


def test_tracks_show_the_certified_labels_below():
    simulations = {
        "own": simulate(ClaimByClaim(QUESTION, 0.1), PAPER, runs=6, grid=[5, 2000, 9000, 30_000]),
        "looked for": simulate(ST2(QUESTION, 0.1), PAPER, runs=6, grid=[5, 500, 5000, 20_000]),
    }
    figure = plot_tracks(simulations)
    for name, simulation in simulations.items():
        drawn = lines(figure, 1)[name]
        assert drawn.get_xdata().tolist() == simulation.grid.tolist()
        assert drawn.get_ydata() == pytest.approx(simulation.labels_certified.mean(axis=0))
        assert drawn.get_ydata()[0] == 0.0 < drawn.get_ydata()[-1]
    assert len(figure.axes[1].collections) == 2  # a band each
    with pytest.raises(ValueError, match="simulations must hold at least one"):
        plot_tracks({})


def test_a_run_in_pictures():
    snapshots = list(follow(ClaimByClaim(QUESTION, 0.1), PAPER, seed=1))
    last = snapshots[-1]
    figure = plot_intervals(last.counts, last.means, QUESTION, 0.1, last.claims)
    names = figure.axes[0].get_legend_handles_labels()[1]
    threshold = QUESTION.threshold(last.means)
    assert names == [f"threshold {threshold:.4g}", "certified good (4)", "certified bad (1)"]
    [good] = [line for line in figure.axes[0].get_lines() if line.get_label() == names[1]]
    assert good.get_xdata().tolist() == last.means[:4].tolist()
    low, _ = intervals(last.counts, last.means, 0.1)
    ends = [end for drawn in figure.axes[0].collections for end in drawn.get_segments()]
    assert [end[0][0] for end in ends] == pytest.approx(low.tolist())
    figure = plot_labels(snapshots)
    evidence = lines(figure, 1)["arm 4"]
    assert evidence.get_xdata().tolist() == [s.pulls for s in snapshots]
    assert evidence.get_ydata()[-1] == 1.0
    weights = [0.125] * 4 + [0.5]
    shares = plot_shares(last.counts, weights, PAPER, QUESTION)
    assert sum(bar.get_height() for bar in shares.axes[0].patches) == pytest.approx(1.0)
    assert lines(shares)["optimal weight"].get_ydata().tolist() == weights
    with pytest.raises(ValueError, match="snapshots must be of a strategy that certifies labels"):
        plot_labels(list(follow(ST2(QUESTION, 0.1), PAPER, budget=50)))
