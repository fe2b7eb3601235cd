"""The guard of a person's terminal against an emulator (@xterm/headless): whatever the bytes, what
it writes sets no clipboard, file or title but ours; what is harmless looks the same."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pytest

from atoll.surfaces.cli.console.guard import ScreenGuard
from tests.redaction import world
from tests.redaction.conftest import Search
from tests.redaction.test_screens import Emulator, Screen, drawing, pytestmark  # noqa: F401
from tests.redaction.world import Case

SHARE = 0.25
"""Of the time of an oracle, for each of two: half a minute in every run."""

EVIL = "ZXZpbA=="
OURS = {
    "osc": {"0", "1", "2", "4", "5", "7", "8", "9", "104", "105", "133"},
    "dcs": {"$q", "+q", "q"},
}
OURS["dcs"] |= {"=s"}
OURS["osc"] |= {str(number) for number in (*range(10, 20), *range(110, 120))}
BEGIN = (
    "\x1b]",
    "\x9d",
    "\x1b\x00]",
    "\x1b\x7f]",
    "\x1bP",
    "\x90",
    "\x1b_",
    "\x9f",
    "\x1b^",
    "\x1bX",
)
NAMES: tuple[str, ...] = (
    "52;c;",
    "052;c;",
    "5\x012;c;",
    "52\x02;;",
    "1337;File=:",
    "777;notify;",
    "0;",
    "2;",
    "8;;",
)
NAMES += (
    "Gt=f;",
    "0;1|17/",
    "q",
    "+q",
    "$q",
    "tmux;\x1b\x1b]52;c;",
    "7;file://host/",
    "9;",
    "133;A;",
)
INSIDE = (
    EVIL,
    "https://a.b/",
    "file:///etc/",
    "?",
    "#0~~",
    "\n",
    "\x00",
    "é",
    "字",
    ";",
    "\u202e",
    "x" * 300,
)
ENDS = ("\x07", "\x1b\\", "\x9c", "\x18", "\x1a", "\x1b[m", "\x1b", "\x85", "", "", "\x1b\x1b\\")
CONTROLS = (
    "\x1b[",
    "\x9b",
    "\x1b[\x01",
    "31",
    ";",
    ":",
    "?",
    ">",
    "!",
    " ",
    "$",
    "6n",
    "21t",
    "m",
    "h",
    "c",
)
RAW = (
    b"\x9d52;c;" + EVIL.encode() + b"\x9c",
    b"\x9b31m",
    b"\xc2",
    b"\xe2\x82",
    b"\xff",
    b"\xf0\x9f",
)

HARMLESS: tuple[str, ...] = (
    *world.COLOURS,
    *world.SHIFTS,
    *world.GRAPHICS,
    "\x07",
    "\r\n",
    "\n",
    "\r",
    "\x08",
    "\t",
)
HARMLESS += (
    "\x1b]0;a title\x07",
    "\x1b]2;wörld\x1b\\",
    "\x1b]8;;https://example.org\x1b\\",
    "\x1b]8;;\x07",
)
HARMLESS += (
    "\x9b31m",
    "\x1b[2J",
    "\x1b[3;4H",
    "\x1b[5D",
    "\x1b[\nK",
    "\x1b[1\r;31m",
    "\x1b\x08[C",
    "\x1b[2P",
)
HARMLESS += (
    "\x1b[4h",
    "\x1b[4l",
    "\x1b[?7l",
    "\x1b[?7h",
    "\x1b[2;9r",
    "\x1b[r",
    "\x1bM",
    "\x1bD",
    "\x84",
)
HARMLESS += (
    "\x1b7",
    "\x1b8",
    "\x1b[3b",
    "\x1b[@",
    "\x1b[?1049h",
    "\x1b[?1049l",
    "\x1b[!p",
    "\x1b[31\x18m",
)


@dataclass(frozen=True, slots=True)
class AnyBytes:
    """Streams of pieces of sequences, whole ones, text and noise, cut anywhere."""

    def case(self, chance: Random) -> Case:
        parts = [part for _ in range(chance.randint(1, 12)) for part in self._some(chance)]
        return Case((), tuple(parts), world.cuts(chance, sum(map(len, parts))))

    def _some(self, chance: Random) -> Iterator[bytes]:
        match chance.randrange(6):
            case 0 | 1 | 2:
                yield (chance.choice(BEGIN) + chance.choice(NAMES)).encode()
                for _ in range(chance.randint(0, 3)):
                    yield chance.choice(INSIDE).encode()
                yield chance.choice(ENDS).encode()
            case 3:
                yield from (each.encode() for each in chance.choices(CONTROLS, k=5))
            case 4:
                yield chance.choice((*world.WORDS, *HARMLESS)).encode()
            case _:
                yield chance.choice((*RAW, chance.randbytes(chance.randint(1, 9))))


@dataclass(frozen=True, slots=True)
class Harmless:
    """Streams of text and of sequences that programs use every day."""

    def case(self, chance: Random) -> Case:
        some = chance.choices((*world.WORDS, *HARMLESS), k=chance.randint(1, 30))
        parts = tuple(each.encode() for each in some)
        return Case((), parts, world.cuts(chance, sum(map(len, parts))))


def guarded(case: Case) -> bytes:
    guard = ScreenGuard()
    return b"".join(guard.feed(piece) for piece, _ in case.pieces)


def only_ours(screen: Screen) -> None:
    """Nothing took effect that is not on our list."""
    for kind, name, text in screen.commands:
        assert name in OURS[kind], (kind, name, text)
        assert name != "9" or re.fullmatch(r"4;[0-4](;\d*)?", text), text
        assert name != "8" or re.fullmatch(r"[^;]*;((https?://|mailto:)[!-~]+)?", text), text
    for title in screen.titles:
        assert len(title) <= 256
        assert not any(unicodedata.category(each) in ("Cc", "Cf") for each in title), title


def nothing_done(emulator: Emulator, case: Case) -> None:
    out = guarded(case)
    assert out == ScreenGuard().feed(case.stream)
    assert out == ScreenGuard().feed(out)
    assert re.search(r"[\x00-\x06\x10-\x1a\x1c-\x1f\x7f-\x9f]", out.decode()) is None
    assert re.search(rb"\x1b[X^_]", out) is None
    emulator.secrets_drawn += "52" in {
        name for _, name, _ in emulator.draw(case.stream, cols=80).commands
    }
    only_ours(emulator.draw(out, cols=80))
    quiet = ScreenGuard(questions=False).feed(case.stream)
    assert not emulator.draw(quiet, cols=80).answers


def looks_the_same(emulator: Emulator, case: Case) -> None:
    cols = world.WIDTHS[len(case.stream) % len(world.WIDTHS)]
    assert emulator.draw(guarded(case), cols=cols) == emulator.draw(case.stream, cols=cols)


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with drawing() as one:
        yield one


def test_guard_lets_no_bytes_do_what_is_not_known(search: Search, emulator: Emulator) -> None:
    search(AnyBytes(), lambda case: nothing_done(emulator, case), share=SHARE)
    assert emulator.secrets_drawn > 0, "no stream set the clipboard without the guard"


def test_guard_shows_harmless_streams_as_they_are(search: Search, emulator: Emulator) -> None:
    search(Harmless(), lambda case: looks_the_same(emulator, case), share=SHARE)


def test_emulator_obeys_what_is_refused(emulator: Emulator) -> None:
    seen = emulator.draw(
        b"\x1b]52;c;ZXZpbA==\x1b[m\x1b]1337;File=:\x07\x1bP0;1|17/65\x1b\\", cols=80
    )
    assert [name for _, name, _ in seen.commands] == ["52", "1337", "|"]
    with pytest.raises(AssertionError):
        only_ours(seen)
