"""An agent in its machine mode: JSON lines over pipes, no terminal.

What the lines mean is a pure `Conversation`; this moves them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator

import msgspec

from atoll.domain.agent.card import Card, CardKind, CardState, Draft
from atoll.domain.agent.conversation import Conversation, Step, Terms
from atoll.domain.agent.lenient_json import Message
from atoll.domain.agent.readers import CONVERSATIONS
from atoll.domain.agent.settings import SettingName
from atoll.domain.errors import Conflict, Invalid
from atoll.runtime.agents.lines import Lines
from atoll.runtime.agents.neighbours import Tap
from atoll.runtime.agents.session import AgentSession
from atoll.runtime.execs.record import end_of
from atoll.wire.contract.terminals import End
from atoll.wire.http.unreadable import UNREADABLE

log = logging.getLogger("atoll.runtime")

LAST_WORDS_SECONDS = 1.0
"""The time to read what an agent wrote before its process ended."""


def make_conversation(protocol: str, terms: Terms) -> Conversation:
    """Return the conversation of a protocol. Raises `Invalid` for an unknown one."""
    maker = CONVERSATIONS.get(protocol)
    if maker is None:
        raise Invalid(f"no machine mode is called {protocol!r}", field="mode")
    return maker(terms)


class MachineChannel:
    """An `AgentChannel` over one conversation."""

    def __init__(self, agent_id: str, conversation: Conversation, program: Lines) -> None:
        self._id = agent_id
        self._conversation = conversation
        self._program = program
        self._tap: Tap | None = None
        self.held = False

    def begin(self) -> Step:
        """Send the first messages. Raises `Invalid` for terms the agent cannot be started on."""
        return self._do(self._conversation.begin())

    async def read(self) -> AsyncIterator[Step]:
        """Yield the step for each message of the agent's, until it sends no more."""
        async for line in self._program.read_lines():
            try:
                message = msgspec.json.decode(line)
            except UNREADABLE:
                continue
            if isinstance(message, dict):
                yield await self._take(line, message)

    async def ended(self) -> End:
        """Wait for the end of its process."""
        return end_of(await self._program.process.wait())

    async def ask(self, words: str) -> Step:
        """Send the agent a prompt."""
        return self._do(self._conversation.ask(words))

    async def interrupt(self) -> Step | None:
        """Break off the turn."""
        return self._do(self._conversation.interrupt())

    async def answer(self, card: Card, option: str | None, words: str | None) -> Step:
        """Answer the agent's question."""
        return self._do(self._conversation.answer(card, option, words))

    async def change(self, name: SettingName, value: str) -> Step:
        """Change a setting."""
        return self._do(self._conversation.change(name, value))

    async def request(self, key: str, method: str, params: Message, *, trace: str = "") -> Step:
        """Send a request of a worker."""
        return self._do(self._conversation.request(key, method, params, trace=trace))

    def follow(self, tap: Tap) -> None:
        """Give every later message to a worker too, which may hold the agent up."""
        if self._tap is not None:
            raise Conflict("another worker follows this agent; open it on one of its own")
        self._tap = tap

    def finish(self) -> None:
        """Report the end of the agent's messages."""
        if self._tap is not None:
            self._tap.left()

    async def _take(self, line: bytes, message: Message) -> Step:
        tap = self._tap
        if tap is None:
            return self._read(message)
        self.held = True
        await tap.room()
        step = self._read(message)
        await tap.take(line, step)
        self.held = False
        return step

    def _read(self, message: Message) -> Step:
        step = self._conversation.take(message)
        try:
            return self._do(step)
        except Conflict as error:
            log.warning("agent %s: %s", self._id, error.message)
            return Step(replies=step.replies, durable=step.durable)

    def _do(self, step: Step) -> Step:
        for line in step.send:
            if not self._program.write(msgspec.json.encode(line) + b"\n"):
                raise Conflict("the agent does not read its input: stop it", code="deaf")
        return step


async def _read(session: AgentSession, channel: MachineChannel) -> None:
    async for step in channel.read():
        session.apply(step)


async def run_machine(session: AgentSession, channel: MachineChannel) -> None:
    """Apply an agent's messages to its session, until it ends."""
    try:
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(_read(session, channel))
            end = await channel.ended()
            await asyncio.wait([reading], timeout=LAST_WORDS_SECONDS)
            while channel.held and not reading.done():
                # What a worker has no room for is not lost.
                await asyncio.wait([reading], timeout=LAST_WORDS_SECONDS)
            # Another process may keep the pipe open for ever: the agent itself is gone.
            reading.cancel()
    finally:
        channel.finish()
    how = ""
    if (end.code or end.signal) and not session.stopping:
        how = f"signal {end.signal}" if end.signal else f"exit status {end.code}"
        card = Draft("ended", CardKind.STATUS, CardState.FAILED, title="The agent ended", text=how)
        session.heard((card,))
    session.ended(f"It ended with {how}." if how else "")
