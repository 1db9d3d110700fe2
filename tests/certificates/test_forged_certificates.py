"""Forged certificates: right digests, and statements that the log does not make.

The forger has the log as it is, changes what the certificate says, and makes every digest anew.
"""

import copy
import functools
import json
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from allgood import Additive, Exponential, Gaussian, Multiplicative
from allgood._internal.json_input import DoubledKey, read_json
from allgood.certificates import verify as verifier
from allgood.certificates.verify import verify
from allgood.certificates.write import certificate_of
from allgood.study.events import parse_line

from ..support.chains import digest_of, lines_of, relinked
from ..support.random_studies import MODELS, a_study
from ..support.study_cache import StudyCache
from .test_verify import dump, rules_of, seal


def told(study_cache):
    """The certificate of a study, as read from a file, and its lines."""
    certificate = certificate_of(study_cache.state, digest_of(study_cache.events))
    return json.loads(dump(certificate)), lines_of(study_cache.events)


def with_values(model, objective, values, pooled=(), check_values=True, in_order=False):
    """A study that is told these values of each arm, one by one; those of ``pooled`` are pooled."""
    rules = {"check_values": check_values, "in_order": in_order}
    study_cache = StudyCache(model, objective, len(values), 0.1, pool=bool(pooled), **rules)
    for i in range(max(map(len, values))):
        for arm, some in enumerate(values):
            if i < len(some):
                (number,) = study_cache.issue([(arm, (arm, i) in pooled)])
                study_cache.tell((number, some[i]))
    return study_cache


def forged(values, model, objective, pooled=(), in_order=False):
    """A certificate of a checked study, with the claims of the same study if it were not checked.

    Needs, evidence, tallies and digests are made right: only the rules of influential values keep
    these labels open.
    """
    honest, lines = told(with_values(model, objective, values, pooled, True, in_order))
    other, _ = told(with_values(model, objective, values, pooled, False, in_order))
    assert verify(honest, lines).status == "verified"
    fake = copy.deepcopy(honest)
    labels = {claim["arm"]: claim["label"] for claim in other["claims"]}
    rules = rules_of(honest)
    fake["claims"] = other["claims"]
    for claim in fake["claims"]:
        pool = claim["rests_on"] and claim["rests_on"][0]["against"] is None
        key = "good" if claim["label"] == "good" else "pool" if pool else "rival"
        claim["need"] = rules.needs[key]
        for entry in claim["rests_on"]:
            entry["influential"] = [None, None]
            if pool:
                entry["influential"][1] = -1e9  # as if the largest did not matter
                entry["weight"] = 1e-12
    for arm in fake["arms"]:
        arm["label"] = labels.get(arm["arm"], "open")
    if len(labels) == len(fake["arms"]):
        fake["outcome"] = "certified"
    return honest, seal(fake), lines


def refused(certificate, lines):
    report = verify(certificate, lines)
    return report.status == "not verified" and bool(report.problems)


def test_labels_that_rest_on_single_values_are_refused():
    """Three arms with one value each: nothing is certified, and the forger writes three labels."""
    honest, fake, lines = forged([[0.0], [50.0], [100.0]], Gaussian(1.0), Additive(5.0))
    assert honest["claims"] == []
    assert [claim["label"] for claim in fake["claims"]] == ["bad", "bad", "good"]
    assert refused(fake, lines)
    assert refused(fake, None)
    problems = " ".join(verify(fake, lines).problems)
    assert "a label rests on a single value" in problems


def test_labels_that_rest_on_an_influential_value_are_refused():
    """One value of the second arm makes it good, and hardly fits the others."""
    values = [[0.0, 0.1, -0.1, 0.0, 0.1, -0.1], [0.0, 0.1, 4.9, 0.0, 0.2, -0.1, 0.1, 0.0]]
    honest, fake, lines = forged(values, Gaussian(1.0), Additive(1.2))
    assert len(fake["claims"]) > len(honest["claims"])
    assert verify(fake).ok  # its own numbers are right: only the log knows better
    problems = " ".join(verify(fake, lines).problems)
    assert "the log does not certify it" in problems


