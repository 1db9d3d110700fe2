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

from ..evidence import BAD, POOL, evidence_bad, evidence_good
from ..models import STUDENT
from ..parts import new_tally
from .engine import Engine, Moment
from .events import RULES, Event, canonical, digest, model_words, objective_words
from .ledger import Ledger

FORMAT = "allgood certificate 1"


def certificate_of(ledger: Ledger, events: list[Event]) -> dict[str, Any]:
    """The certificate of a study with these events; whatever its outcome, for labels hold by themselves."""
    question, engine = ledger.question, ledger.engine
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
            "arms": [sealed(entry) for entry in arms_measured(engine, question.arms)],
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


def arms_measured(engine: Engine, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Label, count and sum of each arm of the question, as far as rewards were taken in."""
    arms = np.flatnonzero(~engine.withdrawn)
    tally, labels = engine.tally if engine.started else new_tally(arms.size), engine.labels_in_words()
    found = []
    for place, arm in enumerate(arms):
        entry = {
            "arm": names[arm],
            "label": labels[arm],
            "pulls": int(tally.counts[place]),
            "sum": float(tally.sums[place]),
        }
        found.append(entry | ({"scatter": float(tally.scatter[place])} if engine.model.family == STUDENT else {}))
    return found


def claims_made(engine: Engine, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Each certified label, in the order in which they were, and what it rests on."""
    ask = engine.strategy.question(engine.spec)
    passed: dict[int, list[dict[str, Any]]] = {}
    found = []
    for moment in engine.moments:
        N, m, Q = moment.counts.astype(np.float64), moment.sums / moment.counts, moment.scatter
        for k, first, last in moment.good:
            for l in range(first, last):
                if moment.labels[l] == BAD or (l == k and ask.c == 1.0):
                    continue
                E = float(evidence_good(ask, N, m, Q, k, l))
                if l != k or math.isfinite(E):  # that a mean is not negative is certain in other families
                    passed.setdefault(k, []).append(entry_of(engine, names, moment, k, l, E))
        for k in moment.certified:
            if moment.labels[k] == BAD:
                E, toll, l, _ = evidence_bad(ask, N, m, Q, moment.pool, k)
                label, need, rests_on = "bad", ask.need + toll, [entry_of(engine, names, moment, k, int(l), float(E))]
            else:
                label, need, rests_on = "good", ask.need_good, passed.pop(k, [])
            found.append(
                {
                    "arm": names[engine.arms[k]],
                    "label": label,
                    "after": moment.pulls,
                    "need": float(need),
                    "evidence": min((one["evidence"] for one in rests_on if one["evidence"] is not None), default=None),
                    "rests_on": rests_on,
                }
            )
    return found


def entry_of(engine: Engine, names: tuple[str, ...], moment: Moment, k: int, l: int, E: float) -> dict[str, Any]:
    """What a claim about k rests on: the numbers of k, and of l or the pool, at that moment."""
    pool = l == POOL
    entry = {
        "against": None if pool else names[engine.arms[l]],
        "after": moment.pulls,
        "pulls": [int(moment.counts[k]), float(moment.pool[0]) if pool else int(moment.counts[l])],
        "sums": [float(moment.sums[k]), float(moment.pool[1] if pool else moment.sums[l])],
        "evidence": E if math.isfinite(E) else None,
    }
    if engine.model.family == STUDENT:
        entry["scatters"] = [float(moment.scatter[k]), float(moment.scatter[l])]
    return entry
