"""``allgood study``: create, plan, change, look at and list studies.

``measure.py`` has the commands about values, ``records.py`` those about files.  Heavy imports live
inside the commands.

Exit codes: 0 done, 1 something was refused or does not hold, 2 the input is wrong.  ``status``, and
``ask`` when it has nothing to give, exit with the outcome: 0 certified, 10 running, 11 budget
exhausted, 12 dropped.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._internal.tables import counted
from . import measure, records
from .hints import print_steps
from .options import EpsilonOption, JsonOption, ModelOption, MultiplicativeOption, a_number
from .quick import DesignCommand
from .show import named, print_json, show, show_change, with_warnings
from .study_options import (
    EXIT_CODES,
    Arm,
    Client,
    Controls,
    Edge,
    Epsilon,
    MaxPerArm,
    Name,
    NewName,
    PlateSize,
    Reason,
    Sigma,
    Url,
    arm_names,
    check_kept,
    check_sigma,
    plate_from,
    stem,
)

if TYPE_CHECKING:
    from ..models.base import Model
    from ..objectives import Objective
    from ..study.backends.base import StudyHead
    from ..study.forecast import Forecast
    from ..study.planning import Plan
    from ..study.status import StudyStatus
    from ..study.study import Study

app = typer.Typer(
    help="Run a real campaign: ask which arms to measure, tell the values, see what is certain.",
    no_args_is_help=True,
)

ArmsText = Annotated[
    str,
    typer.Option(
        help="Names separated by commas; or @FILE with one name per line, or all on one line with "
        "commas; or, with --arm-column, @FILE with a table."
    ),
]
ArmColumn = Annotated[
    str | None,
    typer.Option(help="Column with the names, in a table; its other columns become notes."),
]
Delta = Annotated[float, typer.Option(parser=a_number, metavar="<float>")]
PlanDelta = Annotated[
    float,
    typer.Option(
        help="Risk that any label is certified wrongly.", parser=a_number, metavar="<float>"
    ),
]
NewDelta = Annotated[
    float | None, typer.Option(help="Risk of the copy.", parser=a_number, metavar="<float>")
]
InOrder = Annotated[bool | None, typer.Option("--in-order/--as-told")]
CheckValues = Annotated[bool, typer.Option("--check-values/--no-check-values")]
Pool = Annotated[bool, typer.Option("--pool/--no-pool")]
GuessedMeans = Annotated[
    str | None,
    typer.Option(
        help="Your guess of each arm's mean: numbers separated by commas; or @ and the name of "
        "a file that holds them."
    ),
]
Like = Annotated[
    str | None,
    typer.Option(help="Instead of means: use the question and the averages of this study."),
]
Batch = Annotated[
    int | None,
    typer.Option(help="Measurements at once; by default as many as the plate holds, or 1."),
]
PlanBudget = Annotated[
    int | None, typer.Option(help="Measurements after which a simulated study is given up.")
]
NewBudget = Annotated[
    str, typer.Option(help="Measurements in all, with those made before; or none: no limit.")
]


def register(root: typer.Typer) -> None:
    """Add these commands to the whole program, in the order in which --help shows them."""
    minus = {"ignore_unknown_options": True}  # values may begin with a minus
    commands: dict[str, tuple[Callable[..., None], dict[str, Any]]] = {
        "new": (new, {"cls": DesignCommand}),
        "plan": (plan, {}),
        "ask": (measure.ask, {}),
        "tickets": (measure.tickets, {}),
        "tell": (measure.tell, {}),
        "check-plate": (measure.check_plate, {}),
        "tell-counts": (measure.tell_counts, {}),
        "fail": (measure.fail, {}),
        "add-measurement": (measure.add_measurement, {"context_settings": minus}),
        "correct": (measure.correct, {"context_settings": minus}),
        "replace": (measure.replace, {}),
        "withdraw": (measure.withdraw, {}),
        "confirm": (measure.confirm, {}),
        "drop-arm": (drop_arm, {}),
        "restore-arm": (restore_arm, {}),
        "add-arms": (add_arms, {}),
        "set-budget": (set_budget, {}),
        "note": (note, {}),
        "status": (status, {}),
        "hits": (records.hits, {}),
        "history": (records.history, {}),
        "forecast": (forecast, {}),
        "certify": (records.certify, {}),
        "report": (records.report, {}),
        "export": (records.export, {}),
        "import": (records.import_, {}),
        "copy": (copy, {}),
        "list": (list_, {}),
        "delete": (delete, {}),
        "replay": (records.replay, {}),
        "check": (records.check, {}),
    }
    for name, (function, options) in commands.items():
        app.command(name, **options)(function)
    root.add_typer(app, name="study")
    root.command("verify")(records.verify)


def new(
    context: typer.Context,
    url: Url,
    arms: ArmsText,
    epsilon: EpsilonOption,
    arm_column: ArmColumn = None,
    delta: Delta = 0.05,
    multiplicative: MultiplicativeOption = False,
    model: ModelOption = "gaussian",
    sigma: Sigma = None,
    budget: int | None = None,
    check_values: CheckValues = True,
    in_order: InOrder = None,
    censor_at: float | None = None,
    max_new_arms: int = 0,
    min_z_prime: float | None = None,
    normalise: str | None = None,
    pool: Pool = True,
    seed: int = 0,
    name: NewName = None,
    client: Client = None,
    as_json: JsonOption = False,
) -> None:
    """Create a study.  This fixes its question; the budget may change later."""
    from ..study.backends.errors import StudyExists
    from ..study.design import OPTIONS, StudyDesign
    from ..study.study import create_from_design
    from .options import model_named, objective_from

    check_sigma(model, sigma)
    names, notes, remarks = _arms(arms, arm_column)
    options = {option: context.params[option] for option in OPTIONS if option in context.params}
    options |= {
        "name": name or stem(url),
        "arms": names,
        "objective": objective_from(epsilon, multiplicative),
        "model": model_named("--model", model, sigma),
    }
    try:
        study = create_from_design(
            check_kept(url), StudyDesign(**options), arm_notes=notes, client=client
        )
    except StudyExists:
        raise ValueError(
            f"--name must be new in {named(url)}: got {options['name']!r}, which exists.  Another "
            "study there needs another name: --name OTHER.  How this one stands: allgood study "
            f"status {named(url, options['name'])}"
        ) from None
    if as_json:
        print_json({"name": study.name} | study.design.to_dict())
        return
    for remark in remarks:
        print(remark)
    model_used, risk = study.design.model, study.design.delta
    print(f"Study {study.name!r}: {_question(study)}  Rewards {model_used}, risk {risk:g}.")
    print(f"Next: allgood study ask {named(url, name)} -n 8")


def _question(study: "Study") -> str:
    from ..study.sentences import question

    text = question(len(study.design.arms), study.design.objective.wording)
    return text[0].lower() + text[1:]


def _arms(
    text: str, column: str | None
) -> tuple[list[str], dict[str, dict[str, str]], tuple[str, ...]]:
    """Return the names of arms, notes on them, and remarks on how a table was read."""
    from ..study.tables.sheets import read_arms

    if column is None:
        return arm_names(text), {}, ()
    if not text.startswith("@"):
        raise ValueError(f"--arms must be @FILE with --arm-column: got {text!r}.")
    return read_arms(text[1:], column)


@dataclass(frozen=True)
class _PlannedStudy:
    """The study that ``plan`` simulates, like one in which ``told`` measurements were made."""

    means: list[float]
    objective: "Objective"
    delta: float
    model: "Model"
    sigma: float
    told: int | None = None


def plan(
    means: GuessedMeans = None,
    epsilon: Epsilon = None,
    delta: PlanDelta = 0.05,
    multiplicative: MultiplicativeOption = False,
    model: ModelOption = "gaussian",
    sigma: Sigma = None,
    like: Like = None,
    name: Name = None,
    batch: Batch = None,
    plate: PlateSize = None,
    control: Controls = None,
    edge: Edge = True,
    max_per_arm: MaxPerArm = None,
    budget: PlanBudget = None,
    runs: Annotated[int, typer.Option(help="Number of studies to simulate.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Estimate how many measurements a study will take, or how much a budget will certify.

    The means are guessed, or the averages of an earlier study.  The plan counts from the beginning.
    """
    from .._internal.progress import progress_bar
    from ..study.planning import plan_study

    layout = plate_from(plate, control, edge, max_per_arm)
    at_once = batch or (layout.capacity if layout else 1)
    if like is None:
        study = _guessed_study(means, epsilon, multiplicative, delta, model, sigma)
    elif means is None and epsilon is None:
        study = _study_like(like, name)
    else:
        raise ValueError("--means and --epsilon must be left out with --like, which has its own.")
    with progress_bar("simulating") as report:
        result = plan_study(
            study.means,
            study.objective,
            study.delta,
            study.model,
            sigma=study.sigma,
            batch=at_once,
            runs=runs,
            seed=seed,
            budget=budget,
            max_per_arm=layout.limit(len(study.means)) if layout else None,
            progress=report,
        )
    if as_json:
        extra = {"means": study.means, "delta": study.delta, "already_told": study.told}
        print_json(vars(result) | extra)
        return
    _print_plan(result, budget, "plates" if layout else "batches")
    if like is not None:
        print(
            f"This is the total of a new study with the averages of {like}, from its beginning.  "
            f"The {counted(study.told or 0, 'measurement')} told so far are not taken off.  What "
            f"is still to do: allgood study forecast {named(like, name)}"
        )
    print(f"Simulated {runs} times with these means.  Other means give other numbers.")


