"""Studies as tables: for pandas and other programs, in a notebook, and told as frames."""

import csv
import json
import math

import numpy as np
import pytest

from allgood import Additive, Bernoulli, Bounded, Gaussian, Plate, Poisson, create_study

from ..reporting.test_tables import Cells
from .test_study import MEANS, NAMES, Clock, finish

EVIL = "<b>&fir"


@pytest.fixture
def study(tmp_path):
    with create_study(
        tmp_path / "s.db",
        "trees <i>",
        arms=[*NAMES[:4], EVIL],
        objective=Additive(0.5),
        delta=0.1,
        clock=Clock(),
    ) as made:
        tickets = made.ask(plate=Plate(2, 4, {"blank": 1}), client="lab")
        made.tell([(t.id, MEANS[made.arms.index(t.arm)] + 0.1 * i) for i, t in enumerate(tickets)])
        made.correct(tickets[0], 0.75, "misread")
        made.add_measurement("elm", 0.3, "notebook")
        made.add_measurement("elm", -0.3, "notebook, p. 2")
        with pytest.warns(UserWarning, match="is suspect"):
            made.add_measurement("elm", 500.0, "a slip")
        yield made


def test_values_are_a_table(study):
    columns = study.table("values").columns
    state = study.backend.known_state
    assert columns["value"] == [state.tickets[number].value for number in state.told]
    assert columns["ticket"][0] == study.design.ticket_id(1)
    assert columns["arm"] == [*NAMES[:4], EVIL, *NAMES[:2], "elm", "elm", "elm"]
    assert columns["state"] == ["counts"] * 9 + ["suspect"]
    assert columns["first"][0] == 1.0
    assert columns["value"][0] == 0.75
    assert columns["source"] == [None] * 7 + ["notebook", "notebook, p. 2", "a slip"]
    assert columns["batch"] == [1] * 7 + [None] * 3
    assert columns["client"][:8] == ["lab"] * 7 + [None]
    told = [event.time for event in study.events() if event.kind in ("measurement", "unrequested")]
    assert columns["time"] == told


def test_events_are_a_table(study):
    columns, events = study.table("events").columns, study.events()
    assert len(study.table("events")) == len(events)
    assert columns["kind"] == [event.kind for event in events]
    assert json.loads(columns["data"][0]) == events[0].data
    first = columns["kind"].index("ticket")
    assert (columns["ticket"][first], columns["arm"][first]) == (study.design.ticket_id(1), "ash")
    assert columns["note"][-1] == "a slip"
    with pytest.raises(ValueError, match="what must be 'values' or 'events': got 'arms'"):
        study.to_pandas("arms")


def test_an_empty_study_has_tables(tmp_path):
    with create_study(
        tmp_path / "s.db", "s", arms=NAMES, objective=Additive(0.5), delta=0.1
    ) as study:
        assert len(study.table("values")) == 0
        assert len(study.table("events")) == 1
        assert len(study.status().table()) == 5


def test_values_that_wait_are_said_to(tmp_path):
    with create_study(
        tmp_path / "s.db", "s", arms=NAMES, objective=Additive(0.5), delta=0.1, in_order=True
    ) as study:
        tickets = study.ask(3)
        study.tell([(tickets[0], 1.0), (tickets[2], 1.0)])
        assert study.table().columns["state"] == ["counts", "waiting"]


