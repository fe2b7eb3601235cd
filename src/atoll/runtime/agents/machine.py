"""An agent in its machine mode: JSON lines over pipes, no terminal.

What the lines mean is a pure `Conversation`; this moves them.
"""

import logging
from collections.abc import Callable

import msgspec

from atoll.domain.agent.card import Card, CardKind, CardState, Draft
from atoll.domain.agent.conversation import Conversation, Step, Terms
from atoll.domain.agent.lenient_json import Message
from atoll.domain.agent.readers import CONVERSATIONS
from atoll.domain.errors import Conflict, Invalid
from atoll.runtime.agents.lines import Lines
from atoll.runtime.agents.session import AgentSession
from atoll.runtime.execs.ends import end_of
from atoll.wire.http.unreadable import UNREADABLE

log = logging.getLogger("atoll.runtime")


def make_conversation(protocol: str, terms: Terms) -> Conversation:
    """Return the conversation of a protocol. Raises `Invalid` for an unknown one."""
    maker = CONVERSATIONS.get(protocol)
    if maker is None:
        raise Invalid(f"no machine mode is called {protocol!r}", field="mode")
    return maker(terms)


class MachineChannel:
    """An `AgentChannel` over one conversation."""

    def __init__(
        self,
        session: AgentSession,
        conversation: Conversation,
        program: Lines,
        on_conversation: Callable[[AgentSession, str], None],
    ) -> None:
        """Report the conversation's id, in the agent's own naming, to `on_conversation`."""
        self._session = session
        self._on_conversation = on_conversation
        self._conversation = conversation
        self._program = program

    def begin(self) -> None:
        """Send the first messages. Raises `Invalid` for terms the agent cannot be started on."""
        self._do(self._conversation.begin())

    async def run(self) -> None:
        """Exchange messages until the agent ends."""
        async for line in self._program.read_lines():
            try:
                message = msgspec.json.decode(line)
            except UNREADABLE:
                continue
            if isinstance(message, dict):
                self._heard(message)
        end = end_of(await self._program.process.wait())
        if (end.code or end.signal) and not self._session.stopping:
            how = f"signal {end.signal}" if end.signal else f"exit status {end.code}"
            card = Draft(
                "ended", CardKind.STATUS, CardState.FAILED, title="The agent ended", text=how
            )
            self._session.heard((card,))
        self._session.ended()

    async def ask(self, words: str) -> None:
        """Give it a prompt."""
        self._do(self._conversation.ask(words))

    async def interrupt(self) -> bool:
        """Break off the turn."""
        self._do(self._conversation.interrupt())
        return True

    async def answer(self, card: Card, option: str | None, words: str | None) -> None:
        """Answer what it asked."""
        self._do(self._conversation.answer(card, option, words))

    def _heard(self, message: Message) -> None:
        try:
            self._do(self._conversation.take(message))
        except Conflict as error:
            log.warning("agent %s: %s", self._session.identity.id, error.message)

    def _do(self, step: Step) -> None:
        for line in step.send:
            if not self._program.write(msgspec.json.encode(line) + b"\n"):
                raise Conflict("the agent does not read its input: stop it", code="deaf")
        self._session.heard(step.said)
        if step.conversation:
            self._on_conversation(self._session, step.conversation)