def _study_like(url: str, name: str | None) -> _PlannedStudy:
    """Return a study with the question and the averages of another."""
    from ..study.study import load_study

    study = load_study(url, name)
    design, status = study.design, study.status()
    means = [arm.mean for arm in status.arms if not arm.withdrawn]
    if any(math.isnan(mean) for mean in means):
        raise ValueError(f"--like must be a study in which every arm has a value: got {url}.")
    sigma, told = status.typical_sigma, status.measurements
    return _PlannedStudy(means, design.objective, design.delta, status.model, sigma, told)


def _guessed_study(
    means: str | None,
    epsilon: float | None,
    multiplicative: bool,
    delta: float,
    model: str,
    sigma: str | None,
) -> _PlannedStudy:
    """Return the study that the options describe."""
    from .options import model_named, numbers, objective_from, with_known_sigma

    if means is None or epsilon is None:
        raise ValueError("--means and --epsilon must be given, or --like instead.")
    guesses, objective = numbers("--means", means), objective_from(epsilon, multiplicative)
    model, sigma = with_known_sigma(model, sigma)
    unknown = model == "unknown-sigma"
    if sigma is None and (unknown or model == "gaussian"):
        raise ValueError(
            "--sigma must be a number here, the standard deviation of repeated measurements "
            "of one arm, or a guess of it, because they are simulated; --model unknown-sigma "
            "plans a study that does not know it."
        )
    model_used = model_named("--model", model, None if unknown else sigma)
    noise = numbers("--sigma", sigma)[0] if unknown and sigma is not None else 1.0
    return _PlannedStudy(guesses, objective, delta, model_used, noise)


