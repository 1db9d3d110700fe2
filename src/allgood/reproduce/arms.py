"""Figure 4, left: stopping time against the number of arms, relative to Track-and-Stop.

It also shows which choices of the algorithms move the crossings.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from allgood import Additive, best_response
from allgood.reporting.figures import CYCLE, STYLES, legend_above
from allgood.simulation.registry import strategy_named

from ._common import LOOKS, Settings, TableRow, Tables, columns, names_of, new_figure

TITLE = "Pulls against the number of arms"
PAPER = (
    "K - 1 arms at 1 and one at 0.05, epsilon = 0.9, delta = 0.1, 30 runs for each K from 5 to "
    "100. Track-and-Stop is better for small K; (ST)^2 overtakes it at K = 40, FAREAST at K = 60."
)
QUESTION = Additive(0.9)
TRACK, LETTER, ST2, FAREAST = (
    "track-and-stop:paper",
    "track-and-stop-letter:paper",
    "st2:mason",
    "fareast:mason",
)
STRATEGIES = (TRACK, LETTER, ST2, FAREAST, "claim-by-claim")
RIVALS = {ST2: "st2", FAREAST: "fareast"}
LOG10 = math.log(10.0)
LETTER_UP_TO = 40  # arms; with more, mirror ascent to 1/sqrt(t) takes hours


class Choice(NamedTuple):
    """One value of one choice; all other choices are as in TRACK, ST2 and FAREAST."""

    choice: str
    value: str
    name: str = TRACK
    options: tuple[tuple[str, Any], ...] = ()
    runs: int = 30
    up_to: int = 100  # arms

    @property
    def side(self) -> str:
        """The strategy that the choice belongs to."""
        return next(name for name in (TRACK, ST2, FAREAST) if name.split(":")[0] in self.name)


def ascent(steps: int, warm: bool) -> tuple[tuple[str, Any], ...]:
    return (("solver", "mirror-ascent"), ("steps", steps), ("warm", warm))


CHOICES = (
    Choice("threshold", "paper", runs=100),
    Choice("threshold", "mixture", "track-and-stop:mixture", runs=100),
    Choice("threshold", "kaufmann-koolen", "track-and-stop:kaufmann-koolen"),
    Choice("threshold", "stylised", "track-and-stop:stylised"),
    Choice("weights solved every", "100 K pulls", runs=100),
    Choice("weights solved every", "pull", TRACK, (("lazy", 1),), 10, 20),
    Choice("weights solved every", "1,000 K pulls", TRACK, (("lazy", 1_000),)),
    Choice("weights solved every", "10,000 K pulls", TRACK, (("lazy", 10_000),)),
    Choice("weights", "Newton, to 1 %", runs=100),
    Choice("weights", "Newton, to a factor 11", TRACK, (("rtol", 10.0),)),
    Choice("weights", "1,000 steps from the last", TRACK, ascent(1_000, True)),
    Choice("weights", "300 steps from the last", TRACK, ascent(300, True)),
    Choice("weights", "10,000 steps from uniform", TRACK, ascent(10_000, False), 10, 40),
    Choice("weights", "to 1/sqrt(t) from uniform", LETTER, (), 30, LETTER_UP_TO),
    Choice("width of (ST)^2", "mason", ST2, (), 100),
    Choice("width of (ST)^2", "mason-data", "st2:mason-data", (), 100),
    Choice("width of (ST)^2", "mixture", "st2:mixture", (), 100),
    Choice("width of FAREAST", "mason", FAREAST),
    Choice("width of FAREAST", "mason-data", "fareast:mason-data", (), 5),
    Choice("width of FAREAST", "mixture", "fareast:mixture", (), 5),
)


def tables(settings: Settings) -> Tables:
    sizes = (5, 10, 20, 30, 40, 50, 60, 80, 100) if settings.full else (5, 20, 40)
    rows: list[TableRow] = []
    for num_arms in sizes:
        for name in STRATEGIES:
            c = Choice("", "", name, up_to=LETTER_UP_TO if name == LETTER else 100)
            if shown(settings, c, num_arms):
                rows.append({"strategy": name} | simulated(settings, c, num_arms))
    reference = {row["arms"]: row["mean"] for row in rows if row["strategy"] == TRACK}
    for row in rows:
        row["log10_ratio"] = math.log10(row["mean"] / reference[row["arms"]])
    return {"arms": rows, "choices": choices(settings, sizes)}


def shown(settings: Settings, c: Choice, num_arms: int) -> bool:
    return num_arms <= (c.up_to if settings.full else c.up_to // 2)


def simulated(settings: Settings, c: Choice, num_arms: int) -> TableRow:
    """Return mean pulls, and their two factors.

    These are T(mu, w) at the shares w of all pulls, and the mean of Z at the end.
    """
    means = [1.0] * (num_arms - 1) + [0.05]
    strategy: Any = strategy_named(c.name, QUESTION, 0.1)
    label = "-".join(["arms", str(num_arms), *(str(part) for pair in c.options for part in pair)])
    runs = c.runs if settings.full else 3
    simulation = settings.simulate(c.name, means, replace(strategy, **dict(c.options)), runs, label)
    s, counts = simulation.summary(), simulation.counts.sum(axis=0)
    return {
        "arms": num_arms,
        "runs": s.runs,
        "mean": s.mean,
        "standard_error": s.standard_error,
        "errors": s.errors,
        "lower_bound": s.lower_bound,
        "time": 1.0 / best_response(means, counts / counts.sum(), QUESTION).cost,
        "evidence": float(simulation.evidence.mean()),
    }


def choices(settings: Settings, sizes: Sequence[int]) -> list[TableRow]:
    """Return each choice at each K, with log10(pulls of the rival / of Track-and-Stop) and its
    error.
    """
    row_of = cache(lambda c, num_arms: simulated(settings, c, num_arms))
    published = {c.side: c for c in reversed(CHOICES) if c.name == c.side and not c.options}
    rows: list[TableRow] = []
    for c in CHOICES:
        sides = published | {c.side: c}
        for num_arms in sizes:
            if shown(settings, c, num_arms):
                row: TableRow = {"choice": c.choice, "value": c.value} | row_of(c, num_arms)
                tracking = row_of(sides[TRACK], num_arms)
                for rival, suffix in RIVALS.items():
                    pair = (row_of(sides[rival], num_arms), tracking)
                    row["log10_" + suffix] = math.log10(pair[0]["mean"] / pair[1]["mean"])
                    row["error_" + suffix] = (
                        math.hypot(*(r["standard_error"] / r["mean"] for r in pair)) / LOG10
                    )
                rows.append(row)
    return rows


def pictures(tables: Tables) -> dict[str, Any]:
    return {"arms": arms_picture(tables["arms"]), "choices": choices_picture(tables["choices"])}


def arms_picture(rows: Sequence[TableRow]) -> Any:
    figure = new_figure(7.5, 5.0)
    axes = figure.subplots()
    for name in names_of(rows):
        c = columns(rows, strategy=name)
        colour, marker, style, label = LOOKS[name]
        axes.plot(
            c["arms"],
            c["log10_ratio"],
            marker=marker,
            linestyle=style,
            color=colour,
            label=label,
            markersize=4,
        )
    axes.set(
        xlabel="number of arms K", ylabel="log10(mean pulls / Track-and-Stop's, exact weights)"
    )
    legend_above(axes)
    return figure


def choices_picture(rows: Sequence[TableRow]) -> Any:
    """Draw one panel for each choice that concerns Track-and-Stop and (ST)^2."""
    figure = new_figure(11.0, 9.0)
    names = dict.fromkeys(c.choice for c in CHOICES if c.side != FAREAST)
    for axes, choice in zip(
        figure.subplots(2, 2, sharex=True, sharey=True).flat, names, strict=True
    ):
        axes.axhline(0.0, color="black", linewidth=0.8)
        axes.axvline(40, color="black", linewidth=0.8, linestyle=":", label="the paper's crossing")
        values = dict.fromkeys(row["value"] for row in rows if row["choice"] == choice)
        for n, value in enumerate(values):
            c = columns(rows, choice=choice, value=value)
            bars = [2.0 * error for error in c["error_st2"]]
            look: Any = {
                "color": CYCLE[n],
                "marker": "os^DPv"[n],
                "linestyle": STYLES[n % 4],
                "markersize": 4,
            }
            axes.errorbar(
                c["arms"], c["log10_st2"], bars, label=value, capsize=2, linewidth=1.2, **look
            )
        axes.set(xlabel="number of arms K", ylabel="log10((ST)^2's mean pulls / Track-and-Stop's)")
        axes.label_outer()
        legend_above(axes)
        axes.set_title(choice, loc="right", fontsize="medium", fontweight="bold")
    return figure


def crossing(rows: Sequence[TableRow], suffix: str) -> tuple[int | None, int | None]:
    """Return the largest K at which the rival needs more pulls, and the K from which it needs
    fewer.

    Both by two standard errors; None if there is no such K.
    """
    behind = ahead = None
    for row in rows:
        ratio, error = row["log10_" + suffix], 2.0 * row["error_" + suffix]
        behind = row["arms"] if ratio > error else behind
        ahead = (ahead or row["arms"]) if ratio < -error else None
    return behind, ahead


def crossing_in_words(rows: Sequence[TableRow], suffix: str) -> str | None:
    """Return the crossing in words; None if the rival is behind to the end."""
    (behind, ahead), last = crossing(rows, suffix), rows[-1]["arms"]
    if ahead is not None:
        return f"by K = {ahead}" if behind is None else f"between K = {behind} and {ahead}"
    return None if behind == last else f"perhaps by K = {last}"


def findings(tables: Tables) -> str:
    sentences = ["One choice varied at a time, crossings by two standard errors."]
    for rival, suffix in RIVALS.items():
        crossings = []
        for c in CHOICES:
            rows = [
                row
                for row in tables["choices"]
                if (row["choice"], row["value"]) == (c.choice, c.value)
            ]
            where = crossing_in_words(rows, suffix)
            if where is not None and c.side in (TRACK, rival):
                crossings.append(f"{c.choice} {c.value}, {where}")
        sentences.append(
            f"{LOOKS[rival][3]} overtakes Track-and-Stop with "
            f"{'; '.join(crossings) or 'none of the choices'}"
            f"{'; with no other' if crossings else ''}, up to the largest K measured."
        )
    mean = {(row["choice"], row["value"], row["arms"]): row["mean"] for row in tables["choices"]}
    of = {
        side: [(c.choice, c.value) for c in CHOICES if c.side == side and c.up_to >= 60]
        for side in (TRACK, *RIVALS)
    }
    if (*of[TRACK][0], 60) in mean:
        needed = min(mean[*c, 60] for c in of[FAREAST]) / max(mean[*c, 40] for c in of[ST2])
        steepest = max(mean[*c, 60] / mean[*c, 40] for c in of[TRACK])
        sentences.append(
            "To be overtaken by (ST)^2 at K = 40 and by FAREAST at K = 60, Track-and-Stop would "
            f"have to need at least {needed:.1f} times as many pulls at 60 as at 40, whatever "
            f"their widths; of the choices measured at both, none takes it beyond {steepest:.1f} "
            "times as many."
        )
    at = max(row["arms"] for row in tables["arms"] if row["strategy"] == LETTER)
    products = ", ".join(
        f"{LOOKS[row['strategy']][3]} {row['time']:,.0f} x {row['evidence']:.0f}"
        for row in tables["arms"]
        if row["arms"] == at
    )
    sentences.append(
        f"Pulls are roughly T(mu, w) at the shares w of the pulls times Z at the end; at K = {at}: "
        f"{products}."
    )
    return " ".join(sentences)
