"""Every form an HTTP answer may take passes the broker in the same meaning."""

import pytest

from atoll.wire.contract.policy import Approved, CustomSecret, Policy
from tests.peers.broker import Door, broker_door
from tests.peers.raw_upstream import OK, attacked, closing, raw_peer, say

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: a\r\n\r\n"
POST = b"POST /broker/openai/v1/responses HTTP/1.1\r\nHost: x\r\n"
GET = b"GET /broker/openai/v1/models HTTP/1.%d\r\nHost: x\r\n\r\n"


async def twice(door: Door, request: bytes) -> list[bytes]:
    """The bodies of two answers on one connection."""
    got = await say(door, request + closing(request))
    return [one.partition(b"\r\n\r\n")[2] for one in got.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize(
    ("answer", "body", "connections"),
    [
        (OK, b"ok", 1),
        (CHUNKED, b"2\r\nok\r\n0\r\n\r\n", 1),
        (b"HTTP/1.1 204 No\r\n\r\n", b"", 1),
        (b"HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n", b"", 1),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"ok", 1),
        (OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), b"ok", 2),
    ],
    ids=["length", "chunks", "204", "304", "interim first", "closing"],
)
async def test_answer_of_any_form_keeps_its_body_and_its_connection(
    answer: bytes, body: bytes, connections: int
) -> None:
    async with attacked(answer) as (peer, door):
        assert await twice(door, GET % 1) == [body, body]
        assert peer.connections == connections


async def test_answer_to_an_old_client_comes_without_chunks_and_ends_with_the_connection() -> None:
    async with attacked(CHUNKED) as (_peer, door):
        got = await say(door, GET % 0)
    assert got.startswith(b"HTTP/1.1 200") and got.endswith(b"\r\n\r\nok")
    assert b"Connection: close\r\n" in got and b"chunked" not in got


async def test_answer_to_head_has_a_length_and_no_body() -> None:
    async with raw_peer(OK.removesuffix(b"ok")) as peer:
        secret = CustomSecret(secret_id="s", name="S", version=1, value="value-0123456789")
        place = {"secret_id": "s", "version": 1, "host": "127.0.0.1", "port": peer.port}
        granted = Approved(approval_id="a", **place)  # type: ignore[arg-type]
        policy = Policy(customs=(secret,), approvals=(granted,), dev=True)
        async with broker_door(policy=policy) as door:
            target = f"/broker/custom/S?target=http://127.0.0.1:{peer.port}/"
            assert await twice(door, f"HEAD {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode()) == [
                b"",
                b"",
            ]


async def test_client_that_expects_to_be_asked_is_told_to_continue() -> None:
    async with attacked() as (peer, door):
        head = POST + b"Expect: 100-continue\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
        got = await say(door, head + b"hello")
        assert got.endswith(b"ok")
        assert all(b"Expect" not in one for one in peer.heads)
