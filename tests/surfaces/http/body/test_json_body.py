import time

import pytest

from atoll.domain.errors import Invalid
from atoll.surfaces.http.body.json_body import parse
from atoll.wire.json_shape import MAX_DEPTH


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"[" * 1_000_000, "more than 10000 values"),
        (b'{"a":' * 200_000, "more than 10000 values"),
        (b"[" * (MAX_DEPTH + 2) + b"]" * (MAX_DEPTH + 2), "nested"),
        (b'{"a":1,"a":2}', "twice"),
        (b'{"a":NaN}', "not a JSON number"),
        (b"[Infinity]", "not a JSON number"),
        (b"[" + b"9" * 100_000 + b"]", "number too long"),
        (b'{"a":"x\\u0000y"}', "NUL"),
        (b'{"x\\u0000y":1}', "NUL"),
        (b'["\\ud800"]', "surrogate"),
        (b'["\xff"]', "UTF-8"),
        (b"{", "not JSON"),
        (b"\xef\xbb\xbf{}", "not JSON"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_body_hostile_is_refused_with_a_sentence(text: bytes, sentence: str) -> None:
    with pytest.raises(Invalid, match=sentence):
        parse(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"[" + b"[]," * 300_000 + b"[]]", "more than 10000 values"),
        (b'{"a":' + b'{"a":1,' * 9 + b'"b":1}' * 9 + b"," + b'"c":{},' * 90_000, "values"),
        # The name that is given twice is the last one of those that fit.
        (b"{" + b",".join(b'"%x":1' % n for n in (*range(9000), 8999)) + b"}", "given twice"),
        (b"{" + b",".join(b'"%x":1' % n for n in (*range(90_000), 1)) + b"}", "values"),
        (b'["' + "é".encode() * 500_000 + b'\\ud800"]', "surrogate"),
    ],
)
def test_body_of_the_worst_shape_is_refused_in_a_moment(text: bytes, sentence: str) -> None:
    began = time.process_time()
    with pytest.raises(Invalid, match=sentence):
        parse(text)
    assert time.process_time() - began < 0.1


def test_body_plain_is_read() -> None:
    assert parse('{"a":["ü",1,null,{"b":1.5}]}'.encode()) == {"a": ["ü", 1, None, {"b": 1.5}]}
