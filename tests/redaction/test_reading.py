"""Titles and marks as the runtime reads them against an emulator (@xterm/headless): whatever the
bytes and the cuts, what the emulator obeys is what is read, and nothing else."""

from collections.abc import Iterator

import pytest

from atoll.wire.terminal.marks import MarkScanner, Signal
from atoll.wire.terminal.modes import clean_title
from atoll.wire.terminal.parser import seven_bit
from atoll.wire.terminal.scanner import Scanner
from tests.redaction.conftest import Search
from tests.redaction.test_guard import SHARE, AnyBytes
from tests.redaction.test_screens import Emulator, drawing, pytestmark  # noqa: F401
from tests.redaction.world import Case


def reads_what_the_emulator_obeys(emulator: Emulator, case: Case) -> None:
    scanner, marks = Scanner(), MarkScanner("")
    found: list[Signal] = []
    for piece, _ in case.pieces:
        scanner.feed(piece)
        found += marks.feed(piece)
    # What is not whole yet would be by this.
    scanner.feed(b"\x1b\\")
    found += marks.feed(b"\x1b\\")
    heard = (scanner.modes.title.replace("\ufffd", ""), [each.verb for each in found])
    obeyed = obeys(emulator, case.stream)
    if heard != obeyed:
        # xterm.js drops a string that another control character from U+0080 to U+009F breaks off;
        # here one ends it as ESC does, so that no title is missed where a terminal shows it. It
        # also drops bytes that are no characters, even within a sequence; here they end it, as in
        # most terminals, which show U+FFFD.
        characters = case.stream.decode(errors="replace").encode()
        assert heard == obeys(emulator, seven_bit(characters))
    emulator.secrets_drawn += any(obeyed)


def obeys(emulator: Emulator, stream: bytes) -> tuple[str, list[str]]:
    """The title that is set in the end, and the verbs of the marks."""
    seen = emulator.draw(stream + b"\x1b\\", cols=80)
    # The emulator drops the bytes that are no characters.
    title = clean_title(seen.titles[-1].encode()).replace("\ufffd", "") if seen.titles else ""
    begun = [text for kind, name, text in seen.commands if (kind, name) == ("osc", "133")]
    return title, [text[:1] for text in begun if text[:2] in ("A", "A;")]


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with drawing() as one:
        yield one


def test_titles_and_marks_are_those_the_emulator_obeys(search: Search, emulator: Emulator) -> None:
    search(AnyBytes(), lambda case: reads_what_the_emulator_obeys(emulator, case), share=SHARE / 2)
    assert emulator.secrets_drawn > 0, "no stream set a title or a mark"


@pytest.mark.parametrize("end", ["\x07", "\x9c", "\x1b\\", "\x1b[m", "\x18", "\x1a", "\x1b"])
@pytest.mark.parametrize(
    "begin", ["\x1b]", "\x9d", "\x1b\x00]", "\x1b\x1b]", "\x1b[3\x9d", "\x1b_\x9d"]
)
@pytest.mark.parametrize("name", ["2;", "02;", "2\x01;", "133;A;", "1\x0233;A", "0133;A;"])
def test_each_spelling_is_read_as_the_emulator_reads_it(
    emulator: Emulator, begin: str, name: str, end: str
) -> None:
    stream = (begin + name + "t" + end + " next \x07").encode()
    for size in (1, 3, len(stream)):
        parts = tuple(stream[at : at + size] for at in range(0, len(stream), size))
        cuts = tuple((at, False) for at in range(size, len(stream), size))
        reads_what_the_emulator_obeys(emulator, Case((), parts, cuts))
