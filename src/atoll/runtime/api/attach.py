"""`WS /sessions/{id}/attach`: its query, and the upgrade to a WebSocket.

`principal`, `name`, `role` and `expires` come from the control plane, which alone can reach a
runtime. Everything else is the client's own, and grants it nothing.
"""

import os
import re

from aiohttp import web

from atoll.domain.errors import Invalid, LimitReached, NotFound
from atoll.domain.ids import ID_ENTROPY_BYTES, spell
from atoll.domain.terminals.size import Size, clamp
from atoll.domain.unseen import replace_unseen
from atoll.runtime.api.requests import query_flag, query_integer
from atoll.runtime.health import Activity
from atoll.runtime.terminals.attach import MAX_VIEWERS, AttachRequest, AttachSession
from atoll.runtime.terminals.terminal import Terminal
from atoll.runtime.terminals.terminals import Terminals
from atoll.runtime.terminals.viewers.connection import Connection
from atoll.runtime.terminals.viewers.upgraded import UpgradedLink
from atoll.runtime.terminals.viewers.viewer import CLOSE_UNKNOWN
from atoll.wire.words.terminals import Role

SOMEBODY = "person"
MAX_NAME = 64
_CLIENT = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_PRINCIPAL = re.compile(r"[A-Za-z0-9._:@-]{1,128}")


async def attach(
    request: web.Request, terminals: Terminals, activity: Activity
) -> web.StreamResponse:
    """Serve `WS /sessions/{id}/attach`. Raises `Invalid` before the upgrade for a bad query."""
    attach_request = read_attach_request(request)
    connection = Connection(request)
    if not connection.possible:
        raise Invalid("attach is a WebSocket: send an upgrade request")
    try:
        terminal = terminals.get(request.match_info["id"])
    except NotFound:
        await connection.accept()
        await connection.close(CLOSE_UNKNOWN, "no such session")
        return connection.response
    if terminal.viewers >= MAX_VIEWERS:
        raise LimitReached(f"{MAX_VIEWERS} viewers watch this terminal; close one first")
    await connection.accept()
    client = client_at(terminal, attach_request)
    link = UpgradedLink(connection)
    await AttachSession(terminal, client, link, attach_request, activity=activity).serve()
    return connection.response


def read_attach_request(request: web.Request) -> AttachRequest:
    """Read the query of an attach. Raises `Invalid` with the field."""
    principal = request.query.get("principal", SOMEBODY)
    if not _PRINCIPAL.fullmatch(principal):
        raise Invalid("principal must be 1 to 128 letters, digits or ._:@-", field="principal")
    client = request.query.get("client") or _fresh_client()
    if not _CLIENT.fullmatch(client):
        raise Invalid("client must be 1 to 64 letters, digits, . _ : or -", field="client")
    since = query_integer(request, "since", -1)
    expires = query_integer(request, "expires", 0)
    return AttachRequest(
        principal=principal,
        name=_name(request, principal),
        client=client,
        role=_role(request),
        since=None if since < 0 else since,
        wanted_size=_wanted_size(request),
        take=query_flag(request, "take"),
        expires=float(expires) if expires else None,
        marks=query_flag(request, "marks"),
        heartbeat=query_flag(request, "heartbeat"),
        given=query_flag(request, "given"),
    )


def client_at(terminal: Terminal, attach_request: AttachRequest) -> str:
    """Return the client id at a terminal: the requested one, or a new one when it is another's."""
    principal, wanted = attach_request.principal, attach_request.client
    return terminal.client_for(principal, wanted, _fresh_client())


def _fresh_client() -> str:
    return spell("c", os.urandom(ID_ENTROPY_BYTES))


def _name(request: web.Request, principal: str) -> str:
    """Return a name to show: printable, or a terminal that shows it would obey it."""
    return replace_unseen(request.query.get("name", ""), MAX_NAME) or principal


def _role(request: web.Request) -> Role:
    """Return the client's role; a client that requests to watch gets no other."""
    text = request.query.get("role", Role.OWNER)
    try:
        role = Role(text)
    except ValueError:
        raise Invalid("role must be viewer, controller or owner", field="role") from None
    return Role.VIEWER if query_flag(request, "read_only") else role


def _wanted_size(request: web.Request) -> Size | None:
    """Return the requested size; none with `keep_size`, as a phone asks that only looks."""
    cols, rows = query_integer(request, "cols", 0), query_integer(request, "rows", 0)
    if query_flag(request, "keep_size") or not (cols and rows):
        return None
    return clamp(cols, rows)
