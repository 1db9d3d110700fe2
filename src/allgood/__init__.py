"""Which of many noisy options are within epsilon of the best?

The public names, loaded on first use so that ``allgood --help`` need not wait for NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from . import _build

if TYPE_CHECKING:
    from .alternatives import BestResponse as BestResponse
    from .alternatives import best_response as best_response
    from .bounds import LowerBounds as LowerBounds
    from .bounds import lower_bounds as lower_bounds
    from .characteristic import CharacteristicTime as CharacteristicTime
    from .characteristic import Status as Status
    from .characteristic import characteristic_time as characteristic_time
    from .environments import Arms as Arms
    from .environments import Callback as Callback
    from .environments import RewardTable as RewardTable
    from .evidence import Claims as Claims
    from .evidence import claims as claims
    from .evidence import intervals as intervals
    from .models import Bernoulli as Bernoulli
    from .models import Bounded as Bounded
    from .models import Exponential as Exponential
    from .models import Gaussian as Gaussian
    from .models import Poisson as Poisson
    from .objectives import Additive as Additive
    from .objectives import Multiplicative as Multiplicative
    from .simulation import Result as Result
    from .simulation import RunStatus as RunStatus
    from .simulation import Simulation as Simulation
    from .simulation import SimulationFailed as SimulationFailed
    from .simulation import SimulationInterrupted as SimulationInterrupted
    from .simulation import Snapshot as Snapshot
    from .simulation import Summary as Summary
    from .simulation import follow as follow
    from .simulation import run as run
    from .simulation import simulate as simulate
    from .strategies.fareast import FarEast as FarEast
    from .strategies.st2 import ST2 as ST2
    from .strategies.track_and_stop import TrackAndStop as TrackAndStop
    from .strategies.ucb import UCB as UCB
    from .strategies.uniform import Uniform as Uniform
    from .strategies.weakest_claim import WeakestClaim as WeakestClaim
    from .study.plates import Plate as Plate
    from .study.status import StudyStatus as StudyStatus
    from .study.store import StudyError as StudyError
    from .study.studies import Receipt as Receipt
    from .study.studies import Study as Study
    from .study.studies import Ticket as Ticket
    from .study.studies import create_study as create_study
    from .study.studies import delete_study as delete_study
    from .study.studies import import_study as import_study
    from .study.studies import list_studies as list_studies
    from .study.studies import load_study as load_study

__version__ = "0.1.0"

_build.check()

_HOME = {
    "Additive": "objectives",
    "Arms": "environments",
    "Bernoulli": "models",
    "BestResponse": "alternatives",
    "Bounded": "models",
    "Callback": "environments",
    "CharacteristicTime": "characteristic",
    "Claims": "evidence",
    "Exponential": "models",
    "FarEast": "strategies.fareast",
    "Gaussian": "models",
    "LowerBounds": "bounds",
    "Multiplicative": "objectives",
    "Plate": "study.plates",
    "Poisson": "models",
    "Receipt": "study.studies",
    "Result": "simulation",
    "RewardTable": "environments",
    "RunStatus": "simulation",
    "ST2": "strategies.st2",
    "Simulation": "simulation",
    "SimulationFailed": "simulation",
    "SimulationInterrupted": "simulation",
    "Snapshot": "simulation",
    "Status": "characteristic",
    "Study": "study.studies",
    "StudyError": "study.store",
    "StudyStatus": "study.status",
    "Summary": "simulation",
    "Ticket": "study.studies",
    "TrackAndStop": "strategies.track_and_stop",
    "UCB": "strategies.ucb",
    "Uniform": "strategies.uniform",
    "WeakestClaim": "strategies.weakest_claim",
    "best_response": "alternatives",
    "characteristic_time": "characteristic",
    "claims": "evidence",
    "create_study": "study.studies",
    "delete_study": "study.studies",
    "follow": "simulation",
    "import_study": "study.studies",
    "intervals": "evidence",
    "list_studies": "study.studies",
    "load_study": "study.studies",
    "lower_bounds": "bounds",
    "run": "simulation",
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
    "Exponential",
    "FarEast",
    "Gaussian",
    "LowerBounds",
    "Multiplicative",
    "Plate",
    "Poisson",
    "Receipt",
    "Result",
    "RewardTable",
    "RunStatus",
    "ST2",
    "Simulation",
    "SimulationFailed",
    "SimulationInterrupted",
    "Snapshot",
    "Status",
    "Study",
    "StudyError",
    "StudyStatus",
    "Summary",
    "Ticket",
    "TrackAndStop",
    "UCB",
    "Uniform",
    "WeakestClaim",
    "best_response",
    "characteristic_time",
    "claims",
    "create_study",
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
