from allgood.evidence.labels cimport CertifiedLabels
from allgood.kernels.tally cimport Tally
from allgood.strategies.state cimport StrategyState
from allgood.simulation.samplers cimport Sampler

cpdef enum:
    CERTIFIED
    BUDGET_EXHAUSTED
    REWARDS_EXHAUSTED
