"""The Bus port: announcements of new events, and live messages that nobody stores.

The bus carries no events, only "look again": the log is the truth, so a lost or doubled
announcement costs time, never an event. Live messages are for what is worthless a moment later:
presence, edits of an open document, output as it comes.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from atoll.domain.ids import OrgId


class Listener(Protocol):
    """Subscription of one waiting reader."""

    async def wait(self) -> None:
        """Return once something was announced since the last return (or since listening)."""
        ...


class Bus(Protocol):
    """Announcements by stream name (`sandbox:<id>`, `auth`, …)."""

    def announce(self, streams: Iterable[str]) -> None:
        """Report that these streams have new events. Never waits."""
        ...

    def listen(self, stream: str | None = None) -> AbstractContextManager[Listener]:
        """Listen to one stream, or to all. Listen first, then read, then wait: no gap."""
        ...


@dataclass(frozen=True, slots=True)
class Missed:
    """The marker in place of live messages that a subscriber was too slow for. Messages after it
    are newer: read the state itself again, then go on with them."""

    count: int


class LiveSubscription(Protocol):
    """Subscription to one live channel."""

    async def receive(self) -> bytes | Missed:
        """Return the next message, in the order of each publisher, or the marker of a gap. A
        cancelled call loses none."""
        ...


class LiveChannels(Protocol):
    """Live channels of organizations: every subscriber receives what is published after it
    subscribed, its own messages too; nothing is stored and nobody is waited for.

    Names of channels are any text; each organization has its own. `domain.live` holds the bounds.
    Between replicas a message may be lost while the connection is down, without a marker.
    """

    def publish(self, org_id: OrgId, channel: str, payload: bytes) -> None:
        """Send one message. Never waits. Raises `Invalid` for a payload or name that is too large,
        and `LimitReached` for an organization that publishes too much."""
        ...

    def subscribe(self, org_id: OrgId, channel: str) -> AbstractContextManager[LiveSubscription]:
        """Subscribe until the context is left. Raises `LimitReached` on entering it when the
        organization has too many subscriptions. What is published afterwards through this same
        object, and what it causes others to publish, is received."""
        ...
