"""The guard of one extension: each call has a deadline, and repeated failures a pause."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, TypeVar

import structlog

from atoll.adapters.apart.loop import ApartLoop, Broken
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.domain.route.health import MOST, Breaker, Outcome, health_of

T = TypeVar("T")

DEADLINES: Final[Mapping[str, float | None]] = MappingProxyType(
    {
        "provision": 1800.0,
        "wait_ready": 300.0,
        "teardown": 100.0,
        "survey": 30.0,
        "ended": None,
        "why_ended": 10.0,
        "snapshot": 1800.0,
        "restore": 1800.0,
        "pause": 60.0,
        "resume": 60.0,
        "close": 10.0,
    }
)
"""Seconds until a call is given up; `ended` waits for as long as nothing ends."""

_log = structlog.get_logger(__name__)


class Guard:
    """Calls to the extension `name`, whose code runs on `loop`."""

    def __init__(
        self,
        name: str,
        loop: ApartLoop,
        *,
        now: Callable[[], datetime],
        deadlines: Mapping[str, float | None] = DEADLINES,
    ) -> None:
        self.name = name
        self.loop = loop
        self._now = now
        self._deadlines = deadlines
        self._outcomes: list[Outcome] = []
        self._trying = False

    @property
    def breaker(self) -> Breaker:
        """Report whether calls pass: an extension that hangs or breaks is left alone for a
        while."""
        return health_of(self._outcomes, self._now()).breaker

    async def call(self, verb: str, work: Callable[[], Awaitable[T]]) -> T:
        """Await `work` on the extension's own thread. Raises `Unavailable` after the deadline and
        while the breaker is open, `Failed` for a fault of the extension, and what it raises on
        purpose."""
        trial = self._admitted(verb)
        self._trying = self._trying or trial
        try:
            return await self._judged(verb, work)
        finally:
            if trial:
                self._trying = False

    def _admitted(self, verb: str) -> bool:
        """Return whether this call is the trial of a half-open breaker."""
        match self.breaker:
            case Breaker.CLOSED:
                return False
            case Breaker.HALF_OPEN if not self._trying:
                return True
            case Breaker.HALF_OPEN | Breaker.OPEN:
                raise Unavailable(
                    f"{self.name} hung or broke several times in a row and is left alone for a "
                    f"while; {verb} was not tried"
                )

    async def _judged(self, verb: str, work: Callable[[], Awaitable[T]]) -> T:
        seconds = self._deadlines[verb]
        try:
            answer = await self.loop.call(work, seconds)
        except AtollError:
            self._note(answered=True)
            raise
        except TimeoutError as err:
            self._note(answered=False)
            raise Unavailable(
                f"{self.name} did not answer {verb} within {seconds or 0:g} s: it hangs, or blocks "
                "its thread"
            ) from err
        except (Exception, Broken) as err:
            self._note(answered=False)
            _log.exception("extension_broke", extension=self.name, verb=verb)
            told = str(err)[:200] if isinstance(err, Broken) else f"{type(err).__name__}: {err}"
            raise Failed(
                f"{self.name} broke in {verb} ({told[:300]}): this is a fault of the extension"
            ) from err
        self._note(answered=True)
        return answer

    def _note(self, *, answered: bool) -> None:
        self._outcomes.append(Outcome(self._now(), 0 if answered else None))
        del self._outcomes[:-MOST]
