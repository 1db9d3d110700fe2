"""Plates.

Every well once, controls where they belong, copies of an arm spread over rows and columns.
"""

from collections import Counter
from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allgood.study.plates import Plate
from allgood.study.wells import parse_controls, parse_places, well_name, well_position


@st.composite
def plates(draw):
    """Any plate up to 16 x 24 that leaves a well for arms."""
    edge = draw(st.booleans())
    least = 1 if edge else 3
    rows, columns = draw(st.integers(least, 16)), draw(st.integers(least, 24))
    wells = [f"{chr(65 + i)}{j + 1}" for i in range(rows) for j in range(columns)]
    fixed = draw(st.lists(st.sampled_from(wells), unique=True, max_size=8))
    inner = [
        w
        for w in wells
        if edge or (0 < well_position(w)[0] < rows - 1 and 0 < well_position(w)[1] < columns - 1)
    ]
    left = len(set(inner) - set(fixed)) - 1
    if left < 0:
        fixed, left = [], len(inner) - 1
    some = draw(st.integers(0, min(left, 8)))
    others = draw(st.integers(0, min(left - some, 8)))
    controls = {"fixed": fixed, "some": some, "others": others}
    return Plate(rows, columns, {name: c for name, c in controls.items() if c}, edge)


@st.composite
def requests(draw):
    """A plate, and arms that fit on it."""
    plate = draw(plates())
    size = draw(st.integers(0, plate.capacity))
    most = draw(st.integers(0, 40))
    return plate, draw(st.lists(st.integers(0, most), min_size=size, max_size=size))


def inside(plate, well):
    i, j = well_position(well)
    return plate.edge or (0 < i < plate.rows - 1 and 0 < j < plate.columns - 1)


@given(requests(), st.integers(0, 2**64), st.integers(0, 1000))
def test_every_measurement_has_a_well_of_its_own_where_arms_may_stand(request_, seed, batch):
    plate, arms = request_
    layout = plate.arrange(arms, seed, batch)
    assert len(layout.wells) == len(arms)
    assert len({*layout.wells, *layout.controls}) == len(arms) + len(layout.controls)
    for well in (*layout.wells, *layout.controls):
        i, j = well_position(well)
        assert i < plate.rows
        assert j < plate.columns
    assert all(inside(plate, well) for well in layout.wells)


@given(requests(), st.integers(0, 100))
def test_controls_stand_where_they_belong(request_, seed):
    plate, arms = request_
    controls = plate.arrange(arms, seed, 0).controls
    assert list(controls) == sorted(controls, key=well_position)
    for name, wells in plate.controls.items():
        got = [well for well, control in controls.items() if control == name]
        if isinstance(wells, int):
            assert len(got) == wells
            assert all(inside(plate, well) for well in got)
        else:
            assert sorted(got) == sorted(wells)
    assert set(controls.values()) == set(plate.controls)


@given(requests(), st.integers(0, 100), st.integers(0, 100))
def test_a_layout_is_a_function_of_plate_arms_seed_and_batch(request_, seed, batch):
    plate, arms = request_
    twin = replace(plate, controls=dict(reversed(plate.controls.items())))
    assert twin == plate
    assert hash(twin) == hash(plate)
    assert twin.arrange(np.array(arms, dtype=np.int64), seed, batch) == plate.arrange(
        arms, seed, batch
    )


def test_seeds_and_batches_give_different_layouts():
    plate = Plate()
    layouts = {
        plate.arrange(range(96), seed, batch).wells for seed in range(5) for batch in range(5)
    }
    assert len(layouts) == 25


def test_capacity_can_be_used_up_and_not_exceeded():
    plate = Plate(8, 12, {"DMSO": ["A1", "B2"], "blank": 4}, edge=False)
    assert plate.capacity == 6 * 10 - 1 - 4
    assert len(plate.arrange([0] * 55, 0, 0).wells) == 55
    with pytest.raises(ValueError, match=r"arms must have at most 55 entries, .*: got 56"):
        plate.arrange([0] * 56, 0, 0)


