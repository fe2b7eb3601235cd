"""A numbered stream: whatever is cut, the bytes arrive once and in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.link.stream import ACK_BYTES, MAX_PONGS, MAX_RECORD_BYTES, Broken, ResumableStream


def joined(window: int = 1000) -> tuple[ResumableStream, ResumableStream]:
    one, other = ResumableStream(window), ResumableStream(window)
    one.resume(0)
    other.resume(0)
    return one, other


def test_bytes_arrive_and_their_acknowledgement_makes_room() -> None:
    one, other = joined()
    one.write(b"x" * 600)
    assert (one.room, one.waiting, one.written, one.connected) == (400, 600, 600, True)
    assert other.feed(one.drain()) == b"x" * 600
    assert other.owes_ack
    other.acknowledge()
    assert not other.owes_ack
    assert one.feed(other.drain()) == b""
    assert (one.room, one.waiting, one.written) == (1000, 0, 600)
    other.acknowledge()
    assert other.drain() == b""


def test_room_is_never_negative_and_a_writer_is_never_refused() -> None:
    stream = ResumableStream(10)
    stream.write(b"x" * 25)
    assert (stream.room, stream.waiting, stream.drain()) == (0, 25, b"")


def test_much_is_acknowledged_at_once_and_records_are_bounded() -> None:
    one, other = joined(10**6)
    one.write(b"y" * (2 * MAX_RECORD_BYTES + 1))
    sent = one.drain()
    assert len(sent) == 2 * MAX_RECORD_BYTES + 1 + 3 * 4
    assert len(other.feed(sent)) == 2 * MAX_RECORD_BYTES + 1 > ACK_BYTES
    one.feed(other.drain())
    assert one.waiting == 0


def test_ping_is_answered_and_says_nothing() -> None:
    one, other = joined()
    one.ping()
    assert other.feed(one.drain()) == b""
    answer = other.drain()
    assert answer
    assert one.feed(answer) == b""
    apart = ResumableStream(10)
    apart.ping()
    assert apart.drain() == b""


@given(
    pieces=st.lists(st.binary(min_size=1, max_size=50), min_size=1, max_size=12),
    cuts=st.lists(st.integers(min_value=0, max_value=80), max_size=8),
)
def test_stream_that_is_cut_anywhere_loses_and_repeats_nothing(
    pieces: list[bytes], cuts: list[int]
) -> None:
    one, other = joined()
    got = b""
    for piece in pieces:
        one.write(piece)
        sent = one.drain()
        if cuts:
            got += other.feed(sent[: cuts.pop()])
            one.cut()
            other.cut()
            assert not one.connected
            one.resume(other.received)
            other.resume(one.received)
            sent = one.drain()
        for at in range(len(sent)):
            got += other.feed(sent[at : at + 1])
        other.acknowledge()
        one.feed(other.drain())
    assert got == b"".join(pieces)
    assert one.waiting == 0


def test_stream_begins_anew_for_another_peer() -> None:
    one, other = joined()
    one.write(b"old")
    other.feed(one.drain())
    one.restart()
    assert (one.received, one.written, one.connected) == (0, 0, False)
    one.write(b"new")
    one.resume(0)
    fresh = ResumableStream(10)
    fresh.resume(0)
    assert fresh.feed(one.drain()) == b"new"


@pytest.mark.parametrize("claimed", [1, 10**9])
def test_peer_that_claims_what_was_never_written_is_broken(claimed: int) -> None:
    with pytest.raises(Broken, match="claims"):
        ResumableStream(10).resume(claimed)


def test_peer_that_forgets_what_it_acknowledged_is_broken() -> None:
    one, other = joined()
    one.write(b"four")
    other.feed(one.drain())
    other.acknowledge()
    one.feed(other.drain())
    with pytest.raises(Broken):
        one.resume(3)


@pytest.mark.parametrize(
    "record",
    [
        b"\x02\x08\0\0" + (7).to_bytes(8, "little"),
        b"\x02\x01\0\0x",
        b"\x03\x01\0\0x",
        b"\x04\x01\0\0x",
        b"\x09\0\0\0",
        b"\0\0\0\0",
        b"\x01\x01\0\x01",
    ],
)
def test_records_that_mean_nothing_are_broken(record: bytes) -> None:
    stream = ResumableStream(10)
    stream.resume(0)
    with pytest.raises(Broken):
        stream.feed(record)


@given(st.binary(max_size=400))
def test_any_bytes_are_taken_or_broken(data: bytes) -> None:
    stream = ResumableStream(10)
    stream.resume(0)
    try:
        stream.feed(data)
    except Broken:
        return


def test_bytes_before_a_broken_record_do_not_count_as_received() -> None:
    one, other = ResumableStream(1000), ResumableStream(1000)
    one.resume(0)
    other.resume(0)
    one.write(b"whole")
    with pytest.raises(Broken):
        other.feed(one.drain() + b"\x07\x00\x00\x00")
    assert other.received == 0
    other.cut()
    one.cut()
    one.resume(other.received)
    other.resume(one.received)
    assert other.feed(one.drain()) == b"whole"


def test_flood_of_pings_is_answered_up_to_a_bound() -> None:
    one, other = joined()
    for _ in range(10_000):
        one.ping()
    assert other.feed(one.drain()) == b""
    assert len(other.drain()) == 4 * MAX_PONGS
    assert other.drain() == b""


def test_record_that_is_not_whole_waits_for_its_rest() -> None:
    one, other = joined()
    one.write(b"whole")
    sent = one.drain()
    assert (other.feed(sent[:-1]), other.feed(sent[-1:])) == (b"", b"whole")
