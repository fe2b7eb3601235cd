import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.opaque import NotOpaque, as_json, as_text

#: Each changes when it is parsed and written anew.
FRAGILE = (
    b'{"a":1.0, "b" : [9007199254740993, 1e999]}',
    b'{"twice":1,"twice":2}',
    b"123456789012345678901234567890",
    b"-0.0",
    b'"\\u00e9\\/"',
    '"\N{GRINNING FACE}\u2028"'.encode(),
    b"[ ]",
    b"null",
)


def _envelope(params: bytes) -> bytes:
    return b'{"request":{"request_id":"r1","method":"turn/start","params":%s}}' % params


@pytest.mark.parametrize("params", FRAGILE)
def test_member_as_text_and_back_is_the_same_bytes(params: bytes) -> None:
    text = as_text(_envelope(params), "request", "params")
    assert msgspec.json.decode(text)["request"]["params"].encode() == params
    assert as_json(text, "request", "params") == _envelope(params)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_JSON.map(msgspec.json.encode))
def test_any_json_comes_back(params: bytes) -> None:
    assert as_json(as_text(_envelope(params), "request", "params"), "request", "params") == (
        _envelope(params)
    )


def test_document_without_the_member_is_unchanged() -> None:
    assert as_text(b'{"request":{}}', "request", "params") == b'{"request":{}}'
    assert as_json(b'{"other":1}', "request", "params") == b'{"other":1}'


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b'{"request":1}',
        _envelope(b"NaN"),
        _envelope(b'{"a":'),
        _envelope(b'"\xff"'),
        _envelope(b'"\\ud800"'),
        _envelope(b"[" * 100_000 + b"]" * 100_000),
    ],
)
def test_what_is_no_json_is_refused(document: bytes) -> None:
    with pytest.raises(NotOpaque, match="cannot be read"):
        as_text(document, "request", "params")


@pytest.mark.parametrize("text", [b'"1} , {"', b'"tru"', b'""', b"1", b'"1,2"'])
def test_text_that_is_no_json_does_not_become_any(text: bytes) -> None:
    with pytest.raises(NotOpaque, match="params"):
        as_json(_envelope(text), "request", "params")
