"""The door's own service of tools: pipes and calls of scripts, beside plain requests to `/mcp`."""

from typing import Final

from atoll.domain.broker.control_plane import TOOLS_DOOR
from atoll.domain.broker.passage import Refusal
from atoll.runtime.doors.broker.exchange import Requester
from atoll.runtime.doors.broker.request import BrokerRequest
from atoll.runtime.doors.broker.tools.own_request import Begin
from atoll.runtime.doors.broker.tools.pipe import PROTOCOL, ToolPipe
from atoll.runtime.doors.broker.tools.script import ToolScript
from atoll.runtime.doors.broker.tools.session import Spawn

MAX_CLIENTS: Final = 16
"""The pipes and calls of one sandbox at a time: each may hold a few long lines."""

CALL_DOOR: Final = f"{TOOLS_DOOR}/call"
LIST_DOOR: Final = f"{TOOLS_DOOR}/tools"

_FULL = Refusal(429, "limit_reached", f"{MAX_CLIENTS} atoll-mcp are connected; end one first")


class ToolService:
    """The pipes and calls of one broker. `begin` starts a request as the broker starts those of
    programs inside."""

    def __init__(self, begin: Begin, spawn: Spawn) -> None:
        self._begin = begin
        self._spawn = spawn
        self._clients: set[ToolPipe | ToolScript] = set()

    def handler(
        self, request: BrokerRequest, client: Requester
    ) -> ToolPipe | ToolScript | Refusal | None:
        """Return what handles a request, None for one that is a plain request."""
        path, _, query = request.shape.target.partition("?")
        target = f"{TOOLS_DOOR}?{query}" if query else TOOLS_DOOR
        made: ToolPipe | ToolScript
        match (request.shape.method, path):
            case ("GET", p) if p == TOOLS_DOOR and _upgrades(request):
                made = ToolPipe(client, self._begin, target, self._spawn)
            case ("POST", p) if p == CALL_DOOR:
                made = ToolScript(client, self._begin, target, self._spawn, listing=False)
            case ("GET", p) if p == LIST_DOOR:
                made = ToolScript(client, self._begin, target, self._spawn, listing=True)
            case _:
                return None
        self._clients = {client for client in self._clients if not client.ended}
        if len(self._clients) >= MAX_CLIENTS:
            return _FULL
        self._clients.add(made)
        return made

    def close(self) -> None:
        """End all of them."""
        for client in self._clients:
            client.gone()


def _upgrades(request: BrokerRequest) -> bool:
    return any(
        name.lower() == "upgrade" and value.strip().lower() == PROTOCOL
        for name, value in request.headers
    )
