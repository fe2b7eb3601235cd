import pytest

from atoll.wire.terminal.modes import Modes
from atoll.wire.terminal.query import answer, is_reply
from atoll.wire.terminal.scanner import Scanner


def answers(output: bytes) -> list[bytes]:
    scanner = Scanner()
    return [answer(query, scanner.modes) for query in scanner.feed(output)]


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
        (b"\x1b[?u", b""),
        (b"\x1b[>q", b""),
        (b"\x1b[18t", b""),
        (b"\x1bP$qm\x1b\\", b""),
    ],
)
def test_question_is_answered_as_a_plain_terminal_of_unknown_colours_would(
    asked: bytes, answered: bytes
) -> None:
    assert answers(asked) == [answered]


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
