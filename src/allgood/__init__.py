"""Which of many noisy options are within epsilon of the best?

The public names, loaded on first use so that ``allgood --help`` need not wait for NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from . import _build

if TYPE_CHECKING:
    from .alternatives.response import BestResponse as BestResponse
    from .alternatives.response import best_response as best_response
    from .bounds import LowerBounds as LowerBounds
    from .bounds import lower_bounds as lower_bounds
    from .characteristic import CharacteristicTime as CharacteristicTime
    from .characteristic import Status as Status
    from .characteristic import characteristic_time as characteristic_time
    from .comparison import Comparison as Comparison
    from .comparison import compare as compare
    from .environments import Arms as Arms
    from .environments import Callback as Callback
    from .environments import Environment as Environment
    from .environments import RewardTable as RewardTable
    from .evidence.claims import Claims as Claims
    from .evidence.claims import claims as claims
    from .evidence.intervals import intervals as intervals
    from .laws import LawWarning as LawWarning
    from .laws.bernoulli import Bernoulli as Bernoulli
    from .laws.bounded import Bounded as Bounded
    from .laws.exponential import Exponential as Exponential
    from .laws.gaussian import Gaussian as Gaussian
    from .laws.poisson import Poisson as Poisson
    from .objectives import Additive as Additive
    from .objectives import Multiplicative as Multiplicative
    from .running import Result as Result
    from .running import RunStatus as RunStatus
    from .running import Snapshot as Snapshot
    from .running import follow as follow
    from .running import run as run
    from .simulation import Simulation as Simulation
    from .simulation import SimulationFailed as SimulationFailed
    from .simulation import SimulationInterrupted as SimulationInterrupted
    from .simulation import Summary as Summary
    from .simulation import simulate as simulate
    from .strategies.base import Strategy as Strategy
    from .strategies.fareast import FarEast as FarEast
    from .strategies.st2 import ST2 as ST2
    from .strategies.track_and_stop import TrackAndStop as TrackAndStop
    from .strategies.ucb import UCB as UCB
    from .strategies.uniform import Uniform as Uniform
    from .strategies.weakest_claim import WeakestClaim as WeakestClaim
    from .study.intake import Receipt as Receipt
    from .study.intake import RefusedRows as RefusedRows
    from .study.intake import SuspectWarning as SuspectWarning
    from .study.integrity import StudyCheck as StudyCheck
    from .study.integrity import check_study as check_study
    from .study.ledger import Ticket as Ticket
    from .study.plates import Plate as Plate
    from .study.remote import connect as connect
    from .study.status import StudyStatus as StudyStatus
    from .study.store import StudyError as StudyError
    from .study.studies import Study as Study
    from .study.studies import create_study as create_study
    from .study.studies import delete_study as delete_study
    from .study.studies import import_study as import_study
    from .study.studies import list_studies as list_studies
    from .study.studies import load_study as load_study
    from .suites import Instance as Instance

__version__ = "0.1.0"

_build.check()

_HOME = {
    "Additive": "objectives",
    "Arms": "environments",
    "Bernoulli": "laws.bernoulli",
    "BestResponse": "alternatives.response",
    "Bounded": "laws.bounded",
    "Callback": "environments",
    "CharacteristicTime": "characteristic",
    "Claims": "evidence.claims",
    "Comparison": "comparison",
    "Environment": "environments",
    "Exponential": "laws.exponential",
    "FarEast": "strategies.fareast",
    "Gaussian": "laws.gaussian",
    "Instance": "suites",
    "LawWarning": "laws",
    "LowerBounds": "bounds",
    "Multiplicative": "objectives",
    "Plate": "study.plates",
    "Poisson": "laws.poisson",
    "Receipt": "study.intake",
    "RefusedRows": "study.intake",
    "Result": "running",
    "RewardTable": "environments",
    "RunStatus": "running",
    "ST2": "strategies.st2",
    "Simulation": "simulation",
    "SimulationFailed": "simulation",
    "SimulationInterrupted": "simulation",
    "Snapshot": "running",
    "Status": "characteristic",
    "Strategy": "strategies.base",
    "Study": "study.studies",
    "StudyError": "study.store",
    "StudyStatus": "study.status",
    "Summary": "simulation",
    "SuspectWarning": "study.intake",
    "Ticket": "study.ledger",
    "TrackAndStop": "strategies.track_and_stop",
    "UCB": "strategies.ucb",
    "Uniform": "strategies.uniform",
    "WeakestClaim": "strategies.weakest_claim",
    "best_response": "alternatives.response",
    "characteristic_time": "characteristic",
    "claims": "evidence.claims",
    "compare": "comparison",
    "connect": "study.remote",
    "create_study": "study.studies",
    "check_study": "study.integrity",
    "StudyCheck": "study.integrity",
    "delete_study": "study.studies",
    "follow": "running",
    "import_study": "study.studies",
    "intervals": "evidence.intervals",
    "list_studies": "study.studies",
    "load_study": "study.studies",
    "lower_bounds": "bounds",
    "run": "running",
    "simulate": "simulation",
}

__all__ = [  # the names of _HOME, spelt out for tools that read them
    "Additive",
    "Arms",
    "Bernoulli",
    "BestResponse",
    "Bounded",
    "Callback",
    "CharacteristicTime",
    "Claims",
    "Comparison",
    "Environment",
    "Exponential",
    "FarEast",
    "Gaussian",
    "Instance",
    "LawWarning",
    "LowerBounds",
    "Multiplicative",
    "Plate",
    "Poisson",
    "Receipt",
    "RefusedRows",
    "Result",
    "RewardTable",
    "RunStatus",
    "ST2",
    "Simulation",
    "SimulationFailed",
    "SimulationInterrupted",
    "Snapshot",
    "Status",
    "Strategy",
    "Study",
    "StudyError",
    "StudyStatus",
    "Summary",
    "SuspectWarning",
    "Ticket",
    "TrackAndStop",
    "UCB",
    "Uniform",
    "WeakestClaim",
    "best_response",
    "characteristic_time",
    "claims",
    "compare",
    "connect",
    "create_study",
    "check_study",
    "StudyCheck",
    "delete_study",
    "follow",
    "import_study",
    "intervals",
    "list_studies",
    "load_study",
    "lower_bounds",
    "run",
    "simulate",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
