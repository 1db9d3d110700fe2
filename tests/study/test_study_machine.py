"""Studies against a plain book (``reference/book.py``), through any sequence of calls, from several
places at once.
"""

import itertools
import math
from dataclasses import fields
from unittest import mock

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from allgood import (
    Additive,
    Plate,
    RefusedRows,
    create_study,
    delete_study,
    import_study,
    load_study,
)
from allgood.study.backends.sql import EventLog

from ..reference.book import Book
from ..support.effort import examples

# Values are far off, and repeat.
pytestmark = [
    pytest.mark.filterwarnings("ignore::allgood.study.receipts.SuspectWarning"),
    pytest.mark.filterwarnings("ignore::allgood.models.ModelWarning"),
]

ARMS = ["ash", "birch", "cedar"]
LEVELS = [6.0, 6.0, 0.0]  # about which most values are
PLATE = Plate(2, 2, {"blank": 1})
NUMBERS = itertools.count(1)

arms = st.integers(0, 2)
places = st.integers(0, 1)  # which of two programs
picks = st.integers(0, 60)  # one of the tickets, counted round
noise = st.sampled_from([-1.0, -0.25, -0.0, 0.1, 0.5, 1.0])
values = noise | st.sampled_from([None, "x", "", math.inf, math.nan, -1e61, 1e6, 5e-324])
clients = st.sampled_from([None, "robot", "lab"])
leases = st.sampled_from([None, 10.0, 60.0])


def seen(status):
    """What a status says, but for the time of looking."""
    shown = [
        part.name
        for part in fields(status)
        if part.name != "time" and not part.name.startswith("_")
    ]
    return {name: repr(getattr(status, name)) for name in shown}


def settled(tell, *arguments, **options):
    """The receipt, or its only row, also where a refusal is raised."""
    try:
        return tell(*arguments, **options)
    except RefusedRows as refusal:
        whole = tell.__name__ in ("tell", "fail")
        return refusal.receipt if whole else refusal.receipt.rows[0]


def as_told(value):
    """As the book knows it: tables write what is missing as nan, sheets as nothing."""
    return None if value == "" or (isinstance(value, float) and math.isnan(value)) else value


