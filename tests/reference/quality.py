"""Which values count, from the list of all that has arrived: everything anew each time."""

import math
from statistics import median
from typing import NamedTuple

from .chances import log_bound

SHARE = 0.001
INFLUENTIAL, INFLUENTIAL_TIME = 0.01, 0.5


class Value(NamedTuple):
    number: int
    arm: int
    value: float
    pooled: bool = False
    censored: bool = False

    @property
    def n(self):
        """One reward."""
        return 1

    @property
    def scatter(self):
        return 0.0


class Outcome(NamedTuple):
    """Values that count, each with its arm's influential value and the time, and the others."""

    processed: list
    suspects: dict
    waiting: list
    confirmed: set


def in_turn(arrivals, in_order):
    """Return the values that are processed, in turn, and the settled tickets that are not."""
    if not in_order:
        return [arrival for arrival in arrivals if arrival[0] != "failed"], []
    stream, settled, upto = [], {}, 0
    for kind, ticket, time in arrivals:
        if kind == "confirmed":
            stream.append((kind, ticket, time))
            continue
        settled[ticket.number] = (kind, ticket)
        while upto + 1 in settled:
            upto += 1
            if settled[upto][0] == "told":
                stream.append(("told", settled[upto][1], time))
    return stream, sorted(number for number in settled if number > upto)


def listen(arrivals, model, sigmas, delta, in_order, check):
    """``arrivals``: ("told", "failed" or "confirmed", ticket, time)."""
    K = len(sigmas)
    stream, waiting = in_turn(arrivals, in_order)
    counted, held, confirmed = [], [], {}  # sure: from which place on
    for kind, ticket, time in stream:
        a, x = ticket.arm, ticket.value
        if kind == "confirmed":
            confirmed.setdefault(ticket.number, len(counted))
            if ticket in [item[0] for item in held]:
                held = [item for item in held if item[0] != ticket]
                counted.append((ticket, time))
            continue
        mine = rewards(counted, a)
        if not check or ticket.censored or not mine:
            counted.append((ticket, time))
            continue
        chance = log_bound(model, x, values(mine), sigmas[a], waited(counted, a))
        if waited(counted, a) > 0.0 and x < mean(counted, a):
            chance = 0.0  # the mean is too large for this side
        suspects = [item[0] for item in held if item[0].arm == a]
        j = len(mine) + len(suspects) + 1
        level = math.log(SHARE * delta / (K * j * (j - 1)))
        if chance >= level:
            counted.append((ticket, time))
            continue
        first, others = mine[0], (len(mine), mean(counted, a))
        friends = [
            suspect
            for suspect in suspects
            if log_bound(model, x, [suspect.value], sigmas[a]) >= level
        ]
        is_nearer = nearer(counted, a, x, first.value, K)
        if len(mine) > 1 or first.number in confirmed or not (friends or is_nearer):
            held.append((ticket, others, chance))
            continue
        instead = friends[0] if friends else ticket
        held = [item for item in held if item[0] != instead] + [(first, (1, x), chance)]
        counted = [(instead if item == first else item, when) for item, when in counted]
        if friends:
            counted.append((ticket, time))
    processed = []
    for i, (ticket, time) in enumerate(counted):
        known = {number for number, place in confirmed.items() if place <= i}
        influential = (
            odd_value(counted[: i + 1], ticket.arm, model, sigmas, known) if check else math.nan
        )
        processed.append((ticket, influential, time))
    suspects = {item.number: (item, others, chance) for item, others, chance in held}
    return Outcome(processed, suspects, waiting, set(confirmed))


def rewards(counted, a):
    return [ticket for ticket, _ in counted if ticket.arm == a and not ticket.censored]


def values(tickets):
    return [ticket.value for ticket in tickets]


def waited(counted, a):
    return math.fsum(ticket.value for ticket, _ in counted if ticket.arm == a and ticket.censored)


def mean(counted, a):
    mine = values(rewards(counted, a))
    return (math.fsum(mine) + waited(counted, a)) / len(mine)


def nearer(counted, a, x, y, K):
    """Whether x is nearer than y to the middle of the other arms."""
    means = [mean(counted, b) for b in range(K) if b != a and rewards(counted, b)]
    return bool(means) and abs(x - median(means)) < abs(y - median(means))


def odd_value(counted, a, model, sigmas, confirmed):
    """The only value of an arm, or the least likely one where it is not sure."""
    mine = rewards(counted, a)
    if len(mine) < 2:
        return mine[0].value if mine else math.nan
    found, least = (
        math.nan,
        math.log((INFLUENTIAL_TIME if model == "exponential" else INFLUENTIAL) / len(mine)),
    )
    unsure = [item.value for item in mine if item.number not in confirmed]
    for x in (min(unsure), max(unsure)) if unsure else ():
        others = values(mine)
        others.remove(x)
        chance = log_bound(model, x, others, sigmas[a], waited(counted, a))
        if chance < least:
            found, least = x, chance
    return found
