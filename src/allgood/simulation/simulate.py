"""Many runs of a strategy: ``simulate``, and its result.

Run i is a function of the seed and of i.  Nothing reads global random state.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _build
from .._internal.arguments import Vector, check_call, count
from .._internal.cancel import Cancelled
from .._internal.progress import progress_bar
from .._internal.statistics import exact_interval
from .._internal.tables import Table, Tabular, html_table
from ..models.base import Model
from ..objectives import Objective
from ..strategies.base import Strategy
from ..theory.bounds import LowerBounds, lower_bounds
from ..theory.characteristic import CharacteristicTime, characteristic_time
from .environments import Environment
from .executors import open_executor
from .fingerprint import name_of, source_of, state_of
from .resume import RunFile
from .run import (
    NO_BUDGET,
    Integers,
    Labels,
    Result,
    RunStatus,
    check_decidable,
    check_seed,
    environment_of,
    limits,
    one_run,
    started,
)

# Makes the environment of one run from random numbers that are the run's own.
MakeEnvironment: TypeAlias = Callable[[np.random.Generator], Environment]


@dataclass(frozen=True)
class Summary:
    """A simulation in a few numbers.

    Attributes:
        delta: the risk.
        runs, certified: the number of runs, and of those that stopped by themselves.
        mean, standard_error: of the number of pulls.
        quantiles: of the number of pulls, at 10 %, 50 % and 90 %.
        errors, error_interval: wrong answers among the certified runs, and the exact 95 %
            (Clopper-Pearson) interval for their frequency; (0, 1) if no run was certified.
        lower_bound: pulls that no strategy with this risk can beat on average; None if the
            instance is undecidable or there is no such bound.  The average over the runs, if each
            has an environment of its own.
        ratio: mean / lower_bound; None unless every run stopped by itself.
    """

    delta: float
    runs: int
    certified: int
    mean: float
    standard_error: float
    quantiles: tuple[float, float, float]
    errors: int
    error_interval: tuple[float, float]
    lower_bound: float | None
    ratio: float | None


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that determines the runs of a simulation, together with their numbers."""

    strategy: Strategy
    model: Model  # that the strategy reckons with
    stated: bool  # whether the model was stated, or is that of the arms
    environment: Environment  # of all runs, or of run 0
    make: "MakeEnvironment | None"  # the environment of each run, if each has its own
    seed: int
    limit: int
    grid: Integers

    def result(self, i: int) -> Result:
        """Return run number i."""
        sequence = np.random.SeedSequence(self.seed, spawn_key=(i,))
        place = self.environment_of_run(i)
        return one_run(self.strategy, place, self.model, self.grid, self.limit, sequence)

    def environment_of_run(self, i: int) -> Environment:
        if self.make is None or i == 0:
            return self.environment
        place, model = made_environment(self.make, self.seed, i, None)
        first, where = self.environment, f"environment of run {i} must have"
        if place.num_arms != first.num_arms:
            raise ValueError(
                f"{where} as many arms as that of run 0, {first.num_arms}: got {place.num_arms}."
            )
        if not self.stated and model != self.model:
            raise ValueError(
                f"{where} the noise of run 0, {self.model}, unless model is given: got {model}."
            )
        if self.limit == NO_BUDGET:
            check_decidable(self.strategy, place)
        return place

    @property
    def noise(self) -> Model:
        """The noise of the arms, as far as it is known: in run 0, if each has its own."""
        return self.noise_in(self.environment)

    def noise_in(self, place: Environment) -> Model:
        model: Model = getattr(place, "model", self.model)
        return model

    def to_dict(self) -> dict[str, Any]:
        """Return a description in words and numbers: equal if and only if the runs are."""
        return {
            "allgood": version("allgood"),
            "sources": _build.source_digest()[:16],
            "strategy": repr(self.strategy),
            "strategy_code": source_of(type(self.strategy)),
            "strategy_state": state_of(self.strategy),
            "means": _means_of(self.environment).tolist(),
            "model": repr(self.model),
            "noise": repr(self.noise),
            "make": None if self.make is None else name_of(self.make),
            "world_code": [source_of(part) for part in (type(self.environment), self.make)],
            "world_state": [state_of(part) for part in (self.environment, self.make)],
            "seed": self.seed,
            "limit": self.limit,
            "grid": self.grid.tolist(),
        }


