"""Studies made of random events: values out of order, slips, failures, confirmations, corrections.

The events are those that a study would store; the state refuses any other.  No database is there,
so that a study takes a few milliseconds.
"""

import warnings

import numpy as np

from allgood import Additive, Bernoulli, Bounded, Exponential, Gaussian, Multiplicative, Poisson
from allgood.certificates.write import certificate_of
from allgood.study.design import StudyDesign
from allgood.study.events import Event
from allgood.study.state import StudyState

from .chains import digest_of, lines_of

MODELS = {
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

    def __init__(self, family, rng, check_values=True, in_order=False, censor_at=None, delta=0.1):
        self.family, self.rng, self.model = family, rng, MODELS[family]
        self.means = MEANS.get(family, [3.0, 2.8, 0.6])
        multiplicative = family in ("poisson", "exponential")
        self.design = StudyDesign(
            name="a study",
            uid="0123456789abcdef" * 2,
            arms=("ash", "birch", "cedar"),
            objective=Multiplicative(0.5)
            if multiplicative
            else Additive(0.9 if family == "bernoulli" else 1.0),
            delta=delta,
            model=self.model,
            pool=bool(rng.integers(2)),
            seed=0,
            budget=None,
            check_values=check_values,
            in_order=in_order or family == "exponential",
            censor_at=censor_at,
        )
        self.design.check()
        self.events = [Event(1, "created", 1.0, data=self.design.to_dict())]
        self.state = StudyState.from_first(self.events[0])

    def add(self, kind, **parts):
        last = self.events[-1]
        event = Event(last.seq + 1, kind, last.time + int(self.rng.integers(2)), **parts)
        self.state.apply(event)
        self.events.append(event)

    def lines(self):
        return lines_of(self.events)

    def certificate(self):
        return certificate_of(self.state, digest_of(self.events))

    def draw(self, arm):
        """A reward of an arm: rounded, so that values repeat; sometimes a slip."""
        rng, mean = self.rng, self.means[arm]
        if self.family == "bernoulli":
            return float(rng.random() < mean)
        if self.family == "poisson":
            x = float(rng.poisson(mean))
        elif self.family == "exponential":
            x = round(rng.exponential(mean), 2) + 0.01
        else:
            x = round(rng.normal(mean, 0.3), 1) + 0.0
        if self.family == "bounded":
            return float(np.clip(x, -1.0, 2.0))
        return x * (1.0 if rng.random() < 0.9 else float(rng.choice([10.0, 100.0])))

    def value(self, arm):
        """Value and data of an event: those of a censored time, if it is one."""
        x, censor_at = self.draw(arm), self.design.censor_at
        late = censor_at is not None and x > censor_at
        return {"value": censor_at, "data": {"censored": True}} if late else {"value": x}

    def ask(self):
        arm, state = int(self.rng.integers(3)), self.state
        if arm not in state.dropped:
            pooled = bool(self.design.pool and self.rng.random() < 0.3)
            number = len(state.tickets) + 1
            self.add("ticket", ticket=number, arm=arm, pooled=pooled, batch=state.batches + 1)

    def tell(self):
        state = self.state
        ready = [t for t in state.open.values() if t.arm not in state.withdrawn]
        if ready:
            ticket = ready[int(self.rng.integers(len(ready)))]
            self.add("measurement", ticket=ticket.number, **self.value(ticket.arm))

    def add_measurement(self):
        arm, number = int(self.rng.integers(3)), len(self.state.tickets) + 1
        if arm not in self.state.withdrawn:
            self.add("unrequested", ticket=number, arm=arm, note=f"p. {number}", **self.value(arm))

    def fail(self):
        if self.state.open:
            self.add("failed", ticket=int(self.rng.choice(list(self.state.open))))

    def confirm(self):
        if self.state.quality.suspects:
            number = int(self.rng.choice(list(self.state.quality.suspects)))
            self.add("confirmed", ticket=number, value=self.state.tickets[number].value)

    def correct(self):
        """A suspect value, or any that was told."""
        suspects = list(self.state.quality.suspects)
        among = suspects if suspects and self.rng.random() < 0.5 else self.state.told
        if among:
            number = int(self.rng.choice(among))
            self.add("corrected", ticket=number, **self.value(self.state.tickets[number].arm))

    def drop_arm(self):
        arm = int(self.rng.integers(3))
        if arm not in self.state.dropped and len(self.state.dropped) < 2:
            self.add("arm_dropped", arm=arm)

    def go_on(self, steps):
        """So many random steps."""
        acts = [self.ask, self.tell, self.add_measurement, self.fail, self.confirm, self.correct]
        chances = [0.43, 0.43, 0.06, 0.03, 0.025, 0.02, 0.005]
        for i in self.rng.choice(7, size=steps, p=chances):
            (*acts, self.drop_arm)[i]()
        return self


def a_study(family, seed, steps=150):
    """A random study: rules, censor_at and all."""
    rng = np.random.default_rng(seed)
    rules = {"check_values": bool(rng.random() < 0.8), "in_order": bool(rng.random() < 0.4)}
    late = family == "exponential" and rng.random() < 0.6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = RandomStudy(family, rng, censor_at=6.0 if late else None, **rules)
    return study.go_on(steps)
