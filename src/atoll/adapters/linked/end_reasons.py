"""The reasons of ends on other machines: the words of the zygote, and the cause a backend knows."""

import asyncio
from contextlib import suppress

from atoll.domain.errors import AtollError
from atoll.domain.wall.runtime_end import END_REASONS, RuntimeEnd
from atoll.ports.far import FarBackend, FarBox, FarCauses

CAUSE_SECONDS, CAUSE_PAUSE_SECONDS = 8.0, 0.5

INIT_GONE = END_REASONS[RuntimeEnd.INIT_GONE]
_OF_RUNTIMES = "the runtime "
"""The beginning of a reason that is our runtime's end, not that of what is inside."""

_OF_ZYGOTES = "Atoll's zygote "
"""The beginning of a reason that is the end of this machine's zygote, and of its runtimes."""


async def explain_end(backend: FarBackend, box: FarBox, reason: str) -> str:
    """Return the reason of an end, with its cause where everything inside ended."""
    if reason.startswith(_OF_ZYGOTES):
        return f"{reason}: its programs run on"
    if reason.startswith(_OF_RUNTIMES):
        return f"runtime lost ({reason}); its programs run on"
    if reason != INIT_GONE or not isinstance(backend, FarCauses):
        return reason
    cause = await _wait_for_cause(backend, box)
    return f"{reason} ({cause})" if cause else reason


async def _wait_for_cause(backend: FarCauses, box: FarBox) -> str | None:
    """Return the cause of an end, also from a daemon that is on its way back; the words of the last
    failure where nobody can be asked in time."""
    failure = None
    with suppress(TimeoutError):
        async with asyncio.timeout(CAUSE_SECONDS):
            while True:
                try:
                    return await backend.cause(box)
                except AtollError as error:
                    failure = error.message
                await asyncio.sleep(CAUSE_PAUSE_SECONDS)
    return failure
