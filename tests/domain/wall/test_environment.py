import pytest

from atoll.domain.errors import Invalid
from atoll.domain.wall.environment import MAX_BYTES, MAX_VARIABLES, read_env


def test_env_is_sorted_and_the_last_word_counts() -> None:
    assert read_env([("B", "1"), ("A", "x"), ("B", "2")]) == (("A", "x"), ("B", "2"))


@pytest.mark.parametrize(
    ("pairs", "field"),
    [
        ([("1A", "x")], "env"),
        ([("A=B", "x")], "env"),
        ([("", "x")], "env"),
        ([("A\n", "x")], "env"),
        ([("A", "\0")], "env.A"),
        ([("A", "x" * MAX_BYTES)], "env"),
        ([(f"A{number}", "") for number in range(MAX_VARIABLES + 1)], "env"),
    ],
)
def test_env_that_cannot_be_is_refused(pairs: list[tuple[str, str]], field: str) -> None:
    with pytest.raises(Invalid) as err:
        read_env(pairs)
    assert err.value.field == field
