"""The near end's stream, over whichever connection carries it now.

Connections come to a listening socket of ours. Each proves itself, the newest proven one carries
the stream, and nothing that was written is lost when one ends.
"""

import asyncio
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import cast

from atoll.domain.wall.runtime_end import RuntimeEnd
from atoll.wire.link import handshake
from atoll.wire.link.frames import Frame, FrameParser, Garbled
from atoll.wire.link.handshake import Continuation, Hello, Unproven
from atoll.wire.link.stream import Broken, ResumableStream

log = logging.getLogger("atoll.runtime")

WINDOW_BYTES = 4 * 1024 * 1024
MAX_WAITING_BYTES = 64 * 1024 * 1024
"""Unacknowledged bytes at which the far end counts as hostile: credit bounds what is honest."""
MAX_SKIPPED_BYTES = 1024 * 1024
PROOF_SECONDS = 10.0
ACK_SECONDS = 0.1
SILENCE_SECONDS = 15.0
"""Silence after which the peer is asked for a sign; twice as long ends the connection."""

Lost = Callable[[str, RuntimeEnd], None]
"""Receives why a link ended for good, in words for a log and as an end of the runtime."""

WRITE_HIGH_BYTES = 256 * 1024


class Carrier:
    """The resumable stream to one far end. Made inside the running loop."""

    def __init__(self, key: bytes, *, patience_seconds: float) -> None:
        self._key = key
        self._incarnation = secrets.randbits(64)
        self._on_frame: Callable[[Frame], None]
        self._on_lost: Lost
        self._patience_seconds = patience_seconds
        self._loop = asyncio.get_running_loop()
        self._stream = ResumableStream(WINDOW_BYTES)
        self._frames = FrameParser()
        self._life: int | None = None
        self._current: _Connection | None = None
        self._flushing = False
        self._ack: asyncio.TimerHandle | None = None
        self._heard = self._loop.time()
        self._cut_at: float | None = self._loop.time()
        self._watch: asyncio.TimerHandle | None = None
        self._over = False
        self._tick()

    @property
    def connected(self) -> bool:
        """True while a proven connection carries the stream."""
        return self._current is not None

    @property
    def cut_seconds(self) -> float:
        """Seconds since the last connection ended; 0 while there is one."""
        return 0.0 if self._cut_at is None else self._loop.time() - self._cut_at

    @asynccontextmanager
    async def serve(
        self,
        listener: socket.socket,
        *,
        on_frame: Callable[[Frame], None],
        on_lost: Lost,
    ) -> AsyncIterator[None]:
        """Take connections on a listening unix socket until the end of the block. `on_frame`
        receives each frame, `on_lost` once why there will be no more: the far end was replaced,
        sends garbage, or stayed away for `patience_seconds`."""
        self._on_frame, self._on_lost = on_frame, on_lost
        async with AsyncExitStack() as stack:
            server = await self._loop.create_unix_server(lambda: _Connection(self), sock=listener)
            stack.callback(server.close)
            stack.callback(self.close)
            yield

    def write(self, frame: bytes) -> None:
        """Send a frame, now or when there is a connection."""
        if self._over:
            return
        self._stream.write(frame)
        if self._stream.waiting > MAX_WAITING_BYTES:
            self.fail("the far end of the link acknowledges nothing")
        else:
            self._schedule()

    def close(self) -> None:
        """End the connection; nothing is reported any more. Idempotent."""
        self._over = True
        for timer in (self._ack, self._watch):
            if timer is not None:
                timer.cancel()
        if self._current is not None:
            # The far end waits for this before it exits.
            self._stream.acknowledge()
            self._flush()
            self._current.end()
            self._current = None

    def fail(self, reason: str, end: RuntimeEnd = RuntimeEnd.LINK_BROKEN) -> None:
        """End the link for good."""
        if not self._over:
            self.close()
            self._on_lost(reason, end)

    # The connections' side.

    def hello(self) -> Hello:
        """Return the first message of a new connection."""
        return Hello(self._incarnation, secrets.token_bytes(handshake.NONCE_BYTES))

    def prove(self, hello: Hello, answer: bytes) -> tuple[handshake.Challenge, bytes]:
        """Return the far end's answer and the proof to send. Raises `Unproven`."""
        challenge = handshake.decode_challenge(self._key, hello, answer)
        proof = handshake.encode_answer(self._key, hello, challenge, self._stream.received)
        return challenge, proof

    def join(self, connection: "_Connection", challenge: handshake.Challenge) -> None:
        """Carry the stream over a connection that is proven."""
        if self._over:
            connection.end()
            return
        resumed = challenge.continuation is Continuation.RESUMED
        if self._life is not None and not (resumed and challenge.life == self._life):
            self.fail(
                "the far end of the link was replaced, and its programs with it",
                RuntimeEnd.LINK_REPLACED,
            )
            connection.end()
            return
        self._life = challenge.life
        if self._current is not None:
            self._current.end()
            self._stream.cut()
        try:
            self._stream.resume(challenge.received)
        except Broken as error:
            self.fail(f"the far end of the link is broken: {error}")
            connection.end()
            return
        self._current = connection
        self._cut_at = None
        self._heard = self._loop.time()
        self._schedule()

    def received(self, connection: "_Connection", data: bytes) -> None:
        """Take the bytes of a connection; those of one that was replaced are dropped."""
        if connection is not self._current:
            return
        self._heard = self._loop.time()
        try:
            for frame in self._frames.feed(self._stream.feed(data)):
                self._on_frame(frame)
        except (Broken, Garbled) as error:
            self.fail(f"the far end of the link is broken: {error}")
            return
        self._flush()
        if self._stream.owes_ack and self._ack is None:
            self._ack = self._loop.call_later(ACK_SECONDS, self._acknowledge)

    def resume_writing(self) -> None:
        """Send what waited for the connection."""
        self._flush()

    def ended(self, connection: "_Connection") -> None:
        """Note the end of a connection."""
        if connection is self._current:
            self._current = None
            self._stream.cut()
            self._cut_at = self._loop.time()

    def _schedule(self) -> None:
        """Send at the end of this turn of the loop, together with what else is written in it."""
        if not self._flushing and self._current is not None:
            self._flushing = True
            self._loop.call_soon(self._flush_scheduled)

    def _flush_scheduled(self) -> None:
        self._flushing = False
        self._flush()

    def _flush(self) -> None:
        if self._current is not None and not self._current.paused:
            data = self._stream.drain()
            if data:
                self._current.write(data)

    def _acknowledge(self) -> None:
        self._ack = None
        self._stream.acknowledge()
        self._flush()

    def _tick(self) -> None:
        """Look after a peer that is silent, or away, every few seconds."""
        self._watch = self._loop.call_later(SILENCE_SECONDS / 3, self._tick)
        if self._current is None:
            if self.cut_seconds > self._patience_seconds:
                self.fail(
                    f"the link was cut for {self._patience_seconds:g} s; its far end has ended "
                    "every program",
                    RuntimeEnd.LINK_CUT,
                )
            return
        silent = self._loop.time() - self._heard
        if silent > 2 * SILENCE_SECONDS:
            self._current.abort()
        elif silent > SILENCE_SECONDS:
            self._stream.ping()
            self._flush()


