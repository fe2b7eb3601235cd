"""Chunked bodies, however they are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.http.chunked import BadChunks, Chunks, spell_chunk


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=6), st.data())
def test_body_cut_anywhere_comes_out_whole(chunks: list[bytes], data: st.DataObject) -> None:
    encoded = b"".join(spell_chunk(one) for one in chunks) + b"0\r\nX-Trailer: a\r\n\r\nREST"
    reader, out, at = Chunks(), b"", 0
    while at < len(encoded):
        size = data.draw(st.integers(1, 20))
        out += reader.feed(encoded[at : at + size])
        at += size
    assert (out, reader.done, reader.rest) == (b"".join(chunks), True, b"REST")


def test_body_byte_for_byte_comes_out_whole() -> None:
    reader = Chunks()
    pieces = [reader.feed(bytes([byte])) for byte in b"5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n"]
    assert (b"".join(pieces), reader.done, reader.rest) == (b"hello!", True, b"")


@pytest.mark.parametrize(
    "body",
    [
        b"5\nhello\r\n", b"5\r\nhelloX\r\n", b"-1\r\n", b"0x5\r\nhello\r\n", b" 5\r\nhello\r\n",
        b"5 \r\nhello\r\n", b"5;a\rb\r\nhello\r\n", b"fffffffffffffffff\r\n", b"\r\n", b"_1\r\n",
        b"0\r\nnot a trailer\r\n\r\n", b"0\r\nX: a\n\r\n", b"5;" + b"a" * 5000 + b"\r\n",
        b"1" * 5000,
    ],
)  # fmt: skip
def test_malformed_chunk_is_refused(body: bytes) -> None:
    with pytest.raises(BadChunks):
        Chunks().feed(body)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        out = Chunks().feed(data)
    except BadChunks:
        return
    assert len(out) <= len(data)


def test_chunk_is_spelled_as_it_is_read_and_trailers_are_read_over() -> None:
    reader = Chunks()
    body = spell_chunk(b"hello") + b"0\r\nX: a\r\n\r\nrest"
    assert (reader.feed(body), reader.done, reader.rest) == (b"hello", True, b"rest")
