"""The verdict of a study, with every number that it rests on, so that others can check it.

``verifier.py`` checks it.  A label is certified at one moment, and stays; later rewards may weaken
the evidence again.  So each claim carries the counts and sums of that moment.  "k is bad" carries
those of k and of its rival or the pool.  "k is good" carries those of k and of each rival, at the
moment when k was shown to be good against that rival.  Arms certified bad by then are no rivals.
Where values are checked, it also carries the influential values: the evidence that is stated is
there without them, too.

The digest of the event log is the SHA-256 of the exported lines.  Each arm, each claim and the
whole certificate have digests of their own, so that an accidental change is found, and where it is.
Who changes a certificate on purpose can make the digests anew: only the log, and a signature, tell
(``docs/certificates.md``).
"""

import hashlib
import math
import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from .._internal.cancel import check_cancelled
from ..evidence.certify import evidence_bad, evidence_good
from ..evidence.spec import POOL, Sides
from ..kernels.tally import Tally
from ..study.design import RULES, objective_to_dict
from ..study.diagnostics import checks_of
from ..study.diagnostics.values import checked_values
from ..study.engine import Engine, Moment
from ..study.events import canonical
from ..study.state import StudyState

FORMAT = "allgood certificate 1"


def certificate_of(
    state: StudyState, sha256: str, source: dict[str, str] | None = None
) -> dict[str, Any]:
    """The certificate of a study whose events have this digest; or of a table, ``source``.

    Every outcome has one, because each label holds by itself.  Where the measurements do not fit
    the model, ``doubts`` says so.
    """
    doubts = checks_of(checked_values(state), state.design.model, len(state.design.arms)).doubts
    design, engine = state.design, state.current_engine()
    return sealed(
        {
            "format": FORMAT,
            "study": {"name": design.name, "uid": design.uid},
            "question": {
                "objective": objective_to_dict(design.objective),
                "delta": design.delta,
                "arms": list(design.arms),
                "withdrawn": [design.arms[a] for a in sorted(state.withdrawn)],
            }
            | ({"max_new_arms": design.places - len(design.arms)} if design.max_new_arms else {}),
            "model": design.model.to_dict(),
            "strategy": {"name": "claim-by-claim", "pool": design.pool},
            "outcome": state.outcome(),
            "log": {
                "events": state.seq,
                "measurements": state.measured,
                "sha256": sha256,
            },
            "quality": {
                "check_values": design.check_values,
                "in_order": design.in_order,
                "censor_at": design.censor_at,
            },
            "values": values_of(state),
            "arms": [sealed(entry) for entry in arms_measured(engine, design.arms)],
            "claims": [sealed(claim) for claim in claims_made(engine, design.arms)],
            "versions": versions_used(),
        }
        | ({"doubts": list(doubts)} if doubts else {})
        | ({"source": source} if source else {})
    )


def versions_used() -> dict[str, Any]:
    """Return the versions of what computes the certificate."""
    return {
        "allgood": version("allgood"),
        "rules": RULES,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def values_of(state: StudyState) -> dict[str, Any]:
    """Values that need a word: the numbers of tickets, or how many there are."""
    quality, told = state.quality, [state.tickets[number] for number in state.told]
    return {
        "suspect": sorted(quality.suspects),
        "confirmed": sorted(quality.confirmed),
        "waiting": quality.told_and_waiting(),
        "censored": sum(ticket.censored for ticket in told),
        "normalised": sum(ticket.raw is not None for ticket in told),
    }


def sealed(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry, with the digest of its content."""
    return entry | {"sha256": hashlib.sha256(canonical(entry).encode()).hexdigest()}


def arms_measured(engine: Engine, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Label, count and sum of each arm of the question, of the rewards taken in."""
    arms = np.flatnonzero(~engine.withdrawn)
    tally = engine.tally if engine.has_started() else Tally(arms.size)
    labels = engine.label_names()
    entries = []
    for i, arm in enumerate(arms):
        entry = {
            "arm": names[arm],
            "label": labels[arm],
            "pulls": int(tally.counts[i]),
            "sum": float(tally.sums[i]),
        }
        if not engine.model.noise_known:
            entry["scatter"] = float(tally.scatter[i])
        entries.append(entry)
    return entries


def claims_made(engine: Engine, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Each certified label and what it rests on, in the order of certification."""
    if not engine.has_started():
        return []
    spec = engine.spec()
    unit = np.asarray(spec.unit)
    passed: dict[int, list[dict[str, Any]]] = {}
    claims = []
    for moment in engine.moments:
        check_cancelled()
        arms, means = moment.arms, moment.sums / moment.counts
        sides = Sides(spec.model, unit[arms], moment.counts, means, moment.scatter)
        np.asarray(sides.influential)[:] = moment.influential
        sides.top, sides.top_unit = moment.largest
        for k, rivals in moment.steps:
            for l in rivals:
                E = evidence_good(spec, sides, moment.place(k), moment.place(l))
                # Infinite evidence that a mean is not negative: the model has no other means.
                if l != k or math.isfinite(E):
                    passed.setdefault(k, []).append(entry_of(engine, names, moment, k, l, E))
        for k, l in [*moment.bad, *((k, None) for k in moment.good)]:
            if l is not None:
                place, rival = moment.place(k), moment.place(l)
                E, surcharge, found, _ = evidence_bad(spec, sides, moment.pool, place, rival)
                rests_on_arm = POOL if found == POOL else int(arms[found])
                label, need = "bad", spec.need + surcharge
                rests_on = [entry_of(engine, names, moment, k, rests_on_arm, E)]
            else:
                label, need = "good", spec.need_good
                rests_on = passed.pop(k, [])
            known = [one["evidence"] for one in rests_on if one["evidence"] is not None]
            claims.append(
                {
                    "arm": names[engine.arms[k]],
                    "label": label,
                    "after": moment.pulls,
                    "need": float(need),
                    "evidence": min(known, default=None),
                    "rests_on": rests_on,
                }
            )
    return claims


def entry_of(
    engine: Engine, names: tuple[str, ...], moment: Moment, k: int, l: int, E: float
) -> dict[str, Any]:
    """What a claim about k rests on: the numbers of k and of l, or of the pool, at that moment."""
    pool = l == POOL
    counts, sums, i, j = moment.counts, moment.sums, moment.place(k), moment.place(l)
    entry = {
        "against": None if pool else names[engine.arms[l]],
        "after": moment.pulls,
        "pulls": [int(counts[i]), float(moment.pool[0]) if pool else int(counts[j])],
        "sums": [float(sums[i]), float(moment.pool[1] if pool else sums[j])],
        "evidence": E if math.isfinite(E) else None,
    }
    if not engine.model.noise_known:
        entry["scatters"] = [float(moment.scatter[i]), float(moment.scatter[j])]
    if engine.check_values:
        rival = moment.largest[0] if pool else moment.influential[j]
        entry["influential"] = [
            None if math.isnan(x) else float(x) for x in (moment.influential[i], rival)
        ]
        if pool:
            entry["weight"] = float(moment.largest[1])
    return entry
