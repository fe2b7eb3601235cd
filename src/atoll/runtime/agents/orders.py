"""Orders for agents: which of them carry the sandbox's instructions, and the argv of each.

The control plane sends the instructions with every order until the journal says that an agent
received them: it may have ended after the request and before the answer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from atoll.domain.agents.agent import plain_prompt
from atoll.domain.agents.codex.server_questions import share_argv
from atoll.domain.agents.conversation import Terms
from atoll.domain.errors import Invalid
from atoll.ports.runtime_boot import Agent, Machine
from atoll.runtime.agents.status import Identity
from atoll.runtime.journal.journal import Journal
from atoll.wire.words.terminals import Strictness


@dataclass(frozen=True, slots=True)
class AgentOrder:
    """Options of an agent's start: a first `prompt`, its last conversation (`resume`) or one by its
    id, questions before it acts (`ask`; at a terminal only of an agent that has words for it).
    `softlock` says whom the lock stops while it works. `instructions` are its sandbox's and come
    before the prompt. Instructions with an `instructions_id` are given to one agent only. With
    `must_know` a conversation that the agent does not know is refused; otherwise it begins another
    one. With `fork` an agent that can do so goes on in a fork of its conversation."""

    prompt: str | None = None
    resume: bool = False
    ask: bool = False
    conversation: str | None = None
    softlock: Strictness = Strictness.OWNER
    instructions: str | None = None
    instructions_id: int | None = None
    must_know: bool = False
    fork: bool = False

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


def terminal_argv(agent: Agent, order: AgentOrder) -> tuple[str, ...]:
    """Return the argv at a terminal."""
    argv = _with_tools(agent, _choose_argv(agent, order)) + agent.watch_argv
    words = order.first_prompt
    if agent.prompt_argv is not None and words is not None:
        # Several agents would read words that begin so as an option.
        argv = (*argv, *agent.prompt_argv, f" {words}" if words.startswith("-") else words)
    return share_argv(argv) if shares_server(agent) else argv


def shares_server(agent: Agent) -> bool:
    """Report whether the agent at a terminal is a client of a server. Hooks in its arguments would
    ask for trust then."""
    return bool(agent.server and not agent.watch_argv)


def _choose_argv(agent: Agent, order: AgentOrder) -> tuple[str, ...]:
    """Return the argv for the conversation that the order names. Raises `Invalid`."""
    if not agent.argv:
        raise Invalid(
            f"{agent.name} has no mode at a terminal: start it as a machine, whose cards you read "
            "and answer",
            field="agent",
        )
    if order.conversation is not None:
        if not agent.conversation_argv:
            raise _no_such_return(agent.name)
        argv = (order.fork and agent.fork_argv) or agent.conversation_argv
        return (*_with_questions(agent, argv, order), order.conversation)
    if order.resume and not agent.resume_argv:
        raise Invalid(f"{agent.name} cannot resume a conversation", field="resume")
    return _with_questions(agent, agent.resume_argv if order.resume else agent.argv, order)


def _with_questions(agent: Agent, argv: tuple[str, ...], order: AgentOrder) -> tuple[str, ...]:
    """Return an argv by which the agent asks before it acts, if it is to. Raises `Invalid`."""
    if not order.ask:
        return argv
    if not agent.ask_words:
        raise Invalid(
            f"at a terminal the own settings of {agent.name} say what it asks: take mode machine",
            field="permissions",
        )
    words = dict(agent.ask_words)
    return tuple(words.get(word, word) for word in argv)


def _with_tools(agent: Agent, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return an argv that also names Atoll's tools."""
    return argv if agent.mcp is None else (*argv[:1], *agent.mcp.argv, *argv[1:])


def first_argv(agent: Agent, machine: Machine, order: AgentOrder, terms: Terms) -> tuple[str, ...]:
    """Return the argv of its first start: a new conversation has the name of its terms."""
    if order.resume or order.conversation is not None or not machine.fresh_argv:
        return machine_argv(agent, machine, order)
    return machine_argv(agent, machine, replace(order, conversation=terms.fresh), fresh=True)


def machine_argv(
    agent: Agent, machine: Machine, order: AgentOrder, *, fresh: bool = False
) -> tuple[str, ...]:
    """Return the argv of its machine mode. A `fresh` conversation gets the order's name."""
    argv = _with_tools(agent, machine.argv)
    argv = (*argv, *(machine.ask_argv if order.ask else machine.allow_argv))
    if order.conversation is None:
        return (*argv, *machine.resume_argv) if order.resume else argv
    if machine.conversation_argv is None:
        raise _no_such_return(agent.name)
    own = (order.fork and machine.fork_argv) or machine.conversation_argv
    own = machine.fresh_argv if fresh else own
    return (*argv, *own, order.conversation) if own else argv


def _no_such_return(name: str) -> Invalid:
    return Invalid(f"{name} cannot go on with a conversation by its id", field="conversation")
