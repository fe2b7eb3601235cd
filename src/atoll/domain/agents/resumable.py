"""Agents that run in a sandbox, as far as they must be known to resume them after a stop.

The sandbox's runtime reports them, so the rules here bound them: a conversation's name comes from
inside the sandbox, and becomes one word of an argv there.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from atoll.wire.words.terminals import Strictness

MAX_RUNNING_AGENTS = 80
"""The bound on agents, above the number of terminals and machines at once.

The oldest are dropped.
"""

_CONVERSATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}\Z")


class ResumeFallback(StrEnum):
    """The start of an agent whose conversation is not known.

    It starts afresh, since nothing was said yet; or resumes its last conversation; or does not
    start, since it cannot resume.
    """

    AFRESH = "afresh"
    LAST = "last"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class RunningAgent:
    """A running agent.

    `id` is its terminal's or its own, `mode` `tui` or `machine`; `asks`: it asks before it acts.
    `conversation` is its present conversation, as it names it; `otherwise` decides the start while
    none is known. `by` is who opened it, `softlock` whom its lock stops.
    """

    id: str
    agent: str
    mode: str
    name: str | None = None
    cwd: str | None = None
    by: str | None = None
    asks: bool = False
    otherwise: ResumeFallback = ResumeFallback.NEVER
    conversation: str | None = None
    softlock: Strictness = Strictness.OWNER


def is_conversation(word: str) -> bool:
    """Report whether a word can name a conversation: never an option, a path or a glob."""
    return _CONVERSATION.match(word) is not None


def with_agent(agents: tuple[RunningAgent, ...], agent: RunningAgent) -> tuple[RunningAgent, ...]:
    """Return the agents with one more."""
    return (*without_agent(agents, agent.id), agent)[-MAX_RUNNING_AGENTS:]


def without_agent(agents: Iterable[RunningAgent], agent_id: str) -> tuple[RunningAgent, ...]:
    """Return the agents without one."""
    return tuple(agent for agent in agents if agent.id != agent_id)


def with_conversation(
    agents: Iterable[RunningAgent], agent_id: str, conversation: str
) -> tuple[RunningAgent, ...]:
    """Set the conversation of an agent; a word that cannot name one changes nothing."""
    if not is_conversation(conversation):
        return tuple(agents)
    return tuple(
        replace(agent, conversation=conversation) if agent.id == agent_id else agent
        for agent in agents
    )
