"""What a runtime is reached by and what it may spend: its listening socket and the broker's keys.

Made by whoever still has the right to: the child that builds a sandbox, or for a spare the
zygote. Nobody listens yet.
"""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed
from atoll.zygote.daemon.owned_socket import listen
from atoll.zygote.records.home import BoxPlaces, traversal_mode
from atoll.zygote.start.host_resources import HostResources
from atoll.zygote.start.keys import sealed_copy

BACKLOG = 128


@dataclass(frozen=True, slots=True)
class RuntimeEndpoint:
    """A listening unix socket, and a memfd with the keys where there are some."""

    listener: socket.socket
    keys: int | None

    def close(self) -> None:
        """Let both go; whoever was sent them has them still."""
        self.listener.close()
        if self.keys is not None:
            os.close(self.keys)


def open_endpoint(
    host: HostResources, places: BoxPlaces, *, keyless: bool = False
) -> RuntimeEndpoint:
    """Make both, with `keyless` only the socket. Raises `Failed` when the socket cannot be made
    or the keys are not fit to be used."""
    keys = None if keyless else sealed_copy(host.home.keys, host.control_uid)
    try:
        return RuntimeEndpoint(_listen(places, host.control_uid), keys)
    except Failed:
        if keys is not None:
            os.close(keys)
        raise


def _listen(places: BoxPlaces, control_uid: int) -> socket.socket:
    """The runtime's socket: bound by us, reachable only for the control plane's uid."""
    places.run.mkdir(mode=traversal_mode(), parents=True, exist_ok=True)
    path: Path = places.socket
    path.unlink(missing_ok=True)
    try:
        listener = listen(str(path), control_uid, socket.SOCK_STREAM, backlog=BACKLOG)
    except OSError as err:
        raise Failed(f"the runtime's socket {path} cannot be made: {err}") from err
    listener.setblocking(False)
    return listener
