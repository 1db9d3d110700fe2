"""Link events, or lines of events that a test has changed, as a study would have stored them."""

import json

from allgood.study.events import canonical, digest, line_digest, link_all


def relinked(lines):
    """The same lines of JSON, each with the digest of the new line before."""
    linked, last = [], None
    for line in lines:
        event = json.loads(line)
        event.pop("previous", None)
        linked.append(canonical(event | ({"previous": last} if last else {})))
        last = line_digest(linked[-1])
    return linked


def lines_of(events):
    """Lines of events that have no digests yet."""
    return [event.line() for event in link_all(events)]


def digest_of(events):
    """SHA-256 of these lines."""
    return digest(lines_of(events))
