"""Reports.

Everything is there, nothing that users wrote becomes markup, and the same study gives the same
bytes.
"""

import math
import re
from html.parser import HTMLParser
from unittest.mock import patch

import matplotlib
import numpy as np
import pytest
from markupsafe import escape

from allgood import (
    Additive,
    Bernoulli,
    Bounded,
    Exponential,
    Gaussian,
    Multiplicative,
    Plate,
    Poisson,
    create_study,
)
from allgood.reporting import report
from allgood.reporting.figures import BLUE, GREY, MANY
from allgood.reporting.report import report_html
from allgood.reporting.study_figures import (
    in_order,
    plot_course,
    plot_estimates,
    plot_evidence,
    plot_measurements,
    plot_plate,
)
from allgood.study.state import StudyState

from ..support.drawing import draw_nothing, sketched  # noqa: F401 - a fixture

PLATES = 3  # drawn at most in these tests, which takes less time than twelve
NASTY = [
    "<script>alert(1)</script>",
    "a & b",
    "\"double\" 'single'",
    "$x^2$ net",
    "</text></svg><b>",
    "plain",
]
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


class Reader(HTMLParser):
    """Checks that tags are balanced, and keeps what there is."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.tags, self.ids, self.attributes, self.texts = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self._keep(attrs)

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def _keep(self, attrs):
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]

    @property
    def text(self):
        return "".join(self.texts)


def make(tmp_path, arms, objective=Additive(0.5), name="screen", **options):  # noqa: B008
    return create_study(
        tmp_path / "studies.db",
        name,
        arms=arms,
        objective=objective,
        delta=0.05,
        clock=Clock(),
        **options,
    )


def measure(study, means, n, seed=0, draw=None):
    rng = np.random.default_rng(seed)
    mean = dict(zip(study.arms, means, strict=True))
    draw = draw or (lambda x: x + rng.normal())
    study.tell([(ticket.id, draw(mean[ticket.arm])) for ticket in study.ask(n)])


def state_of(study):
    return StudyState.from_events(study.events())


@pytest.fixture(autouse=True, scope="module")
def few_plates():
    with patch.object(report, "PLATES", PLATES):
        yield


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """One of everything.

    Labels of all kinds, plates, failures, corrections, unrequested values, arms given up.
    """
    study = make(
        tmp_path_factory.mktemp("full"),
        [*NASTY, "gone", "left"],
        name="<i>name</i> & $5",
        budget=5000,
    )
    study.drop_arm("gone", "not <in> stock")
    plate = Plate(4, 6, {"DMSO & <co>": ["A1"], "blank": 2}, edge=True)
    rng = np.random.default_rng(0)
    means = dict(zip(study.arms, [5.0, 4.0, 1.0, 0.0, -1.0, -3.0, 0.0, 2.0], strict=True))
    for batch in range(PLATES + 2):
        tickets = study.ask(plate=plate, client="robot <1>")
        rows = [(ticket.id, means[ticket.arm] + rng.normal()) for ticket in tickets]
        if batch == 2:
            study.fail(tickets[0], "dropped & <broken>")
            rows = rows[1:]
        study.tell(rows if batch < PLATES + 1 else rows[:10])
    study.add_measurement("plain", -2.0, "notebook <7>", client="an&na")
    study.correct(rows[0][0], 0.25, 'decimal "point" <x>')
    study.correct(rows[0][0], 0.5, "again")
    study.drop_arm("left", "toxic <!--")
    return study


@pytest.fixture(scope="module")
def page(full):
    return report_html(full)


def test_every_section_is_there(full, page):
    status = full.status()
    read = Reader(page)
    assert {"verdict", "arms", "pictures", "plates", "events", "print"} <= set(read.ids)
    labels = f"{len(status.good)} good, {len(status.bad)} bad, {len(status.open)} open"
    assert (
        f"Still running: {labels}, of 7 arms after {status.measurements} measurements." in read.text
    )
    assert "With probability at least 0.95, no certified label is wrong" in read.text
    assert "normal (or sub-Gaussian) with standard deviation 1" in read.text
    for title in (
        "Estimates",
        "Evidence over need",
        "Labels over time",
        "Measurements per arm",
        "From plate to plate",
        "Scale",
    ):
        assert f"<h3>{title}</h3>" in page
    assert read.tags.count("svg") == 6 + PLATES
    assert "2 older plates are left out" in read.text
    assert "Plate of batch 2<" not in page
    assert f"Plate of batch {PLATES + 2}<" in page
    assert full.certificate()["log"]["sha256"] in read.text
    assert "within 0.5 of the best" in read.text
    assert "network file system" in read.text
    assert "1970-01-12 13:46:40 UTC" in read.text


def test_the_table_has_every_arm_in_order(full, page):
    status = full.status()
    rows = re.findall(r"<tr><td.*?</tr>", page)
    assert len(rows) == len(full.arms)
    for row, item in zip(rows, in_order(status), strict=True):
        cells = [Reader(cell).text for cell in re.findall(r"<td.*?</td>", row)]
        assert cells[0] == item.arm
        guess = f" (guess: {item.guess})" if item.guess else ""
        assert cells[1] == ("withdrawn" if item.withdrawn else f"{item.label}{guess}")
        assert cells[4].split()[0] == str(item.measurements)
        if not item.withdrawn:
            assert float(cells[2]) == pytest.approx(item.mean, rel=1e-3)
            assert [float(x) for x in cells[3].split(" to ")] == pytest.approx(
                [item.low, item.high], rel=1e-3
            )
            assert [float(x) for x in cells[5].split(" / ")] == pytest.approx(
                [item.evidence, item.need], rel=1e-2
            )
        assert cells[7] == ("-" if item.certified_after is None else str(item.certified_after))
    labels = [item.label for item in in_order(status) if not item.withdrawn]
    assert labels == sorted(labels, key=["good", "open", "bad"].index)
    assert len(set(labels)) == 3  # so that the order is put to the test
    assert in_order(status)[-1].arm == "gone"
    assert "dropped: <bdi>toxic &lt;!--</bdi>" in page
    assert "withdrawn: <bdi>not &lt;in&gt; stock</bdi>" in page


def test_what_happened_is_told_in_order(full, page):
    read = Reader(re.search(r'<section id="events">.*?</section>', page, re.S)[0])
    lines = [line for line in read.text.splitlines() if "UTC" in line]
    first = full.events()
    parts = [
        "The arm was dropped, withdrawn before its first value; not <in> stock",
        " failed; dropped & <broken>",
        " gave -2, which nobody had requested: notebook <7>, by an&na",
        " was corrected from ",
        " was corrected from 0.25 to 0.5; again",
        "The arm was dropped; ",
    ]
    assert len(lines) == len(parts)
    assert all(part in line for line, part in zip(lines, parts, strict=True))
    assert "UTC plain: " in lines[2]
    corrected = [event for event in first if event.kind == "corrected"]
    told = next(
        event
        for event in first
        if event.kind == "measurement" and event.ticket == corrected[0].ticket
    )
    assert f'from {told.value:.15g} to 0.25; decimal "point" <x>' in lines[3]
    assert "details" not in read.tags


def test_many_happenings_are_folded(tmp_path, monkeypatch):
    draw_nothing(monkeypatch)
    study = make(tmp_path, ["a", "b"])
    for i in range(21):
        study.add_measurement("a", 0.0, f"page {i}")
    read = Reader(report_html(study))
    assert "details" in read.tags
    assert sum("nobody had requested" in text for text in read.text.splitlines()) == 21


def test_what_users_wrote_is_text(page):
    read = Reader(page)
    assert not {"script", "b", "i", "in", "co", "broken", "x"} & set(read.tags)
    assert "<script" not in page
    for name in NASTY:
        assert name in read.text
        assert str(escape(name)) in page
    drawn = [Reader(svg).text for svg in re.findall(r"<svg.*?</svg>", page, re.S)]
    for name in NASTY:
        assert name[:20] in drawn[0]  # in a picture, too, and no mathematics
    assert not any(name.startswith("on") for name, _ in read.attributes)


def test_nothing_is_loaded_from_elsewhere(page):
    read = Reader(page)
    assert not {"script", "link", "iframe", "object", "base"} & set(read.tags)
    for name, value in read.attributes:
        if name in ("href", "xlink:href", "src"):
            assert value.startswith(("#", "data:image/png;base64,"))
        elif not name.startswith("xmlns"):
            assert "//" not in (value or "")
    assert "@import" not in read.text
    assert not re.findall(r"url\((?!#)", page)


def test_names_within_pictures_are_their_own(page):
    read = Reader(page)
    assert len(read.ids) == len(set(read.ids))
    used = {
        value[1:]
        for name, value in read.attributes
        if name.endswith("href") and value.startswith("#")
    }
    used |= {
        name for _, value in read.attributes for name in re.findall(r"url\(#([^)]*)\)", value or "")
    }
    assert used
    assert used <= set(read.ids)


def test_the_same_study_gives_the_same_bytes(full, page):
    """But for the time, and whatever the settings of pictures are, which stay as they are."""
    with matplotlib.rc_context(
        {"font.size": 20.0, "svg.hashsalt": None, "axes.grid": True, "text.usetex": True}
    ):
        before = dict(matplotlib.rcParams)
        full.backend.clock.now += 60.0
        later = report_html(full)
        full.backend.clock.now -= 60.0
        assert dict(matplotlib.rcParams) == before
        assert matplotlib.rcParams["font.size"] == 20.0
    assert later.replace("13:47:40", "13:46:40") == page
    assert later != page


@pytest.mark.parametrize(
    ("objective", "model", "draw", "words"),
    [
        (Additive(0.2), Bernoulli(), lambda x: float(x > 0.5), "0 or 1"),
        (Additive(0.2), Poisson(), round, "Poisson distribution"),
        (Multiplicative(0.2), Exponential(), lambda x: x + 0.1, "exponential distribution"),
        (Additive(0.2), Bounded(-1, 1), lambda x: x, "between -1 and 1"),
        (Additive(0.2), Gaussian(None), lambda x: x, "need not be known"),
        (Additive(0.2), Gaussian([1.0, 2.0, 3.0]), lambda x: x, "stated for its arm"),
    ],
)
@pytest.mark.parametrize("n", [0, 2, 3, 8])
@pytest.mark.usefixtures("sketched")
def test_any_model_from_the_beginning_on(tmp_path, monkeypatch, objective, model, draw, words, n):
    """Pictures are drawn while an arm has no measurement, and always where intervals may go on."""
    if n != 2 and model != Gaussian(None):
        draw_nothing(monkeypatch)
    study = make(tmp_path, ["a", "b", "c"], objective, model=model)
    if n:
        measure(study, [1.0, 0.6, 0.0], n, draw=draw)
    page = report_html(study)
    read = Reader(page)
    assert words in read.text
    assert ("No label can be certified before every arm has a measurement" in read.text) is (n < 3)
    assert read.tags.count("svg") == {0: 0, 2: 2}.get(n, 4)
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.S)


def test_a_single_arm(tmp_path, monkeypatch):
    draw_nothing(monkeypatch)
    study = make(tmp_path, ["only"])
    measure(study, [1.0], 1)
    assert (
        "Every label is certified: 1 good, 0 bad, 0 open, of 1 arm after 1 measurement."
        in Reader(report_html(study)).text
    )


def test_every_arm_withdrawn(tmp_path):
    study = make(tmp_path, ["a", "b"])
    study.ask(2)
    for arm in study.arms:
        study.drop_arm(arm, "lost")
    assert "nothing is left to ask" in Reader(report_html(study)).text


def test_many_arms_have_no_names_in_pictures(tmp_path):
    names = [f"molecule {i}" for i in range(60)]
    study = make(tmp_path, names)
    measure(study, np.linspace(2, -2, 60), 80)
    page = report_html(study)
    assert len(re.findall(r"<tr><td", page)) == 60
    assert not any("molecule" in svg for svg in re.findall(r"<svg.*?</svg>", page, re.S))
    assert len(names) > MANY


@pytest.mark.parametrize("values", [(1e60, -1e60), (1e-60, 0.0), (0.0, 0.0), (1000.001, 1000.002)])
def test_extreme_values_are_drawn(tmp_path, values):
    study = make(tmp_path, ["a", "b"], Additive(0.001))
    study.tell([(t.id, v) for t, v in zip(study.ask(2, plate=Plate(1, 2)), values, strict=True)])
    rows = re.findall(r"<tr><td.*?</tr>", report_html(study))
    found = [float(re.findall(r"<td.*?>(.*?)</td>", row)[2]) for row in rows]
    assert found == pytest.approx(sorted(values, reverse=True), rel=1e-7)


def test_intervals_that_go_on_have_arrows(tmp_path):
    study = make(tmp_path, ["a", "b"], model=Gaussian(None))
    measure(study, [1.0, 0.0], 2)
    status = study.status()
    assert math.isinf(status.arms[0].high)
    axes = plot_estimates(status, study.design.objective).axes[0]
    arrows = [line for line in axes.get_lines() if line.get_marker() in ("<", ">")]
    assert sorted(y for line in arrows for y in line.get_ydata()) == [0, 0, 1, 1]
    assert {x for line in arrows for x in line.get_xdata()} == set(axes.get_xlim())


def test_pictures_show_the_study(full):
    status, state = full.status(), state_of(full)
    arms = [item for item in in_order(status) if not item.withdrawn]
    axes = plot_estimates(status, full.design.objective).axes[0]
    good = next(
        line for line in axes.get_lines() if line.get_color() == BLUE and line.get_marker() == "o"
    )
    assert good.get_xdata().tolist() == [arm.mean for arm in arms if arm.label == "good"]
    threshold = next(line for line in axes.get_lines() if line.get_linestyle() == "--")
    assert threshold.get_xdata()[0] == pytest.approx(max(arm.mean for arm in arms) - 0.5)

    course = plot_course(state).axes[0].collections
    ends = [sheet.get_paths()[0].vertices for sheet in course]
    tops = [v[v[:, 0] == v[:, 0].max()][:, 1].max() for v in ends]
    counts = [len(status.good), len(status.open), len(status.bad)]
    assert tops == np.cumsum(counts).tolist()
    first = min(arm.certified_after for arm in arms if arm.label == "good")
    assert ends[0][ends[0][:, 1] > 0][:, 0].min() == first

    bars = plot_evidence(status).axes[0].patches
    widths = sorted(bar.get_width() for bar in bars)
    assert widths == pytest.approx(
        sorted(float(np.clip(arm.evidence / arm.need, -1, 3)) for arm in arms)
    )

    told, pending, failed = np.array(
        [bar.get_width() for bar in plot_measurements(status, state).axes[0].patches]
    ).reshape(3, -1)
    assert told.tolist() == [item.measurements for item in in_order(status)]
    assert pending.tolist() == [item.pending for item in in_order(status)]
    assert failed.sum() == status.failed == 1
    assert plot_measurements(status, state).axes[0].patches[
        0
    ].get_facecolor() == matplotlib.colors.to_rgba(GREY)


def test_a_plate_shows_its_wells(tmp_path):
    study = make(tmp_path, ["a", "b"])
    tickets = study.ask(5, plate=Plate(2, 4, {"a long control": ["B4"]}))
    study.tell([(ticket.id, float(i)) for i, ticket in enumerate(tickets[:3])])
    study.fail(tickets[3], "spilt")
    state = state_of(study)
    scale = matplotlib.colors.Normalize(0.0, 2.0)
    axes = plot_plate(state.plates[1], state.tickets.values(), set(), scale).axes[0]
    values = axes.images[0].get_array()
    where = [("AB".index(ticket.well[0]), int(ticket.well[1:]) - 1) for ticket in tickets]
    assert [values[position] for position in where[:3]] == [0.0, 1.0, 2.0]
    assert np.isfinite(values.filled(np.nan)).sum() == 3
    marks = {line.get_marker(): line for line in axes.get_lines()}
    assert (marks["x"].get_ydata()[0], marks["x"].get_xdata()[0]) == where[3]
    assert (marks["o"].get_ydata()[0], marks["o"].get_xdata()[0]) == where[4]
    [name] = axes.texts
    assert name.get_position() == (3, 1)
    assert name.get_text().startswith("a lo")
    assert [t.get_text() for t in axes.get_yticklabels()] == ["A", "B"]


def test_pictures_refuse_what_they_cannot_show(tmp_path):
    study = make(tmp_path, ["a", "b"])
    with pytest.raises(ValueError, match="status must have a measurement to draw"):
        plot_estimates(study.status(), study.design.objective)
    with pytest.raises(ValueError, match="status must have a measurement of every arm"):
        plot_evidence(study.status())
    with pytest.raises(ValueError, match="state must have a measurement of every arm"):
        plot_course(state_of(study))
