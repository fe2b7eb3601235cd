import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycrdt import Doc, Map, Text

from atoll.wire.crdt.lib0 import Malformed, spell_bytes, spell_number, spell_text
from atoll.wire.crdt.update import (
    MAX_CLOCK,
    MAX_STRUCTS,
    ContentKind,
    Deletion,
    read_deletions,
    read_update,
)
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


def real_update() -> bytes:
    doc: Any = Doc(client_id=7)
    items = doc.get("items", type=Map)
    items["itm_1"] = Map({"x": 1.5, "title": "é𝄞", "tags": ["a", {"b": None}], "text": Text("")})
    items["itm_1"]["text"].insert(0, "plain ")
    items["itm_1"]["text"].insert(6, "bold", {"bold": True})
    items["itm_1"]["x"] = 2
    items["itm_2"] = Map({"x": 1})
    del items["itm_2"]
    return bytes(doc.get_update())


def test_update_of_a_real_document_is_read_whole() -> None:
    found = read_update(real_update())
    kinds = {one.kind for one in found.structs}
    assert {ContentKind.TYPE, ContentKind.VALUES, ContentKind.STRING, ContentKind.FORMAT} <= kinds
    first = found.structs[0]
    assert (first.client, first.clock, first.parent, first.key) == (7, 0, "items", "itm_1")
    ends = [one.clock + one.length for one in found.structs]
    assert [one.clock for one in found.structs] == [0, *ends[:-1]]
    assert found.deletions and {one.client for one in found.deletions} == {7}


@given(st.binary(max_size=300))
def test_any_bytes_are_an_update_or_malformed(data: bytes) -> None:
    try:
        read_update(data)
    except Malformed:
        return


def test_damaged_update_is_read_or_malformed() -> None:
    whole, chance = real_update(), random.Random(1)
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            read_update(bytes(damaged[: chance.randrange(1, len(damaged) + 1)]))
        except Malformed:
            continue


def test_length_of_a_text_is_its_utf16_units() -> None:
    found = read_update(spell_update((1, 0, [string("a𝄞", parent=(1, 0)), deleted(3)])))
    assert [(one.clock, one.length) for one in found.structs] == [(0, 3), (3, 3)]


def test_content_of_every_kind_ends_where_it_ends() -> None:
    last = Part(4, spell_text("z"), origin=(1, 0))
    for one in (
        Part(0, b"\x05"),
        Part(10, b"\x05"),
        Part(2, b"\x02" + spell_text("1") + spell_text("2"), right=(2, 3)),
        binary(b"abc"),
        Part(5, spell_text("{}")),
        mark("bold", "true"),
        shared(3),
        shared(TEXT),
        values(b"\x78", b"\x7e"),
        Part(9, spell_text("guid") + b"\x7e"),
    ):
        if one.kind == 7 and one.content == b"\x03":
            one = Part(7, b"\x03" + spell_text("p"))
        found = read_update(spell_update((1, 0, [one, last])))
        assert [each.kind for each in found.structs] == [one.kind, ContentKind.STRING]


@pytest.mark.parametrize(
    "data",
    [
        spell_update((1, 0, [string("")])),
        spell_update((1, 0, [deleted(0)])),
        spell_update((1, MAX_CLOCK, [deleted(1)])),
        spell_update((1, 0, [Part(0, spell_number(MAX_CLOCK + 1))])),
        spell_update((1, 0, [Part(0, b"\x01", flags=0x40)])),
        spell_update((1, 0, [Part(11)])),
        spell_update((1, 0, [deleted(1)]), (1, 5, [deleted(1)])),
        spell_update(gone=((1, 0, 0),)),
        spell_update() + b"\x00",
        spell_number(1) + spell_number(MAX_STRUCTS + 1) + b"\1\0" + b"\0\1" * (MAX_STRUCTS + 1),
        b"\x00\x01\x01" + spell_number(MAX_STRUCTS + 1) + b"\0\1" * (MAX_STRUCTS + 1),
        b"\xff\xff\xff\x7f",
    ],
    ids=range(12),
)
def test_update_that_no_document_writes_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_update(data)


def test_deletions_are_read_alone() -> None:
    assert read_deletions(spell_update(gone=((1, 2, 3),))) == (Deletion(1, 2, 3),)
    with pytest.raises(Malformed):
        read_deletions(spell_update((1, 0, [shared(MAP, parent="items", key="a")])))
    assert spell_bytes(b"") == b"\0"
