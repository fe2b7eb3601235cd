import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.json_shape import MAX_DEPTH, MAX_VALUES, Misshapen, check_shape

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def count(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, inner))


def depth(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth, inner), default=0)


@given(VALUES, st.booleans())
def test_shape_of_a_document_is_bounded_as_it_is(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    containers = text.count(b"[") + text.count(b"{")
    check_shape(text, values=count(value) + containers, depth=depth(value))
    if depth(value) > 1:
        with pytest.raises(Misshapen, match="nested deeper"):
            check_shape(text, values=10**6, depth=depth(value) - 1)
    if isinstance(value, list) and len(value) > 3:
        with pytest.raises(Misshapen, match="values"):
            check_shape(text, values=len(value) - 1, depth=1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"[" + b"[]," * MAX_VALUES + b"[]]", "values"),
        (b"{" + b'"a":1,' * MAX_VALUES + b'"b":1}', "values"),
        (b"[" * (MAX_DEPTH + 1), "nested"),
        (b'{"a":' * (MAX_DEPTH + 1), "nested"),
        (b'["\\"", ' + b"[" * MAX_DEPTH, "nested"),
        (b"[" + b"1," * MAX_DEPTH + b"1]" + b"]" * (2 * MAX_VALUES), "closes"),
        (b"[" + (b"9" * 4300 + b",") * 200 + b"1]", "numbers"),
    ],
)
def test_shape_beyond_a_bound_is_named(text: bytes, says: str) -> None:
    with pytest.raises(Misshapen, match=says):
        check_shape(text)


def test_punctuation_of_texts_is_no_value() -> None:
    check_shape(json.dumps({"text": '[{,\\"' * 100_000, "more": ["a,b"] * 30}).encode())
    check_shape(b'{"a":"' + b"," * 100_000)


@pytest.mark.parametrize(
    "piece", [b'"', b"\\", b'\\"', b'"\\', b"[", b",", b'"",', b"\\u0000", b"{}", b"]"]
)
@pytest.mark.parametrize("before", [b"", b'"'])
def test_largest_text_is_looked_at_in_a_moment(before: bytes, piece: bytes) -> None:
    text = before + piece * (4 * 1024 * 1024 // len(piece))
    began = time.process_time()
    with contextlib.suppress(Misshapen):
        check_shape(text)
    assert time.process_time() - began < 1