def test_a_status_is_a_table(study, tmp_path):
    status = study.status()
    status.to_csv(tmp_path / "arms.csv")
    with (tmp_path / "arms.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["arm"] for row in rows] == [*NAMES[:4], EVIL]
    assert [float(row["mean"]) for row in rows] == [arm.mean for arm in status.arms]
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    status.to_parquet(tmp_path / "arms.parquet")
    assert parquet.read_table(tmp_path / "arms.parquet").to_pydict() == status.table().columns
    for what in ("values", "events"):
        study.table(what).to_parquet(tmp_path / f"{what}.parquet")
        read = parquet.read_table(tmp_path / f"{what}.parquet").to_pydict()
        assert read == study.table(what).columns


def test_text_and_notebooks(study):
    status = study.status()
    assert repr(status) == (
        "StudyStatus('trees <i>', running: 0 good, 0 bad, 5 open; 9 measurements)"
    )
    assert repr(study).startswith("<Study 'trees <i>' in ")
    for shown in (study, status):
        [head, *rows] = Cells(shown._repr_html_()).rows  # names are no tags
        assert head[:4] == ["arm", "label", "guess", "measurements"]
        assert [row[0] for row in rows] == [*NAMES[:4], EVIL]
        assert (rows[3][:2], rows[3][3]) == (["elm", "open"], "3")
        assert [row[2] for row in rows] == [arm.guess or "-" for arm in status.arms]


def test_a_long_name_is_cut(tmp_path):
    with create_study(
        tmp_path / "s.db", "x" * 1000, arms=["a"], objective=Additive(0.5), delta=0.1
    ) as study:
        assert len(repr(study.status())) <= 160


class Missing:
    """Like pandas' NA: every comparison with it is itself, and it is neither true nor false."""

    def __eq__(self, other):
        return self

    def __ne__(self, other):
        return self

    __hash__ = None

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")


def told_in_frames(study, frame, missing):
    """Tell a frame with two values, a missing one and a row without a ticket."""
    tickets = study.ask(3)
    names = [*(t.id for t in tickets), missing]
    receipt = study.tell(
        frame({"ticket": names, "value": [1.5, missing, 2.0, 3.0], "arm": [None] * 4}),
        refused="report",
    )
    assert [row.status for row in receipt] == ["accepted", "missing", "accepted", "unknown"]
    assert receipt.rows[0].value == 1.5
    assert [t.id for t in study.open_tickets] == [tickets[1].id]


@pytest.mark.parametrize(
    "missing", [None, math.nan, np.float64("nan"), Missing()], ids=lambda one: type(one).__name__
)
def test_what_is_missing_in_a_table_is_missing(study, missing):
    told_in_frames(study, dict, missing)


def pairs(tickets, values):
    return list(zip(tickets, values, strict=True))


def mappings(tickets, values):
    return [{"ticket": t, "value": x} for t, x in pairs(tickets, values)]


def pandas_frame(tickets, values):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    return pandas.DataFrame({"ticket": tickets, "value": values})


@pytest.mark.parametrize("form", [pairs, mappings, pandas_frame])
@pytest.mark.parametrize("truth", [bool, np.bool_, str, lambda x: f" {str(x).upper()}"])
def test_false_is_a_value(form, truth):
    """A failed trial that was taken for missing would leave nothing but successes."""
    binary, *others = (
        create_study(
            ":memory:", "s", arms=["a", "b"], objective=Additive(0.1), delta=0.1, model=each
        )
        for each in (Bernoulli(), Gaussian(1.0), Poisson(), Bounded(0, 1))
    )
    values = [truth(x) for x in (True, False, False, True)]
    binary.tell(form([t.id for t in binary.ask(4)], values))
    assert [event.value for event in binary.events() if event.kind == "measurement"] == [1, 0, 0, 1]
    for other in others:
        rows = form([t.id for t in other.ask(4)], values)
        receipt = other.tell(rows, refused="report")
        assert receipt.counts == {"invalid": 4}
        message = receipt.rows[1].message
        assert "must be a plain decimal number" in message
        assert message.endswith(f"got '{str(values[1]).strip()}'")


@pytest.mark.parametrize("dtype", [None, "Float64", "object"])
def test_pandas_frames(study, dtype):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")

    def frame(columns):
        made = pandas.DataFrame(columns)
        return made if dtype is None else made.astype({"value": dtype})

    told_in_frames(study, frame, pandas.NA if dtype else None)
    for what in ("values", "events"):
        assert list(study.to_pandas(what).columns) == list(study.table(what).columns)
    assert study.to_pandas()["value"].tolist() == study.table().columns["value"]
    assert study.status().to_pandas()["arm"].tolist() == list(study.arms)


def test_polars_frames(study):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    told_in_frames(study, polars.DataFrame, None)


def made_by(package):
    """The class of frames of a package."""
    return pytest.importorskip(package, reason=f"{package} is not installed").DataFrame


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frame_to_study_to_frame(tmp_path, package):
    """Every double comes back as it was, through the database and through Parquet."""
    pandas, frame = pytest.importorskip("pandas"), made_by(package)
    rng = np.random.default_rng(1)
    with create_study(
        tmp_path / "s.db", "s", arms=NAMES, objective=Additive(0.5), delta=0.1, check_values=False
    ) as study:
        tickets = [ticket.id for ticket in study.ask(40)]
        values = [0.1 + 0.2, 1 / 3, 5e-324, -1e-300, *rng.standard_normal(36).tolist()]
        study.tell(frame({"ticket": tickets, "value": values, "operator": ["Ann"] * 40}))
        back = study.to_pandas()
        assert dict(zip(back["ticket"], back["value"], strict=True)) == dict(
            zip(tickets, values, strict=True)
        )
        study.table().to_parquet(tmp_path / "values.parquet")
        again = pandas.read_parquet(tmp_path / "values.parquet")
        assert again["value"].tolist() == back["value"].tolist()
        assert study.tell(frame({"ticket": tickets, "value": values})).counts == {"duplicate": 40}


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_counts_in_frames(tmp_path, package):
    frame = made_by(package)
    with create_study(
        tmp_path / "s.db",
        "s",
        arms=NAMES[:3],
        objective=Additive(0.5),
        delta=0.1,
        model=Bernoulli(),
    ) as study:
        days = [1, 1, 2]
        columns = {"arm": NAMES[:3], "n": [100, 90, 0], "sum": [31, 30, None], "period": days}
        assert study.tell_counts(frame(columns), source="t").counts == {"accepted": 2, "missing": 1}
        back = study.to_pandas()
        assert back[["arm", "n", "value"]].values.tolist() == [
            [NAMES[0], 100, 31.0],
            [NAMES[1], 90, 30.0],
        ]
        study.tell_counts(
            frame({"arm": back["arm"], "n": back["n"], "sum": back["value"], "period": days[:2]}),
            source="t",
        )
        assert len(study.table()) == 2


def test_a_finished_study_is_a_table(tmp_path):
    question = {"objective": Additive(0.5), "delta": 0.1, "model": Gaussian(0.4)}
    with create_study(tmp_path / "s.db", "s", arms=NAMES, **question) as study:
        finish(study, MEANS)
        columns = study.status().table().columns
        assert columns["label"] == ["good"] * 3 + ["bad"] * 2
        assert sum(columns["measurements"]) == len(study.table())
        assert any(study.table().columns["pooled"])
