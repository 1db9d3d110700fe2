"""The verdict of a study, with every number that it rests on, so that others can check it (``verifier.py``).

A label is certified at one moment, and stays; later rewards may weaken the evidence again.  So each claim carries the
counts and sums of that moment: "k is bad" those of k and of its rival or the pool, "k is good" those of k and each
rival when that rival was passed.  Arms certified bad by then are no rivals.

Digests: that of the event log is the SHA-256 of the exported lines; each arm, each claim and the whole carry their own,
so that a slip of the pen is found, and found where it is.
"""

import hashlib
import math
import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from ..evidence import BAD, GOOD, POOL, evidence_bad, evidence_good
from ..models import STUDENT
from .engine import Engine, Moment
from .events import RULES, Event, canonical, digest, model_words, objective_words
from .ledger import Ledger

FORMAT = "allgood certificate 1"


def certificate_of(ledger: Ledger, events: list[Event]) -> dict[str, Any]:
    """The certificate of a study with these events; whatever its outcome, for labels hold by themselves."""
    question, engine = ledger.question, ledger.engine
    labels = ["open"] * len(question.arms)
    scatter = np.zeros(len(question.arms))
    if engine.started:
        scatter[engine.arms] = engine.tally.scatter
        for place, arm in enumerate(engine.arms):
            labels[arm] = {GOOD: "good", BAD: "bad"}.get(int(engine.labels[place]), "open")
    unknown = engine.model.family == STUDENT
    arms = [
        sealed(
            {"arm": name, "label": labels[a], "pulls": int(engine.counts[a]), "sum": float(engine.sums[a])}
            | ({"scatter": float(scatter[a])} if unknown else {})
        )
        for a, name in enumerate(question.arms)
        if a not in ledger.withdrawn
    ]
    return sealed(
        {
            "format": FORMAT,
            "study": {"name": question.name, "uid": question.uid},
            "question": {
                "objective": objective_words(question.objective),
                "delta": question.delta,
                "arms": list(question.arms),
                "withdrawn": [question.arms[a] for a in sorted(ledger.withdrawn)],
            },
            "model": model_words(question.model),
            "strategy": {"name": "weakest-claim", "pool": question.pool},
            "outcome": ledger.outcome,
            "log": {"events": len(events), "observations": len(ledger.told), "sha256": digest(events)},
            "arms": arms,
            "claims": [sealed(claim) for claim in claims_made(engine, question.arms)] if engine.started else [],
            "versions": {
                "allgood": version("allgood"),
                "rules": RULES,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "numba": version("numba"),
            },
        }
    )


def sealed(entry: dict[str, Any]) -> dict[str, Any]:
    """With the digest of what it says."""
    return entry | {"sha256": hashlib.sha256(canonical(entry).encode()).hexdigest()}


def claims_made(engine: Engine, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Each certified label, in the order in which they were, and what it rests on."""
    ask = engine.strategy.question(engine.spec)
    unknown = engine.model.family == STUDENT
    passed: dict[int, list[dict[str, Any]]] = {}
    found = []

    def entry(moment: Moment, k: int, l: int, E: float) -> dict[str, Any]:
        def of(values: Any, kind: type, pool: int) -> list[Any]:
            other = moment.pool[pool] if l == POOL else kind(values[l])
            return [kind(values[k]), float(other) if l == POOL else other]

        return {
            "against": None if l == POOL else names[engine.arms[l]],
            "after": moment.pulls,
            "pulls": of(moment.counts, int, 0),
            "sums": of(moment.sums, float, 1),
            "evidence": E if math.isfinite(E) else None,
        } | ({"scatters": of(moment.scatter, float, 0)} if unknown else {})

    def claim(k: int, label: str, after: int, need: float, rests_on: list[dict[str, Any]]) -> dict[str, Any]:
        stated = [one["evidence"] for one in rests_on if one["evidence"] is not None]
        least = min(stated, default=None)
        return {
            "arm": names[engine.arms[k]], "label": label, "after": after, "need": need, "evidence": least,
            "rests_on": rests_on,
        }  # fmt: skip

    for moment in engine.moments:
        N, m, Q = moment.counts.astype(np.float64), moment.sums / moment.counts, moment.scatter
        for k, first, last in moment.good:
            for l in range(first, last):
                if moment.labels[l] == BAD or (l == k and ask.c == 1.0):
                    continue
                E = float(evidence_good(ask, N, m, Q, k, l))
                if l != k or math.isfinite(E):  # that a mean is not negative is certain in other families
                    passed.setdefault(k, []).append(entry(moment, k, l, E))
        for k in moment.certified:
            if moment.labels[k] == BAD:
                E, toll, l, _ = evidence_bad(ask, N, m, Q, moment.pool, k)
                found.append(claim(k, "bad", moment.pulls, ask.need + toll, [entry(moment, k, int(l), float(E))]))
            else:
                found.append(claim(k, "good", moment.pulls, ask.need_good, passed.pop(k, [])))
    return found
