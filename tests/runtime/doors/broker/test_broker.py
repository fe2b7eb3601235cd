"""The broker door against a scripted upstream: keys, streams, cancellation, hostile requests."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from atoll.domain.broker.provider import OPENAI
from atoll.domain.errors import Invalid
from atoll.runtime.doors.broker.keys import parse_keys, read_keys
from tests.peers.broker import KEY, Door, broker_door


@dataclass
class Bench:
    url: str
    client: aiohttp.ClientSession
    door: Door
    seen: list[web.Request] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def audit(self) -> list[Mapping[str, object]]:
        return self.door.audit


@asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[str]:
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    held: list[Bench] = []

    async def upstream(request: web.Request) -> web.StreamResponse:
        bench = held[0]
        bench.seen.append(request)
        mode = request.headers.get("X-Stainless-Mode", "")
        if mode == "echo-error":
            return web.Response(status=401, text=f"bad key {KEY}", headers={"X-Say": KEY})
        if mode == "redirect":
            return web.Response(status=302, headers={"Location": "https://evil.example/"})
        if mode == "stream":
            response = web.StreamResponse(headers={"Set-Cookie": "a=b"})
            await response.prepare(request)
            await response.write(b"first")
            try:
                await bench.gate.wait()
            except asyncio.CancelledError:
                bench.gone.set()
                raise
            await response.write(b"second")
            return response
        if mode == "cut":
            response = web.StreamResponse(headers={"Content-Length": "100"})
            await response.prepare(request)
            await response.write(b"half")
            assert request.transport is not None
            request.transport.abort()
            return response
        return web.Response(body=await request.read())

    peer = web.Application(client_max_size=1 << 26)
    peer.router.add_route("*", "/{tail:.*}", upstream)
    async with (
        serving(peer) as base_url,
        aiohttp.ClientSession() as client,
        broker_door({"openai": base_url}) as door,
    ):
        held.append(Bench(door.url + "/broker/openai", client, door))
        yield held[0]


async def test_broker_request_carries_the_real_key_and_its_body(bench: Bench) -> None:
    body = os.urandom(900_000)
    headers = {"Authorization": "Bearer attackers-own"}
    async with bench.client.post(bench.url + "/v1/responses", data=body, headers=headers) as answer:
        assert await answer.read() == body
    assert bench.seen[0].headers["Authorization"] == f"Bearer {KEY}"
    assert bench.audit[0]["bytes_in"] == len(body)
    assert KEY not in str(bench.audit)


async def test_broker_stream_arrives_while_the_upstream_still_speaks(bench: Bench) -> None:
    async with bench.client.post(
        bench.url + "/v1/responses", headers={"X-Stainless-Mode": "stream"}
    ) as answer:
        assert await answer.content.readany() == b"first"
        assert "Set-Cookie" not in answer.headers
        bench.gate.set()
        assert await answer.content.read() == b"second"


async def test_broker_client_gone_cancels_the_upstream(bench: Bench) -> None:
    answer = await bench.client.post(
        bench.url + "/v1/responses", headers={"X-Stainless-Mode": "stream"}
    )
    assert await answer.content.readany() == b"first"
    answer.close()
    bench.gate.clear()
    await asyncio.wait_for(bench.gone.wait(), 10)


async def test_broker_error_that_quotes_the_key_is_masked(bench: Bench) -> None:
    async with bench.client.post(
        bench.url + "/v1/responses", headers={"X-Stainless-Mode": "echo-error"}
    ) as answer:
        assert answer.status == 401
        assert KEY not in await answer.text()
        assert KEY not in str(answer.headers)


async def test_broker_redirect_elsewhere_is_blocked(bench: Bench) -> None:
    async with bench.client.post(
        bench.url + "/v1/responses", headers={"X-Stainless-Mode": "redirect"}, allow_redirects=False
    ) as answer:
        assert answer.status == 502
        assert (await answer.json())["error"] == "redirect_blocked"


async def test_broker_upstream_cut_short_cuts_the_answer(bench: Bench) -> None:
    with pytest.raises(aiohttp.ClientError):
        async with bench.client.post(
            bench.url + "/v1/responses", headers={"X-Stainless-Mode": "cut"}
        ) as answer:
            await answer.read()


@pytest.mark.parametrize("path", ["/broker/OPENAI/v1/models", "/broker/%6fpenai/v1/models"])
async def test_broker_unknown_provider_is_not_found(bench: Bench, path: str) -> None:
    url = URL(bench.url.removesuffix("/broker/openai") + path, encoded=True)
    async with bench.client.get(url) as answer:
        assert answer.status == 404
        assert (await answer.json())["error"] == "unknown_provider"
    assert not bench.seen


async def test_broker_management_endpoint_is_refused_before_any_call(bench: Bench) -> None:
    async with bench.client.get(bench.url + "/v1/organization/api_keys") as answer:
        assert answer.status == 403
    assert not bench.seen
    assert bench.audit[0]["outcome"] == "not_allowed"


async def test_broker_unreachable_upstream_is_said_so() -> None:
    async with (
        broker_door({"openai": "http://127.0.0.1:1"}) as door,
        aiohttp.ClientSession() as client,
        client.post(door.url + "/broker/openai/v1/responses") as answer,
    ):
        assert answer.status == 502
        assert (await answer.json())["error"] == "upstream_unreachable"


def test_keys_descriptor_is_read_and_closed() -> None:
    fd = os.memfd_create("keys")
    os.write(fd, f'[openai]\nkey = "{KEY}"\n'.encode())
    assert read_keys(fd)["openai"].base_url == OPENAI.upstream
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


@pytest.mark.parametrize(
    "text",
    [
        f"openai = '{KEY}'",
        f"[openai]\nkey = '{KEY}",
        f"[nobody]\nkey = '{KEY}'",
        "[openai]\nkey = 3",
        f"[openai]\nkey = '{KEY}'\nbase_url = 'http://public.example'",
        f"[openai]\nkey = '{KEY}'\nbase_url = 'https://u:p@h'",
        f"[openai]\nkey = '{KEY}'\nbase_url = 'https://h:99999'",
        f'[openai]\nkey = "{KEY}\\n"',
    ],
)
def test_keys_wrong_text_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_keys(text)
    assert KEY not in str(caught.value)
