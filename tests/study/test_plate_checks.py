"""Checks of one plate: how often they are wrong, what they find, and where they are shown.

The chance that a plate without any effect has an alarm is at most 0.01.  Of 60 such plates six or
more would have one with a chance below 1e-4; the seeds are fixed.
"""

import json

import numpy as np
import pytest

from allgood import Additive, Gaussian, Plate, create_study, load_study
from allgood._internal.statistics import fisher_tail
from allgood.study.diagnostics.plate import PLATE_RISK, PlateCheck, z_prime
from allgood.study.wells import well_position

from ..support.command_line import allgood
from ..support.serving import Client

NOISE = 10.0
PLATE = Plate(8, 12, "low 4\nhigh 4")


class Campaign:
    """A study of 40 arms on plates with two controls."""

    def __init__(self, seed, url=":memory:", **options):
        self.rng = np.random.default_rng(seed)
        self.means = self.rng.uniform(0.0, 60.0, 40)
        self.study = create_study(
            url,
            "s",
            arms=[f"a{i}" for i in range(40)],
            objective=Additive(10.0),
            delta=0.05,
            model=Gaussian(NOISE),
            seed=seed,
            **options,
        )
        self.study.quiet = True

    def ask(self, client):
        return self.study.ask(plate=PLATE, client=client)

    def read(self, tickets, effect=lambda i, j: 0.0, shift=0.0, spread=1.0):
        """The values that a reader finds in the wells of a plate."""
        placed = self.study.backend.known_state.plates[tickets[0].batch]["placed"]
        draw = self.rng.standard_normal
        values = {
            t.well: self.means[int(t.arm[1:])] + effect(*well_position(t.well)) + NOISE * draw()
            for t in tickets
        }
        for well, name in placed.items():
            values[well] = (100.0 if name == "high" else 0.0) + shift + 5.0 * spread * draw()
        return values

    def sheet(self, tickets, values):
        rows = self.study.sheet(tickets)
        return [
            {"ticket": r.ticket, "plate": r.plate, "well": r.well, "value": values.get(r.well)}
            for r in rows
        ]

    def tell(self, plates=1, **effects):
        for _ in range(plates):
            tickets = self.ask("lab")
            rows = self.sheet(tickets, self.read(tickets, **effects))
            self.study.tell(rows)
        return self.study.check_plate(tickets[0].batch)


def alarms(check):
    return {f.code for f in check.findings if f.alarm and f.code != "z_prime"}


def test_a_plate_without_any_effect_is_rarely_blamed():
    wrong = sum(
        bool(alarms(Campaign(seed).tell(plates))) for seed in range(30) for plates in (1, 3)
    )
    assert wrong <= 5


@pytest.mark.parametrize(
    ("code", "effects"),
    [
        ("edge", {"effect": lambda i, j: 25.0 * (i in (0, 7) or j in (0, 11))}),
        ("row_gradient", {"effect": lambda i, j: 40.0 * i / 7.0}),
        ("column_gradient", {"effect": lambda i, j: -40.0 * j / 11.0}),
        ("control_shift", {"shift": 30.0}),
        ("control_spread", {"spread": 40.0}),
    ],
)
def test_an_effect_is_found_and_its_size_is_right(code, effects):
    """The control of the test above: each test can fail a plate."""
    found = 0
    for seed in range(5):
        campaign = Campaign(seed)
        campaign.tell(2)
        check = campaign.tell(**effects)
        found += code in alarms(check)
        [finding, *_] = [f for f in check.findings if f.code == code]
        size = {"edge": 25.0, "row_gradient": 40.0, "column_gradient": -40.0, "control_shift": 30.0}
        if code in size:
            assert finding.size == pytest.approx(size[code], abs=16.0)
        else:
            assert finding.size > 4.0
    assert found >= 4


def test_swapped_files_are_found_before_anything_is_written():
    for seed in range(5):
        campaign = Campaign(seed)
        campaign.tell(2)
        first, second = campaign.ask("one"), campaign.ask("two")
        files = {t[0].batch: campaign.read(t) for t in (first, second)}
        events = campaign.study.status().events
        right = campaign.study.preview(campaign.sheet(first, files[first[0].batch]))
        wrong = campaign.study.preview(
            campaign.sheet(first, files[second[0].batch]), refused="report"
        )
        assert campaign.study.status().events == events
        assert "other_plate" not in alarms(right.plates[0])
        assert "other_plate" in alarms(wrong.plates[0])
        [finding] = [f for f in wrong.plates[0].findings if f.code == "other_plate"]
        assert finding.plate == second[0].batch
        assert finding.size > 0.3
        assert f"with those of plate {second[0].batch}, which fits better" in finding.sentence


