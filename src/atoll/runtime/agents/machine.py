"""An agent in its machine mode: JSON lines over pipes, no terminal.

What the lines mean is a pure `Conversation`; this moves them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from atoll.domain.agents.card import Card, CardKind, CardState, Draft
from atoll.domain.agents.conversation import Conversation, Reply, Restart, Step, Terms
from atoll.domain.agents.lenient_json import Message
from atoll.domain.agents.readers import CONVERSATIONS
from atoll.domain.agents.settings import SettingName
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
RESTART_SECONDS = 5.0
"""The time that a process has to end by itself when another takes its place."""

Look = Callable[[tuple[str, ...]], Awaitable[Sequence[Message]]]
"""Runs a program inside and returns the JSON lines it prints. Raises what a spawner raises."""


def make_conversation(protocol: str, terms: Terms) -> Conversation:
    """Return the conversation of a protocol. Raises `Invalid` for an unknown one."""
    maker = CONVERSATIONS.get(protocol)
    if maker is None:
        raise Invalid(f"no machine mode is called {protocol!r}", field="mode")
    return maker(terms)


class MachineChannel:
    """An `AgentChannel` over one conversation. Its program may be started again."""

    def __init__(self, agent_id: str, conversation: Conversation, look: Look) -> None:
        self._id = agent_id
        self._conversation = conversation
        self._look = look
        self._running: Lines | None = None
        self._tap: Tap | None = None
        self._again = asyncio.Event()
        self._awaited: dict[str, asyncio.Future[Reply]] = {}
        self.held = False
        self.restart: Restart | None = None

    async def begin(self, program: Lines) -> Step:
        """Send a program its first messages. Raises `Invalid` for terms the agent cannot be started
        on."""
        self._running, self.restart = program, None
        self._again.clear()
        return await self._perform_step(self._conversation.begin())

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

    async def restarts(self) -> None:
        """Wait until its process is to end for another one."""
        await self._again.wait()

    async def ask(self, words: str) -> Step:
        """Send the agent a prompt."""
        return await self._perform_step(self._conversation.ask(words))

    async def interrupt(self) -> Step | None:
        """Break off the turn."""
        return await self._perform_step(self._conversation.interrupt())

    async def answer(self, card: Card, option: str | None, words: str | None) -> Step:
        """Answer the agent's question."""
        return await self._perform_step(self._conversation.answer(card, option, words))

    async def change(self, name: SettingName, value: str) -> Step:
        """Change a setting."""
        return await self._perform_step(self._conversation.change(name, value))

    async def request(self, key: str, method: str, params: Message, *, trace: str = "") -> Step:
        """Send a request of a worker, or look inside for its answer."""
        step = self._do(self._conversation.request(key, method, params, trace=trace))
        if step.lookup is not None:
            step = self._do(step.lookup.read(await self._look(step.lookup.argv)))
        self._reply(step.replies)
        return step

    @contextmanager
    def awaiting(self, key: str) -> Iterator[asyncio.Future[Reply]]:
        """Yield the reply to a request that is about to be sent; an error once the agent ended."""
        reply = self._awaited[key] = asyncio.get_running_loop().create_future()
        try:
            yield reply
        finally:
            del self._awaited[key]

    def follow(self, tap: Tap) -> None:
        """Give every later message to a worker too, which may hold the agent up."""
        if self._tap is not None:
            raise Conflict("another worker follows this agent; open it on one of its own")
        self._tap = tap

    def finish(self) -> None:
        """Report the end of the agent's messages."""
        gone = {"message": "it ended before it answered"}
        self._reply(tuple(Reply(key, error=gone) for key in self._awaited))
        if self._tap is not None:
            self._tap.left()

    @property
    def _program(self) -> Lines:
        if self._running is None:
            raise Conflict("the agent is not running", code="deaf")
        return self._running

    def _reply(self, replies: Sequence[Reply]) -> None:
        for reply in replies:
            awaited = self._awaited.get(reply.key)
            if awaited is not None and not awaited.done():
                awaited.set_result(reply)

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
        self._reply(step.replies)
        try:
            return self._do(step)
        except Conflict as error:
            log.warning("agent %s: %s", self._id, error.message)
            return Step(replies=step.replies, durable=step.durable, events=step.events)

    async def _perform_step(self, step: Step) -> Step:
        """Perform a step that the worker did not cause, and report it to the worker."""
        self._do(step)
        if self._tap is not None and step.events:
            await self._tap.take(b"", step)
        return step

    def _do(self, step: Step) -> Step:
        for line in step.send:
            if not self._program.write(msgspec.json.encode(line) + b"\n"):
                raise Conflict("the agent does not read its input: stop it", code="deaf")
        if step.restart is not None:
            self.restart = step.restart
            self._program.close_input()
            self._again.set()
        return step


async def _read(session: AgentSession, channel: MachineChannel) -> None:
    async for step in channel.read():
        session.apply(step)


async def run_machine(session: AgentSession, channel: MachineChannel) -> End:
    """Apply an agent's messages to its session until its program ends; returns how. A program that
    is to be started again has little time to end by itself."""
    try:
        return await _run(session, channel)
    except BaseException:
        channel.finish()
        raise


async def _run(session: AgentSession, channel: MachineChannel) -> End:
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(_read(session, channel))
        ending = tasks.create_task(channel.ended())
        restarting = tasks.create_task(channel.restarts())
        await asyncio.wait({ending, restarting}, return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            await asyncio.wait({ending}, timeout=RESTART_SECONDS)
        restarting.cancel()
        await asyncio.wait([reading], timeout=LAST_WORDS_SECONDS)
        while channel.held and not reading.done():
            # What a worker has no room for is not lost.
            await asyncio.wait([reading], timeout=LAST_WORDS_SECONDS)
        # Another process may keep the pipe open for ever: the agent itself is gone.
        reading.cancel()
        if not ending.done():
            ending.cancel()
            return End()
    return ending.result()


def end_machine(session: AgentSession, end: End) -> None:
    """Report the end of an agent whose program is not started again."""
    how = ""
    if (end.code or end.signal) and not session.stopping:
        how = f"signal {end.signal}" if end.signal else f"exit status {end.code}"
        card = Draft("ended", CardKind.STATUS, CardState.FAILED, title="The agent ended", text=how)
        session.heard((card,))
    session.ended(f"It ended with {how}." if how else "")
