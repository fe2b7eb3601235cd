"""What passes through to a runtime: terminals, commands, files; whole and at both paces."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator

import aiohttp
import httpx
import pytest

from tests.surfaces.http.world import World, client_of

PATIENCE_SECONDS = 60.0


async def _sandbox(atoll: World) -> str:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={"name": "box"})
        assert made.status_code == 201
    return f"{atoll.url}/v1/sandboxes/box"


def _bearer(atoll: World) -> dict[str, str]:
    return {"Authorization": f"Bearer {atoll.token}"}


async def test_attach_passes_bytes_and_text_untouched_both_ways(atoll: World) -> None:
    base = await _sandbox(atoll)
    every = bytes(range(256))
    async with aiohttp.ClientSession(headers=_bearer(atoll)) as session:
        address = f"{base}/terminals/t_1/attach?since=7&client=me&cols=80&rows=24"
        async with session.ws_connect(address) as socket:
            assert await socket.receive_str() == '{"type":"start","offset":0}'
            await socket.send_bytes(every)
            assert await socket.receive_bytes() == every
            await socket.send_str('{"type":"ack","offset":1}')
            assert await socket.receive_str() == '{"type":"ack","offset":1}'
            await socket.send_bytes(b"")
            assert await socket.receive_bytes() == b""
    (said,) = atoll.runtime.attached
    assert sorted(said.split("&")) == [
        "client=me", "cols=80", "name=person", "principal=person", "role=owner", "rows=24",
        "since=7",
    ]  # fmt: skip
    async with asyncio.timeout(5):
        await atoll.runtime.closed.wait()


async def test_attach_by_a_browsers_cookie_from_our_page_works(atoll: World) -> None:
    base = await _sandbox(atoll)
    headers = {**await atoll.browser(), "Origin": atoll.url}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.ws_connect(f"{base}/terminals/t_1/attach") as socket,
    ):
        assert await socket.receive_str()


@pytest.mark.parametrize("code", [1000, 1011, 4000, 4404, 4408])
async def test_attach_keeps_the_runtimes_close_code(atoll: World, code: int) -> None:
    base = await _sandbox(atoll)
    atoll.runtime.close_with = code
    async with (
        aiohttp.ClientSession(headers=_bearer(atoll)) as session,
        session.ws_connect(f"{base}/terminals/t_1/attach") as socket,
    ):
        await socket.receive_str()
        message = await socket.receive(timeout=5)
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, code)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("box/terminals/t_none", 4404),
        ("box/terminals/..%2fexecs", 4404),
        ("nobody/terminals/t_1", 4404),
    ],
)
async def test_attach_to_nothing_is_closed_with_4404(atoll: World, path: str, code: int) -> None:
    await _sandbox(atoll)
    async with aiohttp.ClientSession(headers=_bearer(atoll)) as session:
        try:
            async with session.ws_connect(f"{atoll.url}/v1/sandboxes/{path}/attach") as socket:
                assert (await socket.receive(timeout=5)).data == code
        except aiohttp.WSServerHandshakeError as refused:
            assert refused.status in {404, 422}


async def test_attach_to_a_stopped_sandbox_is_closed_with_4409(atoll: World) -> None:
    base = await _sandbox(atoll)
    async with client_of(atoll.url, atoll.token) as client:
        await client.post(f"{base}/stop?wait=true")
    async with (
        aiohttp.ClientSession(headers=_bearer(atoll)) as session,
        session.ws_connect(f"{base}/terminals/t_1/attach") as socket,
    ):
        assert (await socket.receive(timeout=5)).data == 4409


async def test_attach_to_a_runtime_that_is_gone_is_closed_with_try_again(atoll: World) -> None:
    base = await _sandbox(atoll)
    await atoll.stop_runtime()
    async with (
        aiohttp.ClientSession(headers=_bearer(atoll)) as session,
        session.ws_connect(f"{base}/terminals/t_1/attach") as socket,
    ):
        assert (await socket.receive(timeout=10)).data == 1013


async def test_attached_client_of_a_runtime_that_vanishes_is_told_to_try_again(
    atoll: World,
) -> None:
    base = await _sandbox(atoll)
    async with (
        aiohttp.ClientSession(headers=_bearer(atoll)) as session,
        session.ws_connect(f"{base}/terminals/t_1/attach") as socket,
    ):
        await socket.receive_str()
        atoll.runtime.abort_connections()
        assert (await socket.receive(timeout=10)).data == 1013


async def test_attached_client_that_stops_reading_stops_the_runtime_too(atoll: World) -> None:
    base = await _sandbox(atoll)
    atoll.runtime.flood_bytes = 256 * 1024 * 1024
    async with (
        aiohttp.ClientSession(headers=_bearer(atoll)) as session,
        session.ws_connect(f"{base}/terminals/t_1/attach", max_msg_size=0) as socket,
    ):
        await socket.receive_str()
        seen = -1
        # Once nothing moves for half a second, everything between has filled up.
        while seen != atoll.runtime.flooded:
            seen = atoll.runtime.flooded
            await asyncio.sleep(0.5)  # nothing may move in this time
        assert 0 < seen < 64 * 1024 * 1024


async def test_frame_past_the_limit_ends_the_attach_and_not_the_server(atoll: World) -> None:
    base = await _sandbox(atoll)
    async with aiohttp.ClientSession(headers=_bearer(atoll)) as session:
        async with session.ws_connect(f"{base}/terminals/t_1/attach") as socket:
            await socket.receive_str()
            with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                await socket.send_bytes(b"x" * (20 * 1024 * 1024))
            assert (await socket.receive(timeout=10)).type in {
                aiohttp.WSMsgType.CLOSE,
                aiohttp.WSMsgType.CLOSED,
                aiohttp.WSMsgType.ERROR,
            }
        async with session.get(f"{atoll.url}/healthz") as answer:
            assert answer.status == 200


async def test_terminals_speak_the_apis_words(atoll: World) -> None:
    base = await _sandbox(atoll)
    async with client_of(atoll.url, atoll.token) as client:
        opened = await client.post(f"{base}/terminals")
        listed = await client.get(f"{base}/terminals")
        sized = await client.post(f"{base}/terminals/t_1/resize", json={"cols": 9, "rows": 9})
        told = await client.post(f"{base}/terminals/t_1/signal", json={"signal": "INT"})
        closed = await client.delete(f"{base}/terminals/t_1?grace=0.5")
        wrong = await client.post(f"{base}/terminals/t_1/signal", json={"signal": "BOOM"})
    assert (opened.status_code, opened.json()["terminal_id"]) == (201, "t_1")
    assert "session_id" not in listed.text
    assert [sized.status_code, told.status_code, closed.status_code] == [204] * 3
    assert (wrong.status_code, wrong.json()["field"]) == (422, "signal")
    assert ("DELETE", "/sessions/t_1", {"grace": "0.5"}, b"") in atoll.runtime.asked


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"argv": []},
        {"argv": "ls"},
        {"argv": ["a"], "shell": "b"},
        {"argv": [1]},
        {"shell": "x", "timeout": -1},
        {"shell": "x", "stdin": "not base64!"},
        {"shell": "x", "max_output_bytes": 1 << 40},
        {"shell": "x", "sudo": True},
        {"shell": "x", "background": "yes"},
    ],
    ids=str,
)
async def test_wrong_command_is_refused_before_the_runtime_sees_it(
    atoll: World, body: dict[str, object]
) -> None:
    base = await _sandbox(atoll)
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post(f"{base}/exec", json=body)
    assert answer.status_code == 422
    assert not [ask for ask in atoll.runtime.asked if ask[1] == "/execs"]


async def test_command_waits_runs_in_the_background_and_streams(atoll: World) -> None:
    base = await _sandbox(atoll)
    async with client_of(atoll.url, atoll.token) as client:
        waited = await client.post(f"{base}/exec", json={"argv": ["true"]})
        behind = await client.post(f"{base}/exec", json={"shell": "x", "background": True})
        streamed = await client.post(
            f"{base}/exec", json={"shell": "x"}, headers={"Accept": "application/x-ndjson"}
        )
    assert (waited.status_code, behind.status_code) == (200, 201)
    assert streamed.headers["content-type"].startswith("application/x-ndjson")
    assert base64.b64decode(streamed.text.split('"data":"')[1].split('"')[0]) == b"hi"


async def test_stream_whose_client_leaves_is_left_at_the_runtime_at_once(atoll: World) -> None:
    base = await _sandbox(atoll)
    async with (
        client_of(atoll.url, atoll.token) as client,
        client.stream("GET", f"{base}/files/watch?path=hold") as answer,
    ):
        async for _ in answer.aiter_bytes():
            break
    async with asyncio.timeout(5):
        await atoll.runtime.stream_left.wait()


async def test_input_streams_through(atoll: World) -> None:
    base = await _sandbox(atoll)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b"y" * 65536

    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post(f"{base}/exec/e_1/stdin?close=true", content=pieces())
    assert answer.status_code == 204
    (asked,) = [ask for ask in atoll.runtime.asked if ask[1] == "/execs/e_1/stdin"]
    assert asked[2] == {"close": "true"}
    assert len(asked[3]) == 64 * 65536


async def test_file_of_a_sandbox_is_never_a_page_of_ours(atoll: World) -> None:
    base = await _sandbox(atoll)
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.get(f"{base}/files/content?path=evil.html")
    assert answer.content == b"<script>alert(1)</script>"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "set-cookie" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


async def test_files_are_written_moved_made_and_removed(atoll: World) -> None:
    base = await _sandbox(atoll)
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.get(f"{base}/files?path=.&limit=5")).status_code == 200
        wrote = await client.put(
            f"{base}/files/content?path=a&mode=644&parents=true", content=b"x" * 100000
        )
        assert wrote.status_code == 201
        assert (await client.post(f"{base}/files/mkdir", json={"path": "d"})).status_code == 201
        moved = await client.post(f"{base}/files/move", json={"from": "a", "to": "b"})
        assert moved.status_code == 200
        assert (await client.delete(f"{base}/files?path=b&recursive=true")).status_code == 204
        assert (await client.put(f"{base}/files/archive?path=d", content=b"t")).status_code == 200
        assert (await client.get(f"{base}/files/archive?path=d")).status_code == 200
        assert (
            await client.put(f"{base}/files/content?path=a&mode=rwx", content=b"")
        ).status_code == 422
        assert (await client.get(f"{base}/files/stat")).status_code == 422


async def test_runtime_that_is_gone_is_unavailable_with_a_sentence(atoll: World) -> None:
    base = await _sandbox(atoll)
    await atoll.stop_runtime()
    async with client_of(atoll.url, atoll.token) as client:
        for path in ("exec", "files", "files/content?path=a"):
            answer = await client.get(f"{base}/{path}")
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert "/tmp" not in answer.text


async def test_many_requests_at_once_are_all_answered(atoll: World) -> None:
    base = await _sandbox(atoll)
    limits = httpx.Limits(max_connections=50)
    # Most of the requests wait for a connection, on a busy machine for long.
    timeout = httpx.Timeout(PATIENCE_SECONDS, pool=None)
    async with client_of(atoll.url, atoll.token, limits=limits, timeout=timeout) as client:
        answers = await asyncio.gather(
            *(client.post(f"{base}/exec", json={"argv": ["true"]}) for _ in range(200))
        )
    assert {answer.status_code for answer in answers} == {200}
