"""Output of terminals after the fact: marks, plain text, recordings, and a search.

A thin forward to the sandbox's runtime, which keeps all of it. Marks and text belong to whoever
may watch the terminal; recordings and the search to those whose sandbox it is. Recordings of a
sandbox that does not run are listed, read, searched and deleted, too; none is begun or ended.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from atoll.domain.people.principal import Principal
from atoll.domain.terminal.mark import Mark
from atoll.ports import RuntimeStream
from atoll.services.identifiers import checked_id
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.terminals.terminals import Terminals
from atoll.wire.contract import recordings
from atoll.wire.contract.call import Query, RuntimeCall

T = TypeVar("T")


class Recordings:
    """Use cases with the values of the runtime contract. Every method raises `NotFound`,
    `Conflict`, `Unavailable`, and the errors of the runtime."""

    def __init__(self, sandboxes: Sandboxes, terminals: Terminals) -> None:
        self._sandboxes = sandboxes
        self._terminals = terminals

    async def marks(
        self, caller: Principal, ref: str, terminal_id: str, *, since: int
    ) -> recordings.MarkPage[Mark]:
        """List a terminal's commands; a guest of the terminal may have them."""
        call = recordings.list_marks(_terminal(terminal_id), recordings.MarkPage[Mark], since=since)
        _, client = await self._terminals.runtime_for(caller, ref, terminal_id)
        return await client.call(call)

    async def text(
        self, caller: Principal, ref: str, terminal_id: str, *, since: int
    ) -> recordings.Text:
        """Return a terminal's output as text; a guest of the terminal may have it."""
        call = recordings.read_text(_terminal(terminal_id), since=since)
        _, client = await self._terminals.runtime_for(caller, ref, terminal_id)
        return await client.call(call)

    async def start(self, caller: Principal, ref: str, terminal_id: str) -> recordings.Recording:
        """Record a terminal from now on; all who watch it are told by whom."""
        terminal, name = _terminal(terminal_id), caller.name or caller.id
        _, client = await self._sandboxes.runtime(caller, ref)
        call = recordings.start_recording(terminal, principal=caller.id, name=name)
        return await client.call(call)

    async def stop(self, caller: Principal, ref: str, terminal_id: str) -> recordings.Recording:
        """Stop recording it."""
        call = recordings.stop_recording(_terminal(terminal_id))
        _, client = await self._sandboxes.runtime(caller, ref)
        return await client.call(call)

    async def list(self, caller: Principal, ref: str) -> recordings.RecordingList:
        """List recordings, oldest first."""
        return await self._kept(caller, ref, recordings.list_recordings())

    @asynccontextmanager
    async def read(
        self, caller: Principal, ref: str, recording_id: str
    ) -> AsyncIterator[RuntimeStream]:
        """Read its file: asciicast v3."""
        call = recordings.read_recording(_recording(recording_id))
        async with (
            self._sandboxes.reading(caller, ref) as (_, client),
            client.stream(call) as answer,
        ):
            yield answer

    async def remove(self, caller: Principal, ref: str, recording_id: str) -> None:
        """Delete it for good."""
        await self._kept(caller, ref, recordings.remove_recording(_recording(recording_id)))

    async def search(self, caller: Principal, ref: str, query: Query) -> recordings.Matches:
        """Search lines of terminals and recordings."""
        return await self._kept(caller, ref, recordings.search_output(query))

    async def _kept(self, caller: Principal, ref: str, call: RuntimeCall[T]) -> T:
        """Request what outlives a stop: the sandbox need not run."""
        async with self._sandboxes.reading(caller, ref) as (_, client):
            return await client.call(call)


def _terminal(terminal_id: str) -> str:
    return checked_id(terminal_id, noun="terminal")


def _recording(recording_id: str) -> str:
    return checked_id(recording_id, noun="recording")
