"""Output of a terminal that was kept over a sleep: what it showed, and what its program had set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.terminal.modes import Modes, release
from atoll.wire.terminal.scanner import Scanner
from atoll.wire.terminal.scrollback import MIN_CAPACITY, Scrollback
from tests.wire.recordings import NAMES, output

WHOLE = 1 << 20


def slept(scrollback: Scrollback, most: int = WHOLE, capacity: int = WHOLE) -> Scrollback:
    """Return the scrollback of the terminal that goes on after a sleep."""
    offset, preamble, data = scrollback.newest(most)
    return Scrollback.resumed(capacity, offset, preamble=preamble, data=data)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("capacity", [MIN_CAPACITY, WHOLE])
def test_recorded_agent_shows_the_same_after_a_sleep(name: str, capacity: int) -> None:
    before, data = Scrollback(capacity), output(name)
    before.append(data)
    after = slept(before, capacity=capacity)
    assert (after.end, after.ready, after.modes) == (before.end, before.ready, before.modes)
    place = after.first_cut()
    assert place.offset >= before.start
    assert after.read(place.offset, WHOLE) == before.read(place.offset, WHOLE)
    # An emulator that replays either one has the same settings.
    replay = Scanner()
    replay.feed(place.preamble() + after.read(place.offset, WHOLE))
    known = Scanner()
    known.feed(before.first_cut().preamble() + before.read(before.first_cut().offset, WHOLE))
    assert replay.modes == known.modes


def test_offsets_go_on_and_what_was_dropped_is_not_there() -> None:
    before = Scrollback(MIN_CAPACITY)
    before.append(b"x" * (3 * MIN_CAPACITY))
    after = slept(before, most=100)
    assert after.start >= before.end - 100 and after.end == before.end
    after.append(b"more")
    assert after.read(before.end, 10) == b"more"
    with pytest.raises(ValueError, match="outside"):
        after.read(0, 1)


def test_question_from_before_is_not_asked_again() -> None:
    before = Scrollback(MIN_CAPACITY)
    before.append(b"a\x1b[6nb")
    after = slept(before)
    assert after.read(0, 10) == b"a\0\0\0\0b"
    assert after.read(0, 10, fresh_from=0) == b"a\0\0\0\0b"


SETTINGS = (
    b"\x1b[?1049h\x1b[?25l\x1b[?1002h\x1b[?1006h\x1b[?2004h\x1b[?7l\x1b[4h\x1b[3;9r\x1b="
    b"\x1b(0\x0e\x1b[4 q\x1b[>4;2m\x1b[>1u\x1b[1;31m"
)


@pytest.mark.parametrize("before", [b"", b"\x1b[>5u"])
@pytest.mark.parametrize("settings", [SETTINGS, SETTINGS.replace(b"\x1b[?1049h", b""), b""])
def test_release_undoes_what_a_program_had_set(before: bytes, settings: bytes) -> None:
    scanner = Scanner()
    scanner.feed(before + settings)
    scanner.feed(release(scanner.modes))
    left = scanner.modes
    assert (left.private, left.ansi, left.pen) == (frozenset(), frozenset(), Modes().pen)
    assert (left.keyboard_main, left.keyboard_alternate) == ((), ())
    assert not (left.shifted or left.keypad or left.other_keys.strip(b"0;>4"))


@given(st.binary(max_size=400))
def test_release_is_made_of_settings_alone(data: bytes) -> None:
    scanner = Scanner()
    scanner.feed(data)
    spelled = release(scanner.modes)
    assert b"\x1bc" not in spelled and b"\n" not in spelled
    assert all(32 <= byte < 127 or byte in (0x0F, 0x1B) for byte in spelled)
