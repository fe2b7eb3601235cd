"""Messages between the replicas on which one dashboard is open, over its live channel.

They carry what was stored already, and presence, which nobody stores. A lost message costs time:
each replica looks at the store from time to time.
"""

from typing import TypeAlias

import msgspec

from atoll.domain.dashboards.history import StoredUpdate
from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.ids import DashboardId, OrgId
from atoll.ports.bus import LiveChannels

MAX_CARRIED_BYTES = 48 * 1024
"""The most bytes of updates in one message; more of them are read from the store."""


class Changed(msgspec.Struct, tag="changed", frozen=True):
    """Stored updates. Empty `updates` are to be read from the store."""

    source: str
    updates: tuple[StoredUpdate, ...] = ()


class PresentClient(msgspec.Struct, frozen=True):
    """A client that is present on the replica of the message, or just left it."""

    client: int
    clock: int
    state: str
    person: str
    name: str


class Present(msgspec.Struct, tag="present", frozen=True):
    """Presence of clients. With `asks` the sender has just opened the dashboard, and knows of no
    others."""

    source: str
    clients: tuple[PresentClient, ...] = ()
    asks: bool = False


class Reconsider(msgspec.Struct, tag="reconsider", frozen=True):
    """A change of the dashboard's name, people or existence."""

    source: str


LiveMessage: TypeAlias = Changed | Present | Reconsider

_decoder = msgspec.msgpack.Decoder(LiveMessage)


def channel_of(dashboard_id: DashboardId) -> str:
    """Return the name of a dashboard's live channel."""
    return f"dashboard:{dashboard_id}"


def send(live: LiveChannels, org_id: OrgId, dashboard_id: DashboardId, what: LiveMessage) -> None:
    """Send a message. One that is too large or too much is left out: who needs it looks at the
    store."""
    try:
        live.publish(org_id, channel_of(dashboard_id), msgspec.msgpack.encode(what))
    except (Invalid, LimitReached):
        return


def read(payload: bytes) -> LiveMessage | None:
    """Return a message, None for one that a newer replica sent."""
    try:
        message: LiveMessage = _decoder.decode(payload)
    except msgspec.MsgspecError:
        return None
    return message


def make_change_message(source: str, updates: tuple[StoredUpdate, ...]) -> Changed:
    """Return the message about stored updates; it carries them when they are small."""
    size = sum(len(part) for update in updates for part in update.parts)
    return Changed(source, updates if size <= MAX_CARRIED_BYTES else ())