def made_environment(
    make: "MakeEnvironment", seed: int, i: int, model: Model | None
) -> tuple[Environment, Model]:
    """Return the environment of run i, and the noise that a strategy assumes by default.

    Its random numbers are not those of the run: the second key makes them independent.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i, 0)))
    check_call("environment must be a function of one argument, a random generator", make, rng)
    place = make(rng)
    if not isinstance(place, Environment):
        raise TypeError(
            "environment must be numbers, an Environment, or a function of a random generator "
            f"that returns an Environment: got a function that returned {place!r}."
        )
    Environment.check(place)
    _check_means(place)
    return environment_of(place, model)


def _means_of(place: Any) -> Vector:
    return np.asarray(place.means, np.float64)


def _check_means(place: Environment) -> None:
    """Raise an error if the true means are not known, which tell right answers from wrong ones."""
    if not hasattr(place, "means"):
        raise TypeError(
            "environment must be numbers, Arms, or an environment with an attribute means, the "
            f"true means: got {place!r}."
        )
    if np.shape(place.means) != (place.num_arms,):
        raise ValueError(
            f"{type(place).__name__}.means must hold one true mean for each of {place.num_arms} "
            f"arms: got {place.means!r}."
        )


@lru_cache(maxsize=64)
def _characteristic(
    means: tuple[float, ...], objective: Objective, model: Model
) -> CharacteristicTime:
    """Compute T* once for all simulations of an instance."""
    return characteristic_time(means, objective, model)


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Tabular):
    """Many independent runs of one strategy.

    The class has 27 public attributes because each column is a property, computed when it is first
    used; the methods with a body are ``table``, ``bounds``, ``stops`` and ``summary``.

    Attributes:
        setup: everything that determines the runs.
        results: each run by its number: 0, 1, ... unless some are missing.

    Columns, one row per run:
        pulls: int[runs].
        answers: bool[runs, K].
        correct: bool[runs], against the true means.
        certified: bool[runs], stopped by itself.
        counts, estimates: int and float[runs, K], pulls and average of each arm.
        evidence: float[runs], Z at the end.
        crossings, crossing_answers: int[runs, n] and bool[runs, n, K] for a strategy with several
            risks, else None.
        watched: bool[runs, n, K], the answer at each number of pulls of the grid, else None.
        precision, recall, f1: float[runs, n], from ``watched``.
        certified_at, certified_good: int and bool[runs, K], when each label was certified, and
            True for the arms certified good (:class:`Result`); else None.
        labels_certified, labels_wrong: int[runs, n], how many labels are certified at each number
            of pulls of the grid, and how many of these are wrong.
    """

    setup: Setup
    results: Mapping[int, Result]

    def __repr__(self) -> str:
        what = f"{type(self.strategy).__name__} on {self.setup.environment.num_arms} arms"
        if self.grid is not None:
            outcome = f"{self.grid[-1]:,} pulls each, F1 {self.f1[:, -1].mean():.3g} at the end"
        else:
            at = self._at(len(self.strategy.risks) - 1)
            wrong = int((at.certified & ~at.correct).sum())
            outcome = (
                f"{at.certified.sum()} certified, {wrong} wrong, "
                f"{at.pulls.mean():,.0f} +- {standard_error(at.pulls):,.0f} pulls"
            )
        return f"Simulation({what}: {len(self.results)} runs, {outcome})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table().columns)

    def table(self) -> Table:
        """Return one row for each run and risk; with a grid, one for each run and point of it."""
        runs = list(self.results)
        if self.grid is not None:
            names = ("f1", "precision", "recall", "labels_certified", "labels_wrong")
            columns: dict[str, list[Any]] = {
                "run": np.repeat(runs, self.grid.size).tolist(),
                "pulls": np.tile(self.grid, len(runs)).tolist(),
            }
            return Table(columns | {name: getattr(self, name).ravel().tolist() for name in names})
        rows = [
            (run, delta, *values)
            for n, delta in enumerate(self.strategy.risks)
            for run, *values in zip(runs, *(part.tolist() for part in self._at(n)), strict=True)
        ]
        headings = ("run", "delta", "pulls", "certified", "correct")
        return Table(dict(zip(headings, map(list, zip(*rows, strict=True)), strict=True)))

    @property
    def strategy(self) -> Strategy:
        return self.setup.strategy

    @cached_property
    def means(self) -> Vector:
        """The true means: float[K], or float[runs, K] if each run has an environment of its own."""
        means = np.array([_means_of(place) for place in self._environments])
        return means[0] if self.setup.make is None else means

    @cached_property
    def _environments(self) -> list[Environment]:
        """The environment of all runs, or those of each run."""
        if self.setup.make is None:
            return [self.setup.environment]
        return [self.setup.environment_of_run(i) for i in self.results]

    @property
    def grid(self) -> Integers | None:
        return self.setup.grid if self.setup.grid.size else None

    @cached_property
    def pulls(self) -> Integers:
        return self._column("pulls")

    @cached_property
    def answers(self) -> Labels:
        return self._column("answer")

    @cached_property
    def correct(self) -> Labels:
        return np.asarray((self.answers == self.truth).all(axis=1))

    @cached_property
    def certified(self) -> Labels:
        return self._column("certified")

    @cached_property
    def counts(self) -> Integers:
        return self._column("counts")

    @cached_property
    def estimates(self) -> Vector:
        return self._column("means")

    @cached_property
    def evidence(self) -> Vector:
        return self._column("evidence")

    @cached_property
    def crossings(self) -> Integers | None:
        return self._column("crossings") if len(self.strategy.risks) > 1 else None

    @cached_property
    def crossing_answers(self) -> Labels | None:
        return self._column("crossing_answers") if len(self.strategy.risks) > 1 else None

    @cached_property
    def watched(self) -> Labels | None:
        return self._column("watched") if self.setup.grid.size else None

    @cached_property
    def certified_at(self) -> Integers | None:
        return self._column("certified_at") if self._has_labels() else None

    @cached_property
    def certified_good(self) -> Labels | None:
        return self._column("certified_good") if self._has_labels() else None

    def _has_labels(self) -> bool:
        return all(result.certified_at is not None for result in self.results.values())

    def _column(self, name: str) -> npt.NDArray[Any]:
        return np.array([getattr(result, name) for result in self.results.values()])

    @cached_property
    def truth(self) -> Labels:
        """The answer at the true means: bool[K], or bool[runs, K] as for ``means``."""
        objective = self.strategy.objective
        if self.setup.make is None:
            return objective.answer(self.means)
        return np.array([objective.answer(means) for means in self.means])

    @property
    def proven(self) -> bool:
        """True if a theorem proves the strategy's stopping rule."""
        return self.strategy.proven

    @property
    def precision(self) -> Vector:
        """float[runs, n]: the share of the answer that is good; 1 for an empty answer."""
        hits, answered, _ = self._hits()
        return np.where(answered == 0, 1.0, hits / np.maximum(answered, 1))

    @property
    def recall(self) -> Vector:
        """float[runs, n]: the share of the good arms that are in the answer; 1 if none is good."""
        hits, _, true = self._hits()
        return np.where(true == 0, 1.0, hits / np.maximum(true, 1))

    @property
    def f1(self) -> Vector:
        """float[runs, n]: the harmonic mean of precision and recall, 2 hits / (answered + good).

        1 if no arm is good and none was answered.
        """
        hits, answered, true = self._hits()
        return np.where(answered + true == 0, 1.0, 2.0 * hits / np.maximum(answered + true, 1))

    @property
    def labels_certified(self) -> Integers:
        """int[runs, n]: the number of certified labels."""
        counted: Integers = self._certified_until().sum(axis=2)
        return counted

    @property
    def labels_wrong(self) -> Integers:
        """int[runs, n]: the number of certified labels that are wrong, which delta bounds."""
        certified, good = self._certified_until(), self.certified_good
        assert good is not None
        counted: Integers = (certified & (good != self.truth)[:, None]).sum(axis=2)
        return counted

    def _certified_until(self) -> Labels:
        """Return bool[runs, n, K]: whether each label is certified at each point of the grid."""
        self._check_grid()
        assert self.certified_at is not None  # with a grid, labels are looked for
        at = self.certified_at[:, None]
        return np.asarray((at > 0) & (at <= self.setup.grid[:, None]))

    def _check_grid(self) -> None:
        if self.grid is None:
            raise ValueError(
                "grid must be given to simulate, so that answers along the pulls are recorded: "
                "got None."
            )

    def _hits(self) -> tuple[Integers, Integers, Integers]:
        """Return at each grid point: good arms in the answer, arms in it, and all good arms."""
        self._check_grid()
        assert self.watched is not None
        truth = self.truth[..., None, :]
        return (
            (self.watched & truth).sum(axis=2),
            self.watched.sum(axis=2),
            np.broadcast_to(truth.sum(axis=-1), self.watched.shape[:2]),
        )

    @property
    def characteristic(self) -> CharacteristicTime:
        """T* of the instance."""
        self._check_one_instance()
        return self._characteristic_in(self.setup.environment)

    def bounds(self, delta: float) -> LowerBounds:
        """Return lower bounds on the expected number of pulls at this risk."""
        self._check_one_instance()
        return self._bounds_in(self.setup.environment, delta)

    def _check_one_instance(self) -> None:
        if self.setup.make is not None:
            raise ValueError(
                "environment must be the same in all runs for a single T*: got a function that "
                "makes one for each run.  summary() has the average of their lower bounds."
            )

    def _characteristic_in(self, place: Environment) -> CharacteristicTime:
        means = tuple(_means_of(place).tolist())
        return _characteristic(means, self.strategy.objective, self.setup.noise_in(place))

    def _bounds_in(self, place: Environment, delta: float) -> LowerBounds:
        return lower_bounds(
            _means_of(place),
            self.strategy.objective,
            delta,
            self.setup.noise_in(place),
            characteristic=self._characteristic_in(place),
        )

    def _best_bound(self, delta: float) -> float:
        """Return pulls that no strategy can beat on average over these runs; 0 if no bound is
        known.

        Each run has its own bound, for its environment.  The mean of these bounds is one on the
        mean of the pulls.
        """
        return float(np.mean([self._bounds_in(place, delta).best for place in self._environments]))

    def _place(self, delta: float | None) -> int:
        """Return the place of this risk among the strategy's."""
        risks = self.strategy.risks
        if delta is None:
            return len(risks) - 1
        if delta not in risks:
            raise ValueError(f"delta must be one of the strategy's risks {risks}: got {delta!r}.")
        return risks.index(delta)

    def stops(self, delta: float | None = None) -> tuple[Integers, Labels]:
        """Return the pulls of each run at this risk, and whether it stopped by itself there.

        The default is the smallest risk.

        With several risks, each counts as if its run had stopped when it was reached.
        """
        at = self._at(self._place(delta))
        return at.pulls, at.certified

    def _at(self, n: int) -> "_Stops":
        """Return where each run stops at risk number n."""
        if self.crossings is None or self.crossing_answers is None:
            return _Stops(self.pulls, self.certified, self.correct)
        reached = self.crossings[:, n]
        right = (self.crossing_answers[:, n] == self.truth).all(axis=1)
        return _Stops(
            np.where(reached > 0, reached, self.pulls),
            reached > 0,
            np.where(reached > 0, right, self.correct),
        )

    def summary(self, delta: float | None = None) -> Summary:
        """Return the simulation in a few numbers; ``delta`` as for :meth:`stops`."""
        n = self._place(delta)
        delta = self.strategy.risks[n]
        pulls, certified, correct = self._at(n)
        runs, stopped, errors = pulls.size, int(certified.sum()), int((certified & ~correct).sum())
        low, middle, high = (float(q) for q in np.quantile(pulls, [0.1, 0.5, 0.9]))
        mean = float(pulls.mean())
        bound = self._best_bound(delta)
        is_finite = 0.0 < bound < np.inf
        return Summary(
            delta=delta,
            runs=runs,
            certified=stopped,
            mean=mean,
            standard_error=standard_error(pulls),
            quantiles=(low, middle, high),
            errors=errors,
            error_interval=exact_interval(errors, stopped, 0.95),
            lower_bound=bound if is_finite else None,
            ratio=mean / bound if is_finite and stopped == runs else None,
        )


