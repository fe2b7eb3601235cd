"""An agent and its terminal: the lock there is the agent's, its end is the terminal's.

The lock is made first, then the terminal it guards, then the session that announces its state
there, and last the observer by which the terminal's end ends the session.
"""

import asyncio
from dataclasses import dataclass

from atoll.domain.terminals.liveliness import Liveliness, OutputActivity
from atoll.domain.terminals.size import Size
from atoll.domain.terminals.softlock import is_interrupt
from atoll.runtime.agents.session import AgentSession
from atoll.runtime.agents.status import AgentStatus
from atoll.runtime.agents.tui import AGENT, REPORT_PIPE_SECONDS, AgentWatch, TuiChannel
from atoll.runtime.clock import Alarm
from atoll.runtime.terminals.observer import Author
from atoll.runtime.terminals.terminal import Terminal
from atoll.wire.attach import AgentStateChanged, Exited
from atoll.wire.words.terminals import Role

LAST_WORDS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RunningWatch:
    """A watch, the task it runs in, and the session it waits for."""

    watch: AgentWatch
    task: asyncio.Task[None]
    session: asyncio.Future[AgentSession]

    async def ready(self) -> None:
        """Wait until it listens, or cannot."""
        try:
            async with asyncio.timeout(REPORT_PIPE_SECONDS):
                await self.watch.listening.wait()
        except TimeoutError:
            return

    def follow(self, session: AgentSession) -> None:
        """Report to this session from now on."""
        if not self.session.done():
            self.session.set_result(session)

    def cancel(self) -> None:
        """Stop listening."""
        self.task.cancel()


class AgentLock:
    """The lock an agent puts on its terminal. Satisfies `TypingGuard`."""

    def __init__(self, status: AgentStatus) -> None:
        self._status = status

    def refusal(self, role: Role, keys: bytes) -> str | None:
        """Return why somebody of this role may not type these keys now."""
        return self._status.lock.refusal_of(keys, owner=role is Role.OWNER)

    def greeting(self) -> AgentStateChanged:
        """Return the agent's state."""
        return self._status.message()


class TerminalAnnouncer:
    """Announcer of an agent's state at its terminal. Satisfies `SessionObserver`."""

    def __init__(self, terminal: Terminal, status: AgentStatus, channel: TuiChannel) -> None:
        self._terminal = terminal
        self._status = status
        self._channel = channel

    def changed(self, state: AgentStateChanged) -> None:
        """Report the agent's changed state to viewers, and give or take control accordingly."""
        terminal = self._terminal
        terminal.tell(state)
        if self._status.works:
            terminal.control.agent_takes(self._status.identity.name)
            self._channel.works()
        else:
            terminal.control.agent_yields()


class AgentTerminal:
    """Observer of an agent's terminal: its end ends the session. Satisfies `Observer`."""

    def __init__(
        self, session: AgentSession, channel: TuiChannel, watching: RunningWatch | None
    ) -> None:
        self._session = session
        self._channel = channel
        self._watching = watching
        self._loop = asyncio.get_running_loop()
        self._liveliness = Liveliness()
        self._silence = Alarm(self._end_silent_turn)
        self._interrupted = False
        self._activity = OutputActivity()
        self._idle = Alarm(self._look)

    def showed(self, data: bytes) -> None:
        """Note output. Cards come from what the agent reports, not from its screen."""
        self._channel.drew()
        if not self._session.reports_turns:
            self._note_output()
        if self._session.works:
            self._liveliness.drew(self._loop.time())
            self._silence.set(self._liveliness.deadline)
        else:
            self._liveliness.began()
            self._interrupted = False

    def typed(self, author: Author, data: bytes) -> None:
        """Note accepted input. Within a turn that asks it is an answer, and no draft."""
        if is_interrupt(data) and self._session.works:
            self._interrupted = True
            self._liveliness.interrupted(self._loop.time())
            self._silence.set(self._liveliness.deadline)
        self._activity.caused(self._loop.time())
        if author != AGENT and not self._session.lock.asking:
            self._channel.typed(data)

    def resized(self, size: Size) -> None:
        """Note that it draws itself anew."""
        self._activity.caused(self._loop.time())

    def ended(self, ending: Exited) -> None:
        """End the session, because the leader of its terminal exited."""
        self._silence.cancel()
        self._idle.cancel()
        self._session.ended(_failure(ending))
        if self._watching is not None:
            # Its last reports may still be on their way.
            loop = asyncio.get_running_loop()
            loop.call_later(LAST_WORDS_SECONDS, self._watching.cancel)

    def _note_output(self) -> None:
        """Note output of an agent that reports nothing."""
        if self._activity.drew(self._loop.time()):
            self._session.shows(active=True)
        self._idle.set(self._activity.deadline)

    def _look(self) -> None:
        if self._activity.tick(self._loop.time()):
            self._session.shows(active=False)
        self._idle.set(self._activity.deadline)

    def _end_silent_turn(self) -> None:
        """End a turn whose agent has fallen silent: the report of its end was lost, or it reports
        no interrupts."""
        if not self._session.works:
            return
        if self._liveliness.over(self._loop.time()):
            self._session.fell_silent(interrupted=self._interrupted)
        else:
            self._silence.set(self._liveliness.deadline)


def _failure(ending: Exited) -> str:
    """Return why an agent ended; empty where a person's exit or interrupt ended it."""
    if ending.signal is not None:
        return (
            "" if ending.signal in ("HUP", "INT", "TERM") else f"Signal {ending.signal} ended it."
        )
    return f"It ended with exit status {ending.code}." if ending.code not in (0, 130, None) else ""
