"""The route to a port of a sandbox's loopback: a WebSocket whose binary frames are its bytes."""

from fastapi import APIRouter, WebSocket

from atoll.domain.people.capability import Capability
from atoll.services.terminals.ports import dialled
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.terminals.relay import relay

router = APIRouter(prefix="/v1/sandboxes/{sandbox}/ports", tags=["ports"])


@router.websocket("/{port}")
@needs(Capability.EXEC_USE)
async def dial_port(
    socket: WebSocket,
    atoll: Atoll,
    caller: Caller,
    *,
    sandbox: str,
    port: str,
) -> None:
    """Connect to the port; the text frame `end` means that nothing more is sent.

    Closed with 4502 when nothing listens there, with 4403 when it is a door of the sandbox or no
    port.
    """
    await relay(socket, dialled(atoll.sandboxes, caller, sandbox, port))
