"""A limit on socket buffers of a container, which its engine does not set. Needed for cgroup v1
only.

cgroup v2 counts these buffers as memory. v1 has a separate limit for them, which engines no longer
set (`memory.kmem.tcp.limit_in_bytes`, Documentation/admin-guide/cgroup-v1/memory.rst).
"""

import signal
from dataclasses import replace
from pathlib import Path

from atoll.domain.wall.interior import SOCKET_BYTES
from atoll.zygote.wall import hierarchies

_LIMIT = "memory.kmem.tcp.limit_in_bytes"
_UNBOUND = "sockets: what waits in connections is not bounded"


def bound_sockets(pid: int, pidfd: int, memory_bytes: int | None) -> tuple[str, ...]:
    """Limit the socket buffers of the container that process `pid` is in, as bubblewrap's wall
    does. Returns what is missing when that fails. Never raises."""
    if memory_bytes is None:
        return ()
    try:
        group = _memory_group(pid)
        # What was read is of that very process only if it still lives.
        signal.pidfd_send_signal(pidfd, 0)
        if group is not None:
            (group / _LIMIT).write_text(str(min(memory_bytes, SOCKET_BYTES)))
    except OSError as err:
        return (f"{_UNBOUND} ({err.strerror})",)
    return ()


def _memory_group(pid: int) -> Path | None:
    """Return the process's group of v1's memory controller, where that is mounted here."""
    paths = hierarchies.groups_of(pid)
    for each in hierarchies.hierarchies():
        if each.version == 1 and "memory" in each.controllers:
            theirs = next((path for key, path in paths if "memory" in key.split(",")), None)
            return None if theirs is None else replace(each, own=theirs).own_folder
    return None
