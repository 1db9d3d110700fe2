"""Merge nearly tied groups: an easier game, for instances with too many nearly tied arms."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..._internal.arguments import Vector
from .game import Game


class Groups(NamedTuple):
    """The groups of a game (``game.py``) as arrays of their own."""

    height: Vector
    depth: Vector
    copies: Vector
    gap: Vector
    price: Vector
    lift: Vector
    c: float


def groups_of(game: Game) -> Groups:
    """Return copies of the arrays of a game."""
    G, B = game.G, game.B
    return Groups(
        height=np.array(game.height[:G]),
        depth=np.array(game.depth[:G]),
        copies=np.array(game.copies[:G]),
        gap=np.array(game.gap[:B]),
        price=np.array(game.price[: G + B]),
        lift=np.array(game.lift[: G + B]),
        c=game.c,
    )


def merged(fine: Groups, tolerance: float) -> tuple[Groups, npt.NDArray[np.int64]]:
    """Return an easier game in which nearly tied good groups are one, and each group's place in it.

    A merged group has the depth of its highest member, from which it is costliest to come down, and
    its largest height, raised by the spread of depths so that no pair becomes cheaper, and its
    members' lowest price: every alternative costs at least as much as before, and precision costs
    at most as much, so a lower bound on its T* is one on the T* of the original game.
    """
    G, c = fine.height.size, fine.c
    margin = min(fine.height[-1], fine.gap.min(initial=np.inf))
    unit_price = fine.price[:G] / fine.copies
    place = np.zeros(fine.price.size, np.int64)
    first = 0
    for i in range(1, G):
        apart = (
            abs(unit_price[i] - unit_price[first]) > tolerance * unit_price[first]
            or c * (fine.depth[i] - fine.depth[first]) > tolerance * margin
        )
        first = i if apart else first
        place[i] = place[i - 1] + apart
    firsts = np.flatnonzero(np.diff(place[:G], prepend=-1))
    spread = float((fine.depth - fine.depth[firsts][place[:G]]).max())
    lowest = np.full(firsts.size, np.inf)
    np.minimum.at(lowest, place[:G], unit_price)
    copies: Vector = np.bincount(place[:G], fine.copies).astype(np.float64)
    place[G:] = firsts.size + np.arange(fine.gap.size)
    easier = Groups(
        height=fine.height[firsts] + c * spread,
        depth=fine.depth[firsts],
        copies=copies,
        gap=fine.gap,
        price=np.concatenate((copies * lowest, fine.price[G:])),
        lift=np.bincount(place, fine.lift).astype(np.float64),
        c=c,
    )
    return easier, place
