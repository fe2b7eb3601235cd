"""The report of `atoll doctor`, made for the control plane by a process of its own.

The checks fork and wait: neither suits a process with threads and an event loop. The child has the
control plane's own rights, and sees what they show.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from atoll.domain.errors import Unavailable
from atoll.ports.host import Finding

SECONDS = 20.0
MAX_BYTES = 256 * 1024


class _Report(msgspec.Struct):
    findings: list[Finding]


async def examine(home: Path) -> Sequence[Finding]:
    """Return what `atoll doctor` finds in `home`. Raises `Unavailable` when it takes too long, or
    breaks."""
    words = ("-m", "atoll.wiring.command", "doctor", "--json", "--home", str(home))
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=MAX_BYTES,
    )
    try:
        async with asyncio.timeout(SECONDS):
            text, _ = await child.communicate()
        return msgspec.json.decode(text, type=_Report).findings
    except (TimeoutError, msgspec.DecodeError) as err:
        raise Unavailable(
            "this machine could not be examined: run `atoll doctor` on it to see why"
        ) from err
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
