"""Which of many noisy options are within epsilon of the best?

The public names, loaded on first use so that ``allgood --help`` need not wait for NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from . import _build

if TYPE_CHECKING:
    from .evidence.claims import Claims as Claims
    from .evidence.claims import claims as claims
    from .evidence.intervals import intervals as intervals
    from .models import ModelWarning as ModelWarning
    from .models.bernoulli import Bernoulli as Bernoulli
    from .models.bounded import Bounded as Bounded
    from .models.exponential import Exponential as Exponential
    from .models.gaussian import Gaussian as Gaussian
    from .models.poisson import Poisson as Poisson
    from .objectives import Additive as Additive
    from .objectives import Multiplicative as Multiplicative
    from .simulation.compare import Comparison as Comparison
    from .simulation.compare import compare as compare
    from .simulation.environments import Arms as Arms
    from .simulation.environments import Callback as Callback
    from .simulation.environments import Environment as Environment
    from .simulation.environments import RewardTable as RewardTable
    from .simulation.instances import Instance as Instance
    from .simulation.run import Result as Result
    from .simulation.run import RunStatus as RunStatus
    from .simulation.run import Snapshot as Snapshot
    from .simulation.run import follow as follow
    from .simulation.run import run as run
    from .simulation.simulate import Simulation as Simulation
    from .simulation.simulate import SimulationFailed as SimulationFailed
    from .simulation.simulate import SimulationInterrupted as SimulationInterrupted
    from .simulation.simulate import Summary as Summary
    from .simulation.simulate import simulate as simulate
    from .strategies.base import Strategy as Strategy
    from .strategies.claim_by_claim import ClaimByClaim as ClaimByClaim
    from .strategies.fareast import FarEast as FarEast
    from .strategies.st2 import ST2 as ST2
    from .strategies.track_and_stop import TrackAndStop as TrackAndStop
    from .strategies.ucb import UCB as UCB
    from .strategies.uniform import Uniform as Uniform
    from .study.backends.sql import StudyError as StudyError
    from .study.integrity import StudyCheck as StudyCheck
    from .study.integrity import check_study as check_study
    from .study.plates import Plate as Plate
    from .study.receipts import Receipt as Receipt
    from .study.receipts import RefusedRows as RefusedRows
    from .study.receipts import SuspectWarning as SuspectWarning
    from .study.remote import connect as connect
    from .study.state import Ticket as Ticket
    from .study.status import StudyStatus as StudyStatus
    from .study.study import Study as Study
    from .study.study import create_study as create_study
    from .study.study import delete_study as delete_study
    from .study.study import import_study as import_study
    from .study.study import list_studies as list_studies
    from .study.study import load_study as load_study
    from .theory.alternatives.response import BestResponse as BestResponse
    from .theory.alternatives.response import best_response as best_response
    from .theory.bounds import LowerBounds as LowerBounds
    from .theory.bounds import lower_bounds as lower_bounds
    from .theory.characteristic import CharacteristicTime as CharacteristicTime
    from .theory.characteristic import Status as Status
    from .theory.characteristic import characteristic_time as characteristic_time

__version__ = "0.1.0"

_build.check()
_build.install_finder()

_HOME = {
    "Additive": "objectives",
    "Arms": "simulation.environments",
    "Bernoulli": "models.bernoulli",
    "BestResponse": "theory.alternatives.response",
    "Bounded": "models.bounded",
    "Callback": "simulation.environments",
    "CharacteristicTime": "theory.characteristic",
    "Claims": "evidence.claims",
    "Comparison": "simulation.compare",
    "Environment": "simulation.environments",
    "Exponential": "models.exponential",
    "FarEast": "strategies.fareast",
    "Gaussian": "models.gaussian",
    "Instance": "simulation.instances",
    "ModelWarning": "models",
    "LowerBounds": "theory.bounds",
    "Multiplicative": "objectives",
    "Plate": "study.plates",
    "Poisson": "models.poisson",
    "Receipt": "study.receipts",
    "RefusedRows": "study.receipts",
    "Result": "simulation.run",
    "RewardTable": "simulation.environments",
    "RunStatus": "simulation.run",
    "ST2": "strategies.st2",
    "Simulation": "simulation.simulate",
    "SimulationFailed": "simulation.simulate",
    "SimulationInterrupted": "simulation.simulate",
    "Snapshot": "simulation.run",
    "Status": "theory.characteristic",
    "Strategy": "strategies.base",
    "Study": "study.study",
    "StudyError": "study.backends.sql",
    "StudyStatus": "study.status",
    "Summary": "simulation.simulate",
    "SuspectWarning": "study.receipts",
    "Ticket": "study.state",
    "TrackAndStop": "strategies.track_and_stop",
    "UCB": "strategies.ucb",
    "Uniform": "strategies.uniform",
    "ClaimByClaim": "strategies.claim_by_claim",
    "best_response": "theory.alternatives.response",
    "characteristic_time": "theory.characteristic",
    "claims": "evidence.claims",
    "compare": "simulation.compare",
    "connect": "study.remote",
    "create_study": "study.study",
    "check_study": "study.integrity",
    "StudyCheck": "study.integrity",
    "delete_study": "study.study",
    "follow": "simulation.run",
    "import_study": "study.study",
    "intervals": "evidence.intervals",
    "list_studies": "study.study",
    "load_study": "study.study",
    "lower_bounds": "theory.bounds",
    "run": "simulation.run",
    "simulate": "simulation.simulate",
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
    "ModelWarning",
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
    "ClaimByClaim",
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
