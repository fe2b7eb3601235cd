"""The end of a turn as an agent writes it down, where nothing else reports it.

An agent that its provider refuses may run no hook at its end, and draws too little for its silence
to say anything. Its own record names that end. The record is read a little late, so an end in it
counts only once no other turn has begun there for a while.
"""

import asyncio
from collections.abc import Callable, Sequence

from atoll.domain.agents.card import AgentReport, Began, CardKind, CardState, Draft, Worked
from atoll.runtime.clock import Alarm

WRITTEN_SECONDS = 2.0
"""The time in which the record of a turn that has begun is read, on a busy machine."""
OVER = frozenset({CardState.DONE, CardState.FAILED, CardState.DECLINED})


class WrittenEnd:
    """The last end that an agent wrote down. `end` is called with it once it counts."""

    __slots__ = ("_alarm", "_end", "_loop", "_state")

    def __init__(self, end: Callable[[CardState], None]) -> None:
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._state: CardState | None = None
        self._alarm = Alarm(self._report_end)

    def wrote(self, reports: Sequence[AgentReport]) -> None:
        """Take what was read of its record."""
        for report in reports:
            if not isinstance(report, Draft) or report.kind is not CardKind.TURN:
                continue
            self._state = report.state if report.state in OVER else None
            self._wait()

    def reported(self, reports: Sequence[AgentReport]) -> None:
        """Take what better sources report. A prompt's report may come after the record of its end;
        work shows that the end was none."""
        for report in reports:
            match report:
                case Began():
                    self._wait()
                case Worked():
                    self.cancel()
                case _:
                    pass

    def cancel(self) -> None:
        """Forget the end."""
        self._state = None
        self._alarm.cancel()

    def _wait(self) -> None:
        self._alarm.cancel()
        if self._state is not None:
            self._alarm.set(self._loop.time() + WRITTEN_SECONDS)

    def _report_end(self) -> None:
        """Report the end that the agent wrote down, unless it was forgotten."""
        state, self._state = self._state, None
        if state is not None:
            self._end(state)
