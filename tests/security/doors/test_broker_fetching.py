"""Requests that would have a provider fetch or call, where the owner lets it do neither."""

import json

import pytest

from atoll.wire.contract.policy import DoorLimits, Policy
from tests.peers.broker import broker_door
from tests.peers.raw_upstream import raw_peer, say

AT = "http://169.254.169.254/latest"
IMAGE = {"messages": [{"content": [{"type": "image_url", "image_url": {"url": AT}}]}]}
TRIED: dict[str, tuple[str, bytes, int]] = {
    "image": ("", json.dumps(IMAGE).encode(), 403),
    "remote tools": ("", b'{"tools": [{"type": "mcp", "server_url": "https://x"}]}', 403),
    "webhook": ("", b'{"webhook": "https://x"}', 403),
    "callback": ("?callback=https://x", b"{}", 403),
    "packed": ("", b"\x1f\x8b\x08", 415),
    "no JSON": ("", b"url=https://x", 415),
}


def post(query: str, body: bytes, more: str = "", *, chunked: bool = False) -> bytes:
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    head = f"POST /broker/openai/v1/responses{query} HTTP/1.1\r\nHost: x\r\n{length}\r\n{more}"
    sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if chunked else body
    return f"{head}Content-Type: application/json\r\nConnection: close\r\n\r\n".encode() + sent


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
@pytest.mark.parametrize(("query", "body", "status"), TRIED.values(), ids=TRIED.keys())
async def test_request_that_has_a_provider_fetch_is_refused_before_its_body_goes_out(
    query: str, body: bytes, status: int, *, chunked: bool
) -> None:
    more = "Content-Encoding: gzip\r\n" if status == 415 and body[:1] == b"\x1f" else ""
    request = post(query, body, more, chunked=chunked)
    async with raw_peer() as peer:
        upstreams = {"openai": f"http://127.0.0.1:{peer.port}"}
        # A control: without the option it reaches the provider.
        async with broker_door(upstreams) as door:
            assert (await say(door, request)).startswith(b"HTTP/1.1 200")
        limits = DoorLimits(no_fetch=("openai",))
        async with broker_door(upstreams, Policy(limits=limits)) as door:
            answer = await say(door, request)
            assert answer.startswith(b"HTTP/1.1 %d" % status), answer
            assert (b"fetch_not_allowed" in answer) is (status == 403)
            plain = await say(door, post("", b'{"input": "see https://x"}', chunked=chunked))
            assert plain.startswith(b"HTTP/1.1 200")


async def test_websocket_that_cannot_be_judged_is_refused() -> None:
    offer = b"GET /broker/openai/v1/realtime HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
    offer += b"Upgrade: websocket\r\nSec-WebSocket-Key: a\r\nSec-WebSocket-Version: 13\r\n\r\n"
    async with raw_peer() as peer:
        policy = Policy(limits=DoorLimits(no_fetch=("openai",)))
        async with broker_door({"openai": f"http://127.0.0.1:{peer.port}"}, policy) as door:
            assert b"fetch_not_allowed" in await say(door, offer)
    assert peer.heads == []
