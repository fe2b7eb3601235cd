"""What a recording begins with: bytes that draw the present screen, and little before it."""

from atoll.wire.terminal.scanner import Scanner
from atoll.wire.terminal.scrollback import MIN_CAPACITY, MIN_STRIDE, Scrollback

CAPACITY = 256 * 1024
ROWS = 24


def fed(*parts: bytes, capacity: int = CAPACITY) -> Scrollback:
    scrollback = Scrollback(capacity)
    for part in parts:
        scrollback.append(part)
    return scrollback


def lines(count: int) -> bytes:
    return b"".join(b"line %d\r\n" % n for n in range(count))


def test_screen_of_a_terminal_that_showed_nothing_is_a_reset() -> None:
    assert fed().screen(ROWS).startswith(b"\x1bc")


def test_screen_of_a_shell_is_its_last_lines_and_not_its_history() -> None:
    screen = fed(lines(20_000), b"\x1b[1mprompt").screen(ROWS)
    assert screen.endswith(lines(20_000)[-ROWS * 12 :] + b"\x1b[1mprompt")
    assert len(screen) < CAPACITY // 8
    assert b"line 15000\r" not in screen


def test_screen_of_a_few_lines_is_all_of_them() -> None:
    assert fed(lines(3)).screen(ROWS).endswith(lines(3))


def test_screen_of_a_full_screen_program_begins_where_it_cleared() -> None:
    history, drawing = lines(12_000), b"\x1b[?1049h\x1b[2J" + b"\x1b[5;5Hmenu" * 1000
    scrollback = fed(history, drawing)
    screen = scrollback.screen(ROWS)
    assert screen.endswith(drawing[8:])
    assert b"line 9000\r" not in screen
    seen = Scanner()
    seen.feed(screen)
    assert seen.modes.alternate
    assert seen.modes.private == scrollback.modes.private


def test_screen_that_was_cleared_before_the_ring_begins_is_all_there_is() -> None:
    scrollback = fed(b"\x1b[?1049h\x1b[2J", b"\x1b[5;5Hmenu" * 3000, capacity=MIN_CAPACITY)
    cut = scrollback.first_cut()
    rest = scrollback.read(cut.offset, MIN_CAPACITY)
    assert scrollback.screen(ROWS) == cut.preamble() + rest


def test_screen_is_whole_where_a_line_is_longer_than_the_ring_or_a_sequence_is_unfinished() -> None:
    long = b"x" * (MIN_CAPACITY + MIN_STRIDE)
    scrollback = fed(long, b"\r\n" * (ROWS * 4), b"\x1b[3", capacity=MIN_CAPACITY)
    screen = scrollback.screen(ROWS)
    assert screen.endswith(b"\r\n" * (ROWS * 4) + b"\x1b[3")
    early = fed(b"\n" * (ROWS * 4) + b"y" * (2 * MIN_CAPACITY - 200), capacity=2 * MIN_CAPACITY)
    early.append(b"z" * 300)
    assert early.screen(ROWS).endswith(b"z" * 300)
