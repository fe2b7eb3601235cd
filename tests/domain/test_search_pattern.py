"""What a person searches for, and that no pattern takes longer than its text is long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.search_pattern import MAX_PATTERN, read_pattern


def found(text: str, line: str, *, glob: bool = False, match_case: bool = False) -> str | None:
    place = read_pattern(text, glob=glob, match_case=match_case).find(line)
    return None if place is None else line[place[0] : place[1]]


def test_words_stand_for_themselves_in_any_case() -> None:
    assert found("a.c*", "x A.C* y") == "A.C*"
    assert found("a.c", "abc") is None
    assert found("Error", "error", match_case=True) is None
    assert found("Error", "an Error", match_case=True) == "Error"


def test_stars_and_question_marks_stand_for_others_only_when_asked() -> None:
    assert found("err*line ?", "an error at line 7, line 8", glob=True) == "error at line 7"
    assert found("*7*", "line 7", glob=True) == "7"
    assert found("a*b", "b a", glob=True) is None
    assert found("a?c", "a.c a\u00e9c", glob=True) == "a.c"
    assert found("a?c", "abc") is None


@pytest.mark.parametrize("text", ["", "*", "***", "a\nb", "x" * (MAX_PATTERN + 1)])
def test_pattern_that_finds_everything_or_nothing_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_pattern(text, glob=True, match_case=False)
    assert refused.value.field == "q"


@given(st.text("ab.*?", min_size=1, max_size=8), st.text("ab", max_size=20))
def test_place_found_lies_in_the_line_and_begins_with_the_first_piece(text: str, line: str) -> None:
    try:
        pattern = read_pattern(text, glob=True, match_case=True)
    except Invalid:
        return
    place = pattern.find(line)
    if place is not None:
        assert 0 <= place[0] < place[1] <= len(line)
        assert pattern.find(line[place[0] :]) is not None
