"""A study without a database: what is asked and told goes into its state."""

from allgood.study.design import StudyDesign
from allgood.study.events import Event
from allgood.study.state import StudyState


class StudyCache:
    """A study.  Its rules are not checked, so that those that are refused can be shown to fail."""

    def __init__(self, model, objective, num_arms, delta, pool=True, **rules):
        self.design = StudyDesign(
            name="simulated",
            uid="0" * 32,
            arms=tuple(f"arm {a}" for a in range(num_arms)),
            objective=objective,
            delta=delta,
            model=model,
            pool=pool,
            seed=0,
            budget=None,
            **rules,
        )
        self.state, self.time = StudyState(self.design), 0.0
        self.events = [Event(1, "created", self.time, data=self.design.to_dict())]

    @property
    def engine(self):
        return self.state.current_engine()

    def record(self, kind, **parts):
        event = Event(self.state.seq + 1, kind, self.time, **parts)
        self.state.apply(event)
        self.events.append(event)

    def issue(self, chosen):
        """Tickets for these arms, each with whether its value is pooled; their numbers."""
        self.time += 1.0
        first, batch = len(self.state.tickets) + 1, self.state.batches + 1
        for i, (arm, pooled) in enumerate(chosen):
            self.record("ticket", ticket=first + i, arm=int(arm), pooled=bool(pooled), batch=batch)
        return list(range(first, first + len(chosen)))

    def ask(self, n):
        """Numbers and arms of new tickets."""
        chosen = self.engine.choose(n, self.state.unprocessed())
        return [(number, arm) for number, (arm, _) in zip(self.issue(chosen), chosen, strict=True)]

    def tell(self, *values, censored=False):
        """Pairs of ticket and value."""
        self.time += 1.0
        data = {"censored": True} if censored else None
        for number, value in values:
            self.record("measurement", ticket=number, value=float(value), data=data)

    def wrong(self, means):
        """How many certified labels are wrong."""
        good = self.design.objective.answer(means)
        labels = enumerate(self.engine.label_names())
        return sum(label != "open" and (label == "good") != good[a] for a, label in labels)
