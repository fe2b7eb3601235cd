"""Time stamps of what a socket sends, whose copies the kernel keeps and no control group counts.

Newer kernels have the switch for each network, and a sandbox's network is without. On others it is
the machine's, and only who administers that may turn it.
"""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

from atoll.ports.host import Finding
from atoll.zygote.host import kernel

SWITCH: Final = Path("/proc/sys/net/core/tstamp_allow_data")
_NAME: Final = "time stamps"


def findings(
    switch: Path = SWITCH,
    each_network: Callable[[], bool] | None = None,
    level: Literal["warn", "fail"] = "warn",
) -> Iterator[Finding]:
    """Report whether a program in a sandbox can have copies kept of what it sends, as a finding of
    this level where it can."""
    if (each_network or _is_of_each_network)():
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
    else:
        yield Finding(
            _NAME,
            level,
            "a program in a sandbox can have the kernel keep copies of what it sends, which no "
            "control group counts",
            "`sysctl net.core.tstamp_allow_data=0`: programs with CAP_NET_RAW still have them.",
        )


def _is_of_each_network() -> bool:
    """Report whether a new network has a switch of its own."""
    kinds = kernel.CLONE_NEWNET | (kernel.CLONE_NEWUSER if os.geteuid() else 0)

    def look() -> None:
        kernel.unshare(kinds)
        if not SWITCH.exists():
            raise OSError(errno.ENOENT, "there is none")

    return kernel.errno_in_child(look) == 0
