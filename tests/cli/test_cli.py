"""The command line as a person and as a machine meet it."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from allgood import Additive, TrackAndStop, characteristic_time, list_studies, simulate
from allgood.cli.quick import only_named

from ..support.command_line import PATIENCE, allgood, in_a_process
from ..support.drawing import sketched  # noqa: F401 - a fixture
from ..support.systems import needs_posix

PAPER = ["--means", "1,1,1,1,0.05", "--epsilon", "0.9"]


def test_help_names_the_commands_and_imports_nothing_heavy():
    """Seconds depend on the machine; what makes them is which modules are imported."""
    code = (
        "import sys; from allgood.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'matplotlib', 'llvmlite'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert "bound" in done.stdout
    assert "demo" in done.stdout
    assert done.stdout.strip().endswith("[]")


def test_a_command_with_plain_values_does_not_load_pydantic():
    code = (
        "import sys; from allgood.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('pydantic' in sys.modules)"
    )
    command = [sys.executable, "-c", code, "bound", *PAPER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip().endswith("False")


def test_bound_for_machines():
    done = allgood("bound", *PAPER, "--delta", "0.1,1e-6", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["answer"] == [True, True, True, True, False]
    time = result["characteristic_time"]
    assert time["value"] == pytest.approx(3200, rel=1e-6)
    assert time["lower_bound"] <= 3200 <= time["value"]
    assert time["status"] == "solved"
    assert time["weights"] == pytest.approx([1 / 8] * 4 + [1 / 2], abs=1e-5)
    assert [b["delta"] for b in result["bounds"]] == [0.1, 1e-6]
    assert result["bounds"][0]["asymptotic"] == pytest.approx(5624.9, abs=0.1)


def test_bound_for_people():
    done = allgood("bound", *PAPER, "--delta", "0.1,0.3")
    assert done.returncode == 0, done.stderr
    assert "4 of 5 arms are good: mean at least 0.1." in done.stdout
    assert "T* = 3200, certified to lie between" in done.stdout
    assert "5,624.9" in done.stdout
    assert "moderate at delta = 0.3: Proven for delta <= 1/10 only." in done.stdout


def test_options_reach_the_solver(tmp_path):
    table = tmp_path / "means.csv"
    table.write_text("1\n0.3\n-0.5\n")
    done = allgood(
        "bound",
        "--means",
        f"@{table}",
        "--epsilon",
        "0.5",
        "--multiplicative",
        "--sigma",
        "1,2,1",
        "--json",
    )
    result = json.loads(done.stdout)
    assert result["objective"] == "multiplicative"
    assert result["means"] == [1, 0.3, -0.5]
    assert result["sigma"] == [1, 2, 1]
    slow = allgood("bound", *PAPER, "--method", "mirror-ascent", "--json")
    assert json.loads(slow.stdout)["characteristic_time"]["status"] == "iteration_limit"


def test_negative_means_need_no_quoting():
    done = allgood("bound", "--means", "-1,-2", "--epsilon", "0.5", "--json")
    assert json.loads(done.stdout)["characteristic_time"]["value"] == pytest.approx(32, rel=1e-6)


def test_undecidable_is_said_and_is_valid_json():
    people = allgood("bound", "--means", "0.9,0.6", "--epsilon", "0.3")
    assert "UNDECIDABLE" in people.stdout
    assert "on the threshold" in people.stdout
    machine = json.loads(
        allgood("bound", "--means", "0.9,0.6", "--epsilon", "0.3", "--json").stdout
    )
    assert machine["characteristic_time"]["value"] is None
    assert machine["characteristic_time"]["status"] == "undecidable"


def test_a_long_table_is_cut_and_says_so():
    done = allgood("bound", "--means", ",".join(str(i / 7) for i in range(40)), "--epsilon", "1")
    assert "and 16 arms with lower means (--json shows all)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--means", "1,x", "--epsilon", "1"],
            "Error: --means must hold numbers: got 'x' as number 2.",
        ),
        (
            ["--means", "1,,2", "--epsilon", "1"],
            "Error: --means must hold numbers: got '' as number 2.",
        ),
        (
            ["--means", "", "--epsilon", "1"],
            "Error: --means must hold at least one number: got none.",
        ),
        (
            ["--means", "@nowhere.csv", "--epsilon", "1"],
            "Error: --means must name an existing file after @",
        ),
        (["--means", "1,nan", "--epsilon", "1"], "Error: means must be finite: got nan for arm 1."),
        (
            ["--means", "1,2", "--epsilon", "0"],
            "Error: Additive(epsilon=...) must be positive: got 0.",
        ),
        (
            ["--means", "1,2", "--epsilon", "1", "--delta", "2"],
            "Error: delta must lie strictly between 0 and 1: got 2.",
        ),
        (
            ["--means", "1,2", "--epsilon", "1", "--sigma", "1,2,3"],
            "Error: Gaussian(sigma=...) must hold one value",
        ),
        (
            ["--means", "1,2", "--epsilon", "1", "--method", "magic"],
            'Error: method must be "newton" or',
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message):
    done = allgood("bound", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("sketched")
def test_demo_writes_its_pictures(tmp_path):
    done = allgood("demo", "--runs", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "T* = 3200" in done.stdout
    for name in ("instance.png", "alternative.png", "sets.png"):
        assert (tmp_path / "demo-output" / name).read_bytes().startswith(b"\x89PNG")
    database = str(Path("demo-output") / "demo.db")
    assert f"allgood serve {database}\n" in done.stdout
    assert list_studies(tmp_path / database) == ["screen"]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    done = allgood("demo", "--out", str(tmp_path / "file"))
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("sketched")
def test_demo_for_machines(tmp_path):
    done = allgood("demo", "--json", "--runs", "3", "--out", str(tmp_path / "here"))
    result = json.loads(done.stdout)
    assert all(Path(picture).is_file() for picture in result["pictures"])
    assert list_studies(result["study"]) == ["screen"]


def test_the_module_is_the_command():
    """``python -m allgood`` and the entry point are the same."""
    code = "from allgood.cli import main; main()"
    command = [sys.executable, "-c", code, "bound", *PAPER, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout == in_a_process("bound", *PAPER, "--json").stdout
    assert done.stdout == allgood("bound", *PAPER, "--json").stdout
    assert "Usage: allgood" in in_a_process("--help").stdout


def test_version():
    """It also says whether the core is compiled: see test_build.py."""
    assert allgood("--version").stdout.startswith(f"allgood {__import__('allgood').__version__}, ")


def test_the_library_says_what_the_command_says():
    time = characteristic_time([1, 0.4], Additive(0.5))
    machine = json.loads(allgood("bound", "--means", "1,0.4", "--epsilon", "0.5", "--json").stdout)
    assert machine["characteristic_time"]["value"] == time.value


def test_simulate_for_people_and_machines(tmp_path):
    options = [
        *PAPER,
        "--strategy",
        "track-and-stop:paper",
        "--delta",
        "0.1,0.01",
        "--runs",
        "20",
        "--seed",
        "3",
    ]
    people = allgood("simulate", *options)
    assert people.returncode == 0, people.stderr
    assert "track-and-stop:paper *" in people.stdout
    assert "no proof of the risk is known" in people.stdout
    assert people.stderr == ""  # no bar away from a terminal
    machines = json.loads(allgood("simulate", *options, "--json").stdout)
    [strategy] = machines["strategies"]
    expected = simulate(
        TrackAndStop(Additive(0.9), (0.1, 0.01), "paper"), [1, 1, 1, 1, 0.05], runs=20, seed=3
    )
    assert strategy["simulations"][0]["pulls"] == expected.pulls.tolist()
    assert strategy["simulations"][0]["crossings"] == expected.crossings.tolist()
    assert [s["mean"] for s in strategy["summaries"]] == [
        expected.summary(d).mean for d in (0.1, 0.01)
    ]
    assert f"{expected.summary(0.1).mean:,.0f}" in people.stdout
    assert strategy["proven"] is False


def test_simulate_resumes(tmp_path):
    options = [
        *PAPER,
        "--strategy",
        "st2:mixture",
        "--resume",
        str(tmp_path / "runs.jsonl"),
        "--json",
    ]
    few = json.loads(allgood("simulate", *options, "--runs", "3").stdout)
    more = json.loads(allgood("simulate", *options, "--runs", "5").stdout)
    pulls = [r["strategies"][0]["simulations"][0]["pulls"] for r in (few, more)]
    assert pulls[1][:3] == pulls[0]
    refused = allgood("simulate", *options, "--runs", "5", "--seed", "9")
    assert refused.returncode == 2
    assert "has seed 0, not 9" in refused.stderr


def test_compare_writes_a_table_and_a_picture(tmp_path, request):
    options = ["--strategies", "st2:mixture, uniform", "--runs", "5"]
    plot = ["--plot", str(tmp_path / "times.png")]
    done = allgood("compare", *PAPER, *options, *plot)
    assert done.returncode == 0, done.stderr
    assert "st2:mixture" in done.stdout
    assert "uniform:mixture" in done.stdout
    assert (tmp_path / "times.png").stat().st_size > 10_000
    request.getfixturevalue("sketched")  # the other pictures are not looked at
    tracked = allgood("compare", *PAPER, *options, *plot, "--grid", "10,100", "--json")
    assert tracked.returncode == 0, tracked.stderr
    found = json.loads(tracked.stdout)
    assert len(found["strategies"][1]["simulations"][0]["f1"]) == 5
    assert "summaries" not in found["strategies"][1]
    grid = [*options, *plot, "--grid", "10,2000"]
    found = json.loads(allgood("compare", *PAPER, *grid, "--json").stdout)["strategies"]
    runs = found[1]["simulations"][0]
    labels, wrong = runs["labels_certified"], runs["labels_wrong"]
    assert [counted[0] for counted in labels] == [0] * 5
    assert all(counted[1] > 0 for counted in labels)
    assert wrong == [[0, 0]] * 5
    shown = allgood("compare", *PAPER, *grid).stdout
    mean = sum(counted[1] for counted in labels) / 5
    assert re.search(rf"uniform:mixture +2,000 .* {mean:.2f} +0\n", shown), shown
    assert "with probability at least 0.9 none of a run is wrong" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--strategy", "magic"], "strategy must be one of claim-by-claim, track-and-stop,"),
        (
            ["--strategy", "st2:paper"],
            "strategy st2 must have one of mason, mason-data, mixture after its colon",
        ),
        (["--runs", "0"], "runs must be at least 1: got 0"),
        (["--delta", "2"], "must lie strictly between 0 and 1: got 2"),
        (
            ["--strategy", "st2", "--delta", "0.1,0.2", "--resume", "x"],
            "--resume must be given with a single --delta",
        ),
        (["--grid", "7,6"], "grid must hold whole numbers of pulls that increase"),
        (["--grid", "7.5"], "--grid must hold whole numbers: got 7.5"),
        (["--grid", "inf"], "--grid must hold whole numbers: got inf"),
        (["--grid", "1e19"], "grid must not go beyond 1,000,000,000,000,000 pulls"),
        (
            ["--budget", "99999999999999999999"],
            "budget must not exceed 1,000,000,000,000,000 pulls",
        ),
        (["--grid", "10,20", "--delta", "0.1,0.01"], "--delta must be a single risk with --grid"),
    ],
)
def test_simulate_refuses_bad_input_in_one_line(options, message):
    done = allgood("simulate", *PAPER, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_one_arm_for_machines():
    done = allgood("simulate", "--means", "1", "--epsilon", "0.5", "--runs", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["strategies"][0]["simulations"][0]["evidence"] == [None, None]


def test_runs_that_spent_their_budget_beat_no_bound():
    done = allgood(
        "simulate",
        "--means",
        "1,0.99,0.8",
        "--epsilon",
        "0.1",
        "--budget",
        "1000",
        "--runs",
        "3",
        "--json",
    )
    [summary] = json.loads(done.stdout)["strategies"][0]["summaries"]
    assert summary["certified"] == 0
    assert summary["ratio"] is None


@needs_posix
def test_an_endless_run_can_be_interrupted(tmp_path):
    """Once the file of runs is there, the simulation has begun; it never ends by itself."""
    file = tmp_path / "runs.jsonl"
    options = ["--means", "1,0.9000001", "--epsilon", "0.1", "--strategy", "uniform", "--runs", "2"]
    command = [sys.executable, "-m", "allgood", "simulate", *options, "--resume", str(file)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        wait_for_lines(file, 1, running)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert errors.startswith("Interrupted")
    assert errors.count("\n") == 1
    assert file.read_text().count("\n") == 1


def wait_for_lines(file, number, running):
    """Until a file has so many lines, while the process runs."""
    deadline = time.monotonic() + PATIENCE
    while not file.exists() or file.read_text().count("\n") < number:
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


@needs_posix
def test_interrupting_prints_how_to_go_on(tmp_path):
    file = tmp_path / "runs.jsonl"
    options = [*PAPER, "--strategy", "fareast", "--runs", "100000", "--resume", str(file)]
    command = [sys.executable, "-m", "allgood", "simulate", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        wait_for_lines(file, 4, running)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "of 100000 runs are finished; the same command goes on from what is in" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("kind", [str, Path, int, float])
def test_plain_values_are_read_as_typer_reads_them(kind):
    app, three = typer.Typer(), kind("3")

    @app.callback()
    def root():
        pass

    @app.command()
    def show(value: kind, more: kind = None, default: kind = three):
        return value, more, default

    def read(text, program):
        try:
            result = typer.main.get_command(program)(["show", "--", text], standalone_mode=False)
        except Exception as error:
            return type(error), str(error)
        return result, *map(type, result)

    texts = [
        ".",
        __file__,
        "7",
        "007",
        "0.5",
        "1e-3",
        "1E3",
        "-0",
        "",
        " 1",
        "+1",
        "1_0",
        "inf",
        "nan",
        "x",
    ]
    texts += ["9" * 20, "1" * 400, "1e999", "0.1" + "7" * 30, "\u0663", "e\u0301", "a\nb", "\udcff"]
    for text in texts:
        usual, quick = read(text, app), read(text, only_named(app, ["show"]))
        assert repr(usual) == repr(quick), text
