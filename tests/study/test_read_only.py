"""Studies that may be read and not written, and an installation without write access or home."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import allgood
from allgood import Additive, Gaussian, StudyError, create_study, load_study
from allgood.study.backends.sql import Store

from ..support.command_line import PATIENCE
from .test_study import MEANS, NAMES, finish

# The superuser may write everywhere.  Without its capabilities it is a user like any other.
LIMITED = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
AS_USER = LIMITED if hasattr(os, "geteuid") and os.geteuid() == 0 else []
HERE = str(Path(__file__).parents[2])
CALLS = (
    "import json, sys; from tests.support.command_line import allgood\n"
    "done = [allgood(*command, cwd=folder) for folder, *command in json.loads(sys.argv[1])]\n"
    "said = [(one.returncode, one.stdout, one.stderr) for one in done]\n"
    "print(json.dumps({'package': sys.modules['allgood'].__file__, 'said': said}))"
)
WITHOUT_PICTURES = (
    "from allgood.reporting import report; report._pictures = report._plates = lambda *_: ''\n"
)

limited = pytest.mark.skipif(
    os.name == "nt" or bool(AS_USER and shutil.which("setpriv") is None),
    reason="the superuser, and Windows, may write in a read-only folder",
)


def calls(*commands, env=os.environ, site=None, pictures=True):
    """Exit code, output and errors of commands, run by a user who has no special rights.

    Each command begins with the folder where it is given.  All run in one process.  It has the
    package from ``site``, if one is given.  Without ``pictures`` a report has only its words.
    """
    program = CALLS if pictures else WITHOUT_PICTURES + CALLS
    done = subprocess.run(
        [*AS_USER, sys.executable, "-c", program, json.dumps(commands)],
        capture_output=True,
        text=True,
        env=env | {"PYTHONPATH": f"{site}{os.pathsep}{HERE}" if site else HERE},
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert site is None or Path(found["package"]) == site / "allgood" / "__init__.py"
    return found["said"]


@pytest.fixture
def folder(tmp_path):
    """A folder, made writable again at the end, so that it can be removed."""
    made = tmp_path / "folder"
    made.mkdir()
    yield made
    made.chmod(0o755)


NAME = "s?#%20.db"  # signs that mean something in a URI
LOOKING = ["status", "list", "report", "certify", "replay", "export"]


class Protected:
    """A study that may not be written, or its folder, and what commands on it said."""

    def __init__(self, folder, mode):
        self.folder, self.outside = folder, folder.parent
        folder.mkdir(parents=True)
        file = folder / NAME
        question = {"objective": Additive(0.5), "delta": 0.1, "model": Gaussian(0.4)}
        study = create_study(file, "s", arms=NAMES, **question)
        with finish(study, MEANS):
            self.certificate, self.measurements = study.certificate(), study.status().measurements
            self.ticket = f"{study.design.tag}-1"
        file.chmod(0o444)
        folder.chmod(mode)

    def commands(self):
        certificate = str(self.outside / "certificate.json")
        looking = [
            ["status", NAME],
            ["list", NAME, "--status"],
            ["report", NAME, "--out", str(self.outside / "report.html")],
            ["certify", NAME, "--out", certificate],
            ["replay", NAME, "--check"],
            ["export", NAME, "--out", str(self.outside / "log.jsonl")],
        ]
        changing = [
            ["ask", NAME],
            ["tell", NAME, "--ticket", self.ticket, "--value", "123"],
            ["drop-arm", NAME, "ash", "--reason", "x"],
            ["delete", NAME, "--name", "s", "--yes"],
        ]
        new = ["new", "t.db", "--arms", "a,b", "--epsilon", "1", "--sigma", "1"]
        studies = [["study", *command] for command in [*looking, *changing, new]]
        verify = ["verify", certificate, "--study", NAME]
        return [[str(self.folder), *command] for command in [*studies, verify]]


@pytest.fixture(scope="module")
def protected_studies(tmp_path_factory):
    """One whose file is protected, and one whose folder is, too."""
    place = tmp_path_factory.mktemp("protected")
    modes = {"file": 0o755, "folder": 0o555}
    studies = {name: Protected(place / name / "folder", mode) for name, mode in modes.items()}
    wanted = [item.commands() for item in studies.values()]
    done = calls(*wanted[0], *wanted[1], pictures=False)
    for study, commands in zip(studies.values(), wanted, strict=True):
        study.done, done = done[: len(commands)], done[len(commands) :]
    yield studies
    for study in studies.values():
        study.folder.chmod(0o755)


@limited
@pytest.mark.parametrize("protected", ["file", "folder"])
def test_a_study_without_write_access_is_read(protected_studies, protected):
    study = protected_studies[protected]
    *done, begun, verified = study.done
    for code, out, err in [*done[: len(LOOKING)], verified]:
        assert (code, err) == (0, ""), out
    assert "3 good, 2 bad, 0 open" in done[0][1]
    assert f"5 arms, {study.measurements} measurements" in done[1][1]
    written = json.loads((study.outside / "certificate.json").read_text())
    assert written["claims"] == study.certificate["claims"]
    why = "the file" if protected == "file" else f"the folder {str(study.folder)!r}"
    assert len(done) > len(LOOKING)
    for code, _, err in done[len(LOOKING) :]:
        assert (code, err) == (
            2,
            f"Error: {NAME} can be read but not changed: you have no write access to {why}.\n",
        )
    if protected == "folder":
        assert begun[0] == 2
        assert begun[2] == (
            "Error: 't.db' cannot be created: this program may not write in its folder.\n"
        )
        assert os.listdir(study.folder) == [NAME]


@limited
def test_changes_in_the_log_are_read_or_the_message_says_that_they_cannot_be(folder):
    study = create_study(folder / "s.db", "s", arms=NAMES, objective=Additive(0.5), delta=0.1)
    study.tell([(ticket, 0.5) for ticket in study.ask(5)])
    assert (folder / "s.db-wal").stat().st_size > 0  # nothing of this is in s.db itself
    kept = folder / "kept"  # as a machine that lost its power leaves it
    kept.mkdir()
    for name in ("s.db", "s.db-wal"):
        shutil.copy(folder / name, kept)
    for place in (folder, kept):
        place.chmod(0o555)
    status = ["study", "status", "s.db"]
    read, refused = calls([str(folder), *status], [str(kept), *status])
    for place in (folder, kept):
        place.chmod(0o755)
    study.close()
    code, out, _ = read
    assert code == 10
    assert "5 measurements" in out
    code, out, err = refused
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "s.db cannot be read here: its latest changes are in s.db-wal" in err
    assert "Copy both to a folder in which you may write" in err
    with load_study(kept / "s.db") as copy:
        assert copy.status().measurements == 5


def test_a_change_during_a_look_is_noticed(tmp_path, monkeypatch):
    file = tmp_path / "s.db"
    with create_study(file, "s", arms=NAMES, objective=Additive(0.5), delta=0.1):
        pass
    os.utime(file, ns=(0, 0))  # clocks of files are coarse
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and may(path, mode))
    store = Store(file)
    assert store.names() == [(1, "s")]

    def look_during_a_change():
        with store.transaction(write=False), closing(sqlite3.connect(file)) as other:
            other.execute("UPDATE allgood_studies SET name = 't'")
            other.commit()

    with pytest.raises(StudyError, match="was changed by another program while it was read"):
        look_during_a_change()
    assert store.names() == [(1, "t")]  # nothing old is shown
    assert os.listdir(tmp_path) == ["s.db"]
    study = load_study(file)
    with pytest.raises(StudyError, match="can be read but not changed: you have no write access"):
        study.ask()
    monkeypatch.undo()
    assert len(study.ask()) == 1


@limited
def test_an_installation_without_write_access_and_without_home(tmp_path):
    site = tmp_path / "site"
    ignored = shutil.ignore_patterns("__pycache__", "_compiled.txt")
    shutil.copytree(Path(allgood.__file__).parent, site / "allgood", ignore=ignored)
    folders = [Path(folder) for folder, _, _ in os.walk(site)]
    for folder in folders:
        folder.chmod(0o555)
    env = {k: v for k, v in os.environ.items() if k not in ("MPLCONFIGDIR", "XDG_CONFIG_HOME")}
    env |= {"HOME": str(site / "none")}
    options = ["--arms", "a,b", "--epsilon", "1", "--sigma", "1"]
    commands = [
        ["--version"],
        ["study", "new", "s.db", *options],
        ["study", "ask", "s.db", "-n", "2"],
        ["study", "report", "s.db"],  # with pictures
    ]
    given = [[str(tmp_path), *command] for command in commands]
    done = calls(*given, env=env, site=site)
    for folder in folders:
        folder.chmod(0o755)
    assert [(code, err) for code, _, err in done] == [(0, "")] * len(commands)
    assert (tmp_path / "report.html").exists()
    assert not list(site.rglob("__pycache__"))
