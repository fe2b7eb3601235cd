"""Unix sockets that only one uid and root may connect to, by file mode and SO_PEERCRED."""

import os
import socket
import struct

_CREDENTIALS = struct.Struct("3i")


def listen(path: str, owner: int, kind: socket.SocketKind, *, backlog: int) -> socket.socket:
    """Return a listening socket with mode 0600 and owner `owner` from the first moment. Raises
    `OSError`, also when the path exists already."""
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
    """Return the pid and uid of the process that connected."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _gid = _CREDENTIALS.unpack(raw)
    return int(pid), int(uid)
