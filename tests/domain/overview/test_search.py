from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.overview.search import MAX_SNIPPET, Hit, rank_hits, read_query, score_of, snippet
from atoll.wire.words.overview import HitKind

DAY = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "  ", "a" * 201, "a b c d e f g h i", "a\0b"])
def test_query_without_words_or_with_too_many_is_invalid(text: str) -> None:
    with pytest.raises(Invalid) as found:
        read_query(text)
    assert found.value.field == "q"


@pytest.mark.parametrize(
    ("query", "title", "text", "score"),
    [
        ("Web Shop", "web shop", "", 0),
        ("web", "webshop", "", 1),
        ("shop", "web-shop", "", 2),
        ("hop", "web-shop", "", 3),
        ("shop login", "web-shop", "Fix the login", 4),
        ("shop logout", "web-shop", "Fix the login", None),
        ("É", "école", "", 1),
    ],
)
def test_better_fits_have_lower_scores(
    query: str, title: str, text: str, score: int | None
) -> None:
    assert score_of(read_query(query), title, text) == score


def test_hits_are_ordered_by_fit_then_age() -> None:
    hits = [
        Hit(HitKind.EVENT, "old", "x", at=DAY, score=1),
        Hit(HitKind.SECRET, "none", "x", score=1),
        Hit(HitKind.EVENT, "new", "x", at=DAY.replace(month=2), score=1),
        Hit(HitKind.SANDBOX, "best", "x", at=DAY, score=0),
    ]
    assert [one.id for one in rank_hits(hits, 3)] == ["best", "new", "old"]


def test_snippet_is_one_line_around_the_first_word() -> None:
    text = "a " * 200 + "needle\x1b[2J\u202ein the\nhay" + " b" * 200
    found = snippet(read_query("needle"), text)
    assert "needle" in found and found.isprintable()
    assert found.startswith("…") and found.endswith("…")
    assert len(found) <= MAX_SNIPPET + 2
    assert snippet(read_query("none"), "short") == "short"


@given(st.text(min_size=1, max_size=30), st.text(max_size=60), st.text(max_size=60))
def test_search_of_any_text_ends_with_a_score_or_none(query: str, title: str, text: str) -> None:
    try:
        words = read_query(query)
    except Invalid:
        return
    assert score_of(words, title, text) in (0, 1, 2, 3, 4, None)
    assert len(snippet(words, text)) <= MAX_SNIPPET + 2
