"""Desktops: a person's own machines, which dial in and follow what they are offered.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.made.sandboxes.views import Isolation
from atoll.client.transport import Call, Transport, api_path, get, put

IsolationLevel = Literal["none", "policy", "container", "microvm"]


class Desktop(Shape):
    """A linked desktop. `present`: its lane runs. `heard_at` is when that was heard last, null
    where it never was, and once it has ended. `isolation` is the wall that it reports, null
    before its lane has run. `workers` are those that it has."""

    name = fields.text()
    present = fields.flag()
    linked_at = fields.text()
    heard_at = fields.text()
    isolation = fields.one(Isolation)
    workers = fields.texts()


class DesktopList(Shape):
    """The caller's desktops, by name."""

    desktops = fields.many(Desktop)


class WallBody(TypedDict, total=False):
    """The wall of a desktop's workers: `degraded` says what it lacks."""

    level: Required[IsolationLevel]
    mechanism: Required[str]
    degraded: list[str]


class PresenceBody(TypedDict, total=False):
    """The presence of a desktop, whose lane runs with this wall."""

    isolation: Required[WallBody]


class Desktops:
    """The machines of a person that take their workers. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def link(self, name: str) -> Desktop:
        """Link a machine of the caller's own. A repetition changes nothing."""
        return self._transport.read(Desktop, put("desktops", name))

    def list(self) -> DesktopList:
        """List the caller's desktops; a person has few."""
        return self._transport.read(DesktopList, get("desktops"))

    def unlink(self, name: str) -> None:
        """Unlink a desktop: the leases of its workers end."""
        self._transport.call(Call("DELETE", api_path("desktops", name)))