def test_a_plate_that_was_turned_round_is_found():
    campaign = Campaign(1)
    campaign.tell(2)
    tickets = campaign.ask("lab")
    values = campaign.read(tickets)
    turned = {
        f"{chr(72 - i)}{12 - j}": x for well, x in values.items() for i, j in [well_position(well)]
    }
    check = campaign.study.preview(campaign.sheet(tickets, turned), refused="report").plates[0]
    assert "turned" in alarms(check)


def test_residuals_are_those_of_the_average_of_all_values():
    campaign = Campaign(3)
    check = campaign.tell(2)
    told = campaign.study.table("values").columns
    values = {}
    for arm, value in zip(told["arm"], told["value"], strict=True):
        values.setdefault(arm, []).append(value)
    assert len(check.wells) == 96
    for well in check.wells:
        if well.arm is not None:
            others = values[well.arm]
            wanted = well.value - np.mean(others) if len(others) > 1 else None
            assert well.residual == (None if wanted is None else pytest.approx(wanted))


def test_z_prime_names_its_controls():
    values = {"a": [99.0, 101.0], "b": [-1.0, 1.0], "c": [5.0, 6.0]}
    low, high, figure = z_prime("a", "b", values)
    assert (low, high) == ("b", "a")
    assert figure == pytest.approx(1.0 - 3.0 * 2.0 * np.sqrt(2.0) / 100.0)
    assert z_prime("a", "d", values) == (None, None, None)
    campaign = Campaign(0, normalise="percent:low,high")
    check = campaign.tell()
    assert (check.low, check.high) == ("low", "high")
    assert check.z_prime == pytest.approx(0.7, abs=0.25)
    three = Campaign(0)
    three.study.ask(plate=Plate(8, 12, "x 2\ny 2\nz 2"))
    assert three.study.check_plate(1).z_prime is None


def test_fishers_tail_is_that_of_simulations():
    """Wrong with a chance below 1e-4: four standard errors."""
    rng = np.random.default_rng(0)
    for above, below, ratio in ((3, 9, 2.5), (10, 4, 0.8), (1, 1, 4.0)):
        draws = rng.chisquare(above, 40_000) / above / (rng.chisquare(below, 40_000) / below)
        assert fisher_tail(ratio, above, below) == pytest.approx(np.mean(draws > ratio), abs=0.01)


def test_a_check_in_python_over_http_and_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    campaign = Campaign(2, "s.db")
    campaign.tell(2)
    tickets = campaign.ask("lab")
    check = campaign.study.check_plate(2)
    data = json.loads(json.dumps(check.to_dict()))
    assert PlateCheck.from_dict(data) == check
    assert check.risk == PLATE_RISK
    with Client(tmp_path / "s.db") as client:
        shown = client.get("/v1/studies/1/plates/2")
        assert shown.json["check"] == data
        assert client.get(f"/v1/studies/1/plates/{tickets[0].batch}").json["check"] is None
        assert client.get("/v1/studies/1/plates/9").status == 404
    done = allgood("study", "check-plate", "s.db", "2", "--json")
    assert json.loads(done.stdout) == data
    printed = allgood("study", "check-plate", "s.db", "2").stdout
    assert "Plate 2: Z' is" in printed
    assert "with a chance of at most 0.01" in printed
    wrong = allgood("study", "check-plate", "s.db", "9")
    assert wrong.returncode == 2
    assert "plate must be one of the study's, which are 1, 2, 3: got 9" in wrong.stderr
    rows = campaign.sheet(tickets, campaign.read(tickets))
    lines = [f"{r['ticket']},{r['plate']},{r['well']},{r['value']}" for r in rows]
    (tmp_path / "p.csv").write_text("\n".join(["ticket,plate,well,value", *lines]) + "\n")
    told = allgood("study", "tell", "s.db", "p.csv", "--preview")
    assert told.returncode == 0, told.stderr
    assert "Plate 3: " in told.stdout
    assert "Nothing was stored." in told.stdout
    with load_study("s.db") as study:
        assert len(study.open_tickets) == len(tickets)
