"""What the package is built from, and what it is installed with."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# The first releases without holes that were known when this was written.
FIRST_SOUND = {
    "starlette": "1.3.1",  # CVE-2026-54283
    "h11": "0.16.0",  # CVE-2025-43859
    "uvicorn": "0.11.7",  # CVE-2020-7695
    "openpyxl": "2.4.2",  # CVE-2017-5992
    "setuptools": "78.1.1",  # CVE-2025-47273
}


def pinned():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def requirements():
    """Every requirement of the package, of its extras and of its build."""
    project = PROJECT["project"]
    listed = [
        *PROJECT["build-system"]["requires"],
        *project["dependencies"],
        *(text for extra in project["optional-dependencies"].values() for text in extra),
    ]
    return [
        requirement for requirement in map(Requirement, listed) if requirement.name != "allgood"
    ]


def lower_bound(requirement):
    [bound] = [part for part in requirement.specifier if part.operator == ">="]
    return Version(bound.version)


def steps(workflow):
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return [(name, step) for name, job in jobs.items() for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(workflow):
    text = workflow.read_text(encoding="utf-8")
    used = [step["uses"] for _, step in steps(workflow) if "uses" in step]
    assert used
    for action in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action), action
        assert re.search(rf"uses: {re.escape(action)}  # v[0-9]+\.[0-9]+\.[0-9]+\n", text), action
    versions = {}
    for line in re.findall(r"uses: (.*)", text):
        versions.setdefault(line.partition("@")[0], set()).add(line)
    assert all(len(lines) == 1 for lines in versions.values())


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_only_read(workflow):
    content = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    assert content["permissions"] == {"contents": "read"}
    extra = {
        name: job["permissions"] for name, job in content["jobs"].items() if "permissions" in job
    }
    assert extra in ({}, {"publish": {"id-token": "write"}})
    for _, step in steps(workflow):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_dependencies_are_audited_in_ci_and_not_in_the_tests():
    commands = [step.get("run", "") for path in WORKFLOWS for _, step in steps(path)]
    assert any("pip-audit" in run and "constraints.txt" in run for run in commands)
    assert "pip-audit" not in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_releases_are_built_with_the_tested_versions():
    environment = PROJECT["tool"]["cibuildwheel"]["environment"]
    assert environment["PIP_CONSTRAINT"] == "constraints.txt"
    wheels = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8"))
    assert wheels["jobs"]["sdist"]["env"]["PIP_CONSTRAINT"] == "constraints.txt"
    known = pinned()
    for text in PROJECT["build-system"]["requires"]:
        assert canonicalize_name(Requirement(text).name) in known


def test_the_tested_versions_satisfy_every_bound():
    known = pinned()
    for requirement in requirements():
        version = known[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), (requirement, version)


@pytest.mark.parametrize(("name", "first"), FIRST_SOUND.items())
def test_lower_bounds_leave_out_known_holes(name, first):
    bounds = [
        lower_bound(found) for found in requirements() if canonicalize_name(found.name) == name
    ]
    assert bounds
    assert all(bound >= Version(first) for bound in bounds)


def test_the_server_names_what_it_parses_requests_with():
    """Their lower bounds hold even if fastapi and uvicorn would allow older releases."""
    names = {
        Requirement(text).name for text in PROJECT["project"]["optional-dependencies"]["serve"]
    }
    assert {"fastapi", "starlette", "uvicorn", "h11"} <= names


def test_there_is_a_word_on_security():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for heading in ("Reporting", "Supported versions", "The server", "Certificates"):
        assert re.search(rf"^## .*{heading}", text, re.MULTILINE), heading
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert (ROOT / target).exists(), target
    assert max(map(len, text.splitlines())) <= 120
