"""Convert instances, lower bounds and simulations to data for ``--json``."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..simulation.compare import Comparison
    from ..simulation.instances import Instance
    from ..simulation.run import Result
    from ..simulation.simulate import Simulation
    from ..theory.bounds import LowerBounds
    from ..theory.characteristic import CharacteristicTime


def instance_to_dict(instance: "Instance") -> dict[str, Any]:
    """Return an instance."""
    sigma = getattr(instance.noise, "sigma", None)
    return {
        "objective": type(instance.objective).__name__.lower(),
        "epsilon": instance.objective.epsilon,
        "model": repr(instance.model),
        "noise": repr(instance.noise),
        "sigma": list(sigma) if isinstance(sigma, tuple) else sigma,
        "means": instance.means.tolist(),
        "answer": instance.objective.answer(instance.means).tolist(),
    }


def simulation_to_dict(simulation: "Simulation") -> dict[str, Any]:
    """Return the table of a simulation, with an entry per run in each column."""
    columns = {
        "delta": list(simulation.strategy.risks),
        "seed": simulation.setup.seed,
        "run": list(simulation.results),
        "pulls": simulation.pulls.tolist(),
        "correct": simulation.correct.tolist(),
        "certified": simulation.certified.tolist(),
        "counts": simulation.counts.tolist(),
        "evidence": simulation.evidence.tolist(),
    }
    if simulation.crossings is not None:
        columns["crossings"] = simulation.crossings.tolist()
    if simulation.grid is not None:
        columns["grid"] = simulation.grid.tolist()
        for name in ("f1", "precision", "recall", "labels_certified", "labels_wrong"):
            columns[name] = getattr(simulation, name).tolist()
    return columns


def comparison_to_dict(comparison: "Comparison") -> dict[str, Any]:
    """Return a comparison on a suite."""
    instances = []
    for instance in comparison.instances:
        simulations = comparison.of_instance(instance)
        rows = [row for row in comparison.rows if row.instance is instance]
        summaries = {name: asdict(simulation.summary()) for name, simulation in simulations.items()}
        entry = {
            "instance": instance.name,
            "arms": instance.means.size,
            "tied": instance.tied,
            "good": int(instance.objective.answer(instance.means).sum()),
            "strategies": summaries,
            "proven": {name: simulation.proven for name, simulation in simulations.items()},
            "refused": {row.strategy: row.refused for row in rows if row.refused},
        }
        instances.append(entry)
    return {
        "delta": comparison.delta,
        "seed": comparison.seed,
        "runs": comparison.runs,
        "instances": instances,
    }


def bounds_to_dict(
    instance: "Instance", time: "CharacteristicTime", bounds: list["LowerBounds"]
) -> dict[str, Any]:
    """Return all that ``bound`` computes."""
    return instance_to_dict(instance) | {
        "threshold": instance.objective.threshold(instance.means),
        "characteristic_time": {
            "value": time.value,
            "lower_bound": time.lower_bound,
            "gap": time.gap,
            "weights": time.weights.tolist(),
            "status": time.status.name.lower(),
            "message": time.message,
            "method": time.method,
            "iterations": time.iterations,
        },
        "bounds": [
            {
                "delta": b.delta,
                "asymptotic": b.asymptotic,
                "asymptotic_log": b.asymptotic_log,
                "moderate": b.moderate,
                "mason": b.mason,
                "mason_complexity": b.mason_complexity,
                "reasons": dict(b.reasons),
            }
            for b in bounds
        ],
    }


def result_to_dict(result: "Result") -> dict[str, Any]:
    """Return a run of a strategy that certifies labels."""
    assert result.certified_at is not None
    return {
        "answer": result.answer.tolist(),
        "pulls": result.pulls,
        "counts": result.counts.tolist(),
        "estimates": result.means.tolist(),
        "certified": result.certified,
        "certified_at": result.certified_at.tolist(),
        "proven": result.proven,
    }
