"""The audience of one terminal: its viewers, and the sizes they request.

Holds connections only. `control` decides who drives, and `domain.terminals.driver` counts each
viewer's backlog.
"""

from atoll.domain.terminals.size import Size
from atoll.runtime.terminals.viewers.viewer import CLOSE_SANDBOX_ENDED, Viewer
from atoll.wire.attach import ServerMessage


class Audience:
    """The viewers of one terminal, one for each client: its newest connection."""

    def __init__(self) -> None:
        self._viewers: dict[str, Viewer] = {}
        self._sizes: dict[str, Size] = {}

    def __len__(self) -> int:
        return len(self._viewers)

    def find(self, client: str) -> Viewer | None:
        """Return the client's newest connection."""
        return self._viewers.get(client)

    def add(self, viewer: Viewer) -> None:
        """Send this viewer, too, every message from now on."""
        self._viewers[viewer.client] = viewer

    def remove(self, client: str) -> Viewer | None:
        """Forget a client and the size it would like; return its connection."""
        self._sizes.pop(client, None)
        return self._viewers.pop(client, None)

    def want_size(self, client: str, size: Size) -> None:
        """Note the size a client would like."""
        self._sizes[client] = size

    def wanted_size(self, client: str | None) -> Size | None:
        """Return the size a client would like, if it named one."""
        return self._sizes.get(client or "")

    def tell(self, message: ServerMessage) -> None:
        """Send a message to every viewer."""
        for viewer in self._viewers.values():
            viewer.notify(message)

    def poke(self, ready: int, now: float) -> None:
        """Let every viewer send the output up to `ready`."""
        for viewer in self._viewers.values():
            viewer.poke(ready, now)

    def pump(self) -> None:
        """Let every viewer send all there is."""
        for viewer in self._viewers.values():
            viewer.pump()

    def dismiss(self, reason: str, guest_reason: str) -> None:
        """Close every viewer's connection: the sandbox ends."""
        for viewer in list(self._viewers.values()):
            viewer.link.end(CLOSE_SANDBOX_ENDED, guest_reason if viewer.guest else reason)
