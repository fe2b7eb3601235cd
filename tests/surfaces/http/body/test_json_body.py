import pytest

from atoll.domain.errors import Invalid
from atoll.surfaces.http.body.json_body import MAX_DEPTH, parse


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"[" * 1_000_000, "nested"),
        (b'{"a":' * 200_000, "nested"),
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


def test_body_plain_is_read() -> None:
    assert parse('{"a":["ü",1,null,{"b":1.5}]}'.encode()) == {"a": ["ü", 1, None, {"b": 1.5}]}
