"""The EventSink on NATS JetStream: one stream that holds each event once, in the log's order.

Every message names the number that the stream must end with (`Nats-Expected-Last-Sequence`). So of
two publishers one is refused by the stream itself, and a message that arrives late is refused too.
Within one call each message also names the one before it: when one is refused, so are the others,
even if somebody else's message stands in its place. The message id lets the stream recognise a
repetition, and consumers one that the stream had lost and that was filled in again.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import msgspec
from nats import errors
from nats.aio.msg import Msg
from nats.js import JetStreamManager, api
from nats.js.errors import APIError, NotFoundError, ServiceUnavailableError

from atoll.adapters.bus.envelope import envelope
from atoll.adapters.bus.nats_link import Connection, NatsLink
from atoll.adapters.bus.settings import BusSettings
from atoll.domain.errors import AtollError, Conflict, Failed, Unavailable
from atoll.domain.event import Event
from atoll.domain.ids import EventId
from atoll.domain.outbox import Tip

POSITION: Final = "Atoll-Position"
MESSAGE_ID: Final = "Nats-Msg-Id"
ANSWER_SECONDS: Final = 5
MAX_MESSAGE_BYTES: Final = 512 * 1024
HEADER_BYTES: Final = 1024
MAX_POSITION_DIGITS: Final = 18
MAX_FOREIGN: Final = 1000
"""Messages at the end of a stream that are not Atoll's and are passed over."""

_WRONG_END: Final = frozenset({10070, 10071})
"""Another last message id, another last number."""

_TEMPORARY: Final = frozenset({408, 429, 500, 503})


class _Refusal(msgspec.Struct):
    """An error of JetStream, in an acknowledgement."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class _Ack(msgspec.Struct):
    """An acknowledgement of JetStream."""

    seq: int = 0
    duplicate: bool = False
    error: _Refusal | None = None


_acks = msgspec.json.Decoder(_Ack)


@dataclass(slots=True)
class _Acks:
    """The acknowledgements that one connection waits for, by the last word of their subject."""

    connection: Connection
    inbox: str
    waiting: dict[str, asyncio.Future[int]] = field(default_factory=dict)
    count: int = 0

    def expect(self) -> tuple[str, asyncio.Future[int]]:
        """Return the subject of the next acknowledgement, and its future."""
        self.count += 1
        future = asyncio.get_running_loop().create_future()
        self.waiting[str(self.count)] = future
        return f"{self.inbox}.{self.count}", future

    async def take(self, message: Msg) -> None:
        """Settle what a message acknowledges."""
        future = self.waiting.pop(message.subject.rpartition(".")[2], None)
        if future is None or future.done():
            return
        try:
            future.set_result(_sequence_of(message))
        except AtollError as error:
            future.set_exception(error)

    def fail(self) -> None:
        """Settle all: the connection is lost."""
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(Unavailable("the connection to NATS was lost"))
        self.waiting.clear()


def _sequence_of(message: Msg) -> int:
    """Return the sequence number of the stored message. Raises the stream's error."""
    if (message.headers or {}).get("Status") == "503":
        raise Unavailable("no stream of JetStream takes the events")
    try:
        ack = _acks.decode(message.data)
    except msgspec.DecodeError as error:
        raise Unavailable("JetStream answered something else than expected") from error
    if ack.error is not None:
        raise _publish_error(ack.error.code, ack.error.err_code, ack.error.description)
    if ack.duplicate:
        raise Unavailable("the stream holds an event that was removed from its end: wait a little")
    return ack.seq


def _publish_error(code: int, err_code: int, text: str) -> AtollError:
    if err_code in _WRONG_END:
        return Conflict(f"another publisher was faster: {text}")
    kind = Unavailable if code in _TEMPORARY else Failed
    return kind(f"JetStream refuses: {text} ({err_code})")


