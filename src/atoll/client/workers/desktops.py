"""Desktops: the machines of a person that take their workers."""

from atoll.client.made.workers.desktops import Desktop, DesktopList
from atoll.client.transport import Call, Transport, at, get, put


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
