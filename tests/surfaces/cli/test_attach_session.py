"""The pure parts of an attach session: detach keys, screen modes, and the attach conversation."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.client.attach.attachment import (
    AttachState,
    Clear,
    InputWindow,
    Instruction,
    ProgramExit,
    Retitle,
    Send,
    Write,
)
from atoll.client.attach.keys import DetachKeys
from atoll.client.attach.screen import ScreenModes
from atoll.domain.errors import Failed, Invalid
from atoll.surfaces.cli.console.guard import ScreenGuard


@given(st.binary(max_size=200).filter(lambda data: b"\x1c" not in data and b"\x1b" not in data))
def test_keys_without_the_detach_key_pass_unchanged(data: bytes) -> None:
    typed = DetachKeys().feed(data)
    assert (typed.forward, typed.detach) == (data, False)


@given(st.lists(st.sampled_from([b"a", b"\x10", b"\x1b[200~", b"\x1b[201~", b"\x11b"]), max_size=9))
def test_keys_held_back_are_never_lost_or_reordered(parts: list[bytes]) -> None:
    keys = DetachKeys("ctrl-p,ctrl-q")
    sent = b""
    for part in parts:
        typed = keys.feed(part)
        sent += typed.forward
        if typed.detach:
            return
    sent += keys.feed(b"z").forward
    assert sent == b"".join(parts) + b"z"


@pytest.mark.parametrize(
    ("spelled", "data", "forward"),
    [
        ("ctrl-\\", b"ab\x1cc", b"ab"),
        ("^\\", b"\x1b[92;5u", b""),
        ("ctrl-\\", b"\x1b[27;5;92~", b""),
        ("ctrl-a,d", b"x\x01d", b"x"),
        ("ctrl-p,ctrl-q", b"\x10\x10\x10\x11", b"\x10\x10"),
        ("ctrl-p,ctrl-q", b"\x1b[112;5u\x1b[113;5u", b""),
    ],
)
def test_detach_keys_are_found(spelled: str, data: bytes, forward: bytes) -> None:
    typed = DetachKeys(spelled).feed(data)
    assert (typed.forward, typed.detach) == (forward, True)


def test_detach_key_inside_a_paste_is_text() -> None:
    keys = DetachKeys()
    assert not keys.feed(b"\x1b[200~ab\x1c").detach
    assert not keys.feed(b"\x1ccd\x1b[201~").detach
    assert keys.feed(b"\x1c").detach


def test_detach_none_never_detaches() -> None:
    assert not DetachKeys("none").feed(b"\x1c\x10\x11").detach


@pytest.mark.parametrize("spelled", ["", "ctrl-", "ctrl-1", "ab", "ctrl-a,,b", "a,b,c,d,e", "é"])
def test_detach_keys_that_are_none_are_refused(spelled: str) -> None:
    with pytest.raises(Invalid):
        DetachKeys(spelled)


SEQUENCES = [
    b"\x1b[?1049h",
    b"\x1b[?1002;1006h",
    b"\x1b[?25l",
    b"\x1b[>1u",
    b"\x1b]0;title\x07",
    b"\x1bP+q\x1b\\",
    b"\x1b[5 q",
    b"\x1b[>4;2m",
    "é✓🦀".encode(),
    b"plain\r\n",
    b"\x1bc",
]


@given(st.lists(st.sampled_from(SEQUENCES), max_size=8), st.data())
def test_screen_modes_do_not_depend_on_how_the_bytes_were_cut(
    parts: list[bytes], data: st.DataObject
) -> None:
    whole = b"".join(parts)
    once, cut = ScreenModes(), ScreenModes()
    once.feed(whole)
    while whole:
        size = data.draw(st.integers(1, len(whole)))
        cut.feed(whole[:size])
        whole = whole[size:]
    assert cut.restore() == once.restore()
    assert cut.at_rest and once.at_rest


def test_screen_restores_exactly_what_was_changed() -> None:
    screen = ScreenModes()
    plain = screen.restore()
    screen.feed(b"\x1b[?1049h\x1b[?1003h\x1b[?7l\x1b[>1u\x1b[>3u\x1b[<1u\x1b[=1u\x1b[2 q\x1b[>4;1m")
    undone = screen.restore()
    for part in (b"\x1b[<1u", b"?1049l", b"?1003l", b"?7h", b"\x1b[=0u", b"\x1b[>4m", b"\x1b[0 q"):
        assert part in undone
        assert part == b"?7h" or part not in plain
    screen.feed(b"\x1b[?1049l\x1b[?1003l")
    assert b"?1049l" not in screen.restore()


@pytest.mark.parametrize(
    "data", [b"\x1b", b"\x1b[", b"\x1b[3", b"\x1b]0;x", b"\x1b]0;x\x1b", b"\xe2\x9c", b"\x1b("]
)
def test_screen_inside_a_sequence_is_not_at_rest(data: bytes) -> None:
    screen = ScreenModes()
    screen.feed(b"text" + data)
    assert not screen.at_rest
    assert screen.restore().startswith(b"\x18")


def test_screen_fed_endless_strings_and_modes_stays_small() -> None:
    screen = ScreenModes()
    screen.feed(b"\x1b]52;c;")
    for _ in range(100):
        screen.feed(b"A" * 10_000)
    assert not screen.at_rest
    screen.feed(b"\x07")
    assert screen.at_rest
    screen.feed(b"".join(b"\x1b[?%dh\x1b[>1u" % n for n in range(9000)))
    assert len(screen.restore()) < 2000


def text(kind: str, **fields: Any) -> str:
    if "preamble" in fields:
        fields["preamble"] = base64.b64encode(fields["preamble"]).decode()
    if kind == "start":
        fields = {"cols": 80, "rows": 24, "client": "", "driver": None, "title": "", **fields}
    return json.dumps({"type": kind, **fields})


def started(fresh: bool = False, offset: int = 0, preamble: bytes = b"\x1bc") -> AttachState:
    attachment = AttachState("me", fresh=fresh)
    attachment.on_text(text("start", offset=offset, preamble=preamble, ack_every=65536))
    return attachment


def test_start_of_a_fresh_terminal_leaves_the_screen_alone() -> None:
    attachment = AttachState("me", fresh=True)
    frame = text("start", offset=0, preamble=b"\x1bc", ack_every=1, input_window=9)
    assert attachment.on_text(frame) == [InputWindow(9)]


def test_start_of_a_used_terminal_clears_and_writes_the_preamble() -> None:
    attachment = AttachState("me", fresh=False)
    frame = text("start", offset=500, preamble=b"\x1bc\x1b[?2004h", title="t", ack_every=1)
    out = attachment.on_text(frame)
    assert out == [InputWindow(0), Clear(), Write(b"\x1b[?2004h", counted=False), Retitle("t")]
    assert dict(attachment.query(80, 24)) == {
        "client": "me",
        "heartbeat": "true",
        "cols": "80",
        "rows": "24",
        "since": "500",
    }


def test_query_before_anything_came_has_no_since() -> None:
    assert "since" not in dict(AttachState("me", fresh=True).query(80, 24))


@given(st.lists(st.integers(1, 100_000), max_size=30))
def test_acknowledgements_follow_what_is_shown_within_half_a_window(sizes: list[int]) -> None:
    attachment = started(offset=10)
    shown, acked = 10, 10
    for size in sizes:
        assert attachment.on_bytes(b"x" * size) == [Write(b"x" * size, counted=True)]
        shown += size
        acked = last_ack(attachment.record_shown(size), acked)
        assert shown - acked < 32768
    assert last_ack(attachment.settle(), acked) == shown
    assert attachment.settle() == []


def last_ack(out: list[Instruction], before: int) -> int:
    offsets = [json.loads(i.text)["offset"] for i in out if isinstance(i, Send)]
    return offsets[-1] if offsets else before


def test_resume_at_the_same_offset_draws_nothing() -> None:
    attachment = started()
    attachment.on_bytes(b"abc")
    frame = text("start", offset=3, preamble=b"", ack_every=65536)
    assert attachment.on_text(frame) == [InputWindow(0)]


def test_resync_jumps_and_counts_from_there() -> None:
    attachment = started()
    attachment.on_bytes(b"abc")
    out = attachment.on_text(text("resync", **{"from": 3, "to": 900, "preamble": b"\x1bcX"}))
    assert out == [Clear(), Write(b"X", counted=False)]
    attachment.on_bytes(b"d")
    assert dict(attachment.query(1, 1))["since"] == "901"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"code": 3}, ProgramExit(3, None)),
        ({"signal": "KILL"}, ProgramExit(None, "KILL")),
        ({"signal": "9"}, ProgramExit(None, "9")),
        ({}, ProgramExit(0, None)),
    ],
)
def test_exit_frame_tells_how_it_ended(fields: dict[str, Any], expected: ProgramExit) -> None:
    assert started().on_text(text("exit", offset=0, **fields)) == [expected]


@pytest.mark.parametrize(
    "frame",
    [
        "{",
        "[]",
        '{"type":7}',
        '{"type":"start","offset":"x"}',
        '{"type":"resync","from":0,"to":1,"preamble":"*"}',
        '{"type":"exit","offset":0,"code":"odd"}',
    ],
)
def test_frame_that_is_broken_is_a_clear_failure(frame: str) -> None:
    with pytest.raises(Failed):
        AttachState("me", fresh=True).on_text(frame)


def test_output_before_the_start_is_a_clear_failure() -> None:
    with pytest.raises(Failed):
        AttachState("me", fresh=True).on_bytes(b"x")


def test_frame_of_a_later_version_is_passed_over() -> None:
    assert started().on_text(text("turn", epoch=4)) == []


LINK = b"\x1b]8;;https://u/\x07"
PASSED = [b"text", b"\x1b[31m", b"\x1b]0;t\x07", LINK, b"\x1b]8;;\x07", b"\x07"]
STRIPPED = [b"\x1b]52;c;QQ==\x07", b"\x1b]52;;?\x1b\\", b"\x1b]52;c;" + b"A" * 9000 + b"\x07"]


@given(st.lists(st.sampled_from(PASSED + STRIPPED), max_size=8), st.data())
def test_clipboard_writes_are_taken_out_however_the_bytes_are_cut(
    parts: list[bytes], data: st.DataObject
) -> None:
    guard = ScreenGuard()
    whole = b"".join(parts)
    shown = b""
    while whole:
        size = data.draw(st.sampled_from([1, 2, 3, 7, 5000, len(whole)]))
        shown += guard.feed(whole[:size])
        whole = whole[size:]
    assert shown == b"".join(part for part in parts if part in PASSED)


def test_clipboard_guard_holds_back_nothing_of_ordinary_output() -> None:
    guard = ScreenGuard()
    assert guard.feed(b"prompt$ ") == b"prompt$ "
    assert guard.feed(b"\x1b") == b""
    assert guard.feed(b"[1m") == b"\x1b[1m"
