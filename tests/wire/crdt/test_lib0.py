import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.crdt.lib0 import (
    MAX_DEPTH,
    MAX_NUMBER,
    Malformed,
    Reader,
    spell_bytes,
    spell_number,
    spell_text,
)


@given(st.integers(0, MAX_NUMBER))
def test_number_is_read_as_it_was_spelled(number: int) -> None:
    reader = Reader(spell_number(number))
    assert reader.number() == number
    reader.finish()


@given(st.text(), st.binary())
def test_text_and_bytes_are_read_as_they_were_spelled(text: str, data: bytes) -> None:
    reader = Reader(spell_text(text) + spell_bytes(data))
    assert (reader.text(), reader.bytes()) == (text, data)
    assert reader.at_end


@pytest.mark.parametrize(
    "spelled", [b"", b"\x80", b"\xff" * 7 + b"\x7f", b"\xff" * 20, spell_number(MAX_NUMBER + 1)]
)
def test_number_that_is_too_long_or_cut_is_malformed(spelled: bytes) -> None:
    with pytest.raises(Malformed):
        Reader(spelled).number()


@pytest.mark.parametrize("spelled", [b"\x05abc", b"\x02\xc3\x28", b"\x01\xff"])
def test_text_that_is_cut_or_no_text_is_malformed(spelled: bytes) -> None:
    with pytest.raises(Malformed):
        Reader(spelled).text()


def test_count_beyond_the_bytes_is_malformed() -> None:
    assert Reader(b"\x02ab").count() == 2
    with pytest.raises(Malformed):
        Reader(b"\x03ab").count()


def test_bytes_that_follow_are_malformed() -> None:
    with pytest.raises(Malformed, match="follow"):
        Reader(b"a").finish()


WHOLE = {
    "words": bytes((127,)),
    "integer": b"\x7d\xff\xff\x01",
    "float": b"\x7c" + struct.pack(">f", 1.5),
    "double": b"\x7b" + struct.pack(">d", -1.5),
    "text": b"\x77" + spell_text("é"),
    "array": b"\x75\x02\x78\x79",
    "object": b"\x76\x01" + spell_text("a") + b"\x7e",
}


@pytest.mark.parametrize("name", WHOLE)
def test_value_of_json_is_skipped_whole(name: str) -> None:
    reader = Reader(WHOLE[name])
    reader.skip_value()
    reader.finish()


@pytest.mark.parametrize(
    "spelled",
    [
        b"\x74\x01a",
        b"\x7a" + b"\0" * 8,
        b"\x00",
        b"\x7d" + b"\xff" * 9,
        b"\x7b" + struct.pack(">d", float("nan")),
        b"\x7c" + struct.pack(">f", float("-inf")),
        b"\x75\x01" * (MAX_DEPTH + 2) + b"\x78",
        b"\x75\x01" * 100_000,
        b"\x75\xff\xff\xff\x7f",
    ],
)
def test_value_that_json_has_not_or_that_nests_too_deep_is_malformed(spelled: bytes) -> None:
    with pytest.raises(Malformed):
        Reader(spelled).skip_value()
