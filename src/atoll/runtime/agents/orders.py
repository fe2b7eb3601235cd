"""Orders for agents, and which of them carry the sandbox's instructions.

The control plane sends the instructions with every order until the journal says that an agent
received them: it may have ended after the request and before the answer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from atoll.domain.agents.agent import plain_prompt
from atoll.domain.errors import Invalid
from atoll.ports.runtime_boot import Agent
from atoll.runtime.agents.status import Identity
from atoll.runtime.journal.journal import Journal
from atoll.wire.words.terminals import Strictness


@dataclass(frozen=True, slots=True)
class AgentOrder:
    """Options of an agent's start: a first `prompt`, its last conversation (`resume`) or one by its
    id, questions before it acts (`ask`; machines only: at a terminal its own settings count).
    `softlock` says whom the lock stops while it works. `instructions` are its sandbox's and come
    before the prompt. Instructions with an `instructions_id` are given to one agent only. With
    `must_know` a conversation that the agent does not know is refused; otherwise it begins another
    one."""

    prompt: str | None = None
    resume: bool = False
    ask: bool = False
    conversation: str | None = None
    softlock: Strictness = Strictness.OWNER
    instructions: str | None = None
    instructions_id: int | None = None
    must_know: bool = False

    @property
    def first_prompt(self) -> str | None:
        """First prompt of the agent: its sandbox's instructions, then the prompt."""
        given = (plain_prompt(words) for words in (self.instructions, self.prompt) if words)
        return "\n\n".join(filter(None, given)) or None


class Instructions:
    """Instructions by id, each given to one agent; the journal records which."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._claimed: set[int] = set()

    @contextmanager
    def once(self, order: AgentOrder) -> Iterator[AgentOrder]:
        """Yield the order, without instructions that another agent has. An error within leaves
        them to the next agent."""
        if order.instructions_id in self._claimed:
            yield replace(order, instructions=None, instructions_id=None)
            return
        if order.instructions_id is not None:
            self._claimed.add(order.instructions_id)
        try:
            yield order
        except BaseException:
            self.release(order)
            raise

    def release(self, order: AgentOrder) -> None:
        """Leave the instructions to the next agent: this one did not receive them."""
        if order.instructions_id is not None:
            self._claimed.discard(order.instructions_id)

    def received(self, identity: Identity, order: AgentOrder) -> None:
        """Record that an agent has them."""
        if order.instructions_id is None:
            return
        entry = {
            "id": identity.id,
            "agent": identity.name,
            "instructions_id": order.instructions_id,
        }
        self._journal.append("agent.instructed", entry)


_NO_PROGRAM = frozenset({"no_such_program", "not_executable"})


@contextmanager
def name_missing_program(agent: Agent) -> Iterator[None]:
    """Name the agent in the refusal of a program that is not there."""
    try:
        yield
    except Invalid as error:
        if error.code not in _NO_PROGRAM:
            raise
        raise Invalid(
            f"the agent {agent.name} is not in this sandbox: {error.message}",
            code="agent_not_inside",
            field="agent",
        ) from error
