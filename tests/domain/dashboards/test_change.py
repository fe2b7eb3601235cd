"""What an update may be made of. The updates are spelled as a hostile browser would."""

import time
from collections.abc import Mapping

import pytest

from atoll.domain.dashboards import change
from atoll.domain.dashboards.change import (
    Additions,
    Missing,
    adds_deletions,
    check_authors,
    judge,
    types_made,
)
from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.ids import PrincipalId
from atoll.wire.crdt.lib0 import spell_text
from atoll.wire.crdt.update import Deletion, Id, ParsedUpdate, read_update
from tests.wire.crdt.spelled import (
    MAP,
    TEXT,
    Part,
    binary,
    deleted,
    mark,
    shared,
    spell_update,
    string,
    values,
)

ITEM = "itm_0000000000000001"
ANN, BOB = PrincipalId("ann"), PrincipalId("bob")
NEW = [
    shared(MAP, parent="items", key=ITEM),
    values(b"\x78", parent=(1, 0), key="locked"),
    shared(TEXT, parent=(1, 0), key="text"),
    string("hello", parent=(1, 2)),
    mark("bold", "true", parent=(1, 2)),
]
CLOCKS, TYPES = {1: 9}, {(1, 0): 1, (1, 2): 2}
"""The document after `NEW`."""


def judged(
    *groups: tuple[int, int, list[Part]],
    clocks: Mapping[int, int] = CLOCKS,
    types: Mapping[Id, int] = TYPES,
    gone: tuple[tuple[int, int, int], ...] = (),
) -> Additions | Missing:
    return judge(read_update(spell_update(*groups, gone=gone)), clocks, types)


def test_new_item_with_its_text_is_accepted() -> None:
    assert judged((1, 0, NEW), clocks={}, types={}) == Additions({1: 9}, TYPES)


def test_what_is_known_adds_nothing_whatever_it_is() -> None:
    known = [Part(3, spell_text("x"), origin=(9, 9))]
    assert judged((1, 0, [*NEW]), (2, 0, known), clocks={1: 9, 2: 1}) == Additions({}, {})


def test_update_goes_on_where_the_document_ends() -> None:
    more = [string("!", origin=(1, 7), right=(1, 8))]
    assert judged((1, 9, more)) == Additions({1: 10}, {})
    assert judged((2, 0, more)) == Additions({2: 1}, {})
    assert judged((1, 10, more)) == Missing(1)


@pytest.mark.parametrize(
    "part",
    [
        string("!", origin=(3, 0)),
        string("!", right=(1, 10)),
        string("!", parent=(3, 0)),
    ],
)
def test_update_that_rests_on_what_is_not_there_is_missing_it(part: Part) -> None:
    found = judged((2, 0, [part]))
    assert isinstance(found, Missing) and found.client in (1, 3)


def test_gap_and_deletion_of_what_is_not_there_are_missing_it() -> None:
    assert judged((2, 0, [Part(10, b"\x03"), deleted(1, parent="items", key=ITEM)])) == Missing(2)
    assert judged((2, 0, [Part(10, b"\x03")])) == Additions({}, {})
    assert judged(gone=((1, 8, 2),)) == Missing(1)
    assert judged(gone=((1, 8, 1),)) == Additions({}, {})


def test_item_may_take_the_place_of_one_that_was_deleted() -> None:
    again = shared(MAP, origin=(1, 0))
    assert judged((2, 0, [again])) == Additions({2: 1}, {(2, 0): 1})
    gone = deleted(1, parent="items", key="itm_0000000000000002")
    after = shared(MAP, origin=(2, 0))
    made = {(2, 0): 1, (3, 0): 1}
    assert judged((3, 0, [after]), (2, 0, [gone])) == Additions({2: 1, 3: 1}, made)


def test_what_was_collected_or_has_an_unknown_place_is_accepted() -> None:
    parts = [Part(0, b"\x05"), deleted(2, origin=(1, 7)), deleted(1, right=(1, 7))]
    assert judged((2, 0, parts)) == Additions({2: 8}, {})


