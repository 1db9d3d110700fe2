"""``allgood demo``: the study of 60 compounds that it writes, and the one that it plays live.

The seed is fixed.  On another processor ties may be broken otherwise, and the study may go another
way: then a label is wrong with probability at most 0.05.
"""

import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from allgood import connect, list_studies, load_study
from allgood.cli.screen import COMPOUNDS, PLATE, write_screen

from ..support.command_line import PATIENCE
from ..support.systems import needs_posix

GOOD = set(COMPOUNDS[:5])  # 92, 90, 88, 85 and 84; the next is 71, and epsilon is 15
BROKEN = """
import sys
from allgood.cli import main
from allgood.cli import screen
def steps(study, wells):
    yield 1
    raise ValueError("the laboratory is on fire.")
screen.steps = steps
sys.argv[0] = "allgood"
main()
"""
WITHOUT = """
import sys
from allgood.cli import main
sys.modules["fastapi"] = None
sys.argv[0] = "allgood"
main()
"""


@contextmanager
def live(folder, *options, code=None):
    """A program that ends with the block at the latest."""
    program = ["-m", "allgood"] if code is None else ["-c", code]
    with subprocess.Popen(
        [sys.executable, *program, "demo", "--live", "--port", "0", "--out", folder, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def test_the_study_is_half_way(tmp_path):
    database = tmp_path / "demo.db"
    study = write_screen(database)
    status = study.status()
    assert status.outcome == "running"
    assert len(status.suspects) == 1
    assert status.suspects[0].value > 500.0
    assert len(study.open_tickets) == PLATE.capacity
    assert {ticket.client for ticket in study.open_tickets} == {"robot"}
    assert set(status.good) <= GOOD
    assert len(status.bad) > 20
    assert not set(status.bad) & GOOD
    again = write_screen(database)
    assert list_studies(database) == ["screen"]
    assert again.status().measurements == status.measurements
    assert again.design.uid != study.design.uid


@needs_posix  # Ctrl-C
def test_live_the_study_is_played_to_its_end_while_it_is_served(tmp_path):
    with live(tmp_path, "--pace", "0") as program:
        address = program.stdout.readline().split()[4]
        server, page = address.split("/#/")
        study = connect(server, "live")
        assert page == f"studies/{study.backend.number}"
        assert "Every label is certified: 5 good, 55 bad" in program.stdout.readline()
        status = study.status()
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=PATIENCE)
    assert (program.returncode, out, err) == (0, "", "")
    assert set(status.good) == GOOD
    assert status.corrections == 1  # of the value with a wrong decimal point
    assert not status.suspects


@needs_posix
def test_live_ctrl_c_ends_it_between_two_steps(tmp_path):
    with live(tmp_path, "--pace", "1000") as program:
        program.stdout.readline()
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=PATIENCE)
    assert (program.returncode, out, err) == (0, "", "")
    assert load_study(tmp_path / "demo.db", "live").status().measurements == 0


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (BROKEN, "Error: the laboratory is on fire.\n"),
        (
            WITHOUT,
            "Error: `allgood serve` needs fastapi, which is not installed: "
            "`pip install 'allgood[serve]'` installs it.\n",
        ),
    ],
)
def test_live_what_goes_wrong_is_said_in_a_sentence(tmp_path, code, message):
    with live(tmp_path, "--pace", "0", code=code) as program:
        _, err = program.communicate(timeout=PATIENCE)
    assert (program.returncode, err) == (2, message)