class _Stops(NamedTuple):
    """Pulls of each run at a risk, whether it stopped by itself there, and was right."""

    pulls: Integers
    certified: Labels
    correct: Labels


def standard_error(pulls: Integers) -> float:
    """Return the standard error of the mean; nan for a single run."""
    return float(pulls.std(ddof=1) / np.sqrt(pulls.size)) if pulls.size > 1 else float("nan")


class SimulationFailed(RuntimeError):
    """A run failed.

    ``finished`` holds the other runs, None if there are none; ``resume=`` goes on from
    them.  ``progress`` says in words how many they are.
    """

    finished: Simulation | None = None
    progress: str = ""


class SimulationInterrupted(KeyboardInterrupt):
    """The simulation was interrupted.  The attributes are those of :class:`SimulationFailed`."""

    finished: Simulation | None = None
    progress: str = ""


def simulate(
    strategy: Strategy,
    environment: "npt.ArrayLike | Environment | MakeEnvironment",
    model: Model | None = None,
    runs: int = 100,
    seed: int = 0,
    budget: int | None = None,
    workers: Any = None,
    progress: bool | Callable[[int, int], None] | None = None,
    *,
    grid: "npt.ArrayLike | None" = None,
    resume: "str | os.PathLike[str] | Simulation | None" = None,
) -> Simulation:
    """Simulate independent runs of a strategy.

    Run i is a function of (seed, i) alone: the same by itself, with one worker or with many, here
    or on a cluster.

    Args:
        strategy: the strategy to run.
        environment: the true means; or Arms, which bring their noise with them; or an environment
            of your own with an attribute ``means``.  Or a function that makes such an environment
            for each run from a ``numpy.random.Generator``, which depends on (seed, i) alone:
            ``lambda rng: Arms(rng.normal(size=10))``.
        model: the noise that the strategy assumes; by default that of the arms, or normal with
            sigma = 1.
        runs: the number of runs.
        seed: of the whole simulation.
        budget: pulls after which a run ends uncertified; none by default.
        workers: threads, by default one per core, or a Dask client, whose cluster then does the
            runs.
        progress: True for a bar on the terminal, or a function called after each run with the
            number of finished runs and of all runs.
        grid: numbers of pulls, increasing.  Every run then goes on to the last of them, whether the
            strategy would stop or not, and its answer at each of them is recorded (``precision``,
            ``recall``, ``f1``).  So are the labels that are certified by then
            (``labels_certified``): the strategy's own if it certifies each label by itself, else
            those of :func:`claims` at the points of the grid, at the strategy's smallest risk.
        resume: a file that keeps each run as it finishes; runs found there are not done again.  Or
            the ``finished`` of a simulation that failed or was interrupted.
    """
    _build.warn_once()
    setup = _setup(strategy, environment, model, seed, budget, grid)
    runs = count("runs", runs)
    execute = open_executor(workers)
    with _opened(resume, setup) as (results, file), _reporter(progress) as report:
        _finish(setup, runs, results, execute, file, report)
    return Simulation(setup, {i: results[i] for i in range(runs)})


