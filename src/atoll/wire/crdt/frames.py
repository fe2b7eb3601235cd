"""Frames of y-protocols: the messages of synchronization and of awareness, one a frame.

Source: PROTOCOL.md and awareness.js of y-protocols 1.0. A frame that holds anything else is
`Malformed`; messages of authentication are, too, since the connection itself is authenticated.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from atoll.wire.crdt.lib0 import (
    Malformed,
    Reader,
    spell_bytes,
    spell_number,
    spell_text,
)

MAX_PRESENCES: Final = 1000
"""The most clients of one awareness message."""

MAX_CLIENTS: Final = 50_000
"""The most clients of one state vector."""

_SYNC, _AWARENESS, _QUERY = 0, 1, 3
_STEP_1, _STEP_2, _UPDATE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class SyncStep1:
    """A request for what the sender lacks: `clocks` says how much it has of each client."""

    clocks: dict[int, int]


@dataclass(frozen=True, slots=True)
class SyncStep2:
    """The answer to it: an update with all that was missing."""

    update: bytes


@dataclass(frozen=True, slots=True)
class SyncUpdate:
    """A change that the sender just made."""

    update: bytes


@dataclass(frozen=True, slots=True)
class Presence:
    """The state of one client: `state` is JSON, `null` once it is gone. Of two with the same
    `client` the one with the higher `clock` holds."""

    client: int
    clock: int
    state: str


@dataclass(frozen=True, slots=True)
class AwarenessUpdate:
    """States of clients."""

    presences: tuple[Presence, ...]


@dataclass(frozen=True, slots=True)
class AwarenessQuery:
    """A request for the states of all clients."""


Frame: TypeAlias = SyncStep1 | SyncStep2 | SyncUpdate | AwarenessUpdate | AwarenessQuery


def read_frame(data: bytes) -> Frame:
    """Return the message of a frame. Raises `Malformed`."""
    reader = Reader(data)
    kind = reader.number()
    frame: Frame
    if kind == _SYNC:
        frame = _sync(reader)
    elif kind == _AWARENESS:
        frame = AwarenessUpdate(read_presences(reader.bytes()))
    elif kind == _QUERY:
        frame = AwarenessQuery()
    else:
        raise Malformed("a frame is of an unknown kind")
    reader.finish()
    return frame


def _sync(reader: Reader) -> Frame:
    kind = reader.number()
    body = reader.bytes()
    if kind == _STEP_1:
        return SyncStep1(read_clocks(body))
    if kind == _STEP_2:
        return SyncStep2(body)
    if kind == _UPDATE:
        return SyncUpdate(body)
    raise Malformed("a message of synchronization is of an unknown kind")


def spell_frame(frame: Frame) -> bytes:
    """Return the frame of a message."""
    if isinstance(frame, SyncStep1):
        return bytes((_SYNC, _STEP_1)) + spell_bytes(spell_clocks(frame.clocks))
    if isinstance(frame, SyncStep2):
        return bytes((_SYNC, _STEP_2)) + spell_bytes(frame.update)
    if isinstance(frame, SyncUpdate):
        return bytes((_SYNC, _UPDATE)) + spell_bytes(frame.update)
    if isinstance(frame, AwarenessUpdate):
        return bytes((_AWARENESS,)) + spell_bytes(spell_presences(frame.presences))
    return bytes((_QUERY,))


def read_clocks(data: bytes) -> dict[int, int]:
    """Return the clocks of a state vector. Raises `Malformed`."""
    reader = Reader(data)
    count = reader.count()
    if count > MAX_CLIENTS:
        raise Malformed("a state vector has too many clients")
    clocks = {reader.number(): reader.number() for _ in range(count)}
    if len(clocks) != count:
        raise Malformed("a state vector names a client twice")
    reader.finish()
    return clocks


def spell_clocks(clocks: dict[int, int]) -> bytes:
    """Return the state vector with these clocks."""
    parts = [spell_number(len(clocks))]
    for client, clock in clocks.items():
        parts += (spell_number(client), spell_number(clock))
    return b"".join(parts)


def read_presences(data: bytes) -> tuple[Presence, ...]:
    """Return the states in an awareness update. Raises `Malformed`."""
    reader = Reader(data)
    count = reader.count()
    if count > MAX_PRESENCES:
        raise Malformed("an awareness message has too many clients")
    found = tuple(Presence(reader.number(), reader.number(), reader.text()) for _ in range(count))
    reader.finish()
    return found


def spell_presences(presences: tuple[Presence, ...]) -> bytes:
    """Return the awareness update with these states."""
    parts = [spell_number(len(presences))]
    for one in presences:
        parts += (spell_number(one.client), spell_number(one.clock), spell_text(one.state))
    return b"".join(parts)
