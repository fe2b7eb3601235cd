"""Desktops: the machines of a person that take their workers."""

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.made.sandboxes.views import Isolation
from atoll.client.transport import Call, Transport, at, get, put


class Desktop(Shape):
    """A linked desktop. Before its lane has run `isolation.level` is empty. `heard_at` is when it
    was heard last, empty where it never was, and once its lane has ended."""

    name = fields.text()
    present = fields.flag()
    linked_at = fields.text()
    heard_at = fields.text()
    isolation = fields.one(Isolation)
    workers = fields.texts()


class DesktopList(Shape):
    """The caller's desktops, by name."""

    desktops = fields.many(Desktop)


class Desktops:
    """The caller's desktops. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def link(self, name: str) -> Desktop:
        """Link this machine under a name. A repetition changes nothing."""
        return self._transport.read(Desktop, put("desktops", name, value={}))

    def list(self) -> DesktopList:
        """Return the desktops, by name."""
        return self._transport.read(DesktopList, get("desktops"))

    def unlink(self, name: str) -> None:
        """Unlink a desktop: what it still delivers is refused."""
        self._transport.call(Call("DELETE", at("desktops", name)))
