"""What is read of a line, and what a line that is no message is answered with."""

import json
from typing import Any

import pytest

from atoll.client.bridge.messages import (
    INVALID_REQUEST,
    PARSE_ERROR,
    VERSION_KEY,
    BadMessage,
    Lines,
    headers_of,
    one_line,
    read_message,
)


def line(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def test_lines_come_whole_however_they_are_cut() -> None:
    data = b'{"a":1}\r\n\n  \n{"b":2}\n{"c":3}'
    for size in range(1, len(data) + 1):
        lines = Lines()
        found: list[bytes | None] = []
        for start in range(0, len(data), size):
            found += lines.feed(data[start : start + size])
        found += lines.rest()
        assert found == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


@pytest.mark.parametrize("size", [1, 3, 64])
def test_line_beyond_the_bound_is_dropped_and_the_next_one_read(size: int) -> None:
    data = b"x" * 50 + b"\n" + b"y" * 10 + b"\n" + b"z" * 11
    lines = Lines(10)
    found: list[bytes | None] = []
    for start in range(0, len(data), size):
        found += lines.feed(data[start : start + size])
        assert len(lines._pending) <= 10
    found += lines.rest()
    assert found == [None, b"y" * 10, None]


@pytest.mark.parametrize(
    ("sent", "code", "request_id"),
    [
        (b"{", PARSE_ERROR, None),
        (b"\xff\xfe", PARSE_ERROR, None),
        (b"[" * 1_000_000, PARSE_ERROR, None),
        (b'{"a":' * 500_000, PARSE_ERROR, None),
        (b"9" * 10_000, PARSE_ERROR, None),
        (b"[]", INVALID_REQUEST, None),
        (b"[" + line(id=1, method="ping") + b"]", INVALID_REQUEST, None),
        (b"3", INVALID_REQUEST, None),
        (b'{"id":1,"method":"ping"}', INVALID_REQUEST, 1),
        (line(id=1), INVALID_REQUEST, 1),
        (line(id="a", method=3), INVALID_REQUEST, "a"),
        (line(id=None, method="ping"), INVALID_REQUEST, None),
        (line(id=True, method="ping"), INVALID_REQUEST, None),
        (line(id=1.5, method="ping"), INVALID_REQUEST, None),
        (line(id={}, method="ping"), INVALID_REQUEST, None),
    ],
)
def test_what_is_no_message_is_refused(sent: bytes, code: int, request_id: object) -> None:
    with pytest.raises(BadMessage) as refused:
        read_message(sent)
    assert (refused.value.code, refused.value.request_id) == (code, request_id)


def test_requests_notifications_and_responses_are_told_apart() -> None:
    assert read_message(line(id=0, method="ping")).is_request
    assert read_message(line(id="", method="ping")).is_request
    assert not read_message(line(method="notifications/initialized")).is_request
    assert not read_message(line(id=1, result={})).is_request
    assert not read_message(line(id=1, error={"code": 1, "message": ""})).is_request


def named(method: str, encoded: str) -> dict[str, str]:
    return {"Mcp-Method": method, "Mcp-Name": f"=?base64?{encoded}?="}


def modern(method: str, version: Any = "2026-07-28", **params: Any) -> bytes:
    return line(id=1, method=method, params={**params, "_meta": {VERSION_KEY: version}})


@pytest.mark.parametrize(
    ("sent", "headers"),
    [
        (line(id=1, method="tools/list"), {}),
        (line(id=1, method="tools/list", params={"_meta": 3}), {}),
        (line(id=1, method="tools/list", params=[1]), {}),
        (modern("tools/list", 7), {}),
        (modern("tools/list"), {"Mcp-Method": "tools/list"}),
        (modern("tools/call", name="a.b"), {"Mcp-Method": "tools/call", "Mcp-Name": "a.b"}),
        (modern("tools/call", name=3), {"Mcp-Method": "tools/call"}),
        (
            modern("resources/read", uri="atoll://a", name="x"),
            {"Mcp-Method": "resources/read", "Mcp-Name": "atoll://a"},
        ),
        (
            modern("tools/call", name="ü"),
            named("tools/call", "w7w="),
        ),
        (
            modern("tools/call", name=" a"),
            named("tools/call", "IGE="),
        ),
        (
            modern("tools/call", name="a\r\nAuthorization: x"),
            named("tools/call", "YQ0KQXV0aG9yaXphdGlvbjogeA=="),
        ),
        (
            modern("tools/call", name="=?base64?eA==?="),
            named("tools/call", "PT9iYXNlNjQ/ZUE9PT89"),
        ),
    ],
)
def test_headers_repeat_what_the_newest_revision_wants(
    sent: bytes, headers: dict[str, str]
) -> None:
    version = {"MCP-Protocol-Version": "2026-07-28"} if headers else {}
    assert headers_of(read_message(sent)) == {**version, **headers}


@pytest.mark.parametrize(
    "sent", [modern("x", "a\r\nb: c"), modern("x", ""), modern("tools/call", name="\ud800")]
)
def test_what_no_header_can_say_is_refused(sent: bytes) -> None:
    with pytest.raises(BadMessage) as refused:
        headers_of(read_message(sent))
    assert refused.value.request_id == 1


def test_message_over_several_lines_becomes_one() -> None:
    told = one_line(b'\n{"jsonrpc": "2.0",\r\n "id": 1, "result": {"a": "b\\n"}}\n')
    assert b"\n" not in told.body and b"\r" not in told.body
    assert json.loads(told.body)["result"] == {"a": "b\n"}
    assert one_line(line(id=1, result={})).body == line(id=1, result={})
