"""Register of running agents in the journal, so that a start can open them again.

Agents that end with the whole sandbox are not recorded as ended: they are resumed later.
"""

import logging
import os
from dataclasses import dataclass

from atoll.domain.agents.resumable import ResumeFallback, is_conversation
from atoll.domain.errors import AtollError, Unavailable
from atoll.ports.spawner import Spawner
from atoll.runtime.agents.session import AgentSession
from atoll.runtime.agents.status import Identity
from atoll.runtime.journal.journal import Journal
from atoll.runtime.tasks import Tasks

log = logging.getLogger("atoll.runtime")


@dataclass(frozen=True, slots=True)
class AgentStart:
    """Start of an agent: `name`, `cwd` and `by` as they were requested. `otherwise`: how it resumes
    while its conversation is unknown."""

    name: str | None = None
    cwd: str | None = None
    by: str | None = None
    asks: bool = False
    otherwise: ResumeFallback = ResumeFallback.NEVER
    conversation: str | None = None


class AgentRegister:
    """Journal entries of agents: each start, each end, and each new conversation."""

    def __init__(self, spawner: Spawner, journal: Journal, tasks: Tasks) -> None:
        self._spawner = spawner
        self._journal = journal
        self._tasks = tasks
        self._conversations: dict[str, str | None] = {}

    def arrived(self, session: AgentSession, how: AgentStart) -> None:
        """Record the start of an agent."""
        identity = session.identity
        entry: dict[str, object] = {
            "id": identity.id,
            "agent": identity.name,
            "mode": identity.mode,
            "asks": how.asks,
            "softlock": identity.softlock,
            "otherwise": how.otherwise,
        }
        chosen = {
            "name": how.name,
            "cwd": how.cwd,
            "by": how.by,
            "conversation": how.conversation,
        }
        entry |= {key: value for key, value in chosen.items() if value is not None}
        self._conversations[identity.id] = how.conversation
        self._journal.append("agent.started", entry)

    def converses(self, identity: Identity, conversation: str) -> None:
        """Record the conversation that an agent named."""
        known = self._conversations.get(identity.id)
        if conversation == known or not is_conversation(conversation):
            return
        self._conversations[identity.id] = conversation
        entry = {"id": identity.id, "agent": identity.name, "conversation": conversation}
        self._journal.append("agent.conversation", entry)

    def left(self, session: AgentSession) -> None:
        """Record the end of an agent that has stopped."""
        self._conversations.pop(session.identity.id, None)
        if session.stopping:
            self._note(session, "stopped")
        else:
            self._tasks.spawn(self._record_end(session), f"end of {session.identity.id}")

    async def _record_end(self, session: AgentSession) -> None:
        """Record the end of an agent, unless the whole sandbox ended."""
        try:
            (await self._spawner.open_file(".", os.O_RDONLY | os.O_DIRECTORY)).close()
        except Unavailable:
            return
        except AtollError as error:
            log.info("cannot tell whether the sandbox runs: %s", error.message)
        self._note(session, "ended")

    def _note(self, session: AgentSession, why: str) -> None:
        identity = session.identity
        entry = {"id": identity.id, "agent": identity.name, "why": why}
        self._journal.append("agent.ended", entry)
