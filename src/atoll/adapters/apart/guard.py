"""The guard of one extension: each call has a deadline, and repeated failures a pause."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, TypeVar

import structlog

from atoll.adapters.apart.answers import MAX_SENTENCE
from atoll.adapters.apart.loop import ApartLoop, CallBroken, LoopBlocked
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.domain.routes.health import MOST, Outcome, health_of
from atoll.wire.words.routes import Breaker

T = TypeVar("T")

DEADLINES: Final[Mapping[str, float | None]] = MappingProxyType(
    {
        "provision": 1800.0,
        "wait_ready": 300.0,
        "teardown": 100.0,
        "survey": 30.0,
        "ended": None,
        "why_ended": 10.0,
        "copy_kept": 1800.0,
        "drop_kept": 100.0,
        "refresh": 1800.0,
        "keep_snapshot": 1800.0,
        "drop_snapshot": 100.0,
        "pause": 60.0,
        "resume": 60.0,
        "close": 10.0,
    }
)
"""Seconds until a call is given up; `ended` waits for as long as nothing ends."""


def _nobody() -> None:
    return


_log = structlog.get_logger(__name__)


class Guard:
    """Calls to the extension `name`, whose code runs on `loop`. `changed` is called when its
    trouble is another one."""

    def __init__(
        self,
        name: str,
        loop: ApartLoop,
        *,
        now: Callable[[], datetime],
        deadlines: Mapping[str, float | None] = DEADLINES,
        changed: Callable[[], None] = _nobody,
    ) -> None:
        self.name = name
        self.loop = loop
        self._now = now
        self._deadlines = deadlines
        self._changed = changed
        self._outcomes: list[Outcome] = []
        self._faults: dict[str, str] = {}
        self._trying = False

    @property
    def breaker(self) -> Breaker:
        """Report whether calls pass: an extension that hangs or breaks is left alone for a
        while."""
        return health_of(self._outcomes, self._now()).breaker

    @property
    def trouble(self) -> str | None:
        """Return what is wrong with it now: the last fault of each verb that has not worked
        since."""
        faults = [f"{verb}: {fault}" for verb, fault in sorted(self._faults.items())]
        if self.breaker is not Breaker.CLOSED:
            faults.insert(0, "it broke several times in a row and is left alone for a while")
        return "; ".join(faults) or None

    async def call(self, verb: str, work: Callable[[], Awaitable[T]]) -> T:
        """Await `work` on the extension's own thread. Raises `Unavailable` after the deadline and
        while the breaker is open, `Failed` for a fault of the extension, and what it raises on
        purpose."""
        trial = self._admit_call(verb)
        self._trying = self._trying or trial
        try:
            return await self._run_judged(verb, work)
        finally:
            if trial:
                self._trying = False

    def _admit_call(self, verb: str) -> bool:
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

    async def _run_judged(self, verb: str, work: Callable[[], Awaitable[T]]) -> T:
        seconds = self._deadlines[verb]
        try:
            answer = await self.loop.call(work, seconds)
        except AtollError as err:
            self._note(verb)
            if len(err.message) > MAX_SENTENCE:
                # Everybody would wait while it is stored, logged and shown.
                err.message = err.message[:MAX_SENTENCE]
                err.args = (err.message,)
            raise
        except TimeoutError as err:
            self._note(verb, f"no answer within {seconds or 0:g} s")
            raise Unavailable(
                f"{self.name} did not answer {verb} within {seconds or 0:g} s: it hangs, or blocks "
                "its thread"
            ) from err
        except LoopBlocked as err:
            self._note(verb, f"not begun: its thread is blocked in {err}")
            raise Unavailable(
                f"{self.name} could not begin {verb}: code of the extension blocks its thread "
                f"({err})"
            ) from err
        except (Exception, CallBroken) as err:
            fault = str(err) if isinstance(err, CallBroken) else f"{type(err).__name__}: {err}"
            self._note(verb, fault[:200])
            whole = len(fault) <= MAX_SENTENCE
            _log.error("extension_broke", extension=self.name, verb=verb, exc_info=whole)
            raise Failed(
                f"{self.name} broke in {verb} ({fault[:200]}): this is a fault of the extension"
            ) from err
        self._note(verb)
        return answer

    def _note(self, verb: str, fault: str | None = None) -> None:
        self._outcomes.append(Outcome(self._now(), 0 if fault is None else None))
        del self._outcomes[:-MOST]
        if fault is None:
            self.works(verb)
        elif self._faults.get(verb) != fault:
            self._faults[verb] = fault
            self._changed()

    def works(self, verb: str) -> None:
        """Take back that a verb is broken."""
        if self._faults.pop(verb, None) is not None:
            self._changed()
