"""Studies made of random events: values out of order, slips, failures, corrections, withdrawals.

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

    def __init__(
        self,
        family,
        rng,
        check_values=True,
        in_order=False,
        censor_at=None,
        delta=0.1,
        min_z_prime=None,
    ):
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
            min_z_prime=min_z_prime,
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

    def ask_plate(self):
        """A plate of two arms, with two wells of each of two controls."""
        state, arms = self.state, [a for a in range(3) if a not in self.state.dropped][:2]
        batch, number = state.batches + 1, len(state.tickets) + 1
        placed = dict(zip(("A1", "A2", "B1", "B2"), ("low", "low", "high", "high"), strict=True))
        layout = {"rows": 2, "columns": 4, "controls": {"low": 2, "high": 2}}
        layout |= {"edge": True, "max_per_arm": 8}
        if arms:
            self.add("plate", batch=batch, data=layout | {"placed": placed})
        for i, arm in enumerate(arms):
            parts = {"ticket": number + i, "arm": arm, "pooled": False, "batch": batch}
            self.add("ticket", well=f"A{3 + i}", **parts)

    def a_control(self, known):
        """Plate, well and a value of a control that is told, or not; None if there is none."""
        state = self.state
        wells = [(b, well) for b, layout in state.plates.items() for well in layout["placed"]]
        there = state.controls.keys() | state.withdrawn_controls
        wells = [key for key in wells if (key in there) == known]
        if not wells:
            return None
        batch, well = wells[int(self.rng.integers(len(wells)))]
        middle = 100.0 if state.plates[batch]["placed"][well] == "high" else 0.0
        return {"batch": batch, "well": well, "value": float(self.rng.normal(middle, 9.0))}

    def control(self):
        if control := self.a_control(known=False):
            self.add("control", **control)

    def control_corrected(self):
        if control := self.a_control(known=True):
            self.add("control_corrected", **control)

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

    def replace(self):
        """Several values and a control at once; those that were withdrawn count again."""
        told = [t for t in self.state.told if self.state.tickets[t].arm not in self.state.withdrawn]
        if told:
            numbers = {int(number) for number in self.rng.choice(told, size=3)}
            arms = self.state.tickets
            values = [{"ticket": n} | self.value(arms[n].arm) for n in sorted(numbers)]
            control = self.a_control(known=True)
            controls = {"controls": [control]} if control else {}
            self.add("replaced", note="file of another plate", data={"values": values} | controls)

    def withdraw(self):
        """Some of the latest values, and the controls of a plate."""
        state, rng = self.state, self.rng
        told = [number for number in state.told[-6:] if state.tickets[number].state == "told"]
        numbers = sorted(int(number) for number in told if rng.random() < 0.5)
        batch = max((batch for batch, _ in state.controls), default=None)
        wells = [well for b, well in state.controls if b == batch and rng.random() < 0.3]
        if numbers or wells:
            data = {"basis": "cause" if rng.random() < 0.9 else "values"}
            data |= {"tickets": numbers, "controls": wells}
            self.add("withdrawn", note="air bubbles", batch=batch, data=data)

    def restore_arm(self):
        if self.state.dropped:
            self.add("arm_restored", arm=int(self.rng.choice(list(self.state.dropped))))

    def drop_arm(self):
        arm = int(self.rng.integers(3))
        if arm not in self.state.dropped and len(self.state.dropped) < 2:
            self.add("arm_dropped", arm=arm)

    def go_on(self, steps):
        """So many random steps."""
        acts = {
            self.ask: 0.35,
            self.tell: 0.38,
            self.add_measurement: 0.06,
            self.fail: 0.03,
            self.confirm: 0.025,
            self.correct: 0.02,
            self.drop_arm: 0.005,
            self.restore_arm: 0.005,
            self.replace: 0.01,
            self.withdraw: 0.02,
            self.ask_plate: 0.02,
            self.control: 0.07,
            self.control_corrected: 0.005,
        }
        for i in self.rng.choice(len(acts), size=steps, p=list(acts.values())):
            list(acts)[i]()
        return self


def a_study(family, seed, steps=150):
    """A random study: rules, censor_at and all."""
    rng = np.random.default_rng(seed)
    rules = {"check_values": bool(rng.random() < 0.8), "in_order": bool(rng.random() < 0.4)}
    late = family == "exponential" and rng.random() < 0.6
    rules["min_z_prime"] = 0.4 if rng.random() < 0.4 else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = RandomStudy(family, rng, censor_at=6.0 if late else None, **rules)
    return study.go_on(steps)
