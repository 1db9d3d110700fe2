"""The build: same numbers uncompiled, edits are noticed, nothing is left half done."""

import contextlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import types
from pathlib import Path

import pytest

from allgood import _build
from allgood.simulation import resume as _runfile

from .support.builder import Builder

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "allgood"
INSTALLED = _build.PACKAGE.parent  # the package that the tests run
IGNORED = shutil.ignore_patterns("__pycache__", "_compiled.txt")
IGNORED_IF_PLAIN = shutil.ignore_patterns("__pycache__", "_compiled.txt", "*.so", "*.pyd")

needs_compiled = pytest.mark.skipif(not _build.COMPILED, reason="the core is not compiled")


def python(folder, *arguments, **options):
    """Run Python with the package of this folder, in a process of its own."""
    environment = dict(os.environ, PYTHONPATH=str(folder)) | options.pop("env", {})
    command = [sys.executable, *arguments]
    return subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )


def command_line(folder, *arguments, **options):
    return python(folder, "-c", "from allgood.cli import main; main()", *arguments, **options)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A folder with the package as it is where there is no compiler."""
    folder = tmp_path_factory.mktemp("plain")
    shutil.copytree(_build.PACKAGE, folder / "allgood", ignore=IGNORED_IF_PLAIN)
    return folder


# ---------------------------------------------------------------------- compiled and uncompiled

NUMBERS = """
import json
import allgood
from allgood import (
    ST2, UCB, Additive, Bernoulli, Bounded, Exponential, FarEast, Gaussian, Multiplicative,
    Poisson, TrackAndStop, Uniform, ClaimByClaim, characteristic_time, run)

additive, multiplicative = Additive(0.9), Multiplicative(0.5)
cases = [(kind(objective, 0.1), [2.0, 1.9, 0.3], Gaussian())
         for kind in (ClaimByClaim, TrackAndStop, ST2, FarEast, UCB, Uniform)
         for objective in (additive, multiplicative)]
cases += [(ClaimByClaim(additive, 0.1), [2.0, 1.9, 0.3], model)
          for model in (Poisson(), Exponential())]
cases += [(ClaimByClaim(Additive(0.5), 0.1), [0.9, 0.8, 0.1], model)
          for model in (Bernoulli(), Bounded(0, 1))]
cases += [(ST2(additive, 0.1, "mixture"), [2.0, 1.9, 0.3], Gaussian([1.0, 0.5, 2.0]))]
rows = []
for strategy, means, model in cases:
    result = run(strategy, means, model, seed=5, budget=150)
    rows.append([repr(strategy), repr(model), result.pulls, result.counts.tolist(),
                 [x.hex() for x in result.means.tolist()], result.answer.tolist()])
for kind in (Uniform, ClaimByClaim):
    result = run(kind(additive, 0.1), [2.0, 1.9, 0.3], seed=5, grid=[20, 60, 150])
    rows.append([result.certified_at.tolist(), result.certified_good.tolist()])
time = characteristic_time([2.0, 1.9, 0.3], additive)
rows.append([time.value.hex(), [x.hex() for x in time.weights.tolist()]])
near = [0.8 + 0.0003 * i for i in range(30)] + [0.1 + 0.01 * i for i in range(6)]
time = characteristic_time(near, Additive(0.2), Exponential(), max_pairs=20)
rows.append([time.value.hex(), time.lower_bound.hex(), time.status.name])
print(json.dumps([allgood.__file__, allgood._build.COMPILED, rows]))
"""


@needs_compiled
def test_uncompiled_code_gives_the_same_numbers(plain):
    """To the last bit: the same operations in the same order, on the same machine."""
    with contextlib.redirect_stdout(io.StringIO()) as here:
        exec(NUMBERS, {})
    there = python(plain, "-W", "ignore", "-c", NUMBERS)
    assert there.returncode == 0, there.stderr
    _, compiled, rows = json.loads(here.getvalue())
    file, uncompiled, plain_rows = json.loads(there.stdout)
    assert Path(file).parent == plain / "allgood"
    assert (compiled, uncompiled) == (True, False)
    for row, plain_row in zip(rows, plain_rows, strict=True):
        assert row == plain_row


def test_the_version_says_whether_the_core_is_compiled(plain):
    done = command_line(plain, "--version")
    assert done.stdout.startswith(
        "allgood 0.1.0, not compiled: it runs about a hundred times slower"
    )
    assert "pip install --force-reinstall" in done.stdout
    assert done.stderr == ""
    if _build.COMPILED:
        assert command_line(INSTALLED, "--version").stdout == "allgood 0.1.0, compiled\n"


def test_an_uncompiled_command_says_so_once_and_works(plain):
    done = command_line(plain, "bound", "--means", "1,0.5", "--epsilon", "0.1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert done.stderr.count("allgood is not compiled") == len(done.stderr.splitlines()) == 1


def test_an_uncompiled_program_is_warned_once(plain):
    program = """