class JetStreamSink:
    """The `ports.senders.event_sink.EventSink` on JetStream, over the connection of `link`."""

    def __init__(self, link: NatsLink, settings: BusSettings) -> None:
        self._link = link
        self._settings = settings
        self._acks: _Acks | None = None

    @property
    def name(self) -> str:
        """See the port."""
        return self._settings.stream

    async def tip(self) -> Tip:
        """See the port."""
        manager = self._link.connection.client.jsm(timeout=ANSWER_SECONDS)
        async with _translate_errors():
            state = (await self._ensure_stream(manager)).state
            if not state.messages:
                return Tip(state.last_seq)
            return await self._find_tip(manager, state)

    async def append(self, events: Sequence[Event], *, after: int) -> int:
        """See the port."""
        async with _translate_errors():
            acks = await self._listening()
            client = acks.connection.client
            most = min(MAX_MESSAGE_BYTES, client.max_payload - HEADER_BYTES)
            expected: list[asyncio.Future[int]] = []
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    before: Event | None = None
                    for number, event in enumerate(events, after):
                        subject, future = acks.expect()
                        expected.append(future)
                        await client.publish(
                            f"{self._settings.bus_prefix}.{subject_of(event.event_type)}",
                            envelope(event, most),
                            reply=subject,
                            headers=self._headers(event, number, before),
                        )
                        before = event
                    return [await each for each in expected][-1]
            finally:
                _forget(expected)

    def _headers(self, event: Event, after: int, before: Event | None) -> dict[str, str]:
        headers = {
            MESSAGE_ID: event.id,
            POSITION: str(event.position),
            "Nats-Expected-Stream": self.name,
            "Nats-Expected-Last-Sequence": str(after),
        }
        if before is not None:
            headers["Nats-Expected-Last-Msg-Id"] = before.id
        return headers

    async def _listening(self) -> _Acks:
        """Return the acknowledgements of the connection, subscribed to once."""
        connection = self._link.connection
        if self._acks is None or self._acks.connection is not connection:
            acks = _Acks(connection, connection.client.new_inbox())
            await connection.client.subscribe(f"{acks.inbox}.*", cb=acks.take)
            connection.at_end.append(acks.fail)
            self._acks = acks
        return self._acks

    async def _ensure_stream(self, manager: JetStreamManager) -> api.StreamInfo:
        """Return the stream; create it, or update it to the settings, if necessary."""
        try:
            found = await manager.stream_info(self.name)
        except NotFoundError:
            return await manager.add_stream(self._config(api.StreamConfig(name=self.name)))
        if found.config.storage not in (None, api.StorageType.FILE):
            raise Failed(f"the stream {self.name} is in memory only: remove it, it is made anew")
        wanted = self._config(found.config)
        return found if wanted == found.config else await manager.update_stream(wanted)

    def _config(self, config: api.StreamConfig) -> api.StreamConfig:
        """Return a configuration in line with the settings; whatever else it says stays."""
        own = self._settings
        return config.evolve(
            subjects=[f"{own.bus_prefix}.*.*"],
            retention=api.RetentionPolicy.LIMITS,
            storage=api.StorageType.FILE,
            discard=api.DiscardPolicy.OLD,
            max_age=float(own.bus_days * 86400),
            max_bytes=own.bus_mb * 1024 * 1024 or -1,
            duplicate_window=float(own.bus_window_seconds),
            num_replicas=own.bus_copies,
        )

    async def _find_tip(self, manager: JetStreamManager, state: api.StreamState) -> Tip:
        """Return the tip, with the last event of the stream. Messages of others are passed over."""
        first = max(state.first_seq, state.last_seq - MAX_FOREIGN + 1)
        for number in range(state.last_seq, first - 1, -1):
            try:
                headers = (await manager.get_msg(self.name, number)).headers or {}
            except NotFoundError:
                continue
            event_id = str(headers.get(MESSAGE_ID, ""))
            position = _position(str(headers.get(POSITION, "")))
            if position is not None and event_id:
                return Tip(state.last_seq, position, EventId(event_id))
        raise Failed(
            f"the stream {self.name} ends with messages that are not Atoll's: remove them, and let "
            "nobody else publish there"
        )


def _position(text: str) -> int | None:
    number = text.isascii() and text.isdigit() and len(text) <= MAX_POSITION_DIGITS
    return int(text) if number else None


async def describe_bus(connection: Connection, settings: BusSettings) -> str:
    """Return in words what server this is and what its stream holds, and change nothing. Raises
    `Unavailable`."""
    client = connection.client
    lock = "over TLS" if settings.requires_tls else "without TLS"
    found = f"NATS {client._server_info.get('version', '?')} {lock}"
    async with _translate_errors():
        manager = client.jsm(timeout=ANSWER_SECONDS)
        try:
            state = (await manager.stream_info(settings.stream)).state
        except NotFoundError:
            return f"{found}; there is no stream {settings.stream} yet"
    size = state.bytes / 2**20
    return f"{found}; stream {settings.stream} keeps {state.messages} events, {size:.1f} MiB"


def _forget(expected: list[asyncio.Future[int]]) -> None:
    for future in expected:
        if not future.cancel() and not future.cancelled():
            future.exception()  # looked at: nobody is told of it any more


@asynccontextmanager
async def _translate_errors() -> AsyncIterator[None]:
    """Translate the client's errors."""
    try:
        yield
    except ServiceUnavailableError as error:
        raise Unavailable("JetStream is not enabled there, or not for this account") from error
    except APIError as error:
        raise _publish_error(
            error.code or 0, error.err_code or 0, error.description or ""
        ) from error
    except TimeoutError as error:
        raise Unavailable("JetStream did not answer in time: may this user use it?") from error
    except errors.Error as error:
        raise Unavailable(f"JetStream was not reached: {str(error)[:200]}") from error


def subject_of(event_type: str) -> str:
    """Return the end of the subject of a kind, `<domain>.<event>`: further dots are `_`."""
    domain, _, event = event_type.partition(".")
    return f"{domain}.{event.replace('.', '_')}"
