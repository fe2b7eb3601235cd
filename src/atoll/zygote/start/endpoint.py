"""The endpoint of a runtime: its listening socket and the broker's keys.

A process that still has the right to makes both: the child that builds a sandbox, or for a pooled
sandbox the zygote. Nobody listens yet.
"""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed
from atoll.zygote.host.home import BoxPlaces, traversal_mode
from atoll.zygote.host.owned_socket import listen
from atoll.zygote.host_resources import HostResources
from atoll.zygote.start.keys import sealed_copy

BACKLOG = 128


@dataclass(frozen=True, slots=True)
class RuntimeEndpoint:
    """A listening unix socket, and a memfd with the keys where the home has keys."""

    listener: socket.socket
    keys: int | None

    def close(self) -> None:
        """Close both descriptors; copies sent to another process stay open."""
        self.listener.close()
        if self.keys is not None:
            os.close(self.keys)


def open_endpoint(
    host: HostResources, places: BoxPlaces, *, keyless: bool = False
) -> RuntimeEndpoint:
    """Make the socket and, unless `keyless`, the memfd. Raises `Failed` when the socket cannot be
    made or the keys file is unusable."""
    keys = None if keyless else sealed_copy(host.home.keys, host.control_uid)
    try:
        return RuntimeEndpoint(_listen(places, places.socket, host.control_uid), keys)
    except Failed:
        if keys is not None:
            os.close(keys)
        raise


def open_link(host: HostResources, places: BoxPlaces) -> socket.socket:
    """Make the socket for streams to a sandbox of another machine. Raises `Failed`."""
    return _listen(places, places.link, host.control_uid)


def _listen(places: BoxPlaces, path: Path, control_uid: int) -> socket.socket:
    """Bind a socket of the runtime's. Only the control plane's uid may connect to it."""
    places.run.mkdir(mode=traversal_mode(), parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        listener = listen(str(path), control_uid, socket.SOCK_STREAM, backlog=BACKLOG)
    except OSError as err:
        raise Failed(f"the runtime's socket {path} cannot be made: {err}") from err
    listener.setblocking(False)
    return listener