def _print_plan(plan: "Plan", budget: int | None, unit: str) -> None:
    studies = f"{plan.within} of {plan.runs} simulated studies"
    _print_spread("measurements", plan.measurements, studies)
    if plan.batch > 1:
        _print_spread(unit, plan.batches, studies)
        print(f"{'':<14}with {plan.batch} measurements at once")
    if plan.ended < plan.runs:
        _print_end(plan, budget, studies)
    elif budget is not None:
        print("Every label was certified within the budget in all simulated studies.")
    if plan.lower_bound is not None:
        print(
            f"{'lower bound':<14}{plan.lower_bound:>12,.0f} on average for any strategy (T* = "
            f"{plan.characteristic_time:,.6g})"
        )
    if plan.lower_bound_remark is not None:
        print(plan.lower_bound_remark)


def _print_spread(
    heading: str, spread: tuple[float, float, float], studies: str, decimals: int = 0
) -> None:
    mean, low, high = spread
    average = f"{mean:>12,.{decimals}f} on average"
    print(f"{heading:<14}{average}, {low:,.0f} to {high:,.0f} in {studies}")


def _print_end(plan: "Plan", budget: int | None, studies: str) -> None:
    """Print what simulated studies had certified when they were given up."""
    from ..study.planning import LONGEST

    number, limit = plan.runs - plan.ended, budget or LONGEST
    print(
        f"{number} of {plan.runs} studies were given up after {limit:,} measurements, before "
        "every label was certified."
    )
    print(f"By then, of {counted(plan.arms, 'label')}:")
    _print_spread("certified", plan.labels, studies, 1)
    _print_spread("  as good", plan.good, studies, 1)
    _print_spread("  as bad", plan.bad, studies, 1)
    _print_spread("guessed right", plan.right, studies, 1)
    print("The guess has the certified labels, and the others as the averages look.")