class _Connection(asyncio.Protocol):
    """A connection, from its hello to its end."""

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._transport: asyncio.Transport | None = None
        self._hello = carrier.hello()
        self._greeting = bytearray()
        self._proven = False
        self._timer: asyncio.TimerHandle | None = None
        self.paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say hello."""
        self._transport = transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(high=WRITE_HIGH_BYTES)
        self._timer = asyncio.get_running_loop().call_later(PROOF_SECONDS, self.abort)
        transport.write(self._hello.encode())

    def data_received(self, data: bytes) -> None:
        """Take bytes of the greeting, then of the stream."""
        if self._proven:
            self._carrier.received(self, data)
        else:
            self._greeting += data
            self._examine()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end."""
        if self._timer is not None:
            self._timer.cancel()
        self._transport = None
        self._carrier.ended(self)

    def pause_writing(self) -> None:
        """Write no more for now."""
        self.paused = True

    def resume_writing(self) -> None:
        """Write again."""
        self.paused = False
        self._carrier.resume_writing()

    def write(self, data: bytes) -> None:
        """Send bytes."""
        if self._transport is not None:
            self._transport.write(data)

    def end(self) -> None:
        """Close, once what was written is sent."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def _examine(self) -> None:
        start = self._greeting.find(handshake.CHALLENGE_MAGIC + self._hello.nonce)
        if start < 0:
            if len(self._greeting) > MAX_SKIPPED_BYTES:
                self._refuse("no link answered")
            return
        end = start + handshake.CHALLENGE_BYTES
        if len(self._greeting) < end:
            return
        try:
            challenge, proof = self._carrier.prove(self._hello, bytes(self._greeting[start:end]))
        except Unproven as error:
            self._refuse(str(error))
            return
        if self._timer is not None:
            self._timer.cancel()
        rest = bytes(self._greeting[end:])
        self._greeting.clear()
        self._proven = True
        self.write(proof)
        self._carrier.join(self, challenge)
        if rest:
            self._carrier.received(self, rest)

    def _refuse(self, reason: str) -> None:
        log.warning("a connection for the link was refused: %s", reason)
        self.abort()