import warnings
from allgood import Additive, ST2, run, simulate
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(3):
        run(ST2(Additive(0.9), 0.1), [1, 0], budget=9)
        simulate(ST2(Additive(0.9), 0.1), [1, 0], budget=9, runs=2)
print([(w.category.__name__, w.filename) for w in caught])
"""
    done = python(plain, "-c", program)
    assert done.stdout == "[('NotCompiledWarning', '<string>')]\n", done.stderr


# ---------------------------------------------------------------------- where it is installed


def reachable_as_nobody(folder):
    """Options for subprocess that take root's rights away, as far as that is possible here."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return {}
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        tried = subprocess.run(
            [sys.executable, "-c", "import numpy"], cwd=folder, check=False, **nobody
        )
    except OSError:
        return {}
    return nobody if tried.returncode == 0 else {}


def files(folder):
    """All files with their times, but for those that Python itself keeps for the next import."""
    return {
        path: path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }


def test_a_read_only_installation_without_a_home():
    """Nothing is written beside the package or at home, for there is no place."""
    program = """
from allgood import ST2, Additive, run
print(run(ST2(Additive(0.9), 0.1), [1, 0], seed=1, budget=50).pulls)
"""
    nowhere = {
        "HOME": "/nonexistent",
        "USERPROFILE": "/nonexistent",
        "XDG_CACHE_HOME": "/nonexistent",
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(_build.PACKAGE, folder / "allgood", ignore=IGNORED)
        paths = [folder, *folder.rglob("*")]
        for path in paths:
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = files(folder)
        try:
            rights = reachable_as_nobody(folder)
            first = python(folder, "-c", program, env=nowhere, **rights)
            second = command_line(
                folder, "bound", "--means", "1,0", "--epsilon", "0.5", env=nowhere, **rights
            )
        finally:
            for path in paths:
                path.chmod(path.stat().st_mode | stat.S_IWUSR)
        assert first.returncode == 0, first.stderr
        assert int(first.stdout) <= 50
        assert second.returncode == 0, second.stderr
        assert "Traceback" not in first.stderr + second.stderr
        assert files(folder) == before


# ---------------------------------------------------------------------- edits


@pytest.mark.skipif(not _build.recorded(), reason="the core was not compiled in a source checkout")
@pytest.mark.parametrize("name", ["kernels/tally.py", "kernels/tally.pxd"])
def test_an_edit_after_compiling_is_an_error(tmp_path, name):
    package = tmp_path / "src" / "allgood"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    ask = ("-c", "import allgood; print('fine')")
    assert python(package.parent, *ask).stdout == "fine\n"
    text = (package / name).read_bytes()
    (package / name).write_bytes(text + b"\n")
    done = python(package.parent, *ask)
    sentence = (
        f"ImportError: src/allgood/{name} was edited after it was compiled: run `make build`."
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == sentence
    (package / name).write_bytes(text)
    assert python(package.parent, *ask).stdout == "fine\n"
    (package / name).write_bytes(text + b"\n")
    (package / "_compiled.txt").unlink()  # as in a wheel
    assert python(package.parent, *ask).stdout == "fine\n"


def test_the_digest_sees_every_source(tmp_path):
    """Runs of different code are not mixed in one file: see Setup in simulation/simulate.py."""
    shutil.copytree(SOURCE, tmp_path / "allgood", ignore=IGNORED_IF_PLAIN)
    ask = ("-c", "from allgood import _build; print(_build.source_digest())")
    first = python(tmp_path, *ask).stdout
    assert first == python(tmp_path, *ask).stdout == python(SOURCE.parent, *ask).stdout
    with (tmp_path / "allgood" / "kernels" / "tally.pxd").open("a") as header:
        header.write("\n")
    assert python(tmp_path, *ask).stdout != first


# ---------------------------------------------------------------------- setup.py

ONE = """
import cython

def inner(x):
    return x + {}
"""
TWO = """
import cython
from cython.cimports.allgood.one import inner

def outer(x):
    return 10.0 * inner(x)
"""
PROJECT = """
[project]
name = "allgood"
version = "0"

[tool.setuptools]
package-dir = { "" = "src" }
packages = ["allgood"]
"""


class Checkout:
    """A source checkout with a package of two modules, of which the second calls the first."""

    def __init__(self, root, builder):
        self.root, self.builder = root, builder
        self.package = root / "src" / "allgood"

    def make(self):
        (self.package / "models").mkdir(parents=True)
        shutil.copy(ROOT / "setup.py", self.root)
        shutil.copy(SOURCE / "_build.py", self.package)
        self.write("../../pyproject.toml", PROJECT)
        self.write("models/contract.py", "def problems(folder):\n    return []\n")
        self.write("__init__.py", "from . import _build\n_build.check()\n_build.install_finder()\n")
        self.write("one.py", ONE.format("1.0"))
        self.write("one.pxd", "cpdef double inner(double x) noexcept nogil\n")
        self.write("two.py", TWO)
        self.write("two.pxd", "cpdef double outer(double x) noexcept nogil\n")

    def copy(self, root):
        """Another one, with all that is built."""
        shutil.copytree(self.root, root, dirs_exist_ok=True)
        return Checkout(root, self.builder)

    def write(self, name, text):
        (self.package / name).write_text(text, encoding="utf-8")

    def run(self, *arguments, **variables):
        """The exit code of setup.py, and what it printed.  Optimizing would only take time here."""
        variables = {"ALLGOOD_DEBUG": "1", "ALLGOOD_PURE": ""} | variables
        return self.builder.run(self.root, *arguments, **variables)

    def build(self, **variables):
        """Build in place."""
        return self.run("build_ext", "--inplace", **variables)

    def ask(self):
        done = python(
            self.package.parent,
            "-c",
            "from allgood import two; print(two.outer(3.0), two.__file__)",
        )
        return done.stdout.split() if done.returncode == 0 else done.stderr.splitlines()[-1]

    def answer(self):
        """What the second module computes, and whether it is compiled."""
        answer, file = self.ask()
        return float(answer), not file.endswith(".py")

    def compiled(self):
        """The compiled modules beside the sources, and when each was built."""
        return compiled(self.package)


def compiled(folder):
    """The compiled modules in a folder, and when each was built."""
    suffix = Path(sysconfig.get_config_var("EXT_SUFFIX")).suffix
    paths = folder.rglob(f"*{suffix}")
    return {path.name.partition(".")[0]: path.stat().st_mtime_ns for path in paths}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A checkout after its first build, to be copied."""
    with Builder() as builder:
        checkout = Checkout(tmp_path_factory.mktemp("checkout"), builder)
        checkout.make()
        code, output = checkout.build()
        assert code == 0, output
        yield checkout


@needs_compiled
def test_what_is_built_again_and_when(built, tmp_path):
    """An edit is noticed and compiles what it must.  A failure leaves what was there."""
    there = built.copy(tmp_path)
    assert there.answer() == (40.0, True)
    first = there.compiled()
    assert set(first) == {"_cyutility", "one", "two"}

    assert there.build()[0] == 0  # nothing to do
    assert there.compiled() == first

    there.write("one.py", ONE.format("2.0"))
    os.utime(there.package / "one.py", (0, 0))  # as if copied from somewhere: no time gives it away
    assert "src/allgood/one.py was edited after it was compiled: run `make build`." in there.ask()
    assert there.build()[0] == 0
    assert there.answer() == (50.0, True)
    second = there.compiled()
    assert {name for name in first if first[name] != second[name]} == {"one"}

    there.write("one.pxd", "# a comment\ncpdef double inner(double x) noexcept nogil\n")
    assert there.build()[0] == 0
    third = there.compiled()
    assert {name for name in first if second[name] != third[name]} == {"one", "two"}

    there.write("two.py", TWO + "    this is no Python\n")
    assert there.build()[0] != 0
    assert there.compiled() == third
    assert "src/allgood/two.py was edited after it was compiled: run `make build`." in there.ask()
    there.write("two.py", TWO)
    assert there.answer() == (50.0, True)

    assert there.build(CC="no-such-compiler", ALLGOOD_PURE="0")[0] != 0
    assert there.answer() == (50.0, True)

    code, output = there.build(CC="no-such-compiler")
    assert code == 0
    assert output.count("allgood is installed uncompiled") == 1
    assert there.answer() == (50.0, False)
    assert there.compiled() == {}

    assert there.build()[0] == 0
    assert there.answer() == (50.0, True)
    assert there.build(ALLGOOD_PURE="1")[0] == 0
    assert there.answer() == (50.0, False)


@needs_compiled
def test_a_wheel_is_compiled_as_a_whole_or_not_at_all(built, tmp_path):
    """The second module does not compile as C.  Nothing compiled remains, and the package works."""
    there = built.copy(tmp_path)
    there.write(
        "two.pxd",
        'cdef extern from "no-such-header.h":\n'
        "    pass\n"
        "cpdef double outer(double x) noexcept nogil\n",
    )
    made = tmp_path / "made" / "allgood"
    made.mkdir(parents=True)
    [shared] = there.package.glob("_cyutility.*")
    shutil.copy2(shared, made)  # it takes longest, and is the same
    build = ("build", "--build-lib", "made")
    assert there.run(*build, ALLGOOD_PURE="0")[0] != 0
    assert set(compiled(made)) == {"_cyutility", "one"}
    code, output = there.run(*build)
    assert code == 0, output
    assert "allgood is installed uncompiled" in output
    assert sorted(path.name for path in made.iterdir()) == [
        "__init__.py",
        "_build.py",
        "one.py",
        "two.py",
    ]
    done = python(tmp_path / "made", "-c", "from allgood import two; print(two.outer(3.0))")
    assert done.stdout == "40.0\n", done.stderr


def test_a_model_that_lacks_a_method_is_not_built(tmp_path):
    shutil.copy(ROOT / "setup.py", tmp_path)
    shutil.copytree(SOURCE, tmp_path / "src" / "allgood", ignore=IGNORED_IF_PLAIN)
    model = tmp_path / "src" / "allgood" / "models" / "poisson.py"
    text = model.read_text(encoding="utf-8")
    assert "def draw(" in text
    model.write_text(text.replace("def draw(", "def drow("), encoding="utf-8")
    done = python(tmp_path, "setup.py", "--quiet", "build_ext", "--inplace")
    assert done.returncode == 1
    assert done.stderr.startswith("models/poisson.py: the model Poisson lacks draw")


# ---------------------------------------------------------------------- other systems


def test_a_file_of_runs_is_locked_on_windows_too(tmp_path, monkeypatch):
    """With a stand-in for Windows' own module, which locks bytes from the current position on."""
    held = set()

    def locking(descriptor, mode, number):
        assert (mode, number) == ("not blocking", 1)
        place = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
        assert place[1] < 1 << 31
        if place in held:
            raise PermissionError(13, "Permission denied")
        held.add(place)

    windows = types.SimpleNamespace(locking=locking, LK_NBLCK="not blocking")
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    monkeypatch.setitem(sys.modules, "fcntl", None)  # cannot be imported
    monkeypatch.setattr(sys, "platform", "win32")
    module = types.ModuleType("runfile_on_windows")
    exec(Path(_runfile.__file__).read_text(encoding="utf-8"), module.__dict__)
    monkeypatch.undo()
    path = tmp_path / "runs"
    with module.RunFile(path, {"a": 1}) as file:
        file.append({"run": 0})
        with (
            pytest.raises(ValueError, match="that no other process is writing"),
            module.RunFile(path, {"a": 1}),
        ):
            pass
    held.clear()
    with module.RunFile(path, {"a": 1}) as file:
        assert file.rows == [{"run": 0}]
    assert path.read_text(encoding="utf-8") == '{"a": 1}\n{"run": 0}\n'
