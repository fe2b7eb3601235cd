"""Between an agent and its terminal: the lock there is the agent's, its end is the terminal's."""

import asyncio
from dataclasses import dataclass

from atoll.domain.terminal.size import Size
from atoll.domain.terminal.softlock import AgentState, Work
from atoll.domain.terminal.turn import Role
from atoll.runtime.agents.session import AgentSession
from atoll.runtime.agents.tui import AGENT, REPORT_PIPE_SECONDS, AgentWatch, TuiChannel
from atoll.runtime.terminals.observer import Author
from atoll.runtime.terminals.terminal import Terminal
from atoll.wire.attach import AgentStateChanged, Exited

LAST_WORDS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RunningWatch:
    """A watch and the task it runs in."""

    watch: AgentWatch
    task: asyncio.Task[None]

    async def ready(self) -> None:
        """Wait until it listens, or cannot."""
        try:
            async with asyncio.timeout(REPORT_PIPE_SECONDS):
                await self.watch.listening.wait()
        except TimeoutError:
            return

    def cancel(self) -> None:
        """Stop listening."""
        self.task.cancel()


class AgentLock:
    """The lock an agent puts on its terminal, from `install` on. Satisfies `Observer`."""

    def __init__(
        self, session: AgentSession, terminal: Terminal, watching: RunningWatch | None
    ) -> None:
        self._session = session
        self._terminal = terminal
        self._watching = watching
        self._channel = TuiChannel(terminal, session)

    def install(self) -> None:
        """Connect the agent's session and its terminal."""
        session, terminal = self._session, self._terminal
        session.connect(self._channel, on_state=self.changed)
        terminal.install_lock(self.reason, session.state())
        terminal.observers.append(self)

    def reason(self, role: Role, keys: bytes) -> str | None:
        """Return why somebody of this role may not type these keys now."""
        return self._session.lock.refusal_of(keys, owner=role is Role.OWNER)

    def changed(self, state: AgentStateChanged) -> None:
        """Report the agent's changed state to viewers, and give or take control accordingly."""
        terminal, lock = self._terminal, self._session.lock
        terminal.greeting = state
        terminal.tell(state)
        if lock.state is AgentState.RUNNING and lock.work is Work.WORKING:
            terminal.control.agent_takes(self._session.identity.name)
            self._channel.works()
        else:
            terminal.control.agent_yields()

    def showed(self, data: bytes) -> None:
        """Note output. Cards come from what the agent reports, not from its screen."""
        self._channel.drew()

    def typed(self, author: Author, data: bytes) -> None:
        """Note accepted input. Within a turn that asks it is an answer, and no draft."""
        if author != AGENT and not self._session.lock.asking:
            self._channel.typed(data)

    def resized(self, size: Size) -> None:
        """Ignore the size."""

    def ended(self, ending: Exited) -> None:
        """End the session: the leader ended as its job did."""
        self._session.ended()
        if self._watching is not None:
            # Its last reports may still be on their way.
            loop = asyncio.get_running_loop()
            loop.call_later(LAST_WORDS_SECONDS, self._watching.cancel)
