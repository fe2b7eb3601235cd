"""Tools for scripts at the broker door: one plain request, an answer that a shell can use."""

import io
import json
from typing import Any

import pytest
from aiohttp import web

from atoll.wire.contract.policy import Policy
from atoll.wire.mcp.lines import MAX_LINE_BYTES
from tests.claims import free_port
from tests.runtime.doors.broker.test_tools_door import TOKEN, World, at

__all__ = ["at"]


def answering(at: World, **members: Any) -> None:
    """Have the control plane answer so."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response({"jsonrpc": "2.0", "id": 1, **members})

    at.answer = answer


async def called(at: World, body: bytes, path: str = "/mcp/call") -> tuple[str, str]:
    """Call a tool as `atoll-mcp` does. Returns how it would end, and with which text."""
    async with at.client.post(at.door.url + path, data=io.BytesIO(body)) as answer:
        assert answer.status == 200
        return answer.headers["Atoll-Exit"], await answer.text()


async def test_structured_result_is_one_line_of_json(at: World) -> None:
    answering(at, result={"content": [{"type": "text", "text": "x"}],
                          "structuredContent": {"a": [1, "é"]}})  # fmt: skip
    code, text = await called(at, b'events.recent\0{"limit":\n1}')
    assert code == "0" and text.endswith("\n") and text.count("\n") == 1
    assert json.loads(text) == {"a": [1, "é"]}
    assert json.loads(at.bodies[0])["params"] == {
        "name": "events.recent",
        "arguments": {"limit": 1},
    }
    assert at.seen[0].headers["Authorization"] == f"Bearer {TOKEN}"


async def test_result_with_texts_of_others_begins_with_its_json(at: World) -> None:
    texts = [{"type": "text", "text": each} for each in ('{"a":1}', "[untrusted]\nwords\n")]
    answering(at, result={"content": texts, "structuredContent": None})
    assert await called(at, b"x\0{}") == ("0", '{"a":1}\n[untrusted]\nwords\n')


async def test_failures_say_their_code(at: World) -> None:
    failed = {"code": "not_found", "message": "no such sandbox", "retryable": False}
    answering(at, result={"content": [], "structuredContent": failed, "isError": True})
    assert await called(at, b"x\0{}") == ("1", "not_found: no such sandbox\n")
    answering(at, error={"code": -32602, "message": "Unknown tool: x"})
    assert await called(at, b"x\0{}") == ("1", "-32602: Unknown tool: x\n")
    at.answer = None  # an answer that is no JSON
    code, text = await called(at, b"x\0{}")
    assert code == "1" and text.startswith("status_200: ")


@pytest.mark.parametrize(
    "body",
    [b"x\0[1]", b"x\0{", b"x", b"\xff\0{}", b"x\0" + b'{"a":' * 10**5,
     b"x\0" + b" " * MAX_LINE_BYTES + b"{}"],
    ids=["list", "cut", "none", "name", "deep", "overlong"],
)  # fmt: skip
async def test_arguments_that_are_no_object_are_not_sent(at: World, body: bytes) -> None:
    code, text = await called(at, body)
    assert code == "1" and text.split(":")[0] in {"invalid", "too_large"} and at.seen == []


async def test_tools_are_listed_one_a_line(at: World) -> None:
    answering(at, result={"tools": [{"name": "a.b"}, {"name": "c.d"}]})
    async with at.client.get(at.door.url + "/mcp/tools") as answer:
        assert answer.headers["Atoll-Exit"] == "0"
        assert await answer.text() == '{"name": "a.b"}\n{"name": "c.d"}\n'


async def test_call_without_tools_or_control_plane_fails_with_the_reason(
    at: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atoll.runtime.doors.broker.tools.tool_requests.WAIT_SECONDS", 0.1)
    at.grant(2, url=f"http://127.0.0.1:{free_port()}")
    code, text = await called(at, b"x\0{}")
    assert code == "1" and text.startswith("upstream_unreachable: ") and "not sent" in text
    at.door.policy.replace(Policy(revision=3))
    async with at.client.post(at.door.url + "/mcp/call", data=b"x\0{}") as answer:
        assert answer.status == 404 and "no tools" in await answer.text()