def test_labels_that_rest_on_the_largest_value_of_the_pool_are_refused():
    """The arms are equal; one wait of thirty times the mean is pooled, and not suspect."""
    found = 0
    for seed in range(10):
        times = np.random.default_rng(seed).exponential(size=33)
        times[18] = 30.0 * times[:18:3].mean()
        values = [times[arm::3].tolist() for arm in range(3)]
        pooled = {(arm, 6) for arm in range(3)}
        model, objective = Exponential(), Multiplicative(0.5)
        honest, fake, lines = forged(values, model, objective, pooled, in_order=True)
        assert not any(claim["label"] == "bad" for claim in honest["claims"])
        entries = [entry for claim in fake["claims"] for entry in claim["rests_on"]]
        by_pool = [entry for entry in entries if entry["against"] is None]
        found += bool(by_pool)
        assert not by_pool or refused(fake, lines)
    assert found > 2


@functools.cache
def made(model, seed=3):
    study = a_study(model, seed)
    return json.loads(dump(study.certificate())), study.lines()


def doubtful():
    """A study whose sigma is far too small."""
    rng = np.random.default_rng(0)
    values = [(mean + 3.0 * rng.standard_normal(30)).tolist() for mean in (0.0, 8.0)]
    return told(with_values(Gaussian(1.0), Additive(2.0), values, check_values=False))


def test_doubts_cannot_be_removed_changed_or_added():
    certificate, lines = doubtful()
    assert certificate["doubts"]
    report = verify(certificate, lines)
    assert (report.status, report.exit_code) == ("verified, doubtful", 4)
    assert report.verdict.startswith("Verified, doubtful: ")
    [sentence] = report.doubts
    assert sentence.startswith("Sigma is too small: values of an arm scatter 2.67 times")
    without = {key: value for key, value in certificate.items() if key != "doubts"}
    milder = copy.deepcopy(certificate)
    milder["doubts"][0]["values"] -= 1
    smaller = copy.deepcopy(certificate)
    smaller["doubts"][0]["multiple"] *= 0.99
    more = copy.deepcopy(certificate)
    more["doubts"].append({"kind": "arm drift", "plate": 1, "shift": 1.0})
    for other in (without, milder, smaller, more):
        assert any(p.startswith("doubts: ") for p in verify(seal(other), lines).problems)
    sound, sound_lines = made("gaussian")
    doubts = [{"kind": "sigma", "multiple": 3.0, "values": 58}]
    assert refused(seal(copy.deepcopy(sound) | {"doubts": doubts}), sound_lines)
    for wrong, message in (
        ("Sigma is too small.", "doubts: number 1 must be an object"),
        ({"kind": "moon"}, "doubts: none is of kind 'moon'"),
        ({"kind": ["sigma"]}, "doubts: none is of kind ['sigma']"),
        ({"kind": "sigma", "multiple": 3.0}, "doubts: number 1: values is missing"),
        ({"kind": "arm drift", "plate": 1, "shift": "{plate}"}, "doubts: number 1: shift must be"),
    ):
        [problem] = verify(seal(copy.deepcopy(sound) | {"doubts": [wrong]}), None).problems
        assert problem.startswith(message)


OUTCOMES = ("certified", "running", "budget exhausted", "dropped")


@pytest.mark.parametrize("model", MODELS)
def test_the_outcome_is_that_of_the_log(model):
    certificate, lines = made(model)
    for outcome in OUTCOMES:
        other = seal(copy.deepcopy(certificate) | {"outcome": outcome})
        assert verify(other, lines).ok == (outcome == certificate["outcome"])


