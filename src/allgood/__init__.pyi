"""The public names and the modules that hold them: the one list of them.

Type checkers read this file instead of ``__init__.py``, which loads each name on first use.  To
make a name public, add its line here.
"""

from . import _build as _build
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
from .study.backends.errors import StudyError as StudyError
from .study.integrity import StudyCheck as StudyCheck
from .study.integrity import check_study as check_study
from .study.plates import Plate as Plate
from .study.receipts import Receipt as Receipt
from .study.receipts import RefusedRows as RefusedRows
from .study.receipts import SuspectWarning as SuspectWarning
from .study.state import Ticket as Ticket
from .study.status import StudyStatus as StudyStatus
from .study.study import Study as Study
from .study.study import connect as connect
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

__version__: str
__all__: list[str]
