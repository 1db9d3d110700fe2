"""A study's book-keeping, kept in memory in the plainest way.

It says what each call must answer, and what the study must hold afterwards.  It does not know which
arms are worth measuring: it takes down what was chosen, and objects to what may not be.

Which values count, and which wait or are suspect, it works out from everything that has come, from
the first on, whenever it is asked.  Rewards are normal with standard deviation 1.
"""

import math
import statistics


class Ticket:
    def __init__(self, number, arm, batch, client, deadline, well, asked=True):
        self.number, self.arm, self.batch, self.well, self.asked = number, arm, batch, well, asked
        self.client, self.lease_until = client, deadline
        self.state, self.values, self.source = "open", [], None

    @property
    def value(self):
        return self.values[-1]

    @property
    def known_as(self):
        """Values that it may be told as again: the first, and the one that counts."""
        return (self.values[0], self.values[-1])


class Book:
    """Tickets from 1 on; arms by number."""

    def __init__(self, num_arms, budget, delta, check_values, in_order):
        self.K, self.budget, self.delta = num_arms, budget, delta
        self.check_values, self.in_order = check_values, in_order
        self.tickets, self.told = [], []
        self.come = []  # (what, ticket, value): told, failed, or confirmed with this value
        self.dropped, self.withdrawn = set(), set()
        self.failures = self.corrections = self.batches = 0

    def open(self):
        return [t for t in self.tickets if t.state == "open"]

    def pending(self, arm):
        return sum(t.arm == arm for t in self.open()) if arm not in self.dropped else 0

    def processed(self):
        """Tickets whose values count, those that are suspect, and those that wait."""
        count, suspect, waiting = [], [], []
        settled = set()
        for what, ticket, value in self.come:
            if what == "confirmed":
                if ticket in suspect and ticket.value == value:
                    suspect.remove(ticket)
                    count.append(ticket)
                continue
            settled.add(ticket.number)
            ready = [ticket]
            if self.in_order:
                waiting = sorted([*waiting, ticket], key=lambda t: t.number)
                before = next(n for n in range(1, len(self.tickets) + 2) if n not in settled)
                ready = [t for t in waiting if t.number < before]
                waiting = [t for t in waiting if t.number > before]
            for item in ready:
                if item.state == "told":
                    self.preview(item, count, suspect)
        return count, suspect, [t for t in waiting if t.state == "told"]

    def preview(self, ticket, count, suspect):
        """Count a value, or call it or another suspect."""
        mine = [t for t in count if t.arm == ticket.arm]
        others = [t for t in suspect if t.arm == ticket.arm]
        j = len(mine) + len(others) + 1
        level = 0.001 * self.delta / (self.K * j * (j - 1)) if j > 1 else 0.0
        if not self.check_values or not mine or agree(ticket, mine, level):
            count.append(ticket)
            return
        friends = [t for t in others if agree(ticket, [t], level)]
        if len(mine) > 1 or not (friends or self.is_nearer(ticket, mine[0], count)):
            suspect.append(ticket)
            return
        suspect.append(mine[0])
        place = count.index(mine[0])
        if friends:
            suspect.remove(friends[0])
            count[place] = friends[0]
            count.append(ticket)
        else:
            count[place] = ticket

    def is_nearer(self, ticket, other, count):
        """Whether a value is nearer than another to the median of the means of the other arms."""
        arms = {t.arm for t in count if t.arm != ticket.arm}
        if not arms:
            return False
        means = [statistics.fmean(t.value for t in count if t.arm == arm) for arm in arms]
        middle = statistics.median(means)
        return abs(ticket.value - middle) < abs(other.value - middle)

    def numbers(self, which):
        """Numbers of tickets that count (0), are suspect (1) or wait (2)."""
        return {t.number for t in self.processed()[which]}

    def told_of(self, arm):
        return sum(t.arm == arm for t in self.told)

    def count(self, arm):
        return sum(t.arm == arm for t in self.processed()[0])

    def sum(self, arm):
        total = 0.0
        for t in self.processed()[0]:
            if t.arm == arm:
                total += t.value
        return total

    @property
    def begun(self):
        """Whether every arm of the question has a value."""
        left = [a for a in range(self.K) if a not in self.withdrawn]
        return bool(left) and all(self.count(a) for a in left)

    def extend(self, budget):
        """Whether it may be."""
        used = len(self.told) + sum(self.pending(arm) for arm in range(self.K))
        if budget is not None and budget < max(used, self.K):
            return False
        self.budget = budget
        return True

    def used_up(self):
        return self.budget is not None and len(self.told) >= self.budget

    def ask(self, now, n, client, lease, on_plate, outcome):
        """Tickets that are given again, and how many new ones there must be."""
        if outcome in ("certified", "budget exhausted"):
            return [], 0
        waiting = [t for t in self.open() if t.arm not in self.dropped]
        own = [t for t in waiting if client is not None and t.client == client]
        expired = [t for t in waiting if t.lease_until is not None and t.lease_until <= now]
        if on_plate:
            left = [t for t in expired if t.well is not None]
            wells = [t for t in own if t.well is not None]
            newest = max([t.batch for t in wells], default=None)
            given = [t for t in wells if t.batch == newest]
            given = given or [t for t in left if t.batch == min(other.batch for other in left)]
            n = len(given) or n
        else:
            given = own[:n]
            given += [t for t in expired if t not in given][: n - len(given)]
        for t in given:
            if t in expired:
                t.client, t.lease_until = client, None if lease is None else now + lease
        new = n - len(given)
        if self.budget is not None:
            coming = sum(t.arm not in self.dropped for t in self.open())
            new = min(new, max(self.budget - len(self.told) - coming, 0))
        return given, new if outcome == "running" else 0

    def first_arms(self, n):
        """Before every arm has a value: the first arm with the fewest that count or may come."""
        count, _, waiting = self.processed()
        known = [t.arm for t in count + waiting]
        held = [known.count(a) + self.pending(a) for a in range(self.K)]
        chosen = []
        for _ in range(n):
            arm = min((a for a in range(self.K) if a not in self.dropped), key=lambda a: held[a])
            held[arm] += 1
            chosen.append(arm)
        return chosen

    def issue(self, now, arms, client, lease, wells):
        """Take down new tickets, all of one batch."""
        assert not self.dropped & set(arms)
        if arms:
            self.batches += 1
        deadline = None if lease is None else now + lease
        for arm, well in zip(arms, wells, strict=True):
            self.tickets.append(
                Ticket(len(self.tickets) + 1, arm, self.batches, client, deadline, well)
            )

    def find(self, number):
        return self.tickets[number - 1] if 1 <= number <= len(self.tickets) else None

    def tell(self, rows, all_or_nothing=False):
        """What must become of (number, value) rows; a value is a number, None or text."""
        answers, accepted = [], {}
        for number, value in rows:
            ticket = self.find(number)
            several = {v for n, v in rows if n == number and usable(v)}
            if ticket is None:
                answers.append("unknown")
            elif value is None:
                answers.append("missing")
            elif not usable(value):
                answers.append("invalid")
            elif ticket.state == "told":
                answers.append("duplicate" if value in ticket.known_as else "conflict")
            elif ticket.state != "open" or ticket.arm in self.withdrawn or len(several) > 1:
                answers.append("conflict")
            elif number in accepted:
                answers.append("duplicate")
            else:
                accepted[number] = value
                answers.append("accepted")
        if all_or_nothing and {"conflict", "unknown", "invalid"} & set(answers):
            return ["withheld" if answer == "accepted" else answer for answer in answers]
        before = self.numbers(1)
        for number, value in sorted(accepted.items()):
            self.take_down(self.find(number), value)
        return self.receipt([number for number, _ in rows], answers, before)

    def take_down(self, ticket, value):
        ticket.state, ticket.values = "told", [float(value)]
        self.told.append(ticket)
        self.come.append(("told", ticket, None))

    def receipt(self, numbers, answers, before):
        """The answers, once it is known which values wait or are suspect; then other suspects."""
        new, waiting = self.numbers(1) - before, self.numbers(2)
        named = {n for n, answer in zip(numbers, answers, strict=True) if answer == "accepted"}
        answers = [
            "waiting"
            if answer == "accepted" and n in waiting
            else "suspect"
            if answer == "accepted" and n in new
            else answer
            for n, answer in zip(numbers, answers, strict=True)
        ]
        return answers + ["suspect"] * len(new - named)

    def fail(self, number):
        ticket = self.find(number)
        if ticket.state == "open":
            ticket.state = "failed"
            self.failures += 1
            self.come.append(("failed", ticket, None))
            return "accepted"
        return "conflict" if ticket.state == "told" else "duplicate"

    def fail_batch(self, batch):
        numbers = [t.number for t in self.tickets if t.batch == batch and t.state != "told"]
        return [self.fail(number) for number in numbers]

    def unrequested(self, arm, value, source):
        if not usable(value):
            return "invalid"
        if arm in self.withdrawn:
            return "conflict"
        for ticket in self.tickets:
            if (ticket.arm, ticket.source) == (arm, source):
                again = ticket.state == "told" and value in ticket.known_as
                return "duplicate" if again else "conflict"
        ticket = Ticket(len(self.tickets) + 1, arm, 0, None, None, None, asked=False)
        ticket.source = source
        self.tickets.append(ticket)
        before = self.numbers(1)
        self.take_down(ticket, value)
        return self.receipt([ticket.number], ["accepted"], before)[0]

    def correct(self, number, value):
        """Whether it may be."""
        ticket = self.find(number)
        if ticket is None or ticket.state not in ("told", "withdrawn") or not usable(value):
            return False
        if ticket.arm in self.withdrawn:
            return False
        if float(value) != ticket.values[-1] or ticket.state == "withdrawn":
            ticket.values.append(float(value))
            self.corrections += 1
        if ticket.state == "withdrawn":
            ticket.state = "told"
            self.told.append(ticket)
        return True

    def withdraw(self, number):
        """Whether it may be."""
        ticket = self.find(number)
        if ticket is None or ticket.state != "told":
            return False
        ticket.state = "withdrawn"
        self.told.remove(ticket)
        if ticket.arm in self.dropped:
            self.leave(ticket.arm)
        return True

    def confirm(self, number):
        """Whether it may be."""
        if number not in self.numbers(1):
            return False
        self.come.append(("confirmed", self.find(number), self.find(number).value))
        return True

    def drop_arm(self, arm):
        """Whether it was not before."""
        if arm in self.dropped:
            return False
        self.dropped.add(arm)
        self.leave(arm)
        return True

    def leave(self, arm):
        """Leave the question without a value."""
        if self.told_of(arm) == 0:
            self.withdrawn.add(arm)  # nobody waits for its values any more
            self.come += [("failed", ticket, None) for ticket in self.open() if ticket.arm == arm]

    def restore_arm(self, arm):
        """Whether it may be."""
        if arm not in self.dropped:
            return False
        self.dropped.discard(arm)
        if arm in self.withdrawn:
            self.withdrawn.discard(arm)
            for ticket in self.open():
                if ticket.arm == arm:
                    ticket.state = "failed"
                    self.failures += 1
        return True


def agree(ticket, others, level):
    """Whether the chance of a value so far from others is at least the level: 2 exp(-z^2/2)."""
    n, mean = len(others), statistics.fmean(t.value for t in others)
    z = (ticket.value - mean) / math.sqrt(1.0 + 1.0 / n)
    return math.log(2.0) - z * z / 2.0 >= math.log(level)


def usable(value):
    return isinstance(value, float) and math.isfinite(value) and abs(value) <= 1e60