def test_a_claim_cannot_be_removed_added_or_moved():
    certificate, lines = made("gaussian")
    assert certificate["claims"]
    for i, claim in enumerate(certificate["claims"]):
        other = copy.deepcopy(certificate)
        del other["claims"][i]
        next(a for a in other["arms"] if a["arm"] == claim["arm"])["label"] = "open"
        if other["outcome"] == "certified":
            other["outcome"] = "running"
        problems = " ".join(verify(seal(other), lines).problems)
        assert "no claim does" in problems
        for by in (-1, 1, 2):
            moved = copy.deepcopy(certificate)
            moved["claims"][i]["after"] += by
            for entry in moved["claims"][i]["rests_on"]:
                entry["after"] += by
            assert refused(seal(moved), lines)
    again = copy.deepcopy(certificate)
    again["claims"].append(copy.deepcopy(again["claims"][0]))
    assert refused(seal(again), lines)
    turned = copy.deepcopy(certificate)
    turned["claims"].reverse()
    assert len(turned["claims"]) == 1 or refused(seal(turned), lines)


def test_what_the_format_does_not_have_is_refused():
    certificate, lines = made("gaussian")
    assert refused(seal(copy.deepcopy(certificate) | {"approved": True}), lines)
    other = copy.deepcopy(certificate)
    other["claims"][0]["remark"] = "checked twice"
    assert refused(seal(other), lines)


def statements(part, path=()):
    """Paths to all values of a certificate but digests and the names of versions."""
    if isinstance(part, dict | list):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            if (key != "sha256" or path == ("log",)) and path[:1] != ("versions",):
                yield from statements(value, (*path, key))
    else:
        yield path


def mutated(value, rng):
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1, 7]))
    if isinstance(value, float):
        return value + float(rng.choice([-1.0, 1.0])) * max(abs(value), 1.0) * 0.3
    if isinstance(value, str) and value in ("good", "bad", "open"):
        return str(rng.choice([x for x in ("good", "bad", "open") if x != value]))
    return 1.0 if value is None else f"{value}x"


@pytest.mark.parametrize("model", MODELS)
def test_certificates_of_random_studies_verify_and_no_mutation_does(model):
    rng = np.random.default_rng(11)
    for seed in range(20, 24):
        certificate, lines = made(model, seed)
        report = verify(certificate, lines)
        assert report.problems == ()
        assert report.status == ("verified, doubtful" if report.doubts else "verified")
        paths = list(statements(certificate))
        for i in rng.permutation(len(paths))[:25]:
            other = copy.deepcopy(certificate)
            part = functools.reduce(lambda whole, key: whole[key], paths[i][:-1], other)
            part[paths[i][-1]] = mutated(part[paths[i][-1]], rng)
            found = verify(seal(other), lines)
            assert found.problems, paths[i]


# ---- doubled keys


def test_doubled_keys_are_refused_everywhere(tmp_path):
    certificate, lines = made("gaussian")
    text = dump(certificate)
    doubled = text[:-1] + ',"outcome":"certified"}'
    with pytest.raises(ValueError, match="the key 'outcome' is there twice"):
        verifier.parse(doubled)
    (tmp_path / "c.json").write_text(doubled, encoding="utf-8")
    assert verifier.main([str(tmp_path / "c.json")]) == 1
    with pytest.raises(DoubledKey, match="the key 'a' is there twice"):
        read_json('{"b": [{"a": 1, "a": 2}]}')
    line = lines[1][:-1] + ',"kind":"note"}'
    with pytest.raises(ValueError, match=r"line 2 is not an event .*the key 'kind' is there twi"):
        parse_line(line, 2)
    assert refused(certificate, [lines[0], line, *lines[2:]])


# ---- the chain of lines


def chain_problems(lines):
    previous = [json.loads(line).get("previous") for line in lines]
    events = [verifier.Part(seq=i, previous=digest) for i, digest in enumerate(previous, 1)]
    return list(verifier.check_chain(lines, events))


def test_every_line_names_the_one_before():
    lines = made("bounded")[1]
    assert chain_problems(lines) == []
    other = json.loads(lines[3]) | {"time": 1e9}
    (problem,) = chain_problems([*lines[:3], dump(other), *lines[4:]])
    assert problem == "log, line 5: previous is not the SHA-256 of the line before"
    for wrong in ([*lines[:3], *lines[4:]], [lines[0], lines[2], lines[1]]):
        assert len(chain_problems(wrong)) == 1
    bare = dump({key: x for key, x in json.loads(lines[2]).items() if key != "previous"})
    (problem,) = chain_problems([*lines[:2], bare])
    assert problem.startswith("log, line 3: previous is")
    first = dump(json.loads(lines[0]) | {"previous": "0" * 64})
    (problem,) = chain_problems([first, *lines[1:]])
    assert problem == "log, line 1: previous is not the SHA-256 of the line before"