@given(st.integers(0, 10**6), st.integers(1, 8))
def test_copies_of_an_arm_have_rows_and_columns_of_their_own(seed, copies):
    arms = [0] * copies + list(range(1, 97 - copies))
    order = np.random.default_rng(seed).permutation(96)
    wells = Plate().arrange([arms[i] for i in order], seed, 0).wells
    positions = [well_position(well) for well, i in zip(wells, order, strict=True) if arms[i] == 0]
    assert len({i for i, _ in positions}) == copies
    assert len({j for _, j in positions}) == copies


@given(requests(), st.integers(0, 100))
def test_rows_and_columns_of_an_open_plate_have_about_their_share(request_, seed):
    plate, arms = request_
    plate = replace(plate, controls={}, edge=True)
    wells = plate.arrange(arms, seed, 0).wells
    for arm, copies in Counter(arms).items():
        positions = [
            well_position(well) for well, other in zip(wells, arms, strict=True) if other == arm
        ]
        assert max(Counter(i for i, _ in positions).values()) <= ceil(copies / plate.rows) + 1
        assert max(Counter(j for _, j in positions).values()) <= ceil(copies / plate.columns) + 1


def test_random_wells_would_be_spread_worse():
    """Control of the test above.

    32 copies on 32 x 48 wells at random do not have rows of their own.
    """
    rows = np.random.default_rng(0).permutation(32 * 48)[:32] // 48
    assert len(set(rows.tolist())) < 32
    wells = Plate.named("1536").arrange([0] * 32 + [1] * 1504, 0, 0).wells
    assert len({well_position(well)[0] for well in wells[:32]}) == 32


def test_counted_controls_are_spread():
    for seed in range(20):
        controls = Plate(8, 12, {"DMSO": 8, "blank": 4}).arrange(range(84), seed, 0).controls
        rows = Counter(well_position(well)[0] for well, name in controls.items() if name == "DMSO")
        assert rows == Counter(range(8))


def test_each_well_is_as_likely_as_another():
    """400 layouts of one arm on 4 x 6 wells.

    Chi-square, 23 degrees of freedom, above 70 once in a million.
    """
    wells = Counter(Plate(4, 6).arrange([0], 7, batch).wells[0] for batch in range(400))
    expected = 400 / 24
    statistic = (
        sum((n - expected) ** 2 / expected for n in wells.values()) + (24 - len(wells)) * expected
    )
    assert statistic < 70


def test_rows_beyond_z_have_two_letters():
    wells = Plate(64, 96).arrange([0] * 6144, 0, 0).wells
    assert sorted(wells, key=well_position)[-1] == "BL96"
    assert {"Z1", "AA1", "AZ96", "BA1"} <= set(wells)
    assert well_position("AA1") == (26, 0)
    assert sorted(["A10", "A2", "B1", "AA1"], key=well_position) == ["A2", "A10", "B1", "AA1"]
    for wrong in ("", "a1", "A0", "A01", "A97", "BM1", "1A", "A1 ", "\u0391" + "1"):
        with pytest.raises(ValueError, match="well must be a row's letters and a column's number"):
            well_position(wrong)


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("96", 8, 12),
        ("384", 16, 24),
        ("1536", 32, 48),
        ("8x12", 8, 12),
        (" 1 X 1 ", 1, 1),
        ("64x96", 64, 96),
    ],
)
def test_named_plates(name, rows, columns):
    assert Plate.named(name) == Plate(rows, columns)


def test_named_plates_take_controls():
    assert Plate.named("96", {"DMSO": 2}, edge=False) == Plate(8, 12, {"DMSO": 2}, edge=False)


