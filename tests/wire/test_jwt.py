"""Compact tokens as text: one spelling is read, and everything else is refused."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.jwt import (
    MAX_TOKEN_CHARACTERS,
    BadToken,
    header_of,
    looks_compact,
    read_compact,
    read_object,
)


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _head(**more: object) -> str:
    return _b64(json.dumps({**header_of("k1"), **more}).encode())


TAIL = _b64(b"s" * 64)
BODY = _b64(b'{"sub":"a"}')


def test_token_of_ours_is_read_in_its_parts() -> None:
    read = read_compact(f"{_head()}.{BODY}.{TAIL}")
    assert (read.kid, read.payload, read.signature) == ("k1", b'{"sub":"a"}', b"s" * 64)
    assert read.signed == f"{_head()}.{BODY}".encode()
    assert "sub" not in repr(read)


@pytest.mark.parametrize(
    "text",
    ["", ".", "..", "a.b", f"{_head()}.{BODY}", f"{_head()}.{BODY}.{TAIL}.{TAIL}",
     f" {_head()}.{BODY}.{TAIL}", f"{_head()}.{BODY}.{TAIL}\n", f"{_head()}=.{BODY}.{TAIL}",
     f"{_head()}.{BODY}=.{TAIL}", f"{_head()}.{BODY}.{_b64(b's' * 63)}",
     f"{_head()}.{BODY}.{_b64(b's' * 65)}", f"{_head()}.{BODY}+.{TAIL}",
     f"{_head()}.{BODY}.{TAIL[:-1]}B", f"{_head()}.A.{TAIL}", f"{_head()}.{BODY}.{TAIL}A",
     f"{_head()}\uff0e{BODY}.{TAIL}", f"{_head()}.{BODY}.\uff21{TAIL[1:]}",
     "A" * (MAX_TOKEN_CHARACTERS + 1), f"{_head()}.{'A' * MAX_TOKEN_CHARACTERS}.{TAIL}"],
)  # fmt: skip
def test_other_form_is_refused(text: str) -> None:
    with pytest.raises(BadToken):
        read_compact(text)


@pytest.mark.parametrize(
    "header",
    [b"", b"[]", b"1", b"null", b"{", b"\xff\xfe", b'{"alg":"ES256","kid":"k1"}',
     b'{"alg":"none","alg":"ES256","kid":"k1","typ":"JWT"}',
     b'{"alg":"ES256","kid":"k0","kid":"k1","typ":"JWT"}',
     b'{"ALG":"ES256","kid":"k1","typ":"JWT"}', b'{"alg":"ES256\\u0000","kid":"k1","typ":"JWT"}',
     '{"alg":"E\uff33256","kid":"k1","typ":"JWT"}'.encode(), b'{"alg":NaN,"kid":"k1","typ":"JWT"}',
     b'{"alg":"ES256","kid":"k\\ud800","typ":"JWT"}', b"[" * 400,
     b'{"alg":"ES256","kid":"' + b"k" * 65 + b'","typ":"JWT"}',
     b'{"alg":"ES256","kid":"k1","typ":"JWT"}' + b" " * 500],
)  # fmt: skip
def test_other_header_is_refused(header: bytes) -> None:
    with pytest.raises(BadToken):
        read_compact(f"{_b64(header) or 'e30'}.{BODY}.{TAIL}")


@pytest.mark.parametrize(
    "more", [{"jku": "https://a"}, {"crit": []}, {"jwk": {}}, {"alg": "none"}, {"typ": "jwt"}]
)
def test_header_with_anything_else_is_refused(more: dict[str, object]) -> None:
    with pytest.raises(BadToken):
        read_compact(f"{_head(**more)}.{BODY}.{TAIL}")


def test_object_has_each_key_once_and_no_words_beside_json() -> None:
    assert read_object(b'{"a":1}') == {"a": 1}
    for data in (b'{"a":1,"a":1}', b'{"a":{"b":1,"b":2}}', b'{"a":Infinity}', b"{}x",
                 b"[" * 100_000):  # fmt: skip
        with pytest.raises(BadToken):
            read_object(data)


def test_three_parts_are_meant_as_a_token() -> None:
    assert looks_compact("a.b.c") and looks_compact("a.b.c.d.e") and not looks_compact("a.b")


@given(st.text(max_size=200))
def test_any_text_is_refused_by_one_error(text: str) -> None:
    with pytest.raises(BadToken):
        read_compact(text)
