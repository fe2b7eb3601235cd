import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.git.receive_pack import (
    MAX_COMMAND_BYTES,
    BadPush,
    CommandReader,
    Commands,
    HeldRefs,
    Update,
    refusal,
)

OLD, NEW = "a" * 40, "b" * 40


def packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


PUSH = (
    packet(f"{OLD} {NEW} refs/heads/main\0 report-status side-band-64k agent=git/2.39")
    + packet(f"{OLD} {NEW} refs/tags/v1\n")
    + b"0000PACK..."
)


@given(st.integers(1, len(PUSH)))
def test_push_list_is_read_however_it_is_cut(step: int) -> None:
    reader = CommandReader()
    for at in range(0, len(PUSH), step):
        reader.feed(PUSH[at : at + step])
    assert reader.commands is not None
    assert reader.commands.updates == (
        Update(OLD, NEW, "refs/heads/main"),
        Update(OLD, NEW, "refs/tags/v1"),
    )
    assert "side-band-64k" in reader.commands.capabilities


def test_push_probe_of_nothing_is_an_empty_list() -> None:
    reader = CommandReader()
    reader.feed(b"0000")
    assert reader.commands == Commands((), frozenset())


@pytest.mark.parametrize(
    "body",
    [
        b"zzzz", b"0001", b"0004", b"-001", b"\x1f\x8b\x08\x00",
        packet("shallow " + OLD) + b"0000",
        packet("push-cert\0 report-status") + b"0000",
        packet(f"{OLD} {NEW} refs/heads/a b") + b"0000",
        packet(f"{OLD} {NEW} ") + b"0000",
        packet(f"{OLD.upper()} {NEW} refs/heads/a") + b"0000",
        packet(f"{OLD} {NEW} refs/heads/a") + packet(f"{OLD} {NEW} refs/heads/b\0x") + b"0000",
        b"ffff" + b"x" * (MAX_COMMAND_BYTES + 1),
    ],
)  # fmt: skip
def test_push_list_nobody_can_read_is_refused(body: bytes) -> None:
    with pytest.raises(BadPush):
        CommandReader().feed(body)


def test_push_refusal_tells_ref_by_ref() -> None:
    updates = (Update(OLD, NEW, "refs/heads/x"), Update(OLD, NEW, "refs/heads/y"))
    plain = refusal(Commands(updates, frozenset()), {"refs/heads/x": "no"})
    assert plain == (
        packet("unpack ok\n") + packet("ng refs/heads/x no\n")
        + packet("ng refs/heads/y refused together with others of this push\n") + b"0000"
    )  # fmt: skip
    banded = refusal(Commands(updates, frozenset({"side-band-64k"})), {})
    assert banded[4:5] == b"\x01" and banded.endswith(b"0000")


def test_held_ref_of_a_refused_push_counts_as_pushed() -> None:
    updates = tuple(Update(OLD, NEW, f"refs/heads/{name}") for name in "xyz")
    held = HeldRefs(frozenset({"refs/heads/x"}), {"refs/heads/y": "not held"}, ("Held for Ada.",))
    body = refusal(Commands(updates, frozenset({"side-band-64k"})), {"refs/heads/y": "no"}, held)
    assert body.startswith(packet("\x02Held for Ada.\n"))
    assert b"ok refs/heads/x\n" in body and b"ng refs/heads/y not held\n" in body
    assert b"ng refs/heads/z refused together with others of this push\n" in body


def test_push_list_that_never_ends_is_refused_and_one_that_ended_takes_no_more() -> None:
    reader = CommandReader()
    for byte in PUSH:
        reader.feed(bytes([byte]))
    read = reader.commands
    reader.feed(b"0000")
    assert reader.commands is read
    endless = CommandReader()
    with pytest.raises(BadPush, match="too long"):
        endless.feed(packet("x" * 60_000) * 5)
