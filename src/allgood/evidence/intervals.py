"""Confidence intervals for all means, at all times."""

import math

import numpy as np
import numpy.typing as npt

from .._internal.arguments import Vector, counts_and_means, probability
from ..models.base import Model, checked_effects
from ..models.gaussian import Gaussian
from .claims import scatter_of
from .grid_mixture import confidence_bound
from .thresholds import half_widths


def intervals(
    counts: "npt.ArrayLike",
    means: "npt.ArrayLike",
    delta: float,
    model: Model = Gaussian(),  # noqa: B008 - immutable
    *,
    variances: "npt.ArrayLike | None" = None,
) -> tuple[Vector, Vector]:
    """Return the ends of intervals that cover all means at all times with probability 1 - delta or
    more.

    With a known sigma they are :func:`allgood.evidence.thresholds.half_widths`.  For other models
    each end is where the evidence of one arm reaches log(2 K/delta).
    """
    model = Model.check(model)
    N, m = counts_and_means(counts, means)
    delta = probability("delta", delta)
    m = model.check_means(m, among=N > 0.0)
    if model.normal:
        widths = half_widths(N, delta, model.sigmas(m.size))
        return m - widths, m + widths
    Q = scatter_of(N, variances, model)
    eta, _, _, w = checked_effects(model, m.size)
    level = math.log(2.0 * m.size / delta)
    low, high = (np.full(m.size, end) for end in model.range)
    with np.errstate(all="ignore"):  # uncompiled: infinities are meant
        for a in np.flatnonzero(N > 0.0):
            data = model, N[a], m[a], Q[a], eta, w, level
            low[a] = confidence_bound(*data, -1.0, low[a])
            high[a] = confidence_bound(*data, 1.0, high[a])
    return low, high
