"""The limits of one sandbox on pools that the kernel counts for each uid of the machine.

Without root all sandboxes and the person's own programs have one uid. The kernel limits some of
these pools for each user namespace as well (namespaces(7), /proc/sys/user), others by resource
limits of the process. As root each sandbox has a uid, and so pools, of its own.
"""

import os
import resource
from pathlib import Path

from atoll.zygote.host import kernel

FILES = 4096
"""Open files of a process where no profile says: no process may send a descriptor while more than
its own limit are in flight, whichever process of its uid sent them (unix(7), ETOOMANYREFS)."""

OWN_FILES = 1024
"""Descriptors our processes may have in flight when sandboxes have sent all they can."""

SHARE = 4
"""A sandbox gets the machine's bound of a uid, divided by this."""

_BOUNDS = ("inotify_instances", "inotify_watches")


def most_files(asked: int | None) -> int:
    """Return the hard limit of open files for commands of a sandbox whose profile requests `asked`.
    Its init gets `OWN_FILES` more. Call it before the limits of a sandbox are set."""
    _soft, ours = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(asked or FILES, ours - 2 * OWN_FILES))


def bound_inotify(init_pid: int) -> tuple[str, ...]:
    """Limit inotify(7) for the sandbox of `init_pid`, from outside. Returns what is missing."""

    def write_bounds() -> None:
        network = os.open(f"/proc/{init_pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        kernel.setns(kernel.owner_of_namespace(network), kernel.CLONE_NEWUSER)
        for name in _BOUNDS:
            most = int(Path(f"/proc/sys/fs/inotify/max_user_{name[8:]}").read_text())
            Path(f"/proc/sys/user/max_{name}").write_text(str(max(1, most // SHARE)))

    code = kernel.errno_in_child(write_bounds)
    if code == 0:
        return ()
    return (f"inotify: one sandbox can take all of this user's watchers ({os.strerror(code)})",)
