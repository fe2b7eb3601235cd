"""The broker door attacked from both sides at once: races, redirects, split answers, any bytes."""

import asyncio
import contextlib
import random

import pytest

from atoll.domain.broker.provider import PROVIDERS, placeholder
from atoll.wire.contract.policy import Approved, CustomSecret, Policy
from tests.peers.broker import KEY, broker_door
from tests.peers.raw_upstream import OK, attacked, closing, raw_peer, say

OLD, NEW = "old-canary-0123456789", "new-canary-9876543210"
MODELS = b"GET /broker/openai/v1/models HTTP/1.1\r\nHost: x\r\n\r\n"


def custom(port: int, name: str = "S") -> bytes:
    target = f"http://127.0.0.1:{port}/x"
    head = f"GET /broker/custom/{name}?target={target} HTTP/1.1\r\nHost: x\r\n"
    return head.encode() + b"Connection: close\r\n\r\n"


async def test_rotation_and_revocation_raced_by_200_calls_never_send_a_value_unapproved() -> None:
    async with (
        raw_peer() as peer,
        broker_door(policy=Policy(dev=True)) as door,
        asyncio.TaskGroup() as group,
    ):
        calls = [group.create_task(say(door, custom(peer.port))) for _ in range(200)]
        for step in range(60):
            secret = CustomSecret(
                secret_id="s", name="S", version=step % 2, value=(OLD, NEW)[step % 2]
            )
            granted = Approved(
                approval_id="a", secret_id="s", version=0, host="127.0.0.1", port=peer.port
            )
            policy = Policy(
                revision=step, customs=(secret,), dev=True,
                approvals=(granted,) if step % 3 else (),
            )  # fmt: skip
            door.policy.replace(policy)
            await asyncio.sleep(0)
        answers = [await call for call in calls]
    assert NEW.encode() not in b"".join(peer.heads)
    assert all(OLD.encode() in head for head in peer.heads)
    assert not any(OLD.encode() in one or NEW.encode() in one for one in answers)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location",
    ["https://evil.example/", "//evil.example/", "http://127.0.0.1:1/", "https://127.0.0.1/",
     "\\\\evil.example/", "http://u@127.0.0.1:{port}/", "javascript:1", "http://127.0.0.1:{port}x/"],
)  # fmt: skip
async def test_redirect_elsewhere_is_blocked_and_the_secret_not_sent_again(
    status: int, location: str
) -> None:
    async with raw_peer() as peer:
        place = location.replace("{port}", str(peer.port))
        peer.answer = (
            f"HTTP/1.1 {status} X\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode()
        )
        secret = CustomSecret(secret_id="s", name="S", version=1, value=OLD)
        granted = Approved(
            approval_id="a", secret_id="s", version=1, host="127.0.0.1", port=peer.port
        )
        policy = Policy(customs=(secret,), approvals=(granted,), dev=True)
        async with broker_door({"openai": f"http://127.0.0.1:{peer.port}"}, policy) as door:
            for request in (custom(peer.port), closing(MODELS)):
                answer = await say(door, request)
                assert b'"redirect_blocked"' in answer and b"Location" not in answer
    assert len(peer.heads) == 2


async def test_redirect_within_the_origin_leads_back_through_the_door() -> None:
    answer = b"HTTP/1.1 307 X\r\nLocation: /v1/models/x?a=1\r\nContent-Length: 0\r\n\r\n"
    async with attacked(answer) as (_peer, door):
        assert b"Location: /broker/openai/v1/models/x?a=1\r\n" in await say(door, closing(MODELS))


SPLIT = {
    "a second answer": OK + OK.replace(b"ok", b"no"),
    "rest behind the length": OK + b"rest",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
    "length and chunks": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "a bare line feed": b"HTTP/1.1 200 OK\nX: a\nContent-Length: 2\n\nok",
    "switching unasked": b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nok",
    "an endless head": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000,
    "many interim ones": b"HTTP/1.1 103 X\r\nX: a\r\n\r\n" * 50 + OK,
}


@pytest.mark.parametrize("answer", SPLIT.values(), ids=SPLIT.keys())
async def test_answer_that_could_be_two_is_never_taken_for_the_next_requests(
    answer: bytes,
) -> None:
    async with attacked(answer) as (_peer, door):
        got = await say(door, MODELS * 3 + closing(MODELS))
    assert got.count(b"HTTP/1.1 ") <= 4
    assert b"\r\n\r\nno" not in got and b"rest" not in got
    assert b" 101 " not in got


