"""Process titles that `ps` shows: `atoll zygote HOME`, `atoll control HOME`, `atoll runtime NAME`.

The title overwrites the arguments, so a search for a process by its arguments must use its title,
too.
"""

import os
from pathlib import Path

from atoll.zygote.host import kernel

try:
    from setproctitle import setproctitle
except ImportError:  # a platform without its wheel: only the short names differ there

    def setproctitle(title: str) -> None:
        """Set nothing but the short name."""
        kernel.name_process(title)


def set_title(kind: str, what: str = "") -> None:
    """Show this process as `atoll KIND WHAT`, with `atoll-KIND` as its short name (`ps -o
    comm`)."""
    setproctitle(f"atoll {kind} {what}".rstrip())
    kernel.name_process(f"atoll-{kind}")


def has_title(command: bytes, kind: str, home: Path) -> bool:
    """Return whether a /proc/PID/cmdline is the title of this kind of process of a home."""
    return command.rstrip(b"\0") == b"atoll " + kind.encode() + b" " + os.fsencode(home)
