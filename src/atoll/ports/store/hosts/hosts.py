"""Hosts, and the sandboxes on each."""

from collections.abc import Collection
from typing import Protocol

from atoll.domain.hosts.host import Host
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.store.records import Records
from atoll.wire.words.sandboxes import State


class HostRows(Records[Host, str], Protocol):
    """Hosts that were added, and `local` once somebody changed it. A name is unique."""

    async def everything(self) -> list[Host]:
        """Return every stored host, by name."""
        ...

    async def sandboxes(self, name: str, states: Collection[State] = ()) -> list[Sandbox]:
        """Return the sandboxes of a host in one of these states, without any those that are not
        destroyed, by id. Whether the host is stored does not matter."""
        ...