def drop_arm(
    url: Url,
    arm: Arm,
    reason: Reason,
    client: Client = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Never ask for an arm again, and print what that does to the verdict."""
    from ..study.study import load_study

    drop = load_study(url, name).drop_arm
    show_change(with_warnings(drop, arm, reason, client=client), as_json)


def restore_arm(
    url: Url,
    arm: Arm,
    reason: Reason,
    client: Client = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Undo drop-arm: let an arm be measured again."""
    from ..study.study import load_study

    show_change(load_study(url, name).restore_arm(arm, reason, client=client), as_json)


def add_arms(
    url: Url,
    arms: Annotated[
        str, typer.Option(help="Names separated by commas, or @FILE with one name per line.")
    ],
    reason: Reason,
    client: Client = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Add arms to a study that was created with --max-new-arms.

    This is possible once, and before the first label is certified.
    """
    from ..study.study import load_study

    study = load_study(url, name)
    show_change(study.add_arms(arm_names(arms), reason, client=client), as_json)


def set_budget(
    url: Url,
    budget: NewBudget,
    reason: Reason,
    client: Client = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Set another budget.  The guarantee stays as it is."""
    from ..study.study import load_study

    if budget != "none" and not re.fullmatch("-?[0-9]+", budget):
        raise ValueError(f"--budget must be a whole number, or none: got {budget!r}.")
    limit = None if budget == "none" else int(budget)
    if limit is not None and limit < 1:
        raise ValueError(f"--budget must be positive, or none: got {limit}.")
    show_change(load_study(url, name).set_budget(limit, reason, client=client), as_json)


def note(
    url: Url,
    text: Annotated[str, typer.Argument(help="The remark.")],
    arm: Annotated[str | None, typer.Option(help="Arm that it is about.")] = None,
    ticket: Annotated[str | None, typer.Option(help="Ticket that it is about.")] = None,
    client: Client = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Write down a remark.  It changes nothing; the report and status --json show it."""
    from ..study.study import load_study

    study = load_study(url, name)
    study.note(text, arm=arm, ticket=ticket, client=client)
    notes = study.status().notes
    sentence = f"Noted.  The study has {counted(len(notes), 'note')}."
    show({"notes": notes}, as_json, lambda _: print(sentence))


def status(
    url: Url,
    name: Name = None,
    plates: Annotated[
        bool, typer.Option("--plates", help="Show also what changed from plate to plate.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show which labels are certified, how close the others are, and whether the model fits.

    This changes nothing.  The exit code is the outcome: 0 certified, 10 running, 11 budget
    exhausted, 12 dropped.
    """
    from ..study.study import load_status

    current = load_status(url, name)
    show(current, as_json, lambda current: _print_status(current, plates, named(url, name)))
    raise typer.Exit(EXIT_CODES[current.outcome])


def _print_status(current: "StudyStatus", plates: bool, study: str) -> None:
    from ..reporting.studies import print_plates, print_status

    print_status(current)
    if plates:
        print_plates(current.checks)
    print_steps(current.next_steps, study)


def forecast(url: Url, name: Name = None, as_json: JsonOption = False) -> None:
    """Forecast how many more measurements a study needs, and compute a lower bound.

    The forecast comes from simulations and is not a guarantee.  With 10,000 arms it takes half a
    minute.
    """
    from ..study.study import load_study

    nothing = "No forecast: every arm must have a measurement first, and a label must be open."

    def print_forecast(result: "Forecast") -> None:
        print(str(result) or nothing)
        print_steps(result.next_steps, named(url, name))

    show(load_study(url, name).forecast(), as_json, print_forecast)


def copy(
    url: Url,
    to: Annotated[str, typer.Argument(help="Database of the copy; may be the same.")],
    epsilon: Epsilon = None,
    multiplicative: MultiplicativeOption = False,
    delta: NewDelta = None,
    name: Name = None,
    new_name: Annotated[
        str | None, typer.Option(help="Name of the copy; by default that of its file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the values to a new study with another question.  The risks of both studies add up."""
    from ..study.study import load_study
    from .options import objective_from

    if multiplicative and epsilon is None:
        raise ValueError("--epsilon must be given with --multiplicative.")
    objective = None if epsilon is None else objective_from(epsilon, multiplicative)
    study = load_study(url, name)
    twin = study.copy(check_kept(to), new_name or stem(to), objective=objective, delta=delta)
    status = twin.status()
    if as_json:
        print_json({"name": twin.name, "origin": status.origin} | twin.design.to_dict())
        return
    both_additive = twin.design.objective.factor == study.design.objective.factor == 1.0
    risk = f"at most {2 * twin.design.delta:g}" if both_additive else "not known"
    print(
        f"Study {twin.name!r}: {_question(twin)}  "
        f"{status.measurements} measurements, {status.outcome}.\n"
        f"Its risk, {twin.design.delta:g}, adds to the {study.design.delta:g} of {study.name!r}, "
        "if its question was chosen without regard to the values.\n"
        f"If it was chosen after a look at them, its risk is {risk}."
    )
    print(f"Next: allgood study status {named(to, new_name)}")


def list_(
    url: Url,
    with_status: Annotated[
        bool,
        typer.Option("--status", help="Compute the outcome of each study, which may take long."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the studies in a database."""
    from ..study.study import load_status, overview

    heads = overview(url)
    states = {head.name: load_status(url, head.name) for head in heads if with_status}
    if as_json:
        print_json({"studies": [_listed(head, states.get(head.name)) for head in heads]})
        return
    for head in heads:
        _print_listed(head, states.get(head.name))
    if not heads:
        command = f"allgood study new {named(url)} --arms A,B,C --epsilon 0.5 --sigma 1"
        print(f"No study yet.  Next: {command}")
    elif not with_status:
        print("--status computes the outcome of each.")


def _listed(head: "StudyHead", state: "StudyStatus | None") -> dict[str, Any]:
    """Return a study in the list, for JSON."""
    quick = {"name": head.name, "events": head.events}
    if state is None:
        return quick
    return quick | {
        "outcome": state.outcome,
        "arms": len(state.arms),
        "measurements": state.measurements,
        "warnings": state.warnings,
    }


def _print_listed(head: "StudyHead", state: "StudyStatus | None") -> None:
    events = counted(head.events, "event")
    if state is None:
        print(f"{head.name}: {events}")
        return
    arms, measurements = counted(len(state.arms), "arm"), counted(state.measurements, "measurement")
    print(
        f"{head.name}: {state.outcome}, {arms}, {measurements}, {state.pending:,} pending, {events}"
    )
    for warning in state.warnings:
        print(f"  {warning}")


def delete(
    url: Url,
    name: Annotated[str, typer.Option(help="Name of the study.")],
    yes: Annotated[bool, typer.Option("--yes", help="Needed: there is no way back.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete a study and all its events."""
    from ..study.study import delete_study

    if not yes:
        raise ValueError(
            "--yes must be given, because there is no way back. First save the study with "
            f"`allgood study export {named(url, name)} --out FILE`."
        )
    delete_study(url, name)
    show({"deleted": name}, as_json, lambda _: print(f"Study {name!r} is deleted."))
