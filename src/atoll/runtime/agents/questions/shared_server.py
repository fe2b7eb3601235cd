"""A second client of the server of an agent at its terminal: it reads and answers questions.

A program inside passes the bytes of a WebSocket (RFC 6455) to the server's socket. The meaning of
the messages is pure (`domain.agents.codex.server_questions`).
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Sequence

import msgspec
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from atoll.domain.agents.codex.server_questions import CodexServerQuestions, ServerStep
from atoll.domain.agents.conversation import Outgoing
from atoll.domain.agents.terminal_question import TerminalQuestion
from atoll.domain.errors import AtollError, Conflict
from atoll.ports.spawner import ProcessSpec, Spawner
from atoll.runtime.agents.lines import Program
from atoll.runtime.agents.questions.waiting import TerminalQuestions, late_answer
from atoll.runtime.agents.session import AgentSession
from atoll.wire.http.unreadable import UNREADABLE

log = logging.getLogger("atoll.runtime")

READ_BYTES = 64 * 1024
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
DELIVER_SECONDS = 5.0
LOOK_SECONDS = 0.3
"""The least time between two looks for new conversations."""


class SharedServer:
    """The connection to one agent's server, until it is cancelled."""

    def __init__(
        self,
        spawner: Spawner,
        program: Program,
        *,
        questions: TerminalQuestions,
        session: asyncio.Future[AgentSession],
    ) -> None:
        self._spawner = spawner
        self._program = program
        self._questions = questions
        self._session = session
        self._server = CodexServerQuestions()
        self._protocol = ClientProtocol(parse_uri("ws://localhost/"), max_size=MAX_MESSAGE_BYTES)
        self._writer: asyncio.StreamWriter | None = None
        self._posed: set[str] = set()
        self._delivering: dict[str, asyncio.Future[None]] = {}
        self._looks = False

    def look(self) -> None:
        """Look for new conversations soon: the agent does something."""
        if not self._looks:
            self._looks = True
            asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    async def run(self) -> None:
        """Read the server's messages until it ends. Without one, questions are answered at the
        terminal only."""
        try:
            async with self._connected() as reader:
                await self._read(reader)
        except (AtollError, OSError) as error:
            log.warning("an agent's server is not read: %s", error)
        finally:
            self._writer = None
            if self._session.done() and not self._session.cancelled():
                self._settle_all(self._session.result())

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[asyncio.StreamReader]:
        ours, theirs = socket.socketpair()
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        with ours:
            try:
                out = theirs.fileno()
                spec = ProcessSpec(
                    self._program.argv, self._program.env, self._program.cwd, out, out, null
                )
                process = await self._spawner.spawn(spec)
            finally:
                os.close(null)
                theirs.close()
            reader, self._writer = await asyncio.open_connection(sock=ours)
            try:
                yield reader
            finally:
                self._writer.close()
                with contextlib.suppress(AtollError):  # it may have ended by itself
                    await process.signal(signal.SIGKILL, tree=True)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        self._protocol.send_request(self._protocol.connect())
        self._flush()
        while data := await reader.read(READ_BYTES):
            connecting = self._protocol.state is State.CONNECTING
            self._protocol.receive_data(data)
            if connecting and self._protocol.state is State.OPEN:
                self._send(self._server.begin())
            for event in self._protocol.events_received():
                if isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                    await self._take(bytes(event.data))
            self._flush()

    async def _take(self, data: bytes) -> None:
        try:
            message = msgspec.json.decode(data)
        except UNREADABLE:
            return
        if isinstance(message, dict):
            self._do(self._server.take(message), await self._session)

    def _do(self, step: ServerStep, session: AgentSession) -> None:
        self._send(step.send)
        if step.asks is not None:
            self._posed.add(step.asks.id)
            session.heard(self._questions.pose(step.asks, self._deliver))
        if step.settles:
            self._settle(step.settles, session)
        if step.all_settled:
            self._settle_all(session)

    def _settle(self, question_id: str, session: AgentSession) -> None:
        self._posed.discard(question_id)
        delivered = self._delivering.get(question_id)
        if delivered is None:
            session.heard(self._questions.withdraw(question_id))
        elif not delivered.done():
            delivered.set_result(None)

    def _settle_all(self, session: AgentSession) -> None:
        for question_id in tuple(self._posed):
            self._settle(question_id, session)

    async def _deliver(self, question: TerminalQuestion) -> None:
        """Send an answer; returns once the server has settled the question. Raises `Conflict`."""
        answer = self._server.reply(question)
        if answer is None or self._writer is None or question.id in self._delivering:
            raise late_answer()
        delivered = asyncio.get_running_loop().create_future()
        self._delivering[question.id] = delivered
        self._send((answer,))
        try:
            async with asyncio.timeout(DELIVER_SECONDS):
                await delivered
        except TimeoutError:
            raise Conflict("The agent did not take the answer: look at its terminal.") from None
        finally:
            del self._delivering[question.id]

    def _look(self) -> None:
        self._looks = False
        self._send(self._server.look())

    def _send(self, messages: Sequence[Outgoing]) -> None:
        if self._writer is None or self._protocol.state is not State.OPEN:
            return
        for message in messages:
            self._protocol.send_text(msgspec.json.encode(message))
        self._flush()

    def _flush(self) -> None:
        if self._writer is not None:
            self._writer.writelines(data for data in self._protocol.data_to_send() if data)
