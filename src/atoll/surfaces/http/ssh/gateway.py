"""Routes of the SSH gateway: what it asks, with a token of its own, and the connections of clients
that reach it through the server.
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from atoll.domain.errors import AtollError, Invalid, Unauthenticated
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.ports.outside.ssh_gateway import GatewayConnection
from atoll.services.application import Application
from atoll.surfaces.http.body.json_body import read_body
from atoll.surfaces.http.serving.routes import NamedRoute, Sockets
from atoll.surfaces.http.terminals.relay import close, code_of
from atoll.wire.contract import ssh
from atoll.wire.http.unreadable import UNREADABLE

T = TypeVar("T")

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
sockets = Sockets()


@dataclass(frozen=True, slots=True)
class SshAccess:
    """The token of the gateway of this home."""

    token: str = field(repr=False)

    def check(self, request: Request) -> None:
        """Compare the token of a request, in constant time. Raises `Unauthenticated`."""
        given = request.headers.get("authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, f"Bearer {self.token}".encode()):
            raise Unauthenticated("only the SSH gateway of this home may ask this")


async def _identity(atoll: Application, body: ssh.LoginClaim | None) -> msgspec.Struct:
    del body
    return await atoll.ssh.identity()


async def _logins(atoll: Application, body: ssh.Standing) -> msgspec.Struct:
    return ssh.StandingAnswer(logins=await atoll.ssh.logins.standing(body.logins))


async def _ways(atoll: Application, body: ssh.LoginClaim) -> msgspec.Struct:
    return await atoll.ssh.logins.way(body)


async def _terminals(atoll: Application, body: ssh.TerminalOrder) -> msgspec.Struct:
    return await atoll.ssh.logins.open_terminal(body)


async def _reports(atoll: Application, body: ssh.Reports) -> None:
    await atoll.ssh.logins.report(body.reports)


def _route(
    name: str, kind: Any, act: Callable[[Application, Any], Awaitable[msgspec.Struct | None]]
) -> NamedRoute:
    async def endpoint(request: Request) -> Response:
        access: SshAccess = request.app.state.ssh
        access.check(request)
        raw = await read_body(request, MAX_BODY_BYTES)
        try:
            body = None if kind is None else msgspec.json.decode(raw, type=kind)
        except UNREADABLE as error:
            raise Invalid(f"the body is not what the gateway sends: {error}") from error
        answer = await act(request.app.state.services, body)
        return Response(msgspec.json.encode(answer), media_type="application/json")

    return NamedRoute(f"POST {ssh.PREFIX}/{name}", endpoint, name=f"ssh_{name}")


ROUTES: Final = (
    _route("identity", None, _identity),
    _route("logins", ssh.Standing, _logins),
    _route("ways", ssh.LoginClaim, _ways),
    _route("terminals", ssh.TerminalOrder, _terminals),
    _route("reports", ssh.Reports, _reports),
)
PATHS: Final = frozenset(route.path for route in ROUTES)


@sockets.serves("/v1/sandboxes/{sandbox}/ssh", Capability.TERMINAL_WATCH)
async def connect_ssh(
    socket: WebSocket, atoll: Application, caller: Principal, *, sandbox: str
) -> None:
    """Connect an SSH client to the gateway, as `ProxyCommand` does: binary frames are its bytes.
    It logs in there by a key or a certificate all the same."""
    peer = socket.client.host if socket.client is not None else ""
    try:
        async with atoll.ssh.dial(caller, sandbox, peer) as dialled:
            await socket.accept()
            await _relay(socket, dialled)
            await close(socket, 1000)
    except AtollError as error:
        await close(socket, code_of(error), error.message)
    except (WebSocketDisconnect, OSError):
        return


async def _relay(socket: WebSocket, dialled: GatewayConnection) -> None:
    """Pass bytes both ways until one side ends."""
    async with asyncio.TaskGroup() as group:
        down = group.create_task(_send_down(socket, dialled))
        up = group.create_task(_send_up(socket, dialled))
        down.add_done_callback(lambda _: up.cancel())
        up.add_done_callback(lambda _: down.cancel())


async def _send_down(socket: WebSocket, dialled: GatewayConnection) -> None:
    try:
        async for data in dialled:
            await socket.send_bytes(data)
    except (WebSocketDisconnect, OSError, RuntimeError):
        return


async def _send_up(socket: WebSocket, dialled: GatewayConnection) -> None:
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if message.get("bytes"):
                await dialled.send(message["bytes"])
    except (AtollError, WebSocketDisconnect, OSError):
        return