@contextmanager
def _opened(resume: Any, setup: Setup) -> Iterator[tuple[dict[int, Result], RunFile | None]]:
    """Yield the runs to go on from, and the file that keeps them if there is one."""
    if isinstance(resume, str | os.PathLike):
        with RunFile(resume, setup.to_dict()) as file:
            yield dict(_from_row(row, setup) for row in file.rows), file
    elif isinstance(resume, Simulation):
        if resume.setup.to_dict() != setup.to_dict():
            raise ValueError(
                f"resume must be of this same simulation, {setup.to_dict()}: "
                f"got {resume.setup.to_dict()}."
            )
        yield dict(resume.results), None
    else:
        yield {}, None


def _reporter(
    progress: bool | Callable[[int, int], None] | None,
) -> AbstractContextManager[Callable[[int, int], None] | None]:
    """Return a context that yields the function to call after each run, or None."""
    if progress is True:
        return progress_bar("simulating")
    return nullcontext(progress or None)


def _setup(
    strategy: Strategy,
    environment: Any,
    model: Model | None,
    seed: int,
    budget: int | None,
    grid: "npt.ArrayLike | None",
) -> Setup:
    """Check the arguments of a simulation, and start strategy and environment once."""
    seed = check_seed(seed)
    make: MakeEnvironment | None = None
    if callable(environment) and not isinstance(environment, Environment):
        make = environment
        place, run_model = made_environment(make, seed, 0, model)
    else:
        place, run_model = environment_of(environment, model)
    points, limit = limits(strategy, place, budget, grid)
    _check_means(place)
    # Start both now, so that an unsupported model fails early.
    started(strategy, place.num_arms, run_model)
    place.start(run_model, np.random.default_rng(0))
    return Setup(strategy, run_model, model is not None, place, make, seed, limit, points)


