"""Next steps of a study as data: what can be done now, with a code and a sentence each.

Interfaces word the command for each code: the command line as a command, the page as a button.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from .._internal.results import ResultData
from .._internal.tables import counted
from .sentences import best_guess
from .state import Outcome, StudyState

StepCode = Literal[
    "settle_suspects",
    "tell_values",
    "ask",
    "forecast",
    "raise_budget",
    "take_guess",
    "drop_arms",
    "write_certificate",
    "write_report",
]


@dataclass(frozen=True)
class NextStep(ResultData):
    """One thing that can be done next.

    Attributes:
        code: the kind of step.
        sentence: what to do, and what that brings.
        method: the method of ``Study`` that does it; None if there is none.
        arguments: arguments for it that are known.
    """

    code: StepCode
    sentence: str
    method: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)


def next_steps(
    state: StudyState, outcome: Outcome, certified: int, guesses: tuple[int, int]
) -> tuple[NextStep, ...]:
    """Return what can be done now, the most useful first.

    Args:
        state: the study.
        outcome: its outcome.
        certified: how many labels are certified.
        guesses: how many open arms are guessed good, and bad.
    """
    steps = []
    if outcome != "certified" and (suspects := len(state.quality.suspects)):
        values = counted(suspects, "suspect value")
        text = f"Confirm or correct {values}.  A suspect value does not count."
        steps.append(NextStep("settle_suspects", text, "confirm"))
    if outcome == "running":
        return (*steps, *_while_running(state))
    if outcome == "budget exhausted":
        steps.append(
            NextStep(
                "raise_budget",
                "Raise the budget: the guarantee stays as it is, also if you choose the new budget "
                "after a look at the values.  The forecast says how much may be needed.",
                "set_budget",
            )
        )
    if sum(guesses):
        steps.append(
            NextStep("take_guess", f"Take the list as it is.  {best_guess(*guesses)}", "hits")
        )
    if outcome == "budget exhausted":
        steps.append(
            NextStep(
                "drop_arms",
                "Drop open arms whose labels you do not need, before you raise the budget: it then "
                "goes to the others.",
                "drop_arm",
            )
        )
    return (*steps, *_files(certified))


def _while_running(state: StudyState) -> list[NextStep]:
    steps = []
    if pending := len(state.pending()):
        tickets = counted(pending, "open ticket")
        steps.append(NextStep("tell_values", f"Tell the values of {tickets}.", "tell"))
    if state.room() != 0:
        steps.append(NextStep("ask", "Ask for the next measurements.", "ask"))
    if state.current_engine().has_started():
        text = "Forecast how many more measurements the study may need."
        steps.append(NextStep("forecast", text, "forecast"))
    return steps


def _files(certified: int) -> list[NextStep]:
    """Return the files that can be written of a study that has ended."""
    steps = []
    if certified:
        labels = counted(certified, "certified label")
        text = f"Write the certificate of {labels}, for others to verify."
        steps.append(NextStep("write_certificate", text, "certificate"))
    text = "Write the report: one page with verdict, arms, pictures and history."
    return [*steps, NextStep("write_report", text)]
