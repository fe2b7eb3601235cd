"""What an attach says of itself in its query: who comes, from where on, and wanting what.

`principal`, `name`, `role` and `expires` are the control plane's word, which alone can reach
a runtime; everything else is the client's own and is believed for no more than it asks.
"""

import os
import re
from dataclasses import dataclass

from aiohttp import web

from atoll.domain.errors import Invalid
from atoll.domain.ids import ID_ENTROPY_BYTES, spell
from atoll.domain.terminal.size import Size, clamp
from atoll.domain.terminal.turn import Role
from atoll.runtime.api.requests import query_flag, query_integer

SOMEBODY = "person"
MAX_NAME = 64
_CLIENT = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_PRINCIPAL = re.compile(r"[A-Za-z0-9._:@-]{1,128}")


@dataclass(frozen=True, slots=True)
class AttachRequest:
    """One attach. `since` is the first byte wanted, `wish` the size (None: none is wished), and
    `expires` when this client must go, in seconds since 1970; `marks` that it wants them pushed,
    and `heartbeat` that it wants to see that the connection is alive."""

    principal: str
    name: str
    client: str
    role: Role
    since: int | None
    wish: Size | None
    take: bool
    expires: float | None
    marks: bool
    heartbeat: bool


def read_attach_request(request: web.Request) -> AttachRequest:
    """The query of an attach. Raises `Invalid` with the field."""
    principal = request.query.get("principal", SOMEBODY)
    if not _PRINCIPAL.fullmatch(principal):
        raise Invalid("principal must be 1 to 128 letters, digits or ._:@-", field="principal")
    client = request.query.get("client") or fresh_client()
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
        wish=_wish(request),
        take=query_flag(request, "take"),
        expires=float(expires) if expires else None,
        marks=query_flag(request, "marks"),
        heartbeat=query_flag(request, "heartbeat"),
    )


def fresh_client() -> str:
    """A client id nobody has."""
    return spell("c", os.urandom(ID_ENTROPY_BYTES))


def _name(request: web.Request, principal: str) -> str:
    """A name to show: printable, or a terminal that shows it would obey it."""
    given = request.query.get("name", "")[:MAX_NAME]
    return "".join(letter if letter.isprintable() else "?" for letter in given) or principal


def _role(request: web.Request) -> Role:
    """What this client may do; one that wants to watch only may do no more."""
    text = request.query.get("role", Role.OWNER)
    try:
        role = Role(text)
    except ValueError:
        raise Invalid("role must be viewer, controller or owner", field="role") from None
    return Role.VIEWER if query_flag(request, "read_only") else role


def _wish(request: web.Request) -> Size | None:
    """The size it would like; none with `keep_size`, as a phone asks that takes a look."""
    cols, rows = query_integer(request, "cols", 0), query_integer(request, "rows", 0)
    if query_flag(request, "keep_size") or not (cols and rows):
        return None
    return clamp(cols, rows)
