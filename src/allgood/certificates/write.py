"""Write the certificate of a study: its labels, and every number that they rest on.

Open this file to see where a number of a certificate comes from; ``verify.py`` checks them.  A
label is certified at one moment and stays, although later values may weaken its evidence again.  So
each claim carries the counts and sums of that moment.  "k is bad" carries those of k and of its
rival or the pool.  "k is good" carries those of k and of each rival, at the moment when k was shown
to be good against that rival; arms certified bad by then are not rivals.  If values are checked, a
claim also carries the influential values: its evidence holds without them, too.

Evidence of normal values is stated as it is.  For other models, and if sigma is unknown, the study
has to search for the minimum.  It shows that the minimum reaches the need, so that the need is
stated, and nothing above it that nobody has shown.

The digest of the log is the SHA-256 of the exported lines.  Each arm, each claim and the whole
certificate have digests of their own, so that an accidental change is found, and where it is.
Somebody who changes a certificate on purpose can make the digests anew: only the log, and a
signature, tell (``docs/certificates.md``).
"""

import hashlib
import math
import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from .._internal.cancel import check_cancelled
from ..evidence.certify import evidence_bad, evidence_good
from ..evidence.grid_mixture import GridSpec
from ..evidence.spec import POOL, ClaimSpec, Sides
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
    """Return the certificate of a study whose log has this digest; or of a table, ``source``.

    A study has one at any time, because each label holds by itself.  If the measurements do not fit
    the model, ``doubts`` says so.
    """
    doubts, conditions = doubts_of(state), conditions_of(state)
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
            | ({"max_new_arms": design.places - len(design.arms)} if design.max_new_arms else {})
            | ({"normalise": design.normalise} if design.normalise else {}),
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
            }
            | ({} if design.min_z_prime is None else {"min_z_prime": design.min_z_prime}),
            "values": values_of(state),
            "arms": [sealed(entry) for entry in arms_measured(engine, design.arms)],
            "claims": [sealed(claim) for claim in claims_made(engine, design.arms)],
            "versions": versions_used(),
        }
        | ({"doubts": doubts} if doubts else {})
        | ({"conditions": conditions} if conditions else {})
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


def doubts_of(state: StudyState) -> list[dict[str, Any]]:
    """Return why the guarantee may not hold: a kind, and the numbers that show it.

    The sentences of ``Checks.doubts`` say the same in words, with intervals and advice.
    """
    values = checked_values(state)
    checks = checks_of(values, state.design.model, len(state.design.arms))
    doubts: list[dict[str, Any]] = []
    sigma = checks.sigma
    if sigma is not None and sigma.verdict == "too small":
        doubts.append({"kind": "sigma", "multiple": sigma.multiple, "values": sigma.values})
    if checks.repeats:
        different = len(set(values.values.tolist()))
        doubts.append({"kind": "repeats", "different": different, "values": values.values.size})
    for plate in checks.plates:
        for name, control in plate.controls.items():
            if control.drifts and control.before is not None:
                doubt = {"kind": "control drift", "plate": plate.plate, "control": name}
                doubts.append(doubt | {"shift": control.mean - control.before})
        if plate.arms is not None and plate.arms.drifts:
            shift = plate.arms.shift
            doubts.append({"kind": "arm drift", "plate": plate.plate, "shift": shift})
    if number := state.withdrawn_values("values"):
        doubts.append({"kind": "withdrawn by values", "values": number})
    return doubts


def conditions_of(state: StudyState) -> list[dict[str, Any]]:
    """Return the statements of people on which the guarantee depends: a kind, and a number."""
    number = state.withdrawn_values("cause")
    return [{"kind": "withdrawn for a cause", "values": number}] if number else []


def values_of(state: StudyState) -> dict[str, Any]:
    """Return the tickets whose values need a word, or how many there are."""
    quality, tickets = state.quality, [state.tickets[number] for number in state.told]
    told = [ticket for ticket in tickets if ticket.state == "told"]
    return {
        "suspect": sorted(quality.suspects),
        "confirmed": sorted(quality.confirmed),
        "waiting": sorted({*quality.told_and_waiting(), *state.waiting_for_controls()}),
        "withdrawn": sorted(ticket.number for ticket in tickets if ticket.state == "withdrawn"),
        "rejected": sorted(ticket.number for ticket in told if state.is_rejected(ticket)),
        "censored": sum(ticket.censored for ticket in told),
        "normalised": sum(ticket.raw is not None for ticket in told),
    }