def test_a_broken_chain_is_a_problem_of_the_log():
    certificate, lines = made("bounded")
    assert verify(certificate, lines).problems == ()
    event = json.loads(lines[5])
    broken = [*lines[:5], dump(event | {"previous": "0" * 64}), *lines[6:]]
    other = copy.deepcopy(certificate)
    other["log"]["sha256"] = verifier.digest_of_lines(broken)
    problems = verify(seal(other), broken).problems
    assert any("line 6: previous is not the SHA-256" in problem for problem in problems)


# ---- bounded work

LIMITED = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from allgood.certificates import verify as verifier
sys.exit(verifier.main(sys.argv[1:]))
"""


def limited(tmp_path, value):
    """Run the verifier on a file with 1 GB of memory; its code, lines and seconds."""
    file = tmp_path / "large.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    begin = time.monotonic()
    command = [sys.executable, "-c", LIMITED, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout.splitlines(), time.monotonic() - begin


def many_claims(arms, claims):
    """A certificate with many arms, and claims that leave out all of them."""
    certificate, _ = made("bounded")
    large = copy.deepcopy(certificate)
    large.pop("conditions", None)
    names = [f"arm {i}" for i in range(arms)]
    large["question"] |= {"arms": names, "withdrawn": []}
    total = {"label": "good", "measurements": 1, "sum": 0.0, "sha256": ""}
    large["arms"] = [total | {"arm": name} for name in names]
    claim = {"label": "good", "after": arms, "need": 3.0, "evidence": None, "rests_on": []}
    claim["sha256"] = ""
    large["claims"] = [claim | {"arm": names[i % arms]} for i in range(claims)]
    large["log"]["measurements"] = arms
    return large


def test_many_arms_and_claims_take_little_memory(tmp_path):
    code, lines, _ = limited(tmp_path, many_claims(20_000, 20_000))
    assert code == 1
    assert len(lines) == verifier.MOST_PROBLEMS + 2
    assert lines[-2] == "The check stopped after 100 problems: there may be more."


def test_nested_and_huge_values_are_refused(tmp_path):
    certificate, _ = made("gaussian")
    digits = '{"format": ' + "9" * 100_000 + "}"
    for value in ("[" * 200_000, digits, '{"format": "' + "x" * 3_000_000 + '"}'):
        code, lines, _ = limited(tmp_path, value)
        assert code == 1
        assert max(map(len, lines)) < 500
    long = copy.deepcopy(certificate)
    long["claims"][0]["arm"] = "y" * 3_000_000
    code, lines, _ = limited(tmp_path, long)
    assert code == 1
    assert max(map(len, lines)) < 500


def test_many_steps_end_with_a_sentence():
    work = verifier.Work(3)
    work.spend(3)
    with pytest.raises(verifier.InvalidCertificate, match="more than the 3 steps"):
        work.spend()


# ---- codes and words


def test_each_status_has_its_code_and_its_words():
    certificate, lines = made("bounded")
    for report, code, words in (
        (verify(certificate, lines), 0, "Verified: "),
        (verify(certificate), 3, "Recomputed only: "),
        (verify(doubtful()[0], doubtful()[1]), 4, "Verified, doubtful: "),
        (verify({}), 1, "Not verified: "),
    ):
        assert report.exit_code == code
        assert report.verdict.startswith(words)
        assert report.lines()[-1] == report.verdict
        assert report.to_dict()["status"] == report.status
    assert len(set(verifier.EXIT_CODES.values()) | {verifier.USAGE}) == 5


# ---- signatures


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_certificates_are_signed_with_ssh_keygen(tmp_path):
    """The commands of docs/certificates.md."""
    certificate, _ = made("gaussian")
    (tmp_path / "certificate.json").write_text(json.dumps(certificate), encoding="utf-8")

    def run(*command, stdin=None):
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, stdin=stdin
        )
        return done.returncode

    assert run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "lab-key") == 0
    assert (
        run("ssh-keygen", "-Y", "sign", "-f", "lab-key", "-n", "allgood", "certificate.json") == 0
    )
    key = (tmp_path / "lab-key.pub").read_text().split()[:2]
    (tmp_path / "signers").write_text(f'lab@example.org namespaces="allgood" {" ".join(key)}\n')
    check = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", "lab@example.org"]
    check += ["-n", "allgood", "-s", "certificate.json.sig"]
    with open(tmp_path / "certificate.json", encoding="utf-8") as file:
        assert run(*check, stdin=file) == 0
    text = (tmp_path / "certificate.json").read_text(encoding="utf-8")
    (tmp_path / "certificate.json").write_text(text.replace("good", "bad", 1), encoding="utf-8")
    with open(tmp_path / "certificate.json", encoding="utf-8") as file:
        assert run(*check, stdin=file) != 0


@functools.cache
def withdrawn():
    """A study with values withdrawn for a cause and by values, and with a rejected plate."""
    for seed in range(100):
        study = a_study("gaussian", seed)
        certificate = json.loads(dump(study.certificate()))
        values, both = certificate["values"], "conditions" in certificate
        both = both and any(
            d["kind"] == "withdrawn by values" for d in certificate.get("doubts", ())
        )
        if both and values["rejected"] and certificate["claims"]:
            return certificate, study.lines()
    raise AssertionError


def changed_events(lines, change):
    """The log with its events changed, and its chain made anew."""
    events = [json.loads(line) for line in lines]
    change(events)
    return relinked([json.dumps(event) for event in events])


def of_kind(events, kind):
    return next(event for event in events if event["kind"] == kind)


FORGERIES = {
    "a basis": lambda events: [
        event["data"].update(basis="cause")
        for event in events
        if event["kind"] == "withdrawn" and event["data"]["basis"] == "values"
    ],
    "an unknown basis": lambda events: of_kind(events, "withdrawn")["data"].update(basis="luck"),
    "no withdrawal": lambda events: of_kind(events, "withdrawn")["data"].update(
        tickets=[], controls=[]
    ),
    "the same ticket twice": lambda events: of_kind(events, "withdrawn")["data"].update(
        tickets=[1, 1]
    ),
    "an unknown ticket": lambda events: of_kind(events, "withdrawn")["data"].update(
        tickets=[10**6]
    ),
    "replaced values": lambda events: [
        value.update(value=value["value"] + 0.25)
        for event in events
        if event["kind"] == "replaced"
        for value in event["data"].get("values", ())
    ],
    "an unknown control": lambda events: of_kind(events, "withdrawn")["data"].update(
        controls=["Z9"]
    ),
    "another limit": lambda events: events[0]["data"].update(min_z_prime=-1e9),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_withdrawals_and_replacements_are_refused(name):
    certificate, lines = withdrawn()
    assert verify(certificate, lines).problems == ()
    forged = changed_events(lines, FORGERIES[name])
    assert forged != lines
    other = copy.deepcopy(certificate)
    other["log"]["sha256"] = verifier.digest_of_lines(forged)
    assert refused(seal(other), forged)


def test_conditions_cannot_be_removed_changed_or_added():
    certificate, lines = withdrawn()
    without = {key: value for key, value in certificate.items() if key != "conditions"}
    fewer = copy.deepcopy(certificate)
    fewer["conditions"][0]["values"] -= 1
    twice = copy.deepcopy(certificate)
    twice["conditions"] *= 2
    other = copy.deepcopy(certificate)
    other["conditions"][0]["kind"] = "by luck"
    for forged in (without, fewer, twice, other, certificate | {"conditions": []}):
        assert any("conditions" in p for p in verify(seal(forged), lines).problems)
    hidden = copy.deepcopy(certificate)
    hidden["values"]["withdrawn"].pop()
    shown = copy.deepcopy(certificate)
    shown["values"]["rejected"] = []
    for forged in (hidden, shown):
        assert any(p.startswith("values: ") for p in verify(seal(forged), lines).problems)
