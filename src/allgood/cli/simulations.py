"""Helpers of commands that simulate: instances, executors, interruptions, tables of results."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import numbers, whole, with_known_sigma
from .show import print_json
from .simulation_data import instance_to_dict, simulation_to_dict

if TYPE_CHECKING:
    from ..simulation.instances import Instance
    from ..simulation.simulate import Simulation


def instance_from(
    means: str,
    epsilon: float,
    multiplicative: bool,
    model: str = "gaussian",
    sigma: str | None = None,
    arms: str | None = None,
) -> "Instance":
    """Return the instance that the options describe."""
    from ..simulation.instances import instance_from as instance

    model, sigma = with_known_sigma(model, sigma)
    values = numbers("--means", means)
    noise = None if sigma is None else numbers("--sigma", sigma)
    return instance("", values, epsilon, multiplicative, model, noise, arms, "--")


def look_here() -> None:
    """Let Python find modules in the current folder, as ``python -m allgood`` does."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def grid_from(grid: str | None) -> list[int] | None:
    return None if grid is None else [whole("--grid", x) for x in numbers("--grid", grid)]


@contextmanager
def executor(workers: int | None, cluster: str | None) -> Iterator[Any]:
    """Yield what does the runs: a number of threads, or the client of a cluster."""
    from ..simulation.executors import connect

    if cluster is not None and workers is not None:
        raise ValueError(
            f"--workers must be left out with --cluster, whose workers do the runs: got {workers}."
        )
    with ExitStack() as stack:
        yield workers if cluster is None else stack.enter_context(connect(cluster))


def how_to_resume(path: Path | None, kind: str) -> str:
    """Return how to go on with a simulation that ended early."""
    if path is None:
        return f"with --resume {kind} finished runs are kept."
    return f"the same command goes on from what is in {path}."


@contextmanager
def interruptible(resume: str) -> Iterator[None]:
    """End the program with one line if a simulation fails or is interrupted.

    The exit code of an interrupted one is 130.
    """
    from ..simulation.registry import place_of
    from ..simulation.simulate import SimulationFailed, SimulationInterrupted

    try:
        yield
    except SimulationFailed as error:
        cause = error.__cause__
        assert cause is not None
        raise ValueError(
            f"{type(cause).__name__}: {cause}{place_of(cause)}\n{error.progress}; {resume}"
        ) from error
    except KeyboardInterrupt as error:
        progress = f"{error.progress}; " if isinstance(error, SimulationInterrupted) else ""
        print(f"Interrupted: {progress}{resume}", file=sys.stderr, flush=True)
        # Threads in the middle of a run cannot be stopped.  Do not wait for them.
        os._exit(130)


def simulate_each(
    instance: "Instance",
    names: list[str],
    delta: float,
    runs: int,
    *,
    workers: Any = None,
    resume: Path | None = None,
    skip_refusals: bool = False,
    **options: Any,
) -> dict[str, "Simulation"]:
    """Simulate these strategies on one instance.

    A strategy that refuses the instance is a ValueError; or, with ``skip_refusals``, it is left
    out, with a line that says so.  Other options are those of ``allgood.compare``.
    """
    from ..simulation.compare import compare

    with interruptible(how_to_resume(resume, "FOLDER")):
        comparison = compare(
            names,
            instance,
            delta,
            runs,
            workers=workers,
            resume=resume,
            progress=True,
            **options,
        )
    for row in comparison.rows:
        if row.simulation is None:
            if not skip_refusals:
                raise ValueError(row.refusal)
            print(f"Left out: {row.refusal}", file=sys.stderr)
    return comparison.of_instance(instance)


def show_simulations(
    instance: "Instance",
    by_name: dict[str, list["Simulation"]],
    as_json: bool,
    pictures: list[Path] | None = None,
    extra: dict[str, Any] | None = None,
) -> None:
    """Print summaries of simulations, as tables or JSON."""
    from ..reporting.simulations import print_summaries, print_tracks

    every = [simulation for simulations in by_name.values() for simulation in simulations]
    tracked = any(simulation.grid is not None for simulation in every)
    proven = {name: simulations[0].proven for name, simulations in by_name.items()}
    summaries = {
        name: [s.summary(delta) for s in simulations if not tracked for delta in s.strategy.risks]
        for name, simulations in by_name.items()
    }
    if as_json:
        entries = []
        for name, simulations in by_name.items():
            entry: dict[str, Any] = {"name": name, "proven": proven[name]}
            if not tracked:
                entry["summaries"] = [asdict(summary) for summary in summaries[name]]
            entry["simulations"] = [simulation_to_dict(each) for each in simulations]
            entries.append(entry)
        paths = [str(path) for path in pictures or []]
        result = instance_to_dict(instance) | {"strategies": entries, "pictures": paths}
        print_json((extra or {}) | result)
        return
    if tracked:
        print_tracks({name: simulations[0] for name, simulations in by_name.items()})
    else:
        print_summaries(summaries, proven)
    if pictures:
        print("Pictures:", *(f"  {path}" for path in pictures), sep="\n")
