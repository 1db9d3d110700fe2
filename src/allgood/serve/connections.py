"""Limit connections: their number, of each address and in all, and how long they may be silent.

uvicorn has no deadline for the head of a request, and none for a client that does not read its
response.  This protocol adds both.  If there is no room, the connection that has waited longest
without a request is closed.
"""

import asyncio
import sys
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from .middleware import Limits, Network, is_in

RESERVE = 200  # file descriptors for everything but connections


@dataclass
class Register:
    """The connections of a server.

    Attributes:
        limits: their number, and their deadlines.
        proxies: networks whose connections are not counted by address: a proxy holds those of
            many clients.
        total: connections at once, for which the system has file descriptors.
    """

    limits: Limits
    proxies: tuple[Network, ...] = ()
    total: int = 0
    open: "set[TimedProtocol]" = field(default_factory=set)
    of_address: "Counter[str]" = field(default_factory=Counter)
    silent: "OrderedDict[TimedProtocol, None]" = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self.total = self.total or min(self.limits.connections, max(50, descriptors() - RESERVE))

    def admit(self, new: "TimedProtocol") -> bool:
        """Add a connection; False if there is no room for it."""
        address = new.address
        full = self.of_address[address] >= self.limits.connections_per_address
        if full and not is_in(address, self.proxies):
            return False
        if len(self.open) >= self.total:
            if not self.silent:
                return False
            oldest, _ = self.silent.popitem(last=False)
            oldest.drop()
        self.open.add(new)
        self.of_address[address] += 1
        return True

    def remove(self, old: "TimedProtocol") -> None:
        self.silent.pop(old, None)
        if old in self.open:
            self.open.remove(old)
            self.of_address[old.address] -= 1
            if not self.of_address[old.address]:
                del self.of_address[old.address]


class TimedProtocol(H11Protocol):
    """HTTP/1.1 with deadlines; ``protocol_for`` makes the class that a server uses."""

    register: Register

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.address = ""
        self._head: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        if self.register.admit(self):
            self._expect(self.register.limits.head_seconds)
        else:
            self.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect(None)
        self.resume_writing()
        self.register.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        self._expect(self.register.limits.head_seconds + self.timeout_keep_alive)
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self.register.limits.send_seconds, self.drop)

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def drop(self) -> None:
        """Close the connection at once, without what it has not read yet."""
        self.transport.abort()

    def _look(self) -> None:
        """Lift the deadline of the head once it is there."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._expect(None)

    def _expect(self, seconds: float | None) -> None:
        """Expect the whole head of a request within so many seconds; None: no longer."""
        if self._head is not None:
            self._head.cancel()
            self._head = None
        self.register.silent.pop(self, None)
        if seconds is not None:
            self._head = self.loop.call_later(seconds, self.drop)
            self.register.silent[self] = None


def protocol_for(limits: Limits, proxies: tuple[Network, ...] = ()) -> type[TimedProtocol]:
    """Return the protocol of one server, with a register of its own."""
    register = Register(limits, proxies)
    return type("ServerProtocol", (TimedProtocol,), {"register": register})


def descriptors() -> int:
    """Raise the limit of open files of this process as far as allowed, and return it."""
    if sys.platform == "win32":
        return 8192
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return soft
