import re

import pytest

from atoll.wire.terminal.modes import Modes
from atoll.wire.terminal.palettes import PALETTES
from atoll.wire.terminal.query import Palette, answer, is_reply
from atoll.wire.terminal.scanner import Scanner
from atoll.wire.words.terminals import Shade
from tests.places import ROOT


def answers(output: bytes, palette: Palette | None = None) -> list[bytes]:
    scanner = Scanner()
    queries = scanner.feed(output)
    return [answer(query, scanner.modes, (80, 24), palette) for query in queries]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (b"\x1b[c", b"\x1b[?62;22c"),
        (b"\x1b[0c", b"\x1b[?62;22c"),
        (b"\x1b[>c", b"\x1b[>1;10;0c"),
        (b"\x1b[=c", b""),
        (b"\x1b[5n", b"\x1b[0n"),
        (b"\x1b[6n", b"\x1b[1;1R"),
        (b"\x1b[?6n", b"\x1b[?1;1R"),
        (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
        (b"\x1b[?25$p", b"\x1b[?25;1$y"),
        (b"\x1b[?7777$p", b"\x1b[?7777;0$y"),
        (b"\x1b[4$p", b"\x1b[4;0$y"),
        (b"\x1b]10;?\x07", b""),
        (b"\x1b]11;?\x1b\\", b""),
        (b"\x1b]12;?\x07", b""),
        (b"\x1b]4;1;?\x07", b""),
        (b"\x1b[?u", b"\x1b[?0u"),
        (b"\x1b[>5u\x1b[?u", b"\x1b[?5u"),
        (b"\x1b[>5u\x1b[?1049h\x1b[?u", b"\x1b[?0u"),
        (b"\x1b[>q", b""),
        (b"\x1b[18t", b"\x1b[8;24;80t"),
        (b"\x1b[14t", b""),
        (b"\x1b[?996n", b""),
        (b"\x1bP$qm\x1b\\", b""),
    ],
)
def test_question_is_answered_as_a_plain_terminal_of_unknown_colours_would(
    asked: bytes, answered: bytes
) -> None:
    assert answers(asked) == [answered]


@pytest.mark.parametrize(
    ("asked", "light", "dark"),
    [
        ("10", "2323/3030/2f2f", "d9d9/e2e2/e3e3"),
        ("11", "ffff/fefe/fbfb", "0e0e/1515/1818"),
        ("12", "0b0b/7a7a/7575", "5f5f/d3d3/c4c4"),
        ("4;0", "2323/3030/2f2f", "1b1b/2626/2b2b"),
        ("4;15", "3b3b/4747/4646", "f3f3/f7f7/f7f7"),
    ],
)
def test_colours_are_those_of_the_page_once_it_is_known(asked: str, light: str, dark: str) -> None:
    query = f"\x1b]{asked};?\x07".encode()
    for shade, colour in ((Shade.LIGHT, light), (Shade.DARK, dark)):
        assert answers(query, PALETTES[shade]) == [f"\x1b]{asked};rgb:{colour}\x1b\\".encode()]


@pytest.mark.parametrize("asked", ["4;16", "4;99999999", "19", "52;c"])
def test_other_colours_are_never_answered(asked: str) -> None:
    assert answers(f"\x1b]{asked};?\x07".encode(), PALETTES[Shade.DARK]) == [b""]


def test_background_is_told_to_programs_that_ask_for_it_alone() -> None:
    assert answers(b"\x1b[?996n", PALETTES[Shade.LIGHT]) == [b"\x1b[?997;2n"]
    assert answers(b"\x1b[?996n", PALETTES[Shade.DARK]) == [b"\x1b[?997;1n"]


def test_palettes_are_what_the_page_draws_with() -> None:
    source = (ROOT / "ui/src/terminal/screen/colours.ts").read_text()
    dark, light = source.split("dark: {")[1].split("light: {")
    for shade, text in ((Shade.DARK, dark), (Shade.LIGHT, light)):
        drawn = dict(re.findall(r"(\w+): '#([0-9a-f]{6})'", text))
        names = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
        bright = (f"bright{name.capitalize()}" for name in names)
        palette = PALETTES[shade]
        assert palette.colours == tuple(drawn[name] for name in (*names, *bright))
        assert (palette.foreground, palette.background) == (
            drawn["foreground"],
            drawn["background"],
        )
        assert palette.cursor == drawn["cursor"]


@pytest.mark.parametrize("text", [b"\x1b[?62;22c", b"\x1b[0n", b"\x1b[1;1R", b"\x1b[?2026;2$y",
                                  b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"])  # fmt: skip
def test_answer_echoed_back_is_no_question(text: bytes) -> None:
    assert answers(text) == []


@pytest.mark.parametrize(
    ("typed", "is_one"),
    [
        (b"\x1b[?62;22c", True),
        (b"\x1b[12;40R\x1b[0n", True),
        (b"\x1b]11;rgb:0000/0000/0000\x07", True),
        (b"\x1b]10;rgb:0000/0000/0000\x1b\\", True),
        (b"\x1bP1$r0m\x1b\\", True),
        (b"\x1b[?2026;2$y", True),
        (b"\x1b[I", True),
        (b"\x1b[?1u", True),
        (b"ls\n", False),
        (b"\x1b", False),
        (b"\x1b[A", False),
        (b"\x1b[1;5C", False),
        (b"\x1b[200~paste\x1b[201~", False),
        (b"\x1b[<0;1;1M", False),
        (b"\x1b[0nls\n", False),
    ],
)
def test_input_is_told_apart_from_an_emulators_answer(typed: bytes, is_one: bool) -> None:
    assert is_reply(typed) is is_one


def test_mode_unknown_to_us_is_neither_set_nor_reset() -> None:
    assert Modes().is_set(4242) is None
