"""The route to a port of a sandbox's loopback: a WebSocket whose binary frames are its bytes."""

from starlette.websockets import WebSocket

from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.services.application import Application
from atoll.surfaces.http.serving.routes import Sockets
from atoll.surfaces.http.terminals.relay import relay

sockets = Sockets()


@sockets.serves("/v1/sandboxes/{sandbox}/ports/{port}", Capability.EXEC_USE)
async def dial_port(
    socket: WebSocket,
    atoll: Application,
    caller: Principal,
    *,
    sandbox: str,
    port: str,
) -> None:
    """Connect to the port; the text frame `end` means that nothing more is sent.

    Closed with 4502 when nothing listens there, with 4403 when it is a door of the sandbox or no
    port.
    """
    await relay(socket, atoll.runtime_calls.dial(caller, sandbox, port))
