"""What a transport reads of a message, and the lines that it writes itself."""

import json

import pytest

from atoll.wire.mcp.messages import (
    Malformed,
    Message,
    error_line,
    header_text,
    is_value,
    one_line,
    read_error,
    read_message,
    read_version,
    request_line,
)

META = b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}'


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"id":1,"method":"ping"}', Message(b"", b"1", "ping")),
        (b'{"id":-1.5,"method":"ping","params":null}', Message(b"", b"-1.5", "ping")),
        (b'{"id":"\\u00e9","method":"a/b","params":[1]}', Message(b"", b'"\\u00e9"', "a/b")),
        (b'{"id":null,"method":"a"}', Message(b"", None, "a")),
        (b'{"id":1,"result":{}}', Message(b"")),
        (b'{"id":1,"method":"tools/call","params":{"name":"x",' + META + b"}}",
         Message(b"", b"1", "tools/call", "2026-07-28", "x")),
        (b'{"id":1,"method":"resources/read","params":{"uri":"u"}}',
         Message(b"", b"1", "resources/read", "", "u", "u")),
        (b'{"method":"notifications/cancelled","params":{"requestId":7}}',
         Message(b"", None, "notifications/cancelled", cancels=b"7")),
        (b'{"id":1,"method":"a","params":{"_meta":{}}}', Message(b"", b"1", "a")),
        (b'{"id":1,"method":"a","params":{' + META.replace(b'"2026-07-28"', b"3") + b"}}",
         Message(b"", b"1", "a")),
        (b'{"id":1,"method":"a","params":{' + META.replace(b"-", b" ") + b"}}",
         Message(b"", b"1", "a")),
    ],
)  # fmt: skip
def test_message_is_read_as_far_as_a_transport_needs(line: bytes, found: Message) -> None:
    read = read_message(line)
    assert isinstance(read, Message) and read.line == line
    for name in ("id", "method", "version", "name", "uri", "cancels"):
        assert getattr(read, name) == getattr(found, name), name


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        (b"", -32700, None),
        (b"nothing", -32700, None),
        (b'{"method":"' + b"\xff" + b'"}', -32700, None),
        (b'{"params":' + b"[" * 10**6 + b"]" * 10**6 + b"}", -32700, None),
        (b"[]", -32600, None),
        (b"3", -32600, None),
        (b'{"id":1,"method":3}', -32600, None),
        (b"{}", -32600, None),
        (b'{"id":[],"method":"a"}', -32600, None),
        (b'{"id":true,"method":"a"}', -32600, None),
        (b'{"id":5,"method":"a b"}', -32600, 5),
        (b'{"id":5,"method":"a\\n"}', -32600, 5),
    ],
)
def test_malformed_line_has_a_typed_answer(line: bytes, code: int, number: int | None) -> None:
    read = read_message(line)
    assert isinstance(read, Malformed)
    told = json.loads(read.answer)
    assert (told["jsonrpc"], told["error"]["code"], told["id"]) == ("2.0", code, number)


def test_text_becomes_a_header_that_cannot_break_out() -> None:
    assert header_text("events.recent") == "events.recent"
    assert header_text("a\r\nX: y") == "=?base64?YQ0KWDogeQ==?="
    assert header_text("=?base64?YQ==?=").startswith("=?base64?PT9i")
    assert header_text("é" * 1000).isascii() and header_text("x" * 2001) == ""
    assert is_value("s.1" * 200) and not is_value("a b") and not is_value("")
    assert not is_value("a\n") and not is_value("x" * 4097)


def test_errors_and_requests_are_lines() -> None:
    told = json.loads(error_line(b'"x"', -32000, "no", {"code": "c"}))
    assert told == {"jsonrpc": "2.0", "id": "x",
                    "error": {"code": -32000, "message": "no", "data": {"code": "c"}}}  # fmt: skip
    assert json.loads(request_line(None, "a", {})) == {
        "jsonrpc": "2.0",
        "method": "a",
        "params": {},
    }
    assert json.loads(request_line(b"1", "a", {"b": 1}))["id"] == 1
    assert one_line(b'{\r\n "a": 1}') == b'{   "a": 1}'


def test_answers_of_a_server_are_read_leniently() -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}'
    assert json.loads(read_error(body, b"4") or b"") == {
        "jsonrpc": "2.0", "id": 4, "error": {"code": 1, "message": "m"},
    }  # fmt: skip
    assert read_error(b"<html>", b"4") is None and read_error(b'{"error":"no"}', b"4") is None
    assert read_version(b'{"result":{"protocolVersion":"2025-11-25"}}') == "2025-11-25"
    assert read_version(b'{"result":{"protocolVersion":"a b"}}') == ""
    assert read_version(b'{"result":3}') == "" and read_version(b'{"result":{}}') == ""