class Machine(RuleBasedStateMachine):
    def __init__(self, url, other, check_values=False, in_order=False):
        super().__init__()
        self.url, self.other = url, other
        self.rules = {"check_values": check_values, "in_order": in_order}
        self.now, self.status, self.labels = 1_000_000.0, None, {}

    def clock(self):
        return self.now

    @initialize(budget=st.sampled_from([None, 5, 30]))
    def begin(self, budget):
        self.name = f"study {next(NUMBERS)}"
        created = create_study(
            self.url,
            self.name,
            arms=ARMS,
            objective=Additive(3.0),
            delta=0.1,
            budget=budget,
            clock=self.clock,
            **self.rules,
        )
        self.studies = [created, load_study(self.url, self.name, clock=self.clock)]
        self.book = Book(len(ARMS), budget, 0.1, **self.rules)
        uid = created.design.uid
        self.mark = uid[:4].translate(str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv"))

    def id(self, number):
        return f"{self.mark}-{number}"

    def pick(self, number):
        """A ticket's number, or one that does not exist."""
        return number % len(self.book.tickets) + 1 if self.book.tickets and number < 60 else 999

    def check_tickets(self, tickets, wanted):
        shown = [
            (self.id(t.number), ARMS[t.arm], t.batch, t.well, t.client, t.lease_until)
            for t in wanted
        ]
        assert [(t.id, t.arm, t.batch, t.well, t.client, t.lease_until) for t in tickets] == shown

    @rule(
        place=places,
        n=st.integers(1, 6),
        client=clients,
        lease=leases,
        seconds=st.sampled_from([0.0, 5.0, 30.0]),
    )
    def ask(self, place, n, client, lease, seconds):
        self.now += seconds
        self.asked(place, n, client, lease, False)

    @rule(place=places, n=st.integers(1, PLATE.capacity), client=clients, lease=leases)
    def ask_for_a_plate(self, place, n, client, lease):
        self.asked(place, n, client, lease, True)

    def asked(self, place, n, client, lease, on_plate):
        study, plate = self.studies[place], PLATE if on_plate else None
        outcome, copied = self.status.outcome, len(self.book.tickets) % 4 == 0
        if copied:
            copy = import_study(self.other, study.export(), self.name, clock=self.clock)
            same = copy.ask(n, client, lease, plate)
            copy.close()
            delete_study(self.other, self.name)
        tickets = study.ask(n, client, lease, plate)
        assert not copied or same == tickets
        given, new = self.book.ask(self.now, n, client, lease, on_plate, outcome)
        added = tickets[len(given) :]
        assert len(added) == new
        assert self.book.begun or [ARMS.index(t.arm) for t in added] == self.book.first_arms(new)
        if on_plate:
            assert len({t.well for t in added} - {None}) == new
        first = len(self.book.tickets)
        self.book.issue(
            self.now, [ARMS.index(t.arm) for t in added], client, lease, [t.well for t in added]
        )
        self.check_tickets(tickets, given + self.book.tickets[first:])

    @rule(place=places, n=st.integers(1, 8), jitter=noise, slip=st.booleans())
    def measure(self, place, n, jitter, slip):
        """Ask and tell, as most programs do most of the time; with slips if values are checked."""
        self.asked(place, n, None, None, False)
        rows = [(t.number, LEVELS[t.arm] + jitter * (-1) ** t.number) for t in self.book.open()]
        if slip and rows and self.rules["check_values"]:
            rows[0] = (rows[0][0], 100.0 * rows[0][1])
        self.told(place, rows, False)

    @rule(
        place=places,
        rows=st.lists(st.tuples(picks, values), min_size=1, max_size=4),
        strict=st.booleans(),
    )
    def tell(self, place, rows, strict):
        self.told(place, [(self.pick(number), value) for number, value in rows], strict)

    @rule(place=places, picked=picks, value=values)
    def tell_twice(self, place, picked, value):
        """And to the other program."""
        for where in (place, place, 1 - place):
            self.told(where, [(self.pick(picked), value)], False)

    def told(self, place, rows, strict):
        named = [(self.id(n), value) for n, value in rows]
        receipt = settled(self.studies[place].tell, named, all_or_nothing=strict)
        wanted = self.book.tell([(number, as_told(value)) for number, value in rows], strict)
        assert [row.status for row in receipt] == wanted
        assert receipt.ok == (not {"conflict", "unknown", "invalid"} & set(wanted))

    @rule(place=places, picked=picks)
    def tell_failed(self, place, picked):
        number = self.pick(picked)
        if self.book.find(number) is None:
            with pytest.raises(ValueError, match="ticket must be one of this study"):
                self.studies[place].fail(self.id(number), "spilt")
        else:
            receipt = settled(self.studies[place].fail, self.id(number), "spilt")
            assert receipt.rows[0].status == self.book.fail(number)

    @rule(place=places, batch=st.integers(1, 8))
    def fail_batch(self, place, batch):
        if batch > self.book.batches:
            with pytest.raises(ValueError, match="batch must be one of this study"):
                self.studies[place].fail(batch=batch, reason="dropped")
        else:
            receipt = self.studies[place].fail(batch=batch, reason="dropped")
            assert [row.status for row in receipt] == self.book.fail_batch(batch)

    @rule(place=places, arm=arms, value=values, source=st.sampled_from(["p. 1", "p. 2"]))
    def add_measurement(self, place, arm, value, source):
        row = settled(self.studies[place].add_measurement, ARMS[arm], value, source)
        assert row.status == self.book.unrequested(arm, as_told(value), source)

    @rule(place=places, picked=picks, value=values)
    def correct(self, place, picked, value):
        number = self.pick(picked)
        if self.book.correct(number, as_told(value)):
            change = self.studies[place].correct(self.id(number), value, "a slip")
            self.check_labels(change, place)
            self.labels = {}
            self.told(
                1 - place, [(number, value) for value in self.book.find(number).known_as], False
            )
        else:
            with pytest.raises(ValueError, match="must"):
                self.studies[place].correct(self.id(number), value, "a slip")

    def check_labels(self, change, place):
        """A change says which labels have changed."""
        after = self.studies[place].status()
        pairs = {
            item.arm: (item.label, two.label)
            for item, two in zip(self.status.arms, after.arms, strict=True)
        }
        assert change.labels == {arm: pair for arm, pair in pairs.items() if pair[0] != pair[1]}

    @rule(place=places, picked=picks, suspect=st.booleans())
    def confirm(self, place, picked, suspect):
        """A suspect value, if there is one; or any."""
        suspects = sorted(self.book.numbers(1))
        number = suspects[picked % len(suspects)] if suspect and suspects else self.pick(picked)
        if self.book.confirm(number):
            self.check_labels(self.studies[place].confirm(self.id(number), "it is so"), place)
        else:
            with pytest.raises(ValueError, match="must"):
                self.studies[place].confirm(self.id(number), "it is so")

    @rule(place=places, arm=arms, really=st.booleans())
    def drop_arm(self, place, arm, really):
        # not too often: nothing happens any more to a study whose arms are all abandoned
        if really:
            label = self.status.arms[arm].label
            said = self.studies[place].drop_arm(ARMS[arm], "used up").consequence
            if not self.book.drop_arm(arm):
                assert "was dropped before" in said
            elif arm in self.book.withdrawn:
                assert "leaves the question" in said
            else:
                assert (
                    "keeps its" if label == "open" else f"certified {label} and stays so"
                ) in said

    @rule(place=places, picked=picks)
    def withdraw(self, place, picked):
        number, study = self.pick(picked), self.studies[place]
        if self.book.withdraw(number):
            change = study.withdraw(self.id(number), reason="a bubble", basis="cause")
            self.check_labels(change, place)
            self.labels = {}
        else:
            with pytest.raises(ValueError, match="must"):
                study.withdraw(self.id(number), reason="a bubble", basis="cause")

    @rule(place=places, arm=arms)
    def restore_arm(self, place, arm):
        if self.book.restore_arm(arm):
            self.check_labels(self.studies[place].restore_arm(ARMS[arm], "found"), place)
            self.labels = {}
        else:
            with pytest.raises(ValueError, match="is not dropped"):
                self.studies[place].restore_arm(ARMS[arm], "found")

    @rule(place=places, budget=st.sampled_from([None, 2, 10, 40]))
    def extend(self, place, budget):
        if self.book.extend(budget):
            said = self.studies[place].set_budget(budget, "more").consequence
            assert said.startswith(f"The budget is {'no limit' if budget is None else budget}")
        else:
            with pytest.raises(ValueError, match="budget must"):
                self.studies[place].set_budget(budget, "less")

    @rule(place=places, picked=picks, arm=arms, on_ticket=st.booleans())
    def note(self, place, picked, arm, on_ticket):
        number, study = self.pick(picked), self.studies[place]
        if not on_ticket:
            study.note("seen", arm=ARMS[arm])
        elif self.book.find(number) is None:
            with pytest.raises(ValueError, match="ticket must be one of this study"):
                study.note("seen", ticket=self.id(number))
        else:
            study.note("seen", ticket=self.id(number))

    @rule(place=places, seconds=st.sampled_from([0.0, 1.0, 10.0, 61.0]))
    def restart(self, place, seconds):
        self.now += seconds
        self.studies[place].close()
        self.studies[place] = load_study(self.url, self.name, clock=self.clock)

    @rule(place=places, picked=picks)
    def fail_to_store(self, place, picked):
        """An error just before the end of a change: nothing of it is there, here or elsewhere."""
        study = self.studies[place]
        may = [t for t in self.book.open() if t.arm not in self.book.withdrawn]
        with mock.patch.object(EventLog, "append", side_effect=OSError("no space left")):
            if may:
                with pytest.raises(OSError, match="no space"):
                    study.tell([(self.id(may[picked % len(may)].number), 1.0)])
            if 0 not in self.book.withdrawn:
                with pytest.raises(OSError, match="no space"):
                    study.add_measurement(ARMS[0], 1.0, "p. 3")

    def check_copy(self, place):
        """What is exported is all there is: the same verdict, digests and all."""
        study = self.studies[place]
        copy = import_study(self.other, study.export(), self.name, clock=self.clock)
        assert copy.certificate() == study.certificate() == self.studies[1 - place].certificate()
        assert seen(copy.status()) == seen(study.status()) == seen(self.studies[1 - place].status())
        assert copy.open_tickets == study.open_tickets
        copy.close()
        delete_study(self.other, self.name)

    @invariant()
    def it_says_what_the_book_says(self):
        """One of the two does; the other has not looked for a while, and may have to catch up."""
        if not hasattr(self, "book"):
            return
        book, study = self.book, self.studies[len(self.book.tickets) // 4 % 2]
        self.status = status = study.status()
        assert status.events == len(study.events())  # looking adds none
        self.check_tickets(study.open_tickets, book.open())
        for arm, item in enumerate(status.arms):
            assert (item.measurements, item.pending) == (book.count(arm), book.pending(arm))
            assert (
                item.mean == book.sum(arm) / item.measurements
                if item.measurements
                else math.isnan(item.mean)
            )
            assert item.withdrawn == (arm in book.withdrawn)
            assert (item.dropped is not None) == (arm in book.dropped)
            assert (item.certified_after is None) == (item.label == "open")
            assert item.label != "open" or not item.evidence >= item.need  # nan before the start
            assert item.suspect == sum(t.arm == arm for t in book.processed()[1])
            assert item.waiting == sum(t.arm == arm for t in book.processed()[2])
        assert {suspect.ticket for suspect in status.suspects} == {
            self.id(n) for n in book.numbers(1)
        }
        assert status.waiting == len(book.processed()[2])
        assert status.measurements == len(book.processed()[0])
        assert status.pending == sum(book.pending(arm) for arm in range(book.K))
        assert (status.failed, status.corrections) == (book.failures, book.corrections)
        assert status.budget == book.budget
        self.check_outcome(status)
        for arm, label in self.labels.items():
            assert label == {item.arm: item.label for item in status.arms}[arm]
        self.labels = {item.arm: item.label for item in status.arms if item.label != "open"}

    def check_outcome(self, status):
        book = self.book
        certified = book.begun and not status.open
        assert (status.outcome == "certified") == certified
        if not certified:
            assert (status.outcome == "budget exhausted") == book.used_up()
            if not book.dropped:
                assert status.outcome in ("running", "budget exhausted")
        if not book.begun:
            assert not status.good
            assert not status.bad

    def teardown(self):
        if hasattr(self, "book"):
            self.check_copy(0)
            for study in self.studies:
                study.close()
            delete_study(self.url, self.name)


RULES = {
    "as they come": {},
    "checked": {"check_values": True},
    "checked and in order": {"check_values": True, "in_order": True},
}


@pytest.mark.parametrize("rules", RULES)
def test_sqlite(tmp_path, rules):
    run_state_machine_as_test(
        lambda: Machine(tmp_path / "studies.db", tmp_path / "copies.db", **RULES[rules]),
        settings=examples(7 if not RULES[rules] else 4, stateful_step_count=40),
    )


def test_postgres(tmp_path, postgres_url):
    run_state_machine_as_test(
        lambda: Machine(postgres_url, tmp_path / "copies.db"),
        settings=examples(4, stateful_step_count=40),
    )