@pytest.mark.parametrize(
    "part",
    [
        binary(b"x", parent=(1, 0), key="a"),
        Part(5, spell_text("{}"), parent=(1, 2)),
        Part(9, spell_text("g") + b"\x7e", parent=(1, 0), key="a"),
        Part(2, b"\x01" + spell_text("1"), parent=(1, 0), key="a"),
        shared(MAP, parent="other", key=ITEM),
        shared(MAP, parent="items", key="itm_1"),
        shared(MAP, parent="items"),
        shared(TEXT, parent="items", key=ITEM),
        shared(0, parent=(1, 0), key="a"),
        shared(MAP, parent=(1, 0), key="a"),
        shared(MAP, parent=(1, 2)),
        shared(MAP, origin=(1, 2)),
        shared(MAP, origin=(1, 4)),
        shared(MAP, right=(1, 4)),
        values(b"\x78", parent="items", key=ITEM),
        values(b"\x78", parent="items"),
        values(b"\x78", parent=(1, 0)),
        values(b"\x78", parent=(1, 0), key="k" * 65),
        values(b"\x78", parent=(1, 2)),
        values(b"\x78", parent=(1, 1), key="a"),
        string("x", parent=(1, 0), key="kind"),
        string("x", parent=(1, 2), key="a"),
        mark("a" * 65, "true", origin=(1, 4)),
        mark("link", '"' + "a" * 3000 + '"', origin=(1, 4)),
        mark("a", '{"a":1}', origin=(1, 4)),
        mark("a", "[]", origin=(1, 4)),
        mark("a", "", origin=(1, 4)),
    ],
    ids=range(27),
)
def test_content_where_it_does_not_belong_is_invalid(part: Part) -> None:
    with pytest.raises(Invalid):
        judged((2, 0, [part]))


def test_types_nest_two_deep_however_they_are_written() -> None:
    """A browser that nests maps for ever would have the library recurse for ever."""
    bomb = [shared(MAP, parent="items", key=ITEM)]
    bomb += [shared(MAP, parent=(2, depth), key="a") for depth in range(1000)]
    with pytest.raises(Invalid):
        judged((2, 0, bomb))
    sideways = [shared(MAP, parent="items", key=ITEM), values(b"\x78", parent=(2, 0), key="a")]
    with pytest.raises(Invalid):
        judged((2, 0, [*sideways, shared(MAP, origin=(2, 1))]))


def test_types_of_a_stored_update_are_found_again() -> None:
    assert types_made(read_update(spell_update((1, 0, NEW))), {}) == TYPES
    again = read_update(spell_update((2, 0, [shared(MAP, origin=(1, 0))])))
    assert types_made(again, TYPES) == {(2, 0): 1}


def test_deletions_are_new_unless_all_of_them_are_known() -> None:
    known = (Deletion(1, 5, 3), Deletion(1, 0, 5), Deletion(2, 4, 1), Deletion(1, 2, 2))

    def adds(*gone: tuple[int, int, int]) -> bool:
        return adds_deletions(read_update(spell_update(gone=gone)), known)

    assert not adds() and not adds((1, 2, 5), (2, 4, 1))
    assert adds((1, 2, 7)) and adds((3, 0, 1)) and adds((2, 3, 1))


def test_client_belongs_to_the_first_who_writes_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    authors = {1: ANN}
    assert check_authors(ANN, (1, 2), authors, {}) == (2,)
    with pytest.raises(Invalid, match="another person"):
        check_authors(BOB, (1,), authors, {})
    with pytest.raises(Invalid, match="another person"):
        check_authors(BOB, (3,), authors, {3: ANN})
    monkeypatch.setattr(change, "MAX_AUTHORS", 2)
    with pytest.raises(LimitReached):
        check_authors(BOB, (4, 5), authors, {})


def test_deletions_of_a_viewer_are_compared_in_a_moment() -> None:
    count = 20_000
    present = [Deletion(1, 2 * n, 1) for n in range(count)]
    update = ParsedUpdate((), tuple(present[:-1]))
    began = time.process_time()
    assert not adds_deletions(update, present)
    assert adds_deletions(ParsedUpdate((), (Deletion(1, 3, 1),)), present)
    assert time.process_time() - began < 1
