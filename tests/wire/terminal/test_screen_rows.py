"""Rows of a screen: what an emulator shows after the functions that programs draw with."""

import json
import random
from pathlib import Path

import pytest

from atoll.wire.terminal.screen_rows import MAX_CELLS, ScreenRows

RECORDED = Path(__file__).parents[2] / "fixtures" / "questions"


def drawn(data: bytes, cols: int = 10, rows: int = 4) -> list[str]:
    screen = ScreenRows(cols, rows)
    screen.feed(data)
    return list(screen.lines())


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"one\r\ntwo", ["one", "two", "", ""]),
        (b"0123456789ab\r\x1b[AX", ["X123456789", "ab", "", ""]),
        (b"0123456789\rX", ["X123456789", "", "", ""]),
        (b"1\r\n2\r\n3\r\n4\r\n5", ["2", "3", "4", "5"]),
        (b"abc\x1b[1;2HX\x1b[4;9Hy", ["aXc", "", "", "        y"]),
        (b"abc\x1b[2D\x1b[K", ["a", "", "", ""]),
        (b"abc\x1b[2D\x1b[1K", ["  c", "", "", ""]),
        (b"abc\r\ndef\x1b[2K\x1b[Gx", ["abc", "x", "", ""]),
        (b"a\r\nb\r\nc\x1b[2;1H\x1b[J", ["a", "", "", ""]),
        (b"a\r\nb\r\nc\x1b[2;1H\x1b[1J", ["", "", "c", ""]),
        (b"a\r\nb\x1b[2J\x1b[Hz", ["z", "", "", ""]),
        (b"abcdef\x1b[1;2H\x1b[2P", ["adef", "", "", ""]),
        (b"abcdef\x1b[1;2H\x1b[2@", ["a  bcdef", "", "", ""]),
        (b"abcdef\x1b[1;2H\x1b[2X", ["a  def", "", "", ""]),
        (b"a\r\nb\r\nc\x1b[1;1H\x1b[L", ["", "a", "b", "c"]),
        (b"a\r\nb\r\nc\x1b[1;1H\x1b[M", ["b", "c", "", ""]),
        (b"a\r\nb\x1b[S", ["b", "", "", ""]),
        (b"a\r\nb\x1b[T", ["", "a", "b", ""]),
        (b"a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\n", ["a", "c", "", "d"]),
        (b"a\x1b[H\x1bMb", ["b", "a", "", ""]),
        (b"a\x1bDb\x1bEc", ["a", " b", "c", ""]),
        (b"ab\x1b7\x1b[3;1Hc\x1b8d", ["abd", "", "c", ""]),
        (b"ab\x1b[s\x1b[3;1Hc\x1b[ud", ["abd", "", "c", ""]),
        (b"a\tb\bc", ["a       c", "", "", ""]),
        (b"before\x1b[?1049h\x1b[Hmenu\x1b[?1049l!", ["before!", "", "", ""]),
        (b"before\x1b[?1049h\x1b[Hmenu", ["menu", "", "", ""]),
        (b"a\x1b[?1049h\x1b[?47hb\x1b[?47l\x1b[?1049lc", ["ac", "", "", ""]),
        (b"a\r\nb\x1bMc", ["ac", "b", "", ""]),
        (b"a\x1b[3;2rb", ["ab", "", "", ""]),
        (b"abc\x1b[2D\x1b[?Kd", ["ad", "", "", ""]),
        (b"a\x1b[3qb", ["ab", "", "", ""]),
        ("界x\r\né\u0301!".encode(), ["界x", "é!", "", ""]),
        ("012345678界".encode(), ["012345678", "界", "", ""]),
        (b"a\x1bcb", ["b", "", "", ""]),
        (b"a\x1b[31;1mb\x1b[>4;1mc\x1b[?6nd\x1b]0;t\x07e\x1b[1;2;3;4;5Af", ["abcdef", "", "", ""]),
        (b"a\x1b[5Eb\x1b[9Fc\x1b[2dd\x1b[2ee\x1b[2`f\x1b[2ag", ["c", " d", "", "bfe g"]),
    ],
)  # fmt: skip
def test_functions_draw_as_an_emulator_draws(data: bytes, shown: list[str]) -> None:
    assert drawn(data) == shown
    bytewise = ScreenRows(10, 4)
    for at in range(len(data)):
        bytewise.feed(data[at : at + 1])
    assert list(bytewise.lines()) == shown


@pytest.mark.parametrize("name", ["gemini-shell", "gemini-ask", "qwen-shell", "qwen-ask"])
def test_recorded_screens_of_agents_are_read_as_an_emulator_showed_them(name: str) -> None:
    recorded = json.loads((RECORDED / "questions.json").read_text())[name]
    header, *events = map(json.loads, (RECORDED / f"{name}.cast").read_text().splitlines())
    screen = ScreenRows(header["width"], header["height"])
    for at, kind, data in events:
        if kind == "o" and at <= recorded["asked_at"]:
            screen.feed(data.encode())
    rows = [line for line in screen.lines() if line.strip()]
    wanted = [line for line in recorded["question_screen"] if line.strip()]
    # In the last row something turns on. The emulator that recorded them cuts text after U+FE0E.
    assert rows[-10:-1] == wanted[-10:-1]


def test_any_bytes_are_read_within_the_screen() -> None:
    strange = [
        b"\x1b[",
        b"\x1b",
        b"999999",
        b"65535",
        b"1049h",
        b"1049l",
        b"\n",
        b"\xe7",
        b"\xc2\x9b",
    ]
    pieces = [*strange, *strange, *(bytes([n]) for n in range(0x20, 0x7F))]
    chosen = random.Random(4)
    for _ in range(300):
        screen = ScreenRows(chosen.randint(-1, 7), chosen.randint(0, 5))
        screen.feed(b"".join(chosen.choices(pieces, k=200)))
        assert all(len(line) <= 7 for line in screen.lines())
    assert len(ScreenRows(1, 10**9).lines()) == MAX_CELLS
