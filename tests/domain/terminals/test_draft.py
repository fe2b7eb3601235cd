import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.terminals import draft
from atoll.domain.terminals.draft import DraftLength

PIECES = st.sampled_from([
    b"a", "ä".encode(), b" ", b"\r", b"\n", b"\x03", b"\x15", b"\x17", b"\x7f", b"\x1b", b"\x1b\r",
    b"\x1b[A", b"\x1bOB", b"\x1b[200~", b"\x1b[201~", b"\x1b[13u", b"\x1b[99;5u", b"\x1b[97u",
    b"\x1b[1;5C", b"\x1b\x7f", b"\xff",
])  # fmt: skip


def count(*typed: bytes) -> int:
    line = DraftLength()
    for keys in typed:
        line.typed(keys)
    return line.characters


@pytest.mark.parametrize(
    ("typed", "characters"),
    [
        (b"and al", 6),
        ("größe".encode(), 5),
        (b"and\r", 0),
        (b"and\x03", 0),
        (b"and\x15", 0),
        (b"and\x15x", 1),
        (b"and\x7f\x7f", 1),
        (b"a\x7f\x7f\x7f\x08", 0),
        (b"two words\x17", 0),
        (b"two words\x1b\x7f", 0),
        (b"\x1b[A\x1b[B\x1b[1;5C\x1bOA\x1b[3~", 0),
        (b"a\x1b[Db", 2),
        (b"a\x01b", 2),
        (b"a\nb", 3),
        (b"a\x1b\r", 2),
        (b"\x1b[200~one\rtwo\x1b[201~", 7),
        (b"\x1b[200~one\rtwo\x1b[201~\r", 0),
        (b"a\x1b", 1),
        (b"a\x1b\x1b", 0),
        (b"a\x1bb\x1b", 2),
        (b"a\x1b[13u", 0),
        (b"a\x1b[13;2u", 2),
        (b"a\x1b[99;5u", 0),
        (b"a\x1b[117;5:1u", 0),
        (b"a\x1b[127u", 0),
        (b"\x1b[97;1;97u", 1),
        (b"a\x1b[27u", 1),
        (b"a\x1b[9;5u", 1),
    ],
)
def test_line_is_counted_by_what_was_typed(typed: bytes, characters: int) -> None:
    assert count(typed) == characters


def test_key_that_comes_in_two_frames_is_one_key() -> None:
    assert count(b"\x1b[", b"A") == 0
    assert count(b"ab\x1b[20", b"0~c\rd\x1b[201~") == 5
    assert count(b"\x1b[" + b"0" * 100, b"A") > 0


@given(st.lists(PIECES, max_size=30), st.sampled_from([b"\x15", b"\x03", b"\r"]))
def test_line_is_empty_after_it_was_sent_or_dropped(pieces: list[bytes], last: bytes) -> None:
    assert count(*pieces, b"\x1b[201~", last) == 0


def test_count_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "MAX_COUNTED", 64)
    assert count(b"a" * 69) == 64
