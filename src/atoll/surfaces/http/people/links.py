"""Links for people: which address they are built from, and who can open them.

A link for somebody else names the address that other machines reach; where there is none, it is
said that the link works on this machine only.
"""

from dataclasses import dataclass

from starlette.requests import Request

from atoll.surfaces.http.server.host_names import LOOPBACK, without_port


@dataclass(frozen=True, slots=True)
class Link:
    """A link. `local_only`: it names loopback, so that no other machine can open it."""

    url: str
    local_only: bool


def outside_link(request: Request, fragment: str) -> Link:
    """Return a link for a person on another machine, with this fragment."""
    return _link(request.app.state.outside_url or _asked_base(request), fragment)


def near_link(request: Request, fragment: str) -> Link:
    """Return a link for whoever sent this request, on their own machine."""
    return _link(request.app.state.public_url or _asked_base(request), fragment)


def _asked_base(request: Request) -> str:
    return f"{request.url.scheme}://{request.headers['host']}"


def _link(base: str, fragment: str) -> Link:
    name = without_port(base.partition("://")[2].partition("/")[0].lower())
    return Link(f"{base.rstrip('/')}/#{fragment}", name in LOOPBACK)
