"""Studies made of random events: values out of order, slips, failures, confirmations, corrections.

The events are those that a study would store; the ledger refuses any other.  No database is there,
so that a study takes a few milliseconds.
"""

import warnings

import numpy as np

from allgood import Additive, Bernoulli, Bounded, Exponential, Gaussian, Multiplicative, Poisson
from allgood.study.certificate import certificate_of
from allgood.study.events import Design, Event
from allgood.study.ledger import Ledger

from .chains import digest_of, lines_of

LAWS = {
    "gaussian": Gaussian(0.7),
    "unequal": Gaussian([0.7, 0.2, 2.0]),
    "unknown": Gaussian(None),
    "bounded": Bounded(-1.0, 2.0),
    "bernoulli": Bernoulli(),
    "poisson": Poisson(),
    "exponential": Exponential(),
}
MEANS = {"bernoulli": [0.9, 0.8, 0.2], "bounded": [1.0, 0.9, -0.5], "poisson": [9.0, 8.0, 2.0]}


class RandomStudy:
    """A study that grows event by event, and keeps its events."""

    def __init__(self, law, rng, check_values=True, in_order=False, deadline=None, delta=0.1):
        self.law, self.rng, self.model = law, rng, LAWS[law]
        self.means = MEANS.get(law, [3.0, 2.8, 0.6])
        multiplicative = law in ("poisson", "exponential")
        self.design = Design(
            name="a study",
            uid="0123456789abcdef" * 2,
            arms=("ash", "birch", "cedar"),
            objective=Multiplicative(0.5)
            if multiplicative
            else Additive(0.9 if law == "bernoulli" else 1.0),
            delta=delta,
            model=self.model,
            pool=bool(rng.integers(2)),
            seed=0,
            budget=None,
            check_values=check_values,
            in_order=in_order or law == "exponential",
            deadline=deadline,
        )
        self.design.check()
        self.events = [Event(1, "created", 1.0, data=self.design.to_dict())]
        self.ledger = Ledger.from_first(self.events[0])

    def add(self, kind, **parts):
        last = self.events[-1]
        event = Event(last.seq + 1, kind, last.time + int(self.rng.integers(2)), **parts)
        self.ledger.add(event)
        self.events.append(event)

    def lines(self):
        return lines_of(self.events)

    def certificate(self):
        return certificate_of(self.ledger, digest_of(self.events))

    def draw(self, arm):
        """A reward of an arm: rounded, so that values repeat; sometimes a slip."""
        rng, mean = self.rng, self.means[arm]
        if self.law == "bernoulli":
            return float(rng.random() < mean)
        if self.law == "poisson":
            x = float(rng.poisson(mean))
        elif self.law == "exponential":
            x = round(rng.exponential(mean), 2) + 0.01
        else:
            x = round(rng.normal(mean, 0.3), 1) + 0.0
        if self.law == "bounded":
            return float(np.clip(x, -1.0, 2.0))
        return x * (1.0 if rng.random() < 0.9 else float(rng.choice([10.0, 100.0])))

    def value(self, arm):
        """Value and data of an event: those of a time waited in vain, if it is one."""
        x, deadline = self.draw(arm), self.design.deadline
        late = deadline is not None and x > deadline
        return {"value": deadline, "data": {"in_vain": True}} if late else {"value": x}

    def ask(self):
        arm, ledger = int(self.rng.integers(3)), self.ledger
        if arm not in ledger.abandoned:
            joins = bool(self.design.pool and self.rng.random() < 0.3)
            number = len(ledger.tickets) + 1
            self.add("ticket", ticket=number, arm=arm, joins=joins, batch=ledger.batches + 1)

    def tell(self):
        ledger = self.ledger
        ready = [t for t in ledger.open.values() if t.arm not in ledger.withdrawn]
        if ready:
            ticket = ready[int(self.rng.integers(len(ready)))]
            self.add("observation", ticket=ticket.number, **self.value(ticket.arm))

    def tell_unasked(self):
        arm, number = int(self.rng.integers(3)), len(self.ledger.tickets) + 1
        if arm not in self.ledger.withdrawn:
            self.add("unasked", ticket=number, arm=arm, note=f"p. {number}", **self.value(arm))

    def fail(self):
        if self.ledger.open:
            self.add("failure", ticket=int(self.rng.choice(list(self.ledger.open))))

    def confirm(self):
        if self.ledger.hearing.suspects:
            number = int(self.rng.choice(list(self.ledger.hearing.suspects)))
            self.add("confirmation", ticket=number, value=self.ledger.tickets[number].value)

    def correct(self):
        """A suspect value, or any that was told."""
        suspects = list(self.ledger.hearing.suspects)
        among = suspects if suspects and self.rng.random() < 0.5 else self.ledger.told
        if among:
            number = int(self.rng.choice(among))
            self.add("correction", ticket=number, **self.value(self.ledger.tickets[number].arm))

    def abandon(self):
        arm = int(self.rng.integers(3))
        if arm not in self.ledger.abandoned and len(self.ledger.abandoned) < 2:
            self.add("abandonment", arm=arm)

    def go_on(self, steps):
        """So many random steps."""
        acts = [self.ask, self.tell, self.tell_unasked, self.fail, self.confirm, self.correct]
        chances = [0.43, 0.43, 0.06, 0.03, 0.025, 0.02, 0.005]
        for i in self.rng.choice(7, size=steps, p=chances):
            (*acts, self.abandon)[i]()
        return self


def a_study(law, seed, steps=150):
    """A random study: rules, deadline and all."""
    rng = np.random.default_rng(seed)
    rules = {"check_values": bool(rng.random() < 0.8), "in_order": bool(rng.random() < 0.4)}
    late = law == "exponential" and rng.random() < 0.6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = RandomStudy(law, rng, deadline=6.0 if late else None, **rules)
    return study.go_on(steps)
