"""The route to a port of a sandbox's loopback: a WebSocket whose binary frames are its bytes."""

from typing import Annotated

from fastapi import APIRouter, Path, WebSocket

from atoll.domain.errors import Unauthenticated
from atoll.services.ports import dialled
from atoll.surfaces.http.relay import relay

router = APIRouter(prefix="/v1/sandboxes/{sandbox}/ports", tags=["ports"])


@router.websocket("/{port}")
async def dial_port(
    socket: WebSocket, sandbox: str, port: Annotated[int, Path(ge=1, le=65535)]
) -> None:
    """A connection to the port; the text frame `end` says that nothing more is sent. Closed with
    4502 when nothing listens there."""
    caller = getattr(socket.state, "caller", None)
    if caller is None:
        raise Unauthenticated("a port needs a login")
    await relay(socket, dialled(socket.app.state.services.sandboxes, caller, sandbox, port))
