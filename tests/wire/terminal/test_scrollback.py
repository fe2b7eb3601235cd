import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.terminal.scanner import MAX_SEQUENCE, Scanner
from atoll.wire.terminal.scrollback import MIN_CAPACITY, MIN_STRIDE, Scrollback
from tests.wire.recordings import NAMES, output


def blanked(data: bytes) -> bytes:
    """`data` with its short questions as NULs."""
    kept = bytearray(data)
    for query in Scanner().feed(data):
        if query.end - query.start <= 64:
            kept[query.start : query.end] = bytes(query.end - query.start)
    return bytes(kept)


def test_scrollback_too_small_for_a_sequence_is_refused() -> None:
    with pytest.raises(ValueError, match="needs 8192 bytes"):
        Scrollback(MIN_CAPACITY - 1)


def test_scrollback_begins_at_nothing() -> None:
    scrollback = Scrollback(MIN_CAPACITY)
    assert (scrollback.start, scrollback.ready, scrollback.end) == (0, 0, 0)
    assert scrollback.first_cut().offset == 0
    assert scrollback.read(0, 100) == b""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [13, 1000, 16384])
def test_scrollback_of_a_recorded_agent_replays_to_the_same_settings(name: str, size: int) -> None:
    data, scrollback, known = output(name), Scrollback(MIN_CAPACITY), Scanner()
    plain, ready = blanked(data), 0
    for turn, at in enumerate(range(0, len(data), size)):
        scrollback.append(data[at : at + size])
        known.feed(plain[ready : scrollback.ready])
        ready = scrollback.ready
        if turn % max(1, 8000 // size):
            continue
        for cut in (scrollback.first_cut(), scrollback.middle_cut()):
            assert scrollback.start <= cut.offset <= ready
            rest, fresh = scrollback.read(cut.offset, MIN_CAPACITY), Scanner()
            assert rest == plain[cut.offset : ready]
            fresh.feed(cut.preamble() + rest)
            # A replay never begins a synchronized update (2026).
            assert fresh.modes.private == known.modes.private - {2026} | (
                fresh.modes.private & {2026}
            )
            for field in ("ansi", "region", "pen", "title", "keypad", "other_keys"):
                assert getattr(fresh.modes, field) == getattr(known.modes, field)
    assert scrollback.modes == known.modes


@given(
    st.lists(
        st.sampled_from([b"x" * 700, b"\x1b[1m", b"\x1b[6n", b"\x1b", b"[c", b"\n"]), max_size=60
    )
)
def test_scrollback_hands_out_every_byte_once_however_it_is_read(pieces: list[bytes]) -> None:
    scrollback, seen, cursor = Scrollback(65536), b"", 0
    for piece in pieces:
        scrollback.append(piece)
        data = scrollback.read(cursor, 65536)
        seen, cursor = seen + data, cursor + len(data)
    scrollback.finish()
    seen += scrollback.read(cursor, 65536)
    assert seen == blanked(b"".join(pieces))


def test_scrollback_question_split_over_reads_waits_and_is_blank_for_all_but_the_driver() -> None:
    scrollback = Scrollback(MIN_CAPACITY)
    scrollback.append(b"ab\x1b[")
    assert scrollback.ready == 2
    assert [query.text for query in scrollback.append(b"6ncd")] == [b"6n"]
    assert scrollback.read(0, 100) == b"ab\0\0\0\0cd"
    assert scrollback.read(0, 100, fresh_from=0) == b"ab\x1b[6ncd"
    assert scrollback.read(0, 100, fresh_from=3) == b"ab\0\0\0\0cd"
    assert scrollback.read(3, 2, fresh_from=0) == b"[6"
    assert scrollback.read(6, 2, fresh_from=0) == b"cd"


def test_scrollback_unfinished_long_sequence_is_shown_at_once() -> None:
    scrollback = Scrollback(MIN_CAPACITY)
    scrollback.append(b"ab\x1b]2;" + b"t" * 100)
    assert scrollback.ready == scrollback.end


def test_scrollback_finished_in_a_sequence_shows_all_there_is() -> None:
    scrollback = Scrollback(MIN_CAPACITY)
    scrollback.append(b"ab\x1b[1")
    assert scrollback.ready == 2
    scrollback.finish()
    assert scrollback.read(0, 9) == b"ab\x1b[1"


def test_scrollback_within_an_endless_string_cuts_at_the_present_and_reopens_it() -> None:
    scrollback = Scrollback(MIN_CAPACITY)
    scrollback.append(b"\x1b]52;c;")
    for _ in range(20):
        scrollback.append(b"A" * 1000)
    cut = scrollback.first_cut()
    assert scrollback.start <= cut.offset <= scrollback.end
    assert cut.preamble().endswith(b"\x1b]999;")


def test_scrollback_huge_append_leaves_a_cut_and_no_stale_question() -> None:
    scrollback = Scrollback(MIN_CAPACITY)
    scrollback.append(b"\x1b[6n" + b"x" * (3 * MIN_CAPACITY) + b"\x1b[" + b"1" * 70 + b"n")
    cut = scrollback.middle_cut()
    middle = scrollback.end - MIN_CAPACITY // 2
    assert middle <= cut.offset <= middle + MIN_STRIDE
    assert b"\0" not in scrollback.read(scrollback.start, MIN_CAPACITY, fresh_from=0)


def test_scrollback_read_off_the_ring_is_refused() -> None:
    scrollback = Scrollback(MIN_CAPACITY)
    scrollback.append(b"x" * (MIN_CAPACITY + MAX_SEQUENCE))
    with pytest.raises(ValueError, match="outside"):
        scrollback.read(0, 1)


def test_scrollback_read_twice_is_read_once_until_more_comes() -> None:
    scrollback = Scrollback(MIN_CAPACITY)
    scrollback.append(b"a" * 100)
    first = scrollback.read(0, 100)
    assert scrollback.read(0, 100) is first
    assert scrollback.read(0, 50) == b"a" * 50
    scrollback.forget()
    assert scrollback.read(0, 100) == first
    scrollback.append(b"b" * MIN_CAPACITY)
    assert scrollback.read(scrollback.start, 100) == b"b" * 100


def test_scrollback_cuts_stand_as_near_after_large_appends_as_after_small_ones() -> None:
    scrollback = Scrollback(16 * MIN_STRIDE)
    for _ in range(8):
        scrollback.append(b"line of text \x1b[31mred\x1b[m\r\n" * 512)
    cut = scrollback.first_cut()
    assert scrollback.start <= cut.offset <= scrollback.start + MIN_STRIDE
