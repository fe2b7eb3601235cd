"""Durations mean the same to the API, to its schema and to what reads them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.duration import MAX_SECONDS, parse_duration, spell_duration
from atoll.surfaces.http.serving.schemas import DURATION_PATTERN


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("4h", 14400), ("2d", 172800), ("1h30m", 5400), ("1d12h", 129600)],
)
def test_duration_the_api_describes_is_read(text: str, seconds: int) -> None:
    assert re.search(DURATION_PATTERN, text)
    assert parse_duration(text) == seconds


@given(st.integers(1, MAX_SECONDS))
def test_every_duration_as_it_is_spelled_is_in_the_schema(seconds: int) -> None:
    assert re.search(DURATION_PATTERN, spell_duration(seconds))


@pytest.mark.parametrize("text", ["4", "", "d", "1.5h", "1h 30m", "30m1h"])
def test_text_without_a_unit_is_refused_by_both(text: str) -> None:
    assert not re.search(DURATION_PATTERN, text)
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


def test_number_of_the_api_is_seconds() -> None:
    assert parse_duration(90) == 90
