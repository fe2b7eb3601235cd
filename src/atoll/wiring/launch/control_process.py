"""The control planes of a home as processes: found by the notes they leave, and ended."""

import contextlib
import json
import os
import signal
from pathlib import Path

from atoll.wiring.control.presence import places
from atoll.wiring.launch import zygote_process
from atoll.zygote.disk.safe_open import read_plain
from atoll.zygote.host.home import Home
from atoll.zygote.host.title import has_title

CONTROL_MODULE = "atoll.wiring.control.serve"
STOP_SECONDS = 15.0


def control_pid(home: Home, one: Path) -> int | None:
    """Return a control plane's pid, when the note it left names a process that is one."""
    try:
        pid = json.loads(read_plain(one.with_suffix(".json")))["pid"]
        command = Path(f"/proc/{int(pid)}/cmdline").read_bytes()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    words = command.split(b"\0")
    begins = CONTROL_MODULE.encode() in words and os.fsencode(home.root) in words
    return int(pid) if begins or has_title(command, "control", home.root) else None


def control_pids(home: Home) -> list[int]:
    """Return the pids of the control planes that run."""
    found = (control_pid(home, one) for one in places(home.root))
    return [pid for pid in found if pid is not None]


def end(pid: int) -> None:
    """End a control plane: by SIGTERM, and by SIGKILL when that takes too long."""
    with contextlib.suppress(ProcessLookupError):
        pidfd = os.pidfd_open(pid)
        try:
            for number in (signal.SIGTERM, signal.SIGKILL):
                signal.pidfd_send_signal(pidfd, number)
                if zygote_process.await_end(pidfd, STOP_SECONDS):
                    return
        finally:
            os.close(pidfd)