@pytest.mark.parametrize(
    "name", ["", "97", "8x", "x12", "8x12x1", "-8x12", "8*12", "99999x1", "\uff18x12"]
)
def test_other_names_are_refused(name):
    with pytest.raises(
        ValueError, match="plate must be rows x columns, such as 8x12, or one of 96, 384, 1536: got"
    ):
        Plate.named(name)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"rows": 0}, ValueError, "rows must be a whole number from 1 to 64: got 0"),
        ({"rows": 65}, ValueError, "rows must be a whole number from 1 to 64: got 65"),
        ({"columns": 97}, ValueError, "columns must be a whole number from 1 to 96: got 97"),
        ({"columns": 1.0}, TypeError, "columns must be a whole number from 1 to 96: got 1.0"),
        ({"rows": True}, TypeError, "rows must be a whole number from 1 to 64: got True"),
        ({"edge": 0}, TypeError, "edge must be True or False: got 0"),
        (
            {"controls": ["A1"]},
            TypeError,
            "controls must give each control's name a number of wells or wells",
        ),
        (
            {"controls": {"A1": "DMSO"}},
            ValueError,
            r"controls\['A1'\] must name wells from A1 to H12, .*: got 'DMSO'",
        ),
        (
            {"controls": {"x": 1.5}},
            TypeError,
            r"controls\['x'\] must be a number of wells, or wells: got 1.5",
        ),
        (
            {"controls": {"x": True}},
            TypeError,
            r"controls\['x'\] must be a whole number from 1 to 96: got True",
        ),
        (
            {"controls": {"x": 0}},
            ValueError,
            r"controls\['x'\] must be a whole number from 1 to 96: got 0",
        ),
        ({"controls": {"x": []}}, ValueError, r"controls\['x'\] must name a well: got none"),
        (
            {"controls": {"x": ["I1"]}},
            ValueError,
            r"controls\['x'\] must name wells from A1 to H12, .*: got 'I1'",
        ),
        (
            {"controls": {"x": ["A13"]}},
            ValueError,
            r"controls\['x'\] must name wells from A1 to H12, .*: got 'A13'",
        ),
        (
            {"controls": {"x": "column 13"}},
            ValueError,
            r"controls\['x'\] must name a column from 1 to 12 after the word column: got '13'",
        ),
        (
            {"controls": "blank"},
            ValueError,
            "controls must have a name and then a number of wells or wells, .*: got 'blank'",
        ),
        (
            {"controls": "blank 2\nblank A1"},
            ValueError,
            "controls must have each name once, with all its wells: got 'blank' twice",
        ),
        ({"max_per_arm": 0}, ValueError, "max_per_arm must be a whole number of at least 1: got 0"),
        ({"max_per_arm": True}, TypeError, "max_per_arm must be a whole number of at least 1"),
        (
            {"controls": {"x": [3]}},
            ValueError,
            r"controls\['x'\] must name wells from A1 to H12, .*: got '3'",
        ),
        (
            {"controls": {"x": ["A1", "A1"]}},
            ValueError,
            "controls must name each well once: got A1 more than once",
        ),
        (
            {"controls": {"x": ["A1"], "y": ["A1"]}},
            ValueError,
            "controls must name each well once: got A1 more",
        ),
        (
            {"controls": {"x": 96}},
            ValueError,
            "a well for arms: 96 of 8x12 are open to them, and controls take 96",
        ),
        (
            {"rows": 2, "edge": False},
            ValueError,
            "0 of 2x12 are open to them, without the edge, and controls take 0",
        ),
        ({"controls": {" ": 1}}, ValueError, "controls must have names: got ' '"),
        ({"controls": {1: 1}}, TypeError, "controls must have names: got 1"),
    ],
)
def test_wrong_plates_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Plate(**arguments)


def test_wrong_requests_are_refused():
    with pytest.raises(ValueError, match="arms must be a whole number of at least 0: got -1"):
        Plate().arrange([0, -1], 0, 0)
    with pytest.raises(TypeError, match="arms must be a whole number of at least 0: got 'a'"):
        Plate().arrange(["a"], 0, 0)
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0: got -1"):
        Plate().arrange([0], -1, 0)
    with pytest.raises(TypeError, match=r"batch must be a whole number of at least 0: got 0\.5"):
        Plate().arrange([0], 0, 0.5)


