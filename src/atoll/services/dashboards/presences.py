"""Presence on an open dashboard: the clients connected here, and those on other replicas.

A client says where it points and looks; who it is, is written in by the server. A connection speaks
for one client only.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from atoll.domain.dashboards.presence import GONE, own_state, presence_name
from atoll.domain.ids import PrincipalId
from atoll.services.dashboards.connections import RoomConnection
from atoll.services.dashboards.live_messages import PresentClient
from atoll.wire.crdt.frames import Presence

REMOTE_SECONDS = 45
"""The time after which a client of another replica that says nothing is gone. A browser renews its
presence every 15 seconds."""

MAX_REMOTE = 500

PresenceChanges: TypeAlias = tuple[list[Presence], tuple[PresentClient, ...]]
"""Changes of presence: for the clients here, and of the clients here for other replicas."""


@dataclass(slots=True)
class _Seen:
    presence: Presence
    person: PrincipalId
    name: str
    here: RoomConnection | None
    at: datetime


class Presences:
    """The present clients of one dashboard."""

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}
        self._changed: set[int] = set()
        self._changed_here: set[int] = set()

    @property
    def people(self) -> dict[int, PrincipalId]:
        """Return the person of each client."""
        return {client: seen.person for client, seen in self._seen.items() if _is_there(seen)}

    def names(self) -> dict[PrincipalId, str]:
        """Return the people who are there, with their names."""
        return {seen.person: seen.name for seen in self._seen.values() if _is_there(seen)}

    def all(self) -> list[Presence]:
        """Return the presence of every client."""
        return [seen.presence for seen in self._seen.values() if _is_there(seen)]

    def here(self) -> tuple[PresentClient, ...]:
        """Return the clients that are connected here."""
        clients = (seen for seen in self._seen.values() if seen.here is not None)
        return tuple(_present_client(seen) for seen in clients)

    def take_changes(self) -> PresenceChanges:
        """Return what changed since the last call. Clients that are gone are forgotten."""
        for_clients = [self._seen[client].presence for client in self._changed]
        for_replicas = tuple(_present_client(self._seen[client]) for client in self._changed_here)
        for client in self._changed:
            if not _is_there(self._seen[client]):
                del self._seen[client]
        self._changed.clear()
        self._changed_here.clear()
        return for_clients, for_replicas

    def hear(self, connection: RoomConnection, update: Presence, now: datetime) -> bool:
        """Note what a connection says of its client, and return whether it is news. What it says
        of other clients, as providers do when they pass on what they received, is left out.
        Raises `Invalid` and `LimitReached`."""
        if connection.client is None and self._is_free(update.client, connection):
            connection.client = update.client
        known = self._seen.get(update.client)
        if update.client != connection.client:
            return False
        if known is not None and update.clock <= known.presence.clock:
            return False
        caller = connection.caller
        name = presence_name(caller)
        state = own_state(update.state, caller.id, name, edits=connection.role.edits)
        presence = Presence(update.client, update.clock, state)
        here = None if state == GONE else connection
        self._put(_Seen(presence, caller.id, name, here, now), local=True)
        return True

    def leave(self, connection: RoomConnection, now: datetime) -> None:
        """Note that a connection ended."""
        client = connection.client
        seen = None if client is None else self._seen.get(client)
        if seen is None or seen.here is not connection:
            return
        gone = Presence(seen.presence.client, seen.presence.clock + 1, GONE)
        self._put(_Seen(gone, seen.person, seen.name, None, now), local=True)

    def hear_replica(self, clients: tuple[PresentClient, ...], now: datetime) -> None:
        """Note what another replica says of its clients."""
        for client in clients:
            known = self._seen.get(client.client)
            if known is not None and (known.here or client.clock <= known.presence.clock):
                continue
            if known is None and (client.state == GONE or len(self._seen) >= MAX_REMOTE):
                continue
            presence = Presence(client.client, client.clock, client.state)
            person = PrincipalId(client.person)
            self._put(_Seen(presence, person, client.name, None, now), local=False)

    def forget_silent(self, now: datetime) -> None:
        """Note the clients of other replicas that said nothing for too long as gone."""
        limit = now - timedelta(seconds=REMOTE_SECONDS)
        for client, seen in list(self._seen.items()):
            if seen.here is None and _is_there(seen) and seen.at < limit:
                gone = Presence(client, seen.presence.clock + 1, GONE)
                self._put(_Seen(gone, seen.person, seen.name, None, now), local=False)

    def _is_free(self, client: int, connection: RoomConnection) -> bool:
        """Report whether a connection may speak for this client: nobody else does. The same browser
        may be back before its former connection has ended."""
        known = self._seen.get(client)
        return known is None or not _is_there(known) or known.person == connection.caller.id

    def _put(self, seen: _Seen, *, local: bool) -> None:
        client = seen.presence.client
        self._seen[client] = seen
        self._changed.add(client)
        if local:
            self._changed_here.add(client)


def _is_there(seen: _Seen) -> bool:
    return seen.presence.state != GONE


def _present_client(seen: _Seen) -> PresentClient:
    presence = seen.presence
    return PresentClient(presence.client, presence.clock, presence.state, seen.person, seen.name)
