"""Secrets on rows that are drawn over: what a row shows at any moment holds none."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.redaction import overwrites
from atoll.domain.redaction.lexicon import Lexicon
from atoll.domain.redaction.overwrites import MAX_ROW_BYTES, row_begin
from atoll.domain.redaction.redactor import Redactor

KEY = "sk-canary-Zq81xLw03Mvb77TtNe"
WIDE = "秘密の鍵です本当に"
LEXICON = Lexicon((KEY, WIDE))


def through(pieces: list[bytes], lexicon: Lexicon = LEXICON) -> str:
    redactor = Redactor(lexicon)
    return b"".join([*map(redactor.feed, pieces), redactor.flush()]).decode()


def stars(size: int) -> str:
    return "*" * size


MENDED = {
    f"s\x08{KEY}": f"s\x08{stars(28)}",
    "s\x08sk-\x1b[D-canaryX\x1b[D-Zq81xLw03Mvb77TtNe": f"s\x08**-\x1b[D*******X\x1b[D{stars(19)}",
    f"{KEY[:9]}xyz\x1b[3D{KEY[9:]} end": f"{stars(9)}xyz\x1b[3D{stars(19)} end",
    f"{KEY[:9]}xyz\x1b[\x013D{KEY[9:]}!": f"{stars(9)}xyz\x1b[\x013D{stars(19)}!",
    f"{KEY[:9]}x\x1b[\x08C\x08{KEY[9:]}!": f"{stars(9)}x\x1b[\x08C\x08{stars(19)}!",
    f"{KEY[:9]}x\x1b\x00[D{KEY[9:]}!": f"{stars(9)}x\x1b\x00[D{stars(19)}!",
    f"{KEY[:9]}x\x9bD{KEY[9:]}!": f"{stars(9)}x\x9bD{stars(19)}!",
    f"{KEY[:9]}xx\r\x1b[9C{KEY[9:]}": f"{stars(9)}xx\r\x1b[9C{stars(19)}",
    f"{KEY[:9]}xx\x1b[10G{KEY[9:]}": f"{stars(9)}xx\x1b[10G{stars(19)}",
    f"{KEY[:8]}xx\x1b[Z{KEY[8:]}": f"{stars(8)}xx\x1b[Z{stars(20)}",
    f"{KEY[:8]}xx\r\t{KEY[8:]}": f"{stars(8)}xx\r\t{stars(20)}",
    f"{KEY[:8]}xx\r\x1b[I{KEY[8:]}": f"{stars(8)}xx\r\x1b[I{stars(20)}",
    f"xx{KEY[:9]}yy\x1b[2D{KEY[9:]}\r\x1b[2P": f"xx{stars(9)}yy\x1b[2D{stars(19)}\r\x1b[2P",
    f"{KEY[:9]}y{KEY[9:]}\x1b[19D\x1b[D\x1b[P!": f"{stars(9)}y{stars(19)}\x1b[19D\x1b[D\x1b[P!",
    f"{KEY[:9]}yyyy{KEY[9:]}\x1b[10G\x1b[4X!": f"{stars(9)}yyyy{stars(19)}\x1b[10G\x1b[4X!",
    f"{KEY[:9]}{KEY[13:]}\x1b[10G\x1b[4@{KEY[9:13]}": f"{stars(24)}\x1b[10G\x1b[4@{stars(4)}",
    f"\x1b[9C{KEY[9:]}\r{KEY[:9]}": f"\x1b[9C{stars(19)}\r{stars(9)}",
    f"x{KEY[:9]}yy\x1b[2D\x1b[K{KEY[9:]}": f"x{stars(9)}yy\x1b[2D\x1b[K{stars(19)}",
    f"yyy\x1b[1K\r{KEY[:9]}yy\x1b[2D{KEY[9:]}": f"yyy\x1b[1K\r{stars(9)}yy\x1b[2D{stars(19)}",
    f"yyy\x1b[2J\r{KEY[:9]}yy\x1b[2;3D{KEY[9:]}": f"yyy\x1b[2J\r{stars(9)}yy\x1b[2;3D{stars(19)}",
    f"{WIDE[:4]}x\x08{WIDE[4:]}": f"{stars(8)}x\x08{stars(10)}",
    f"{WIDE[:4]}字\x08\x08{WIDE[4:]}": f"{stars(8)}字\x08\x08{stars(10)}",
    f"a\r{WIDE[:4]}\x08x\x08\x08{WIDE[3:]}": f"a\r{stars(6)}鍵\x08x\x08\x08{stars(12)}",
}
"""What programs write, and what goes out. Each moment of the first shows a secret whole."""


@pytest.mark.parametrize("written", MENDED)
def test_secret_with_a_mistake_that_is_drawn_over_is_masked(written: str) -> None:
    assert through([written.encode()]) == MENDED[written]
    assert LEXICON.redact(written.encode()).decode() == MENDED[written]


@pytest.mark.parametrize(
    "written",
    [
        f"{KEY[:9]}x\r\n\x08{KEY[9:]}",
        f"{KEY[:9]}x\x1b[2;11H\x08{KEY[9:]}",
        f"{KEY[:9]}x\x1b[A\x08{KEY[9:]}",
        f"{KEY[:9]}x\x1b[E\x08{KEY[9:]}",
        f"{KEY[:9]}x\x1bM\x08{KEY[9:]}",
        f"{KEY[:9]}x\x1bE\x08{KEY[9:]}",
        f"{KEY[:9]}x\x1b7\x08{KEY[9:14]}\x1b[@y\x1b[?1\x01h",
        f"{KEY[:9]}xx\x08{KEY[9:]}\x1b[99999D\x1b[K\x1b[@",
        "\r 10 !\r 20 !\x1b[K\r 30 !\x1b[1X\x1b[2P",
        "|\x08/\x08-\x08",
    ],
)
def test_rows_that_show_no_secret_are_not_changed(written: str) -> None:
    assert through([written.encode()]) == written


@given(st.integers(0, len(MENDED) - 1), st.lists(st.integers(0, 90), max_size=5))
def test_row_written_in_pieces_shows_no_secret_in_the_end(which: int, cuts: list[int]) -> None:
    data = list(MENDED)[which].encode()
    places = [0, *sorted(cuts), len(data)]
    shown = through([data[a:b] for a, b in itertools.pairwise(places)]).encode()
    assert LEXICON.redact(shown) == shown


def test_secret_completed_in_a_row_that_has_gone_out_is_masked_from_there() -> None:
    redactor = Redactor(LEXICON)
    assert redactor.feed(KEY[:-1].encode() + b"X") == KEY[:-1].encode() + b"X"
    assert not redactor.waiting
    assert redactor.feed(b"\x08e") + redactor.tick() == b"\x08*"
    assert redactor.feed(b"\r\n\x08e") + redactor.tick() == b"\r\n\x08e"


def test_row_of_an_unfinished_secret_is_kept_from_its_beginning() -> None:
    """A row kept from its middle would seem to show one letter less: `aa` is read as `a`."""
    redactor = Redactor(Lexicon(("aaaaaaaaab",)))
    out = redactor.feed(b"ea\ra\n") + redactor.feed(b"aa\nh\raaaaab") + redactor.flush()
    assert out == b"e*\r*\n**\nh\r******"
    redactor = Redactor(Lexicon(("aaaaaaaaab",)))
    out = redactor.feed(b"ea\ra\n") + redactor.feed(b"aa\nh\raaaaaab") + redactor.flush()
    assert out == b"e*\ra\n**\nh\r*******"


@pytest.mark.parametrize("function", ["\x1b[P", "\x1b[@\r", "\x1b[C\x1b[P\r", "\x1b[C\x1b[@\r"])
def test_half_a_wide_character_goes_with_its_other_half(function: str) -> None:
    written = f"字\r{function}"
    assert through([f"{written}{KEY}\r\n{KEY}".encode()]) == (
        f"{written}{'*' * len(KEY)}\r\n{'*' * len(KEY)}"
    )


def test_row_kept_is_bounded_and_begins_behind_a_return() -> None:
    for row, begin in (
        (b"a\r\nrow", 3),
        (b"a\r\n", 3),
        (b"x" * (MAX_ROW_BYTES + 1), MAX_ROW_BYTES + 1),
    ):
        assert row_begin(row, len(row)) == begin
    assert row_begin(b"a\nrow\nrow", 4) == 2
    redraws = b"\r 12 !" * MAX_ROW_BYTES
    kept = len(redraws) - row_begin(redraws, len(redraws))
    assert kept in range(MAX_ROW_BYTES - 6, MAX_ROW_BYTES)
    redactor = Redactor(LEXICON)
    assert redactor.feed(redraws) == redraws
    assert len(redactor._held) < MAX_ROW_BYTES


def test_moments_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overwrites, "_MAX_MOMENTS", 100)
    spinner = "y" * 60 + "|\x08/\x08" * 50
    mended = f"{KEY[:9]}x\x08{KEY[9:]}"
    assert through([f"{spinner}\r\n{mended}".encode()]) == f"{spinner}\r\n{MENDED_LAST}"


MENDED_LAST = f"{stars(9)}x\x08{stars(19)}"
