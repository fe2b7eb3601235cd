"""The health of the machine that this control plane runs on, as `atoll doctor` finds it.

The checks try things out and take a moment, so what they found is shown again for a while, and
requests at the same time share one look.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta

from atoll.domain.errors import Unavailable
from atoll.ports import Clock
from atoll.ports.host import Finding
from atoll.services.journals.shared_reads import Begin, SharedReads

FRESH = timedelta(seconds=30)

Examination = Callable[[], Awaitable[Sequence[Finding]]]
"""An examination of the machine. Raises `Unavailable` when it is not over in time."""


async def refuse_examination() -> Sequence[Finding]:
    """Raise `Unavailable`: this control plane does not examine its machine."""
    raise Unavailable("this control plane does not examine its machine: run `atoll doctor` there")


class MachineHealth:
    """The findings on this machine, at most half a minute old."""

    def __init__(self, clock: Clock, examine: Examination) -> None:
        self._clock = clock
        self._examine = examine
        self._found: Sequence[Finding] = ()
        self._at = datetime.min.replace(tzinfo=UTC)
        self._looks = SharedReads(self._look)

    async def findings(self) -> tuple[Sequence[Finding], datetime]:
        """Return what was found, most important first, and when. Raises `Unavailable`."""
        if self._clock.now() - self._at > FRESH:
            await self._looks.of(None)
        return self._found, self._at

    async def _look(self, _key: None, begin: Begin) -> None:
        begin()
        # Whoever came while a look was under way finds it done.
        if self._clock.now() - self._at > FRESH:
            self._found = await self._examine()
            self._at = self._clock.now()