def _finish(
    setup: Setup,
    runs: int,
    results: dict[int, Result],
    execute: Callable[..., Any],
    file: RunFile | None,
    report: Callable[[int, int], None] | None,
) -> None:
    """Do the runs that ``results`` lacks, and add each as it finishes."""
    lacking = [i for i in range(runs) if i not in results]
    number = runs - len(lacking)
    try:
        with closing(execute(setup.result, lacking)) as finished:
            for i, result in finished:
                if file is not None:
                    file.append(_to_row(i, result))
                results[i] = result
                number += 1
                if report is not None:
                    report(number, runs)
    except Cancelled:
        raise
    except (Exception, KeyboardInterrupt) as error:
        raise _stopped(error, setup, runs, results, file) from error


def _stopped(
    error: BaseException,
    setup: Setup,
    runs: int,
    results: dict[int, Result],
    file: RunFile | None,
) -> "SimulationFailed | SimulationInterrupted":
    """Return the error that holds the finished runs and says how to go on."""
    progress = f"{sum(i in results for i in range(runs))} of {runs} runs are finished"
    advice = "resume= goes on from .finished"
    if file is not None:
        advice = f"the same call goes on from {file.path}"
    stopped: SimulationFailed | SimulationInterrupted
    if isinstance(error, KeyboardInterrupt):
        stopped = SimulationInterrupted(f"{progress}; {advice}.")
    else:
        stopped = SimulationFailed(f"{progress}; {advice}. {type(error).__name__}: {error}")
    stopped.progress = progress
    stopped.finished = Simulation(setup, _in_order(results)) if results else None
    return stopped


