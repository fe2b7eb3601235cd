import pytest

from atoll.domain.errors import Invalid
from atoll.domain.wall.environment import MAX_BYTES, MAX_VARIABLES, read_env
from atoll.domain.wall.proxy_settings import DOOR_HOST, java_options


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


def test_jvm_finds_the_door_and_other_options_come_last() -> None:
    options = java_options("-Xmx1g", "", direct=("db",))
    assert options.startswith(f"-Dhttp.proxyHost={DOOR_HOST} ")
    assert "|db " in options
    assert options.endswith(" -Xmx1g")
    assert not java_options().endswith(" ")
