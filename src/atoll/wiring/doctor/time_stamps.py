"""Time stamps of what a socket sends, whose copies the kernel keeps and no control group counts.

Newer kernels have the switch for each network, and a sandbox's network is without. On others it is
the machine's, and only who administers that may turn it.
"""

import errno
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, Literal

from atoll.ports.host import Finding
from atoll.zygote.host import kernel

SWITCH: Final = Path("/proc/sys/net/core/tstamp_allow_data")
_NAME: Final = "time stamps"


def findings(
    switch: Path = SWITCH,
    each_network: Callable[[], bool | None] | None = None,
    level: Literal["warn", "fail"] = "warn",
) -> Iterator[Finding]:
    """Report whether a program in a sandbox can have copies kept of what it sends, as a finding of
    this level where it can."""
    is_own = (each_network or _is_of_each_network)()
    if is_own:
        yield Finding(_NAME, "ok", "a sandbox's network keeps no copies of what is sent")
        return
    try:
        value = switch.read_text().strip()
    except OSError:
        yield Finding(
            _NAME,
            "warn",
            "this network has no net.core.tstamp_allow_data, which the machine's own has",
            "Look on the machine, outside of containers: it is to be 0.",
        )
        return
    if value == "0":
        yield Finding(_NAME, "ok", "no program without CAP_NET_RAW has copies kept")
    elif is_own is None:
        yield Finding(
            _NAME,
            "warn",
            "this process may make no network, so whether each has a switch cannot be told",
            "Run `atoll doctor` on the machine, outside of containers.",
        )
    else:
        yield Finding(
            _NAME,
            level,
            "a program in a sandbox can have the kernel keep copies of what it sends, which no "
            "control group counts",
            "`sysctl net.core.tstamp_allow_data=0`: programs with CAP_NET_RAW still have them.",
        )


def _is_of_each_network() -> bool | None:
    """Report whether a new network has a switch of its own; None where none may be made. In a
    container root makes one as everybody else does, in a user namespace."""

    def look(kinds: int) -> None:
        kernel.unshare(kinds)
        if not SWITCH.exists():
            raise OSError(errno.ENOENT, "there is none")

    ways = (kernel.CLONE_NEWNET, kernel.CLONE_NEWNET | kernel.CLONE_NEWUSER)
    codes = {kernel.errno_in_child(partial(look, kinds)) for kinds in ways}
    return True if 0 in codes else False if errno.ENOENT in codes else None