def _in_order(results: dict[int, Result]) -> dict[int, Result]:
    return {i: results[i] for i in sorted(results)}


def _to_row(i: int, result: Result) -> dict[str, Any]:
    """Return a run as JSON; answers as words of 0 and 1."""

    def words(labels: Labels | None) -> list[str] | None:
        return (
            None
            if labels is None
            else ["".join("01"[good] for good in row) for row in labels.tolist()]
        )

    good = None if result.certified_good is None else result.certified_good[None]
    return {
        "run": i,
        "status": result.status.name.lower(),
        "answer": words(result.answer[None]),
        "pulls": result.pulls,
        "counts": result.counts.tolist(),
        "means": result.means.tolist(),
        "crossings": None if result.crossings is None else result.crossings.tolist(),
        "crossing_answers": words(result.crossing_answers),
        "watched": words(result.watched),
        "certified_at": None if result.certified_at is None else result.certified_at.tolist(),
        "certified_good": words(good),
    }


def _from_row(row: dict[str, Any], setup: Setup) -> tuple[int, Result]:
    def labels(words: list[str] | None) -> Labels | None:
        return (
            None
            if words is None
            else np.array([[letter == "1" for letter in word] for word in words])
        )

    answer, good = labels(row["answer"]), labels(row["certified_good"])
    assert answer is not None
    return row["run"], Result(
        answer=answer[0],
        status=RunStatus[row["status"].upper()],
        proven=setup.strategy.proven,
        pulls=row["pulls"],
        counts=np.array(row["counts"]),
        means=np.array(row["means"]),
        crossings=None if row["crossings"] is None else np.array(row["crossings"]),
        crossing_answers=labels(row["crossing_answers"]),
        watched=labels(row["watched"]),
        certified_at=None if row["certified_at"] is None else np.array(row["certified_at"]),
        certified_good=None if good is None else good[0],
        objective=setup.strategy.objective,
        model=setup.model,
        seed=setup.seed,
    )
