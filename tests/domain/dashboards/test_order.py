"""How dear a document is to merge: hostile updates are counted, those of people are free."""

import random
import time
from typing import Any

import pytest
from pycrdt import Doc, Map, Text

from atoll.domain.dashboards.order import (
    MAX_CONTINUATIONS,
    MAX_NEW_CLIENTS,
    MAX_PARTS,
    MAX_WORK,
    DocumentOrder,
)
from atoll.domain.errors import LimitReached
from atoll.wire.crdt.update import ContentKind, Struct, read_update
from tests.wire.crdt.spelled import Part, shared, spell_update, string, values

MAP, TEXT = 1, 2
ITEM = "itm_0000000000000001"
LENGTH = 4000
BEGUN = spell_update(
    (
        (1 << 40),
        0,
        [
            shared(MAP, parent="items", key=ITEM),
            shared(TEXT, parent=(1 << 40, 0), key="text"),
            string("x" * LENGTH, parent=(1 << 40, 1)),
        ],
    )
)
"""A note whose text begins at clock 2."""


def at(index: int) -> tuple[int, int]:
    return 1 << 40, 2 + index


def structs(*groups: tuple[int, int, list[Part]]) -> tuple[Struct, ...]:
    return read_update(spell_update(*groups)).structs


def begun() -> DocumentOrder:
    order = DocumentOrder()
    order.add(read_update(BEGUN).structs)
    return order


def chain(count: int, client: int, behind: tuple[int, int]) -> list[Part]:
    return [string("a", origin=behind if n == 0 else (client, n - 1)) for n in range(count)]


def one_left(count: int) -> list[Part]:
    return [string("a", origin=at(0), right=at(1 + n % (LENGTH - 1))) for n in range(count)]


def one_right(count: int) -> list[Part]:
    return [string("a", origin=at(n % LENGTH), right=at(LENGTH - 1)) for n in range(count)]


def no_right(count: int) -> list[Part]:
    return [string("a", origin=at(n % (LENGTH - 1))) for n in range(count)]


def no_left(count: int) -> list[Part]:
    return [string("a", parent=(1 << 40, 1)) for _ in range(count)]


def one_key(count: int) -> list[Part]:
    return [values(b"\x78", parent=(1 << 40, 0), key="z") for _ in range(count)]


def one_value(count: int) -> list[Part]:
    return [values(b"\x78", parent=(1 << 40, 0), key="z")] + [
        values(b"\x78", origin=(1, 0)) for _ in range(count)
    ]


SHAPES = [one_left, one_right, no_right, no_left, one_key, one_value]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("browsers", [1, 100])
def test_parts_that_would_walk_are_refused_and_leave_nothing(shape: Any, browsers: int) -> None:
    order, parts = begun(), shape(2000)
    share = len(parts) // browsers
    if shape is one_value:
        browsers = 1
    groups = [(1 + n, 0, parts[n * share : (n + 1) * share]) for n in range(browsers)]
    if browsers == 1:
        groups = [(1, 0, parts)]
    with pytest.raises(LimitReached) as refused:
        order.admit(structs(*groups))
    assert refused.value.code == "document_full"
    assert (order.parts, order.work) == (3, 0)
    order.admit(structs((7, 0, [string("b", origin=at(LENGTH - 1))])))
    assert (order.parts, order.work) == (4, 0)


@pytest.mark.parametrize("shape", SHAPES[:4])
def test_parts_that_walk_add_up_over_many_updates(shape: Any) -> None:
    order, parts = begun(), shape(2000)
    with pytest.raises(LimitReached):
        for n, part in enumerate(parts):
            order.admit(structs((1, n, [part])))
    assert order.work <= MAX_WORK
    assert order.parts > 300


def test_nested_pairs_are_counted() -> None:
    """Each pair stands between the characters of the pair around it, and beside a second part."""
    around = [
        string(
            "xy",
            origin=at(0) if n == 0 else (1, 2 * n - 2),
            right=at(1) if n == 0 else (1, 2 * n - 1),
        )
        for n in range(1000)
    ]
    beside = [string("b", origin=(1, 2 * n), right=(1, 2 * n + 1)) for n in range(1000)]
    with pytest.raises(LimitReached):
        begun().admit(structs((1, 0, around), (2, 0, beside)))


