import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.terminal.ring import Ring


@given(st.integers(1, 40), st.lists(st.binary(max_size=60)))
def test_ring_after_any_appends_holds_exactly_the_last_bytes(
    capacity: int, chunks: list[bytes]
) -> None:
    ring, everything = Ring(capacity), b""
    for chunk in chunks:
        ring.append(chunk)
        everything += chunk
        assert ring.end == len(everything)
        assert ring.start == max(0, len(everything) - capacity)
        assert ring.read(ring.start, capacity) == everything[ring.start :]
        for offset in range(ring.start, ring.end + 1):
            assert ring.read(offset, 7) == everything[offset : offset + 7]


@given(st.integers(1, 20), st.binary(max_size=50), st.integers(0, 60), st.integers(0, 60))
def test_ring_blanking_any_range_touches_only_what_is_still_here(
    capacity: int, data: bytes, start: int, end: int
) -> None:
    ring = Ring(capacity)
    ring.append(data)
    ring.blank(start, end)
    expected = bytes(0 if start <= at < end else byte for at, byte in enumerate(data))
    assert ring.read(ring.start, capacity) == expected[ring.start :]


def test_ring_read_before_start_or_after_end_is_refused() -> None:
    ring = Ring(4)
    ring.append(b"123456")
    for offset in (1, 7):
        with pytest.raises(ValueError, match="outside 2…6"):
            ring.read(offset, 1)


def test_ring_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one byte"):
        Ring(0)


def test_ring_negative_limit_reads_nothing() -> None:
    ring = Ring(4)
    ring.append(b"ab")
    assert ring.read(0, -1) == b""
