"""Unix sockets that one uid alone (and root) may come in by, and who did: mode and SO_PEERCRED."""

import os
import socket
import struct

_CREDENTIALS = struct.Struct("3i")


def listen(path: str, owner: int, kind: socket.SocketKind, *, backlog: int) -> socket.socket:
    """A listening socket, 0600 and `owner`'s from the first moment. Raises OSError, also when
    something lies there already."""
    listener = socket.socket(socket.AF_UNIX, kind)
    try:
        old = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(old)
        if os.geteuid() == 0:
            os.chown(path, owner, owner)
        listener.listen(backlog)
    except BaseException:
        listener.close()
        raise
    return listener


def peer_credentials(connection: socket.socket) -> tuple[int, int]:
    """Pid and uid of who connected."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _gid = _CREDENTIALS.unpack(raw)
    return int(pid), int(uid)