def test_update_of_many_new_browsers_or_parts_is_refused() -> None:
    groups = [(n, 0, [string("a", origin=at(LENGTH - 1))]) for n in range(1, MAX_NEW_CLIENTS + 2)]
    with pytest.raises(LimitReached, match="browsers"):
        begun().admit(structs(*groups))
    order = begun()
    with pytest.raises(LimitReached, match=f"{MAX_PARTS} changes"):
        for n in range(MAX_PARTS // 3000):
            behind = at(LENGTH - 1) if n == 0 else (n, 2999)
            order.admit(structs((1 + n, 0, chain(3000, 1 + n, behind))))
    with pytest.raises(LimitReached, match="go on from the part before"):
        begun().admit(structs((1, 0, chain(MAX_CONTINUATIONS + 2, 1, at(LENGTH - 1)))))


def test_part_that_stands_nowhere_walks_past_nothing() -> None:
    """What was collected has no place, and what stands in a gap, or is known, is no part."""
    order = begun()
    collected = Struct(1, 0, 5, ContentKind.COLLECTED)
    gap = Struct(2, 0, 5, ContentKind.GAP)
    order.admit((collected, gap, *read_update(BEGUN).structs))
    assert (order.parts, order.work) == (4, 0)


def test_part_behind_one_that_is_missing_is_counted_once() -> None:
    order = begun()
    order.admit((Struct(1, 0, 1, ContentKind.STRING, origin=(9, 9), parent=(1 << 40, 1)),))
    assert (order.parts, order.work) == (4, 0)


def test_ring_of_parts_ends() -> None:
    ring = [(1, 0, [string("a", origin=(2, 0))]), (2, 0, [string("a", origin=(1, 0))])]
    began = time.process_time()
    begun().admit(structs(*ring))
    assert time.process_time() - began < 1


def test_longest_chain_from_its_end_is_read_in_a_moment() -> None:
    """Each part of the update rests on one that comes later in it."""
    count = 5000
    groups = [
        (1 + n, 0, [string("a", origin=(2 + n, 0) if n + 1 < count else at(LENGTH - 1))])
        for n in range(count)
    ]
    order, began = DocumentOrder(), time.process_time()
    order.add(read_update(BEGUN).structs)
    order.add(structs(*groups))
    assert time.process_time() - began < 1
    assert (order.parts, order.work) == (count + 3, 0)


@pytest.mark.parametrize("seed", range(5))
def test_what_people_type_one_after_another_is_free(seed: int) -> None:
    """Three browsers type, delete, mark and move; each has what the others did."""
    dice, order = random.Random(seed), DocumentOrder()
    docs: list[Any] = [Doc(client_id=100 + n) for n in range(3)]
    root = docs[0].get("items", type=Map)
    root[ITEM] = Map({"text": Text("to begin"), "x": 1})
    for doc in docs[1:]:
        doc.apply_update(docs[0].get_update())
    order.admit(read_update(docs[0].get_update()).structs)
    for _ in range(300):
        doc = dice.choice(docs)
        item, before = doc.get("items", type=Map)[ITEM], doc.get_state()
        text, where = item["text"], dice.randrange(len(str(item["text"])) + 1)
        match dice.randrange(4):
            case 0 if where + 2 < len(str(text)):
                del text[where : where + 2]
            case 1 if where + 2 < len(str(text)):
                text.format(where, where + 2, {"bold": dice.random() < 0.5})
            case 2:
                item["x"] = dice.randrange(1000)
            case _:
                text.insert(where, dice.choice(["a", "word ", "\n"]))
        update = bytes(doc.get_update(before))
        order.admit(read_update(update).structs)
        for other in docs:
            other.apply_update(update)
    assert order.work == 0
    again = DocumentOrder()
    again.add(read_update(bytes(docs[0].get_update())).structs)
    assert again.work < MAX_WORK / 100
    assert again.clocks == order.clocks
