"""The guard's quick look beside its parser: the same bytes for every stream, however it is cut."""

import random

import pytest

from atoll.client.attach.screen import ScreenModes
from atoll.surfaces.cli.console import harmless
from atoll.surfaces.cli.console.guard import ScreenGuard

PARTS = (
    *(b"plain text\r\n", b"a", b"\t\x08", "│ ✓ é 字 🙂".encode(), b"x" * 300),
    *(b"\x1b[1;32m", b"\x1b[m", b"\x1b[38:2::1:2:3m", b"\x1b[K", b"\x1b[3;4H", b"\x1b[2J"),
    *(b"\x1b[1234567A", b"\x1b[123456789m", b"\x1b[" + b"1;" * 40 + b"m", b"\x1b[;;;;;;;;H"),
    *(b"\x1b[?25l", b"\x1b[?2004h", b"\x1b[?1049h", b"\x1b[>1u", b"\x1b[2 q", b"\x1bc", b"\x1b[!p"),
    *(b"\x1b]52;c;ZXZpbA==\x07", b"\x1b]52;c;ZXZpbA==\x1b\\", b"\x1b]0;title\x07", b"\x1b]8;;"),
    *(b"\x1bP+q544e\x1b\\", b"\x1bP1$r0m\x1b\\", b"\x1b_Gt=f;\x1b\\", b"\x1b^x\x1b\\", b"\x1b[21t"),
    *(b"\x1b[201~", b"\x1b[6n", b"\x1b[5i", b"\x1b[20t", b"\x1b[\x07m", b"\x1b[1\x18m", b"\x1b"),
    *(b"\x9b31m", b"\xc2\x9b31m", b"\xc2\x9d52;c;QQ==\xc2\x9c", b"\xc2", b"\xe2\x9c", b"\xff"),
    *(
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xc0\x80",
        b"\x00",
        b"\x07",
        b"\x0e",
        b"\x7f",
        b"\x1a",
    ),
)


def stream(chance: random.Random) -> list[bytes]:
    """Return pieces of a stream that is cut anywhere."""
    whole = b"".join(chance.choices(PARTS, k=chance.randint(1, 40)))
    pieces = []
    while whole:
        size = chance.choice((1, 2, 5, 40, 300, 4096))
        pieces.append(whole[:size])
        whole = whole[size:]
    return pieces


@pytest.mark.parametrize("seed", range(8))
def test_quick_look_shows_what_the_parser_shows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = [stream(random.Random(f"{seed}.{number}")) for number in range(250)]
    quick = [guarded(pieces) for pieces in streams]
    monkeypatch.setattr(harmless, "harmless_length", lambda _: 0)
    for pieces, shown in zip(streams, quick, strict=True):
        assert shown == guarded(pieces), pieces


@pytest.mark.parametrize("seed", range(4))
def test_modes_are_the_same_without_what_is_usual(seed: int) -> None:
    for number in range(250):
        pieces = stream(random.Random(f"{seed}.{number}"))
        guard, some, all_of_them = ScreenGuard(), ScreenModes(), ScreenModes()
        for piece in pieces:
            for shown, usual in guard.pieces(piece):
                all_of_them.feed(shown)
                if not (usual and some.at_rest):
                    some.feed(shown)
        assert some.restore() == all_of_them.restore(), pieces


@pytest.mark.parametrize("part", PARTS)
def test_usual_is_only_what_a_guard_shows_unchanged(part: bytes) -> None:
    end = harmless.harmless_length(b"before" + part)
    assert ScreenGuard().feed((b"before" + part)[:end]) == (b"before" + part)[:end]
    odd = (b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b^", b"\x1b[?", b"\x1b[>", b"\x1bc", b"\x1b[2 q")
    assert not any(mark in (b"before" + part)[:end] for mark in odd)


def guarded(pieces: list[bytes]) -> bytes:
    """Return all that a new guard shows."""
    guard = ScreenGuard()
    return b"".join(map(guard.feed, pieces))