def test_a_plate_does_not_change_with_what_it_was_made_from():
    wells = ["A1"]
    controls = {"DMSO": wells}
    plate = Plate(controls=controls)
    wells.append("A2")
    controls["blank"] = 3
    assert plate.capacity == 95


@pytest.mark.parametrize(
    ("text", "wells"),
    [
        ("A1", ["A1"]),
        ("a01; b12", ["A1", "B12"]),
        ("A1:B2", ["A1", "A2", "B1", "B2"]),
        ("B2 - A1", ["A1", "A2", "B1", "B2"]),
        ("column 12", [f"{row}12" for row in "ABCD"]),
        ("columns 1-2, 12", [f"{row}{j}" for j in (1, 2, 12) for row in "ABCD"]),
        ("row D", [f"D{j}" for j in range(1, 13)]),
        ("rows A, D", [f"{row}{j}" for row in "AD" for j in range(1, 13)]),
        ("Column 3, A1:A2, D4", ["A3", "B3", "C3", "D3", "A1", "A2", "D4"]),
    ],
)
def test_wells_are_named_by_ranges_columns_and_rows(text, wells):
    assert list(parse_places(text, 4, 12)) == wells


@pytest.mark.parametrize("text", ["E1", "A13", "A1:E1", "column 13", "row E", "1", "x", "A0", ""])
def test_wells_that_a_plate_does_not_have_are_refused(text):
    with pytest.raises(ValueError, match=r"^name (a well|wells|a column|a row)"):
        parse_places(text, 4, 12)


@pytest.mark.parametrize("text", ["column", "A1, rows", "columns 1-2, row"])
def test_a_column_or_row_must_be_named(text):
    with pytest.raises(ValueError, match=r"after the word (column|row): got"):
        parse_places(text, 4, 12)


def test_a_well_is_read_as_readers_write_it():
    assert [well_name(text) for text in ("A01", " h12 ", "AB096")] == ["A1", "H12", "AB96"]
    assert [well_name(text) for text in ("A0", "A97", "ZZ1", "1A", "", "A1:B2")] == [None] * 6


@pytest.mark.parametrize(
    ("line", "control"),
    [
        ("DMSO 8", {"DMSO": 8}),
        ("DMSO: 8", {"DMSO": 8}),
        ("DMSO=8", {"DMSO": 8}),
        ("blank A1 H12", {"blank": ["A1", "H12"]}),
        ("blank=A1,H12", {"blank": ["A1", "H12"]}),
        ("low control columns 1, 2", {"low control": "columns 1, 2"}),
        ("high A11:B12, column 1", {"high": ["A11:B12", "column 1"]}),
        ("vitamin B12 = A1", {"vitamin B12": ["A1"]}),
        ("a=b = A1", {"a=b": ["A1"]}),
    ],
)
def test_controls_are_taken_as_people_write_them(line, control):
    other = {"x": ["H6"]}
    assert Plate(8, 12, f"{line}\n\n x H6") == Plate(8, 12, control | other)
    assert parse_controls(line).keys() == control.keys()


def test_controls_in_words_are_stored_as_wells():
    plate = Plate.named("384", "high A23:P24\nlow column 1\nblank 4")
    assert plate.capacity == 384 - 32 - 16 - 4
    stored = plate.to_layout({})
    assert stored["controls"]["low"] == [f"{row}1" for row in "ABCDEFGHIJKLMNOP"]
    assert Plate.from_layout(stored) == plate
    assert "high=A23,A24,B23,B24,C23,C24,D23,D24,... (32 wells)" in plate.wording


@given(plates(), st.integers(1, 200))
def test_the_default_limit_lets_the_arms_fill_the_plate(plate, num_arms):
    limit = plate.limit(num_arms)
    assert limit >= 8
    assert limit >= plate.capacity / 4
    assert limit * num_arms >= plate.capacity
    assert replace(plate, max_per_arm=3).limit(num_arms) == 3
