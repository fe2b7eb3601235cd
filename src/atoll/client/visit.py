"""A visit to somebody else's terminals, by a share link: no account, and nothing kept on disk.

The server is anybody's. Its certificate is verified, and plain HTTP goes to this machine or a
private network only.
"""

import json
import re
import socket
from dataclasses import dataclass, field
from ipaddress import ip_address

from atoll.client.made.people.me import Entered, GuestAccess
from atoll.client.server import GuestKey, Server, server_at
from atoll.client.transport import Call, Transport, read_whole
from atoll.domain.errors import Failed, Forbidden, Invalid, Unavailable
from atoll.wire.http.cookies import find_cookies

GUEST_COOKIE = "atoll_guest"
MARK = "#share="
MAX_LINK = 2000
_SECRET = re.compile("[A-Za-z0-9_-]{1,200}")
MAX_ANSWER_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ShareLink:
    """A share link in its parts. `plain`: what passes can be read on the way."""

    server: Server
    secret: str = field(repr=False)
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """A guest's visit: the server with the guest's key, its name there and its access."""

    server: Server
    name: str
    access: GuestAccess


def read_link(text: str) -> ShareLink:
    """Return the parts of a share link. Raises `Invalid`, `Unavailable` for a name that is not
    known, `Forbidden` for plain HTTP to a machine of the internet."""
    base, _, secret = text.strip().partition(MARK)
    if not _SECRET.fullmatch(secret) or len(text) > MAX_LINK:
        raise Invalid("this is no share link: it looks like https://HOST/#share=…", field="link")
    server = server_at(base, "the link")
    if server.secure:
        return ShareLink(server, secret)
    near = _addresses(server)
    if any(ip_address(address).is_global for address in near):
        raise Forbidden(
            f"{server.url} is plain http to a machine on the internet, where the link and all you "
            "type could be read on the way: ask for an https link"
        )
    is_local = all(ip_address(address).is_loopback for address in near)
    return ShareLink(server, secret, plain=not is_local)


def begin_visit(link: ShareLink, name: str | None) -> Visit:
    """Enter by a link under a name. Raises `Unauthenticated` for a link that is over, `Invalid` for
    one of a dashboard, and what a request raises."""
    body_fields = {"ticket": link.secret} | ({"name": name} if name else {})
    content = (("Content-Type", "application/json"),)
    call = Call("POST", "/auth/guests", (), content, json.dumps(body_fields).encode())
    with Transport(lambda: link.server).open(call) as stream:
        cookie = stream.header("Set-Cookie") or ""
        body = read_whole(stream, MAX_ANSWER_BYTES)
    try:
        entered = Entered.read(json.loads(body))
        session, *_ = find_cookies([cookie], GUEST_COOKIE) or ("",)
    except (ValueError, KeyError) as problem:
        raise Failed(f"{link.server.url} did not answer like an Atoll server") from problem
    keys = (session, entered.page_key)
    if not all(word and word.isascii() and word.isprintable() for word in keys):
        raise Failed(f"{link.server.url} sent a key that cannot be one")
    server = link.server._replace(guest=GuestKey(session, entered.page_key))
    visit = Visit(server, entered.name, entered.guest)
    if entered.guest.dashboard_id:
        end_visit(visit)
        raise Invalid("this link opens a dashboard: open it in a browser", field="link")
    return visit


def end_visit(visit: Visit) -> None:
    """End a visit: the guest is gone, and its key is worth nothing."""
    Transport(lambda: visit.server).call(Call("POST", "/auth/logout"))


def _addresses(server: Server) -> list[str]:
    try:
        addresses = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
    except OSError as problem:
        raise Unavailable(
            f"no machine is known by the name {server.host[:100]}: check the link"
        ) from problem
    return [str(address[0]).partition("%")[0] for *_, address in addresses]
