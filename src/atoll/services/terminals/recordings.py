"""What can be had of terminals besides a seat: marks, plain text, recordings, and a search.

A thin forward to the sandbox's runtime, which keeps all of it. Marks and text belong to whoever
may watch the terminal; recordings and the search to those whose sandbox it is. Recordings of a
sandbox that does not run are listed, read, searched and deleted, too; none is begun or ended.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from atoll.domain.people.principal import Principal
from atoll.ports import RuntimeStream
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.terminals.runtime_reply import RuntimeReply, checked_id, raw_call, renamed
from atoll.services.terminals.terminals import Terminals
from atoll.wire.contract.call import Query, RuntimeCall, bytes_call

_WORDS = {"session_id": "terminal_id"}


class Recordings:
    """Replies carry the runtime contract's JSON with the API's words. Everything raises
    `NotFound`, `Conflict`, `Unavailable`, and what the runtime's problem documents stand for."""

    def __init__(self, sandboxes: Sandboxes, terminals: Terminals) -> None:
        self._sandboxes = sandboxes
        self._terminals = terminals

    async def read_terminal(
        self, caller: Principal, ref: str, terminal_id: str, *, what: str, query: Query = ()
    ) -> RuntimeReply:
        """`what` is `marks` or `text`; a guest of the terminal may have both."""
        path = f"{_session(terminal_id)}/{what}"
        _, client = await self._terminals.seated(caller, ref, terminal_id)
        return await client.call(raw_call("GET", path, query))

    async def start(self, caller: Principal, ref: str, terminal_id: str) -> RuntimeReply:
        """Record a terminal from now on; all who watch it are told by whom."""
        who = (("principal", str(caller.id)), ("name", caller.name or str(caller.id)))
        path = f"{_session(terminal_id)}/recording"
        return await self._call(caller, ref, raw_call("POST", path, who))

    async def stop(self, caller: Principal, ref: str, terminal_id: str) -> RuntimeReply:
        """Stop recording it."""
        path = f"{_session(terminal_id)}/recording"
        return await self._call(caller, ref, raw_call("DELETE", path))

    async def list(self, caller: Principal, ref: str) -> RuntimeReply:
        """`{"recordings": […]}`, oldest first."""
        return await self._kept(caller, ref, raw_call("GET", "/recordings"))

    @asynccontextmanager
    async def read(
        self, caller: Principal, ref: str, recording_id: str
    ) -> AsyncIterator[RuntimeStream]:
        """Its file: asciicast v3."""
        path = _recording(recording_id)
        async with (
            self._sandboxes.reading(caller, ref) as (_, client),
            client.stream(bytes_call(path)) as answer,
        ):
            yield answer

    async def remove(self, caller: Principal, ref: str, recording_id: str) -> RuntimeReply:
        """Delete it for good."""
        return await self._kept(caller, ref, raw_call("DELETE", _recording(recording_id)))

    async def search(self, caller: Principal, ref: str, query: Query) -> RuntimeReply:
        """Lines of terminals and recordings: `q`, `syntax`, `match_case`, `limit`, `session`."""
        return await self._kept(caller, ref, raw_call("GET", "/search", query))

    async def _kept(
        self, caller: Principal, ref: str, call: RuntimeCall[RuntimeReply]
    ) -> RuntimeReply:
        """Ask for what outlives a stop: the sandbox need not run."""
        async with self._sandboxes.reading(caller, ref) as (_, client):
            return renamed(await client.call(call), _WORDS)

    async def _call(
        self, caller: Principal, ref: str, call: RuntimeCall[RuntimeReply]
    ) -> RuntimeReply:
        _, client = await self._sandboxes.runtime(caller, ref)
        return renamed(await client.call(call), _WORDS)


def _session(terminal_id: str) -> str:
    return "/sessions/" + checked_id(terminal_id, noun="terminal")


def _recording(recording_id: str) -> str:
    return "/recordings/" + checked_id(recording_id, noun="recording")
