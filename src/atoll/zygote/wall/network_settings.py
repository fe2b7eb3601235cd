"""Settings of a sandbox's own network, by which the kernel keeps less for it.

What a connection leaves behind for a minute, and copies of what was sent with a time stamp, are
memory that no control group counts. The settings are those of one network namespace, written from
outside as root or as the owner of the namespace.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from atoll.zygote.host import kernel

ENDED_CONNECTIONS: Final = 4096
"""The connections that wait after their end (TIME_WAIT). Further ones are closed at once."""

_SETTINGS: Final = Path("/proc/sys/net")
_VALUES: Final = {"ipv4/tcp_max_tw_buckets": str(ENDED_CONNECTIONS), "core/tstamp_allow_data": "0"}
"""On older kernels time stamps are a setting of the whole machine, which is not there then."""


def bound_network(init_pid: int) -> None:
    """Bound what the kernel keeps for the network of `init_pid`, unless that is this process's own.
    Raises `OSError`."""
    network = os.open(f"/proc/{init_pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if os.fstat(network).st_ino == Path("/proc/self/ns/net").stat().st_ino:
            return
        if os.geteuid() == 0:
            with kernel.entered_network(network):
                _write()
        else:
            _write_in_child(network)
    finally:
        os.close(network)


def _write_in_child(network: int) -> None:
    def write() -> None:
        kernel.setns(kernel.owner_of_namespace(network), kernel.CLONE_NEWUSER)
        kernel.setns(network, kernel.CLONE_NEWNET)
        _write()

    code = kernel.errno_in_child(write)
    if code != 0:
        raise OSError(code, f"the sandbox's network took no setting: {os.strerror(code)}")


def _write() -> None:
    for name, value in _VALUES.items():
        with suppress(FileNotFoundError):
            (_SETTINGS / name).write_text(value)