async def test_placeholder_is_never_exchanged_for_the_key_outside_its_slot() -> None:
    word = placeholder(PROVIDERS["openai"]).encode()
    async with attacked() as (peer, door):
        await say(
            door,
            b"GET /broker/openai/v1/models/" + word + b"?q=" + word + b" HTTP/1.1\r\n"
            b"Host: x\r\nX-Request-Id: " + word + b"\r\nAuthorization: Bearer " + word
            + b"\r\nConnection: close\r\n\r\n",
        )  # fmt: skip
    (head,) = peer.heads
    assert head.count(KEY.encode()) == 1
    assert f"Authorization: Bearer {KEY}\r\n".encode() in head
    assert head.count(word) == 3


async def test_requests_cut_into_any_pieces_are_the_same_requests() -> None:
    body = b"POST /broker/openai/v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
    bad = b"GET /broker/none/x HTTP/1.1\r\nHost: x\r\n\r\n"
    said = MODELS + body + bad + MODELS + closing(MODELS)
    chance = random.Random(7)
    async with attacked() as (_peer, door):
        for _ in range(40):
            reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
            at = 0
            while at < len(said):
                step = chance.randint(1, 60)
                writer.write(said[at : at + step])
                at += step
                await asyncio.sleep(0)
            answer = await asyncio.wait_for(reader.read(), 10)
            assert answer.count(b"HTTP/1.1 200") == 4
            assert answer.count(b"HTTP/1.1 404") == 1
            writer.close()
            await writer.wait_closed()


async def test_any_bytes_never_break_the_door_or_reach_the_provider() -> None:
    chance = random.Random(11)
    words = [
        b"GET ", b"/broker/openai/v1/files", b" HTTP/1.1\r\n", b"Host: x\r\n", b"\r\n", b"\0",
        b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"\xff", b"0\r\n\r\n",
        b"Upgrade: websocket\r\n", b"CONNECT ", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]  # fmt: skip
    async with attacked() as (peer, door):
        for _ in range(150):
            mess = b"".join(chance.choices(words, k=chance.randint(1, 12)))
            reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
            writer.write(mess)
            writer.write_eof()
            with contextlib.suppress(ConnectionError):
                answer = await asyncio.wait_for(reader.read(), 10)
                assert b" 500 " not in answer and b"Traceback" not in answer
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        assert b" 200 " in await say(door, closing(MODELS))
    assert len(peer.heads) == 1


async def test_door_that_closes_cuts_everybody_and_answers_nobody() -> None:
    async with raw_peer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf") as peer:
        async with broker_door({"openai": f"http://127.0.0.1:{peer.port}"}) as door:
            reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
            writer.write(MODELS)
            assert (await reader.readuntil(b"half")).startswith(b"HTTP/1.1 200")
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        with pytest.raises(ConnectionError):
            await asyncio.open_connection("127.0.0.1", door.port)


MISREAD = (
    b"X-HTTP-Method-Override: DELETE", b"X-Method-Override: PUT", b"X-Original-URL: /v1/files",
    b"X-Rewrite-URL: /v1/files", b"Forwarded: for=127.0.0.1;host=admin", b"X-Real-IP: 127.0.0.1",
    b"X-Forwarded-For: 127.0.0.1", b"X-Forwarded-Host: admin", b"X-Forwarded-Proto: http",
    b"Range: bytes=0-1", b"If-Range: x", b"X_Api_Key: own", b"x_forwarded_for: 1", b"X-Own: 1",
)  # fmt: skip


async def test_header_that_means_another_request_never_reaches_a_provider_or_a_host() -> None:
    sent = b"".join(each + b"\r\n" for each in (*MISREAD, b"X-Stainless-Lang: py", b"Depth: 1"))
    secret = CustomSecret(secret_id="s", name="S", version=1, value=OLD, headers=("Depth",))
    async with raw_peer() as peer:
        granted = Approved(
            approval_id="a", secret_id="s", version=1, host="127.0.0.1", port=peer.port
        )
        policy = Policy(customs=(secret,), approvals=(granted,), dev=True)
        async with broker_door({"openai": f"http://127.0.0.1:{peer.port}"}, policy) as door:
            for request in (closing(MODELS), custom(peer.port)):
                answer = await say(door, request.replace(b"Host: x\r\n", b"Host: x\r\n" + sent))
                assert answer.startswith(b"HTTP/1.1 200")
        # A control: the peer sees them where no broker stands between.
        reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
        writer.write(b"GET / HTTP/1.1\r\n" + sent + b"\r\n")
        await reader.readuntil(b"ok")
        writer.close()
        await writer.wait_closed()
    provider, host, straight = (head.lower() for head in peer.heads)
    for each in MISREAD:
        name = b"\r\n" + each.partition(b":")[0].lower() + b":"
        assert name in straight and name not in provider and name not in host
    assert b"x-stainless-lang: py" in provider and b"depth: 1" not in provider
    assert b"depth: 1" in host and b"x-stainless-lang" not in host
