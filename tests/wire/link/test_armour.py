"""Armour: bytes arrive as they were sent, and what a terminal did to a line is an error."""

import base64
import binascii

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.link.armour import (
    MAX_LINE_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_SKIPPED_BYTES,
    OWED_BYTES,
    WINDOW_BYTES,
    ArmouredEnd,
    ArmourKind,
    exit_code,
    exit_payload,
    hello,
    start,
)
from atoll.wire.link.stream import Broken


def joined() -> tuple[ArmouredEnd, ArmouredEnd]:
    """Return a near and a far end after HELLO."""
    near, far = ArmouredEnd(is_far=False), ArmouredEnd(is_far=True)
    assert near.feed(hello(far)) == [(ArmourKind.HELLO, b"\x01")]
    return near, far


def line_of(raw: bytes) -> bytes:
    """Return a line with a right sum."""
    return b"~" + base64.b64encode(raw + binascii.crc32(raw).to_bytes(4, "little")) + b"\n"


@given(st.lists(st.binary(max_size=3 * MAX_PAYLOAD_BYTES), max_size=4), st.integers(1, 5000))
def test_any_bytes_arrive_in_pieces_of_any_size(pieces: list[bytes], size: int) -> None:
    near, far = joined()
    text = b"".join(near.data(ArmourKind.INPUT, piece) for piece in pieces)
    assert all(byte == 10 or 32 < byte < 127 for byte in text)
    got = [frame for at in range(0, len(text), size) for frame in far.feed(text[at : at + size])]
    assert b"".join(payload for _, payload in got) == b"".join(pieces)
    assert {kind for kind, _ in got} <= {ArmourKind.INPUT}


def test_greeting_of_a_terminal_is_skipped_and_carriage_returns_are_no_harm() -> None:
    near, far = ArmouredEnd(is_far=False), ArmouredEnd(is_far=True)
    greeting = b"welcome ~user\r\n$ exec link armour\r\n~AAAA\r\n\x1b[2J"
    said = hello(far).replace(b"\n", b"\r\n") + far.frame(ArmourKind.OUTPUT, b"x")
    got = near.feed(greeting + line_of(b"\x05\0\0\0y") + said)
    assert got == [(ArmourKind.HELLO, b"\x01"), (ArmourKind.OUTPUT, b"x")]


def test_terminal_that_only_prints_is_given_up() -> None:
    for noise in (b"y\n", b"y"):
        near = ArmouredEnd(is_far=False)
        with pytest.raises(Broken):
            for _ in range(MAX_SKIPPED_BYTES // 1000 + 20):
                assert near.feed(noise * 1000) == []


def test_window_bounds_what_is_sent_and_credit_gives_it_back() -> None:
    near, far = joined()
    text = near.data(ArmourKind.INPUT, b"x" * (WINDOW_BYTES + 5))
    assert (near.room, near.data(ArmourKind.INPUT, b"y")) == (0, b"")
    assert sum(len(payload) for _, payload in far.feed(text)) == WINDOW_BYTES
    assert far.took(OWED_BYTES - 1) == b""
    assert near.feed(far.took(1)) == []
    assert near.room == OWED_BYTES
    far.feed(near.data(ArmourKind.INPUT, b"y"))
    assert near.feed(far.alive()) == []


def test_more_data_or_credit_than_allowed_is_broken() -> None:
    near, far = joined()
    text = near.data(ArmourKind.INPUT, b"x" * WINDOW_BYTES) + near.frame(ArmourKind.INPUT, b"x")
    with pytest.raises(Broken):
        far.feed(text)
    near, far = joined()
    with pytest.raises(Broken):
        near.feed(far.frame(ArmourKind.CREDIT, b"\x01\0\0\0"))
    near, far = joined()
    with pytest.raises(Broken):
        near.feed(far.frame(ArmourKind.CREDIT, b"\0"))


@given(st.data())
def test_changed_lost_or_repeated_lines_are_broken(data: st.DataObject) -> None:
    near, far = joined()
    lines = [far.frame(ArmourKind.OUTPUT, bytes([number]) * 30) for number in range(4)]
    at = data.draw(st.integers(0, 2))
    match data.draw(st.sampled_from(["change", "lose", "repeat"])):
        case "change":
            place = data.draw(st.integers(0, len(lines[at]) - 2))
            letter = data.draw(st.integers(0, 255).filter(lambda one: one != lines[at][place]))
            lines[at] = lines[at][:place] + bytes([letter]) + lines[at][place + 1 :]
        case "lose":
            del lines[at]
        case _:
            lines.insert(at, lines[at])
    with pytest.raises(Broken):
        near.feed(b"".join(lines))


@given(st.binary(max_size=400), st.booleans())
def test_noise_is_broken_or_waits_and_nothing_else(noise: bytes, is_far: bool) -> None:
    end = ArmouredEnd(is_far=is_far)
    try:
        assert end.feed(noise) == []
    except Broken:
        assert is_far


@pytest.mark.parametrize(
    "raw",
    [
        b"\x02\0\0",
        b"\x63\0\0\0",
        b"\x03\x01\0\0",
        b"\x03\0\0\0" + b"x" * (MAX_PAYLOAD_BYTES + 1),
        b"\x05\0\0\0",
        b"\x01\0\0\0\x01",
    ],
    ids=["short", "unknown", "number", "long", "of the far end", "hello"],
)
def test_far_end_refuses_what_no_near_end_sends(raw: bytes) -> None:
    with pytest.raises(Broken):
        ArmouredEnd(is_far=True).feed(line_of(raw))


def test_hello_of_another_version_or_twice_is_broken() -> None:
    with pytest.raises(Broken):
        ArmouredEnd(is_far=False).feed(line_of(b"\x01\0\0\0\x02"))
    near, far = joined()
    with pytest.raises(Broken):
        near.feed(far.frame(ArmourKind.HELLO, b"\x01"))


def test_line_without_an_end_is_broken() -> None:
    with pytest.raises(Broken):
        ArmouredEnd(is_far=True).feed(b"~" * (MAX_LINE_BYTES + 1))


def test_command_of_any_length_is_sent_and_ends_with_an_empty_frame() -> None:
    near, far = joined()
    got = far.feed(start(near, ("sh", "-c", "x" * 20000, "")))
    assert {kind for kind, _ in got} == {ArmourKind.START}
    assert b"".join(text for _, text in got) == b"sh\0-c\0" + b"x" * 20000 + b"\0\0"
    assert got[-1][1] == b""
    with pytest.raises(ValueError, match="NUL"):
        start(near, ("a\0b",))


def test_what_comes_after_the_exit_is_ignored() -> None:
    near, far = joined()
    text = far.frame(ArmourKind.EXIT, exit_payload(3))
    assert near.feed(text + b"an echo\n") == [(ArmourKind.EXIT, exit_payload(3))]
    assert near.feed(b"more of it\n") == []


def test_exit_code_is_read_back() -> None:
    assert [exit_code(exit_payload(code)) for code in (0, 255, -9)] == [0, 255, -9]
    with pytest.raises(Broken):
        exit_code(b"")


@pytest.mark.parametrize(
    ("line", "why"),
    [(b"~AA\n", "no base64"), (b"~" + base64.b64encode(b"\0" * 4 + b"\1" * 4) + b"\n", "changed")],
)
def test_line_that_was_spoiled_is_named(line: bytes, why: str) -> None:
    near, _ = joined()
    with pytest.raises(Broken, match=why):
        near.feed(line)
