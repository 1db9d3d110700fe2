"""The page docs/add-a-model.md, done to the letter in an uncompiled copy of the package."""

import json
import re
import shutil

import pytest

from allgood import _build
from allgood.models.contract import problems

from ..test_build import IGNORED_IF_PLAIN, ROOT, needs_compiled, python

PAGE = (ROOT / "docs" / "add-a-model.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(python|cython)(?: file=src/(\S+))?\n(.*?)```", PAGE, re.S)
FILES = {path: body for _, path, body in BLOCKS if path}
IMPORT, ENTRY, PUBLIC, EXAMPLE, VERIFIER = (body for _, path, body in BLOCKS if not path)


def put(file, text, before):
    """Put lines in front of a line that the file has once."""
    old = file.read_text(encoding="utf-8")
    assert old.count(before) == 1, (file.name, before)
    file.write_text(old.replace(before, text + before), encoding="utf-8")


def without_comment(line):
    return line.split("  #")[0].rstrip() + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The package with the model, as the page says."""
    top = tmp_path_factory.mktemp("gamma")
    package = top / "allgood"
    shutil.copytree(_build.PACKAGE, package, ignore=IGNORED_IF_PLAIN)
    assert set(FILES) == {"allgood/models/gamma.py", "allgood/models/gamma.pxd"}
    for path, body in FILES.items():
        (top / path).write_text(body, encoding="utf-8")
    put(package / "models" / "registry.py", IMPORT, before="from .gaussian import")
    put(package / "models" / "registry.py", ENTRY, before='    "gaussian": Gaussian,\n')
    put(package / "__init__.pyi", PUBLIC, before="from .models.gaussian import")
    teach_the_verifier(package / "certificates" / "verify.py")
    return top


def teach_the_verifier(file):
    field, branch, first = VERIFIER.split("\n\n")
    put(file, without_comment(field), before="\n    def sigma(self, arm: int)")
    put(file, branch + "\n", before='    known = name in ("bernoulli", "poisson", "exponential")\n')
    put(file, without_comment(first), before="    logs = [log_factor(rules.family")


def test_the_example_gives_what_the_page_shows(folder):
    """Each value that the page shows behind a #, up to three dots, is what Python prints."""
    values = []
    lines = EXAMPLE.splitlines()
    for i, line in enumerate(lines):
        code, _, shown = line.partition("  #")
        if shown:
            values.append(shown.split("...")[0].strip())
            lines[i] = f"print(repr(({code.strip()})))"
    assert len(values) == 2
    done = python(folder, "-W", "ignore", "-c", "\n".join(lines))
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    assert len(printed) == 2
    # Another processor may pull other arms where two are tied up to rounding: only the answer.
    answer, pulls = re.fullmatch(r"\((array\(.*\)), (\d+)\)", printed[0]).groups()
    assert values[0].startswith(f"({answer}, ")
    assert int(pulls) == pytest.approx(int(values[0].split(", ")[-1][:-1]), rel=0.6)
    assert printed[1].startswith(values[1])


def test_a_forgotten_method_is_named_as_the_page_says(folder, tmp_path):
    models = tmp_path / "models"
    shutil.copytree(folder / "allgood" / "models", models)
    assert problems(models) == []
    model = models / "gamma.py"
    text = model.read_text(encoding="utf-8")
    model.write_text(text.replace("def precision(", "def precison("), encoding="utf-8")
    [sentence] = problems(models)
    assert f"$ make build\n{sentence}\n" in PAGE


STUDY = """
import copy, json
import numpy as np
from allgood import Additive, Gamma, create_study
from allgood.certificates.verify import verify

means, rng = {"a": 4.0, "b": 3.9, "c": 1.0}, np.random.default_rng(1)
with create_study("waits.db", "waits", arms=list(means), objective=Additive(1.5), delta=0.1,
                  model=Gamma(4)) as study:
    while tickets := study.ask(20):
        study.tell([(one.id, means[one.arm] * rng.gamma(4.0) / 4.0) for one in tickets])
    certificate = study.certificate()
    log = list(study.export())
right = verify(certificate, log)
other = copy.deepcopy(certificate)
other["model"]["shape"] = 3
refused = [text for text in verify(other).problems if text.startswith("claim ")]
print(json.dumps([right.problems, right.claims, len(refused) > 0]))
"""


def test_the_verifier_confirms_a_study_and_refuses_another_shape(folder):
    done = python(folder, "-W", "ignore", "-c", STUDY)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[], 3, True]


@needs_compiled
def test_the_header_suits_the_law(folder):
    """Cython translates the two files.  Compiling the C code would add nothing but time."""
    pytest.importorskip("Cython")
    model = folder / "allgood" / "models" / "gamma.py"
    shared = f"allgood.{_build.SHARED}"
    directives = ["-X", "cdivision=True", "-X", "infer_types=True"]
    done = python(folder, "-m", "cython", "-3", "--shared", shared, *directives, str(model))
    assert done.returncode == 0, done.stderr
