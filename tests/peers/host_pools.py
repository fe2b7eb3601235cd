"""What the host has left of the pools that all sandboxes share, and how quick a neighbour is.

Attempts at exhaustion print both beside each other: `Pools.now()` before and after, and
`neighbour(rig, box)` while the attempt holds what it took.
"""

import ctypes
import os
import re
import struct
import time
from dataclasses import dataclass
from pathlib import Path

from atoll.testing.zygote_rig import ZygoteRig
from atoll.wire.zygote import messages as wire

TRIES = 50
_ALLOW_ALL = struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)
_FILTER_INSTRUCTIONS = 64
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Pools:
    """Figures of the whole machine. `filter_loads`: a new seccomp filter can be compiled, which
    fails first when the pool of compiled filters (net.core.bpf_jit_limit) is used up."""

    available_mib: int
    aio: int
    files: int
    filter_loads: bool

    @classmethod
    def now(cls) -> "Pools":
        """The figures as they are."""
        memory = Path("/proc/meminfo").read_text()
        found = re.search(r"MemAvailable:\s+(\d+)", memory)
        assert found is not None
        return cls(
            available_mib=int(found[1]) // 1024,
            aio=int(Path("/proc/sys/fs/aio-nr").read_text()),
            files=int(Path("/proc/sys/fs/file-nr").read_text().split()[0]),
            filter_loads=_filter_loads(),
        )


@dataclass(frozen=True, slots=True)
class Neighbour:
    """How long commands took in a sandbox that did nothing else, in milliseconds."""

    p50_ms: float
    p99_ms: float


def neighbour(rig: ZygoteRig, box: wire.Box, *argv: str, tries: int = TRIES) -> Neighbour:
    """Run a short command (`echo` unless named) in a sandbox again and again."""
    took = []
    for _ in range(tries):
        began = time.monotonic()
        status, said = rig.inside(box, *(argv or ("/bin/echo", "here")))
        took.append((time.monotonic() - began) * 1000)
        assert status == 0, said
    took.sort()
    return Neighbour(round(took[len(took) // 2], 1), round(took[-1 - len(took) // 100], 1))


def show(what: str, before: Pools, during: Pools, beside: Neighbour) -> None:
    """Print one attempt's line: pytest shows it for a failure, or with `-s`."""
    print(f"{what}\n  before {before}\n  during {during}\n  neighbour {beside}")


def _filter_loads() -> bool:
    """Try it in a child, which ends with its filter."""
    child = os.fork()
    if child == 0:
        os._exit(_load_filter())
    return os.waitpid(child, 0)[1] == 0


def _load_filter() -> int:
    code = ctypes.create_string_buffer(_ALLOW_ALL * _FILTER_INSTRUCTIONS)
    program = struct.pack("<HxxxxxxQ", _FILTER_INSTRUCTIONS, ctypes.addressof(code))
    _libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    return int(_libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) != 0)  # PR_SET_SECCOMP
