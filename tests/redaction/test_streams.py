"""Streams against the slow oracle: no value is readable and no other byte is changed."""

from functools import lru_cache

import pytest

from atoll.domain.redaction.forms import forms
from atoll.domain.redaction.lexicon import Lexicon
from atoll.domain.redaction.redactor import Redactor
from tests.redaction import oracle, world
from tests.redaction.conftest import Search
from tests.redaction.world import Case, World

PIECE = 8
"""Bytes of a form that no row may show, of a piece of it."""

SHOWN_EARLY = 7
"""Letters of a secret that a tick may let go before it is one."""


@lru_cache
def lexicon(values: tuple[str, ...]) -> Lexicon:
    return Lexicon(values)


def sent(case: Case, *, ticking: bool) -> bytes:
    """What goes out for a case."""
    redactor, out = Redactor(lexicon(case.values)), b""
    for piece, pause in case.pieces:
        out += redactor.feed(piece)
        if ticking and pause:
            out += redactor.tick()
    return out + redactor.flush()


def masked_as_the_oracle_says(case: Case) -> None:
    out, whole = sent(case, ticking=False), lexicon(case.values).redact(case.stream)
    masked = oracle.masked(case.stream, case.values)
    assert not oracle.hidden(out, case.values)
    if out == masked == whole or not oracle.followed(case.stream):
        return
    # What is drawn over before it has come whole depends on the cuts.
    secret = oracle.hidden(case.stream, case.values) | oracle.overdrawn(case.stream, case.values)
    secret |= oracle.folded(case.stream, case.values)
    for each in (out, whole):
        assert oracle.changed(case.stream, each) <= secret


def masked_but_for_early_letters(case: Case) -> None:
    stream, out = case.stream, sent(case, ticking=True)
    assert not oracle.hidden(out, case.values)
    assert len(out) == len(stream)
    secret = oracle.hidden(stream, case.values)
    if any(was != became for was, became in zip(stream, out, strict=True)):
        secret = secret | oracle.overdrawn(stream, case.values)
        secret |= oracle.folded(stream, case.values)
    shown = {place for place in secret if out[place] == stream[place] and stream[place] >= 0x20}
    for place, (was, became) in enumerate(zip(stream, out, strict=True)):
        known = place in secret or not oracle.followed(stream)
        assert was == became or (known and became == ord("*"))
    for places in oracle.occurrences(stream, case.values):
        assert len(shown.intersection(places)) <= SHOWN_EARLY


def test_streams_are_masked_as_a_slow_oracle_masks_the_whole(search: Search) -> None:
    search(World(), masked_as_the_oracle_says, share=0.5)


def test_streams_that_pause_show_at_most_the_first_letters_of_a_secret(search: Search) -> None:
    between, words = (tuple(filter(str.isascii, each)) for each in (world.ALL, world.WORDS))
    search(World(world.PLAIN, between, words), masked_but_for_early_letters, share=0.5)


def test_secret_in_rows_that_an_offset_parts_and_a_bare_end_is_one_to_the_oracle() -> None:
    """The redactor masks it: of these rows nobody can say that they are no dump's."""
    title = b"\x1b]633;C;0123456789abcdef\x07"  # d and f: ends of rows, for all the oracle knows
    for stream in (
        b"aaaaaa\x1b[3\n1mab  aaaaaaa\nb",
        b"aaa" + title + b"aaa\x1b[3\n1mab  aaaaaaab",
    ):
        masked_but_for_early_letters(Case(("aaaaaaaaab",), (stream,), ()))


def test_secret_in_rows_of_a_dump_with_its_text_beside_it_is_one_to_the_oracle() -> None:
    """What stands before an offset may be the text beside the digits, for all anybody knows."""
    masked_as_the_oracle_says(Case(("[0m;12345678",), (b"[0m\n123456  0m;12345678",), ()))


def test_oracle_sees_letters_and_skips_what_terminals_skip() -> None:
    stream = b"a\x1b[1;31mb\x1b]0;title\x07c\x1b(Bd\r\n\x1bP1$r\x1b\\e\x1b_x\x1b[0mf\x1b"
    assert oracle.text(stream) == b"abcdef"
    letters = b"\x1b[0m".join(bytes([each]) for each in world.KEY.encode())
    assert len(oracle.hidden(b"<" + letters + b">", (world.KEY,))) == len(world.KEY)
    assert oracle.text(oracle.masked(letters, (world.KEY,))) == b"*" * len(world.KEY)


@pytest.mark.parametrize("fold", world.FOLDS, ids=lambda fold: fold.__name__)
def test_value_that_a_program_folded_is_masked_in_every_row(fold: world.Fold) -> None:
    """However much stands before it in its row, and line by line as well as at once."""
    pieces = {
        form[at : at + PIECE]
        for form in forms(world.FOLDED)
        for at in range(max(1, len(form) - PIECE))
    }
    for before in range(18):
        stream = fold(b"=" * before + world.FOLDED.encode() + b" <<>> <<>> <<>>\n")
        out = lexicon((world.FOLDED,)).redact(stream)
        assert len(out) == len(stream)
        assert not [piece for piece in pieces if piece in out], (before, out)
        if fold in world.TEXTS:
            assert out.count(b"*") == len(world.FOLDED), (before, out)
        lines = Redactor(lexicon((world.FOLDED,)))
        each = b"".join(lines.feed(line) for line in stream.splitlines(keepends=True))
        each += lines.flush()
        assert not [piece for piece in pieces if piece in each], (before, each)


@pytest.mark.parametrize("form", world.SPELLED, ids=lambda form: form.__name__)
def test_value_that_a_program_spelled_its_way_is_masked(form: world.Fold) -> None:
    spelled = form(world.AWKWARD.encode())
    out = lexicon((world.AWKWARD,)).redact(b"<" + spelled + b">")
    assert out == b"<" + b"*" * len(spelled) + b">"