def sealed(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the entry with the digest of its content."""
    return entry | {"sha256": hashlib.sha256(canonical(entry).encode()).hexdigest()}


def arms_measured(engine: Engine, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the label of each arm of the question, and count and sum of the values that count."""
    arms = np.flatnonzero(~engine.withdrawn)
    tally = engine.tally if engine.has_started() else Tally(arms.size)
    labels = engine.label_names()
    entries = []
    for i, arm in enumerate(arms):
        entry = {
            "arm": names[arm],
            "label": labels[arm],
            "measurements": int(tally.counts[i]),
            "sum": float(tally.sums[i]),
        }
        if not engine.model.noise_known:
            entry["scatter"] = float(tally.scatter[i])
        entries.append(entry)
    return entries


def claims_made(engine: Engine, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return each certified label and what it rests on, in the order of certification."""
    if not engine.has_started():
        return []
    spec = engine.spec()
    entries_of: dict[int, list[dict[str, Any]]] = {}  # of rivals that an open arm has passed
    claims = []
    for moment in engine.moments:
        check_cancelled()
        sides = sides_at(spec, moment)
        for k, rivals in moment.steps:
            for l in rivals:
                E = evidence_good(spec, sides, moment.place(k), moment.place(l))
                # Infinite evidence that a mean is not negative: the model has no other means.
                if l != k or math.isfinite(E):
                    evidence = stated_evidence(spec, k, l, E, spec.need_good)
                    entry = entry_of(engine, names, moment, k, l, evidence)
                    entries_of.setdefault(k, []).append(entry)
        for k, l in moment.bad:
            place, rival = moment.place(k), moment.place(l)
            E, surcharge, shown_by, _ = evidence_bad(spec, sides, moment.pool, place, rival)
            against = POOL if shown_by == POOL else int(moment.arms[shown_by])
            need = spec.need + surcharge
            evidence = stated_evidence(spec, k, against, E, need)
            entry = entry_of(engine, names, moment, k, against, evidence)
            claims.append(claim_of(names[engine.arms[k]], "bad", moment, need, [entry]))
        for k in moment.good:
            entries = entries_of.pop(k, [])
            claims.append(claim_of(names[engine.arms[k]], "good", moment, spec.need_good, entries))
    return claims


def sides_at(spec: ClaimSpec, moment: Moment) -> Sides:
    """Return the arms as they were at a moment."""
    unit, means = np.asarray(spec.unit)[moment.arms], moment.sums / moment.counts
    sides = Sides(spec.model, unit, moment.counts, means, moment.scatter)
    np.asarray(sides.influential)[:] = moment.influential
    sides.top, sides.top_unit = moment.largest
    return sides


def stated_evidence(spec: ClaimSpec, k: int, l: int, E: float, need: float) -> float | None:
    """Return the evidence that a certificate states: None for infinite; see the head."""
    if not math.isfinite(E):
        return None
    return float(need) if isinstance(spec, GridSpec) and l != k else E


def claim_of(
    arm: str, label: str, moment: Moment, need: float, entries: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return a claim; its evidence is the least of what it rests on."""
    finite = [entry["evidence"] for entry in entries if entry["evidence"] is not None]
    return {
        "arm": arm,
        "label": label,
        "after": moment.measurements,
        "need": float(need),
        "evidence": min(finite, default=None),
        "rests_on": entries,
    }


def entry_of(
    engine: Engine,
    names: tuple[str, ...],
    moment: Moment,
    k: int,
    l: int,
    evidence: float | None,
) -> dict[str, Any]:
    """Return what a claim about k rests on: the numbers of k and of l, or of the pool."""
    pool = l == POOL
    counts, sums, i, j = moment.counts, moment.sums, moment.place(k), moment.place(l)
    entry = {
        "against": None if pool else names[engine.arms[l]],
        "after": moment.measurements,
        "measurements": [int(counts[i]), float(moment.pool[0]) if pool else int(counts[j])],
        "sums": [float(sums[i]), float(moment.pool[1] if pool else sums[j])],
        "evidence": evidence,
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
