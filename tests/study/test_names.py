"""Characters that a name may not have, and those that it may."""

import json

import pytest

from allgood import Additive, Gaussian, Plate, create_study, import_study
from allgood.study.design import check_text
from allgood.study.tables.sheets import read_arms

FORBIDDEN = [
    *range(0x20),
    *range(0x7F, 0xA0),
    0xAD,
    0x200B,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2065),
    *range(0x2066, 0x206A),
    0xD800,
    0xDFFF,
    0xFEFF,
    0xE0041,
]
ALLOWED = [
    "a b",
    "\u00a0x",
    "caf\u00e9",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a non-joiner
    "\u0915\u094d\u200d\u0937",  # Devanagari, with a joiner
    "\U0001f468\u200d\U0001f52c",  # an emoji of two, with a joiner
    "\u2764\ufe0f\u200d\U0001f525",
    "\u0600\u0661",  # an Arabic sign before a number
    "\ue000",  # private use: the laboratory's own
]
LOOKALIKES = ["ash\u200d", "a\u200csh", "\u200dash", "\u0915\u200d"]


def new(folder, name="s", arms=("ash", "oak"), **options):
    return create_study(
        folder / "s.db",
        name,
        arms=list(arms),
        objective=Additive(0.5),
        delta=0.1,
        model=Gaussian(1.0),
        **options,
    )


@pytest.mark.parametrize("code", FORBIDDEN)
def test_a_forbidden_character_is_named(code):
    with pytest.raises(ValueError, match=rf"which has the character U\+{code:04X}\."):
        check_text("reason", f"a{chr(code)}b")


@pytest.mark.parametrize("text", ALLOWED)
def test_scripts_and_emoji_are_allowed(text):
    assert check_text("name", text) == text


@pytest.mark.parametrize("text", LOOKALIKES)
def test_a_joiner_that_is_not_needed_is_refused(text):
    with pytest.raises(ValueError, match=r"which has the character U\+200[CD]"):
        check_text("name", text)


@pytest.mark.parametrize("character", ["\x7f", "\x9b", "\u202e"])
def test_every_name_and_reason_is_checked(tmp_path, character):
    bad = f"a{character}b"
    sentence = rf"U\+{ord(character):04X}"
    with pytest.raises(ValueError, match=sentence):
        new(tmp_path, name=bad)
    with pytest.raises(ValueError, match=sentence):
        new(tmp_path, arms=["ash", bad])
    with pytest.raises(ValueError, match=sentence):
        Plate(2, 3, {bad: 1})
    study = new(tmp_path)
    [ticket] = study.ask()
    for attempt in (
        lambda: study.ask(client=bad),
        lambda: study.tell([(ticket, 1.0)], client=bad),
        lambda: study.note(bad),
        lambda: study.fail([ticket], bad),
        lambda: study.add_measurement("ash", 1.0, source=bad),
        lambda: study.set_budget(budget=10, reason=bad),
    ):
        with pytest.raises(ValueError, match=sentence):
            attempt()
    assert study.status().measurements == 0


def test_headings_of_notes_are_checked(tmp_path):
    table = tmp_path / "arms.csv"
    table.write_text("name,sup\u202eplier\nash,X\noak,Y\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"The heading of column 2, .* has the character U\+202E"):
        read_arms(table, "name")
    table.write_text('name,"molecular\n weight"\nash,18\noak,2\n', encoding="utf-8")
    arms, notes, _ = read_arms(table, "name")
    assert (arms, notes["ash"]) == (["ash", "oak"], {"molecular weight": "18"})
    with pytest.raises(ValueError, match=r"event 2, .* notes on 'ash' are not texts"):
        new(tmp_path, arm_notes={"ash": {"sup\u202eplier": "X"}})


def test_imported_names_are_checked(tmp_path):
    lines = list(new(tmp_path).export())
    first = json.loads(lines[0])
    text = json.dumps(first, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert '"ash"' in text
    with pytest.raises(ValueError, match=r"U\+202E"):
        import_study(tmp_path / "copy.db", [text.replace('"ash"', '"a\u202esh"')], "copy")
