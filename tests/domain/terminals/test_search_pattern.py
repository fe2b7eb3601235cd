import fnmatch
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.terminals.search_pattern import MAX_PATTERN, read_pattern

LETTERS = st.text("ab.?*[", min_size=1, max_size=8)


@given(LETTERS, st.text("ab.[", max_size=20))
def test_glob_finds_what_fnmatch_would(text: str, line: str) -> None:
    if not text.strip("*"):
        return
    found = read_pattern(text, glob=True, match_case=True).find(line)
    escaped = text.replace("[", "[[]")
    assert (found is not None) == fnmatch.fnmatchcase(line, f"*{escaped}*")
    if found is not None:
        start, end = found
        assert re.fullmatch(fnmatch.translate(escaped.strip("*")), line[start:end])


@given(st.text(min_size=1, max_size=5), st.text(max_size=30))
def test_literal_stands_for_itself(text: str, line: str) -> None:
    if not text.strip("*") or "\n" in text:
        return
    found = read_pattern(text, glob=False, match_case=True).find(line)
    start = line.find(text)
    assert found == (None if start < 0 else (start, start + len(text)))


@pytest.mark.parametrize("text", ["", "*", "**", "x" * (MAX_PATTERN + 1), "a\nb"])
def test_pattern_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_pattern(text, glob=True, match_case=False)


def test_pattern_made_to_hurt_is_answered() -> None:
    # A backtracking engine would still be at it when the test's own time is over.
    pattern = read_pattern("a?" * 60 + "*" + "?a" * 39 + "b", glob=True, match_case=False)
    assert pattern.find("a" * 4096) is None


def test_pattern_of_one_letter_for_any_stands_where_it_is_found() -> None:
    assert read_pattern("l?o*d", glob=True, match_case=True).find("hello world") == (2, 11)
    assert read_pattern("l?o*d", glob=True, match_case=True).find("help") is None


def test_literal_is_found_where_it_stands() -> None:
    assert read_pattern("a.b", glob=False, match_case=True).find("aab a.b") == (4, 7)
    assert read_pattern("a.b", glob=False, match_case=False).find("A.B") == (0, 3)
