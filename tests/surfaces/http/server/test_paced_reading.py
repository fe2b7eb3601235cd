"""How the bytes of many clients reach their parsers: in pieces, in turn, and no faster than these
want them."""

import asyncio
from typing import Any, cast

from atoll.surfaces.http.server.connections.held_bytes import HeldBytes
from atoll.surfaces.http.server.connections.paced_reading import (
    PIECE_BYTES,
    PacedReading,
    Turns,
)


class Transport:
    """A transport that knows whether it is read."""

    def __init__(self) -> None:
        self.reads, self.closing, self.aborted = True, False, False

    def is_reading(self) -> bool:
        return self.reads

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def abort(self) -> None:
        self.closing = self.aborted = True


class Parser:
    """A parser that notes its pieces."""

    def __init__(self, turns: Turns) -> None:
        self.pieces: list[bytes] = []
        self.busy = self.fails = False
        self.size = PIECE_BYTES
        self.transport = Transport()
        self.reading = PacedReading(self, cast(Any, self.transport), turns)

    def parse(self, data: bytes) -> None:
        if self.fails:
            raise ValueError("a fault of ours")
        self.pieces.append(data)

    def is_busy(self) -> bool:
        return self.busy

    def piece_bytes(self) -> int:
        return self.size


async def test_small_piece_is_parsed_at_once() -> None:
    parser = Parser(Turns())
    parser.reading.take(b"abc")
    assert parser.pieces == [b"abc"] and parser.transport.reads


async def test_large_read_is_parsed_in_pieces_between_the_turns_of_others() -> None:
    parser, seen = Parser(Turns()), []
    data = bytes(range(256)) * 40
    parser.reading.take(data)
    assert parser.pieces == [] and not parser.transport.reads
    while parser.reading.waiting_bytes:
        await asyncio.sleep(0)
        seen.append(len(parser.pieces))
    assert b"".join(parser.pieces) == data and max(map(len, parser.pieces)) == PIECE_BYTES
    assert seen == [1, 2, 3, 4, 5] and parser.transport.reads


async def test_two_connections_have_their_pieces_in_turn() -> None:
    turns = Turns()
    first, second = Parser(turns), Parser(turns)
    first.reading.take(b"a" * PIECE_BYTES * 3)
    second.reading.take(b"b" * PIECE_BYTES * 3)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert abs(len(first.pieces) - len(second.pieces)) <= 1


async def test_busy_parser_is_given_nothing_until_it_goes_on() -> None:
    parser = Parser(Turns())
    parser.busy = True
    parser.reading.take(b"a")
    parser.reading.take(b"b")
    await asyncio.sleep(0.01)
    assert parser.pieces == [] and not parser.transport.reads
    parser.busy = False
    parser.reading.go_on()
    await asyncio.sleep(0.01)
    assert b"".join(parser.pieces) == b"ab" and parser.transport.reads


async def test_what_is_left_is_dropped_with_the_connection() -> None:
    turns = Turns()
    closed, dropped = Parser(turns), Parser(turns)
    for parser in (closed, dropped):
        parser.reading.take(b"a" * PIECE_BYTES * 2)
    closed.transport.closing = True
    dropped.reading.drop()
    await asyncio.sleep(0.01)
    assert closed.pieces == dropped.pieces == [] and dropped.transport.reads
    assert closed.reading.waiting_bytes == 0


async def test_parser_that_fails_ends_its_own_connection_alone() -> None:
    turns = Turns()
    broken, other = Parser(turns), Parser(turns)
    broken.fails = True
    for parser in (broken, other):
        parser.reading.take(b"a" * PIECE_BYTES * 2)
    await asyncio.sleep(0.01)
    assert broken.transport.aborted and len(other.pieces) == 2


class Holding:
    """A connection that holds bytes."""

    def __init__(self, client: str) -> None:
        self.client, self.closed = client, False

    def held_for(self) -> str:
        return self.client

    def give_up(self) -> None:
        self.closed = True


def test_most_bytes_of_the_client_with_most_are_given_up() -> None:
    held = HeldBytes(100)
    large, mine, other = Holding("a"), Holding("b"), Holding("b")
    held.note(large, 50)
    held.note(mine, 30)
    held.note(other, 20)
    assert not (large.closed or mine.closed or other.closed)
    held.note(other, 25)
    assert mine.closed and not large.closed and not other.closed
    held.note(other, 0)
    held.note(large, 100)
    assert not large.closed


def test_connection_that_holds_more_than_all_may_is_closed() -> None:
    held, only = HeldBytes(100), Holding("a")
    held.note(only, 101)
    assert only.closed
