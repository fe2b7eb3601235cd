"""A command's output as text: colours stay, everything else of the terminal goes."""

import pytest

from atoll.domain.agents.command_output import MAX_LINE, CommandOutput


def read(*pieces: bytes) -> str:
    output = CommandOutput()
    return "".join(output.feed(piece) for piece in pieces) + output.finish()


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ((b"one\r\ntwo\r\n",), "one\ntwo\n"),
        ((b"\x1b[31mred\x1b[0m\r\n",), "\x1b[31mred\x1b[0m\n"),
        ((b"\x1b[3", b"1mred\x1b[0m"), "\x1b[31mred\x1b[0m"),
        ((b"10 %\r 50 %\r100 %\r\n",), "100 %\n"),
        ((b"abc\x08\x08XY\n",), "aXY\n"),
        ((b"\x08\x08a\n",), "a\n"),
        ((b"\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b[2K\x1b[1;1H\n",), "link\n"),
        ((b"\x1b", b"[2Jgone\n"), "gone\n"),
        ((b"caf\xc3", b"\xa9\n"), "café\n"),
        ((b"\xff\x00\x07tail",), "\N{REPLACEMENT CHARACTER}tail"),
        ((b"\x1b[31", b""), "[31"),
        ((b"a\n\nb\n",), "a\n\nb\n"),
        ((b"\xc2\x9b31mno\n",), "31mno\n"),
    ],
)
def test_output_keeps_lines_and_colours_only(pieces: tuple[bytes, ...], text: str) -> None:
    assert read(*pieces) == text


def test_unfinished_line_waits_for_its_end() -> None:
    output = CommandOutput()
    assert output.feed(b"Password:") == ""
    assert output.feed(b" \r\nok") == "Password: \n"
    assert output.finish() == "ok"
    assert output.finish() == ""


def test_line_without_end_is_passed_on_in_pieces() -> None:
    output = CommandOutput()
    got = "".join(output.feed(b"x" * 1000 + b"\x1b[1m") for _ in range(20))
    assert len(got) > MAX_LINE
    assert (got + output.finish()) == ("x" * 1000 + "\x1b[1m") * 20


def test_long_line_is_not_cut_in_a_sequence() -> None:
    output = CommandOutput()
    got = output.feed(b"x" * (MAX_LINE + 1) + b"\x1b[3")
    assert got == "x" * (MAX_LINE + 1)
    assert output.feed(b"1mred\n") == "\x1b[31mred\n"


def test_long_unfinished_sequence_is_no_reason_to_keep_more() -> None:
    output = CommandOutput()
    assert output.feed(b"\x1b]" + b"y" * (MAX_LINE + 1)) == "]" + "y" * (MAX_LINE + 1)
