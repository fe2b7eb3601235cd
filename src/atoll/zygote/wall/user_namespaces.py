"""Making a user namespace and holding it by a descriptor alone (user_namespaces(7))."""

import os
from collections.abc import Callable
from pathlib import Path

from atoll.zygote.daemon import kernel


def held_namespace(map_ids: Callable[[int], None], *, within: int | None = None) -> int:
    """Return a descriptor of a new user namespace that nobody else holds. `map_ids` is called
    here with a process in it, to write its maps; `within` is the namespace to make it in, in place
    of our own. Raises `OSError`, and what `map_ids` raises."""
    ready, made = os.pipe()
    ended, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            # Of the pipe that says when to end, only the parent's copy may hold the other side.
            os.close(end)
            if within is not None:
                kernel.setns(within, kernel.CLONE_NEWUSER)
            kernel.unshare(kernel.CLONE_NEWUSER)
            # Without CAP_SYS_PTRACE the parent could not open the namespace of a closed process.
            with kernel.own_files_in_proc():
                os.write(made, b"1")
                os.read(ended, 1)
        finally:
            os._exit(0)
    os.close(made)
    os.close(ended)
    try:
        if os.read(ready, 1) != b"1":
            raise OSError("a user namespace cannot be made here")
        map_ids(pid)
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready)
        os.close(end)
        os.waitpid(pid, 0)


def write_maps(pid: int, line: str) -> None:
    """Map users and groups of the namespace of `pid` alike. Raises `OSError`."""
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{pid}/{name}").write_text(line)
