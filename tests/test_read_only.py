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
from allgood import Additive, StudyError, create_study, load_study
from allgood.study.store import Store

from .command_line import PATIENCE
from .test_study import MEANS, NAMES, finish

# The superuser may write everywhere.  Without its capabilities it is a user like any other.
LIMITED = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
AS_USER = LIMITED if hasattr(os, "geteuid") and os.geteuid() == 0 else []
CALLS = (
    "import json, sys; from tests.command_line import allgood\n"
    "done = [allgood(*command) for command in json.loads(sys.argv[1])]\n"
    "print(json.dumps([(one.returncode, one.stdout, one.stderr) for one in done]))"
)

limited = pytest.mark.skipif(
    os.name == "nt" or bool(AS_USER and shutil.which("setpriv") is None),
    reason="the superuser, and Windows, may write in a read-only folder",
)


def calls(*commands, cwd):
    """Exit code, output and errors of commands, run by a user who has no special rights."""
    here = str(Path(__file__).parents[1])
    done = subprocess.run(
        [*AS_USER, sys.executable, "-c", CALLS, json.dumps(commands)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": here},
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path):
    """A folder, made writable again at the end, so that it can be removed."""
    made = tmp_path / "folder"
    made.mkdir()
    yield made
    made.chmod(0o755)


@limited
@pytest.mark.parametrize("protected", ["file", "folder"])
def test_a_study_without_write_access_is_read(folder, tmp_path, protected):
    file = folder / "s?#%20.db"  # signs that mean something in a URI
    study = create_study(file, "s", arms=NAMES, objective=Additive(0.5), delta=0.1)
    with finish(study, MEANS):
        certificate, pulls = study.certificate(), study.status().pulls
    [name] = os.listdir(folder)
    file.chmod(0o444)
    folder.chmod(0o555 if protected == "folder" else 0o755)
    looking = [
        ["status", name],
        ["list", name],
        ["report", name, "--out", str(tmp_path / "report.html")],
        ["certify", name, "--out", str(tmp_path / "certificate.json")],
        ["replay", name, "--check"],
        ["export", name, "--out", str(tmp_path / "log.jsonl")],
    ]
    changing = [
        ["ask", name],
        ["tell", name, "--ticket", f"{study.design.tag}-1", "--value", "123"],
        ["abandon", name, "ash", "--reason", "x"],
        ["delete", name, "--name", "s", "--yes"],
    ]
    new = ["new", "t.db", "--arms", "a,b", "--epsilon", "1", "--sigma", "1"]
    verify = ["verify", str(tmp_path / "certificate.json"), "--study", name]
    commands = [["study", *command] for command in [*looking, *changing, new]]
    *done, begun, verified = calls(*commands, verify, cwd=folder)
    for code, out, err in [*done[: len(looking)], verified]:
        assert (code, err) == (0, ""), out
    assert "3 good, 2 bad, 0 open" in done[0][1]
    assert f"5 arms, {pulls} measurements" in done[1][1]
    written = json.loads((tmp_path / "certificate.json").read_text())
    assert written["claims"] == certificate["claims"]
    why = "the file" if protected == "file" else f"the folder {str(folder)!r}"
    for code, _, err in done[len(looking) :]:
        assert (code, err) == (
            2,
            f"Error: {name} can be read but not changed: {why} may not be written.\n",
        )
    if protected == "folder":
        assert begun[0] == 2
        assert begun[2] == "Error: url must be in a folder with write access: got 't.db'.\n"
        assert os.listdir(folder) == [name]


@limited
def test_changes_in_the_log_are_read_or_the_message_says_that_they_cannot_be(folder):
    study = create_study(folder / "s.db", "s", arms=NAMES, objective=Additive(0.5), delta=0.1)
    study.tell([(ticket, 0.5) for ticket in study.ask(5)])
    assert (folder / "s.db-wal").stat().st_size > 0  # nothing of this is in s.db itself
    folder.chmod(0o555)
    [(code, out, _)] = calls(["study", "status", "s.db"], cwd=folder)
    assert code == 10
    assert "5 measurements" in out
    folder.chmod(0o755)
    kept = folder / "kept"  # as a machine that lost its power leaves it
    kept.mkdir()
    for name in ("s.db", "s.db-wal"):
        shutil.copy(folder / name, kept)
    study.close()
    kept.chmod(0o555)
    [(code, out, err)] = calls(["study", "status", "s.db"], cwd=kept)
    kept.chmod(0o755)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "s.db must be read together with s.db-wal, which holds its latest changes" in err
    assert "copy both files to a folder in which you may write" in err
    with load_study(kept / "s.db") as copy:
        assert copy.status().pulls == 5


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
    with pytest.raises(StudyError, match="can be read but not changed: the folder"):
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
    env |= {"HOME": str(site / "none"), "PYTHONPATH": str(site)}

    def python(*arguments):
        return subprocess.run(
            [*AS_USER, sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=env,
            timeout=PATIENCE,
            check=False,
        )

    options = ["--arms", "a,b", "--epsilon", "1", "--sigma", "1"]
    done = [
        python("-m", "allgood", "--version"),
        python("-m", "allgood", "study", "new", "s.db", *options),
        python("-m", "allgood", "study", "ask", "s.db", "-n", "2"),
        python("-m", "allgood", "study", "report", "s.db"),  # with pictures
        python("-c", "import allgood; print(allgood.__file__)"),
    ]
    for folder in folders:
        folder.chmod(0o755)
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * len(done)
    assert Path(done[-1].stdout.strip()) == site / "allgood" / "__init__.py"
    assert (tmp_path / "report.html").exists()
    assert not list(site.rglob("__pycache__"))
