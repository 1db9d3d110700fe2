from allgood.evidence.labels cimport CertifiedLabels
from allgood.parts cimport Tally
from allgood.strategies.rules cimport Rule
from allgood.worlds cimport World

cpdef enum:
    CERTIFIED
    BUDGET_EXHAUSTED
    REWARDS_EXHAUSTED
