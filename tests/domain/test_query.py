import pytest

from atoll.domain.errors import Invalid
from atoll.domain.query import check_query

SINGLE, MANY = frozenset({"after", "limit"}), frozenset({"kind"})


def test_query_of_known_parameters_passes() -> None:
    check_query((), single=frozenset())
    check_query([("after", "1"), ("kind", "a"), ("kind", "b")], single=SINGLE, many=MANY)


@pytest.mark.parametrize(
    ("pairs", "field", "words"),
    [
        ([("limt", "5")], "limt", "no query parameter `limt` here: it takes after, kind, limit"),
        ([("after", "1"), ("after", "2")], "after", "`after` is given 2 times: give it once"),
        ([("\x1b[2J", "")], "\x1b[2J", "no query parameter `…` here"),
        ([("", "x")], "query", "no query parameter `` here"),
    ],
)
def test_other_query_is_refused_by_name(
    pairs: list[tuple[str, str]], field: str, words: str
) -> None:
    with pytest.raises(Invalid, match=r"query parameter") as caught:
        check_query(pairs, single=SINGLE, many=MANY)
    assert caught.value.field == field
    assert words in str(caught.value)


def test_route_without_parameters_says_so() -> None:
    with pytest.raises(Invalid, match="it takes none"):
        check_query([("x", "1")], single=frozenset())
