import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.duration import MAX_SECONDS, parse_duration, spell_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("4h", 14400), ("2d", 172800), ("1h30m", 5400), (7, 7)],
)
def test_duration_spelled_any_way_is_read(text: str | int, seconds: int) -> None:
    assert parse_duration(text) == seconds


def test_duration_without_a_unit_is_refused_unless_seconds_are_meant() -> None:
    with pytest.raises(ValueError, match="needs a unit: write 4s, 4m, 4h or 4d"):
        parse_duration("4")
    assert parse_duration("60", bare=True) == 60


@pytest.mark.parametrize(
    "text", ["", "s", "0", 0, -1, "1w", "1.5h", " 1h", "1h ", "٣h", "30m1h", True, "9" * 99]
)
def test_duration_that_is_none_is_refused(text: str | int) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@given(st.integers(1, MAX_SECONDS))
def test_duration_spelled_is_read_back(seconds: int) -> None:
    assert parse_duration(spell_duration(seconds)) == seconds


def test_duration_of_nothing_is_spelled() -> None:
    assert spell_duration(0) == "0s"
