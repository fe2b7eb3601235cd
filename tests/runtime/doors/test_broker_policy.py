"""The broker lives by its policy: secrets, approvals, rotation, limits, all while requests run."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web
from yarl import URL

from atoll.wire.contract.policy import (
    Approved,
    CustomSecret,
    DoorLimits,
    GatewayReach,
    Policy,
    ProviderKey,
)
from tests.peers.broker import KEY, Door, broker_door

VALUE = "custom-canary-9876543210"


@dataclass
class World:
    door: Door
    client: aiohttp.ClientSession
    upstream: str
    port: int
    seen: list[web.Request] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    usage: dict[str, int] = field(default_factory=dict)
    arrived: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    def set(self, **fields: object) -> Policy:
        """A new policy, one revision later."""
        old = self.door.policy.current
        new = msgspec.structs.replace(old, revision=old.revision + 1, **fields)
        self.door.policy.replace(new)
        return new

    def custom(self, name: str = "MY_API_KEY", path: str = "/echo") -> str:
        return f"{self.door.url}/broker/custom/{name}?target={self.upstream}{path}"

    def approve(self, **more: object) -> Approved:
        fields = {"approval_id": "ap_1", "secret_id": "sec_1", "version": 1, "host": "127.0.0.1"}
        return Approved(**{**fields, "port": self.port, **more})  # type: ignore[arg-type]

    async def ask(self, url: str | URL, method: str = "GET", **more: object) -> tuple[int, str]:
        async with self.client.request(method, url, **more) as answer:  # type: ignore[arg-type]
            return answer.status, await answer.text()


def exactly(url: str) -> URL:
    """An address nobody respells."""
    return URL(url, encoded=True)


SECRET = CustomSecret(secret_id="sec_1", name="MY_API_KEY", version=1, value=VALUE)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with serve() as found:
        yield found


@asynccontextmanager
async def serve(spent: Path | None = None) -> AsyncIterator[World]:
    held: list[World] = []

    async def upstream(request: web.Request) -> web.StreamResponse:
        here = held[0]
        here.seen.append(request)
        here.arrived.put_nowait(request.path)
        if request.query.get("silent"):
            await here.gate.wait()
        if request.path.endswith("/stream") or request.query.get("stream"):
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b"first")
            await here.gate.wait()
            return response
        if request.path.startswith("/v1/"):
            return web.json_response({"model": "gpt-5", "usage": here.usage})
        return web.json_response({"headers": dict(request.headers), "path": request.path_qs})

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", upstream)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    url = f"http://127.0.0.1:{port}"
    try:
        async with (
            broker_door({"openai": url}, Policy(customs=(SECRET,), dev=True), spent=spent) as door,
            aiohttp.ClientSession() as client,
        ):
            held.append(World(door, client, url, port))
            yield held[0]
    finally:
        held[0].gate.set()
        await runner.cleanup()


async def test_custom_secret_unapproved_is_refused_as_the_contract_says_and_asked_once(
    world: World,
) -> None:
    url = f"{world.door.url}/broker/custom/MY_API_KEY?target=https://API.Example.com/v1/chat"
    for _ in range(5):
        status, text = await world.ask(url, "POST", json={"message": "test"})
        assert status == 403
        assert json.loads(text) == {
            "error": "domain_not_approved",
            "domain": "api.example.com",
            "secret": "MY_API_KEY",
            "message": "This domain requires owner approval before the secret can be sent.",
        }
    (asked,) = world.door.said("approval.asked")
    assert asked["kind"] == "secret"
    assert asked["subject"] == {
        "secret": "MY_API_KEY", "secret_id": "sec_1", "version": 1, "host": "api.example.com",
        "port": 443,
    }  # fmt: skip
    assert [entry["step"] for entry in world.door.audit] == ["judge"] * 5


async def test_custom_asks_are_bounded_however_many_hosts_are_named(world: World) -> None:
    for number in range(40):
        base = f"{world.door.url}/broker/custom/MY_API_KEY"
        await world.ask(f"{base}?target=https://h{number}.example/")
    assert len(world.door.said("approval.asked")) == 30


@pytest.mark.parametrize(
    ("slot", "name", "sent"),
    [
        ("bearer", "", ("Authorization", f"Bearer {VALUE}")),
        ("header", "X-Token", ("X-Token", VALUE)),
        ("basic", "me", ("Authorization", "Basic bWU6Y3VzdG9tLWNhbmFyeS05ODc2NTQzMjEw")),
    ],
)
async def test_custom_secret_approved_is_sent_as_its_record_says_and_masked_on_its_way_back(
    world: World, slot: str, name: str, sent: tuple[str, str]
) -> None:
    secret = msgspec.structs.replace(SECRET, slot=slot, slot_name=name)
    world.set(customs=(secret,), approvals=(world.approve(),))
    own = {"Authorization": "own", "X-Token": "own"}
    status, text = await world.ask(world.custom(), headers=own)
    assert status == 200
    assert world.seen[0].headers[sent[0]] == sent[1]
    assert VALUE not in text and sent[1].rpartition(" ")[2] not in text
    assert "*" * len(VALUE) in text or slot == "basic"
    assert world.door.audit[0]["approval_id"] == "ap_1"


async def test_custom_secret_in_the_query_replaces_the_clients_own(world: World) -> None:
    secret = msgspec.structs.replace(SECRET, slot="query", slot_name="key")
    world.set(customs=(secret,), approvals=(world.approve(),))
    status, text = await world.ask(world.custom(path="/echo?a=1%26key=own"))
    assert (status, VALUE in text) == (200, False)
    assert world.seen[0].query["key"] == VALUE


async def test_custom_secret_absent_and_forbidden_are_the_same(world: World) -> None:
    answers = {
        await world.ask(exactly(f"{world.door.url}/broker/custom/{name}?target=https://a.example/"))
        for name in ("NOT_THERE", "my_api_key", "MY%5FAPI_KEY", "__proto__", "MY_API_KEY/x", "")
    }
    assert answers == {(404, '{"error":"unknown_secret","message":"no such secret here"}')}


@pytest.mark.parametrize(
    "target",
    [
        "", "http://api.example/", "ftp://a.example", "https://u:p@a.example/", "https://127.1/",
        "https://%E2%91%A0%E2%91%A1%E2%91%A6.0.0.1%0d%0a/", "//a.example/", "https://a.example:0/",
    ],
)  # fmt: skip
async def test_custom_target_that_is_no_plain_https_is_refused(world: World, target: str) -> None:
    url = f"{world.door.url}/broker/custom/MY_API_KEY?target={target}"
    status, text = await world.ask(exactly(url))
    assert (status, json.loads(text)["error"]) == (400, "bad_target")
    assert world.door.said("approval.asked") == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254"])
async def test_custom_host_that_leads_to_no_public_address_is_never_dialled(
    world: World, host: str
) -> None:
    world.set(approvals=(world.approve(host=host),))
    shown = f"[{host}]" if ":" in host else host
    url = f"{world.door.url}/broker/custom/MY_API_KEY?target=https://{shown}:{world.port}/x"
    status, text = await world.ask(exactly(url))
    assert (status, json.loads(text)["error"]) in {
        (403, "address_refused"),
        (403, "domain_not_approved"),
    }
    assert world.seen == []


async def test_custom_approval_is_for_one_host_port_secret_and_version(world: World) -> None:
    wrong: list[dict[str, object]] = [
        {"port": world.port + 1}, {"version": 2}, {"secret_id": "sec_2"}, {"host": "a"},
        {"until": time.time() - 1},
    ]  # fmt: skip
    world.set(approvals=tuple(world.approve(**fields) for fields in wrong))
    assert (await world.ask(world.custom()))[0] == 403
    assert world.seen == []


async def test_custom_approval_good_once_is_used_up_by_one_of_many(world: World) -> None:
    world.set(approvals=(world.approve(once=True),))
    answers = await asyncio.gather(*(world.ask(world.custom()) for _ in range(20)))
    assert sorted(status for status, _ in answers) == [200] + [403] * 19
    assert world.door.said("approval.used") == [{"approval_id": "ap_1"}]
    world.set()
    assert (await world.ask(world.custom()))[0] == 403


async def _cut(world: World, answer: aiohttp.ClientResponse) -> None:
    with pytest.raises(aiohttp.ClientError):
        await asyncio.wait_for(answer.content.read(), 10)


@pytest.mark.parametrize(
    "change", [{"approvals": ()}, {"customs": ()}], ids=["revoked", "secret removed"]
)
async def test_custom_taken_back_closes_live_streams(world: World, change: object) -> None:
    world.set(approvals=(world.approve(),))
    async with world.client.get(world.custom(path="/stream")) as answer:
        assert await answer.content.readany() == b"first"
        world.set(**change)  # type: ignore[arg-type]
        await _cut(world, answer)
    assert world.door.audit[-1]["outcome"] == "revoked"


async def test_custom_rotated_voids_the_approval_and_closes_live_streams(world: World) -> None:
    world.set(approvals=(world.approve(),))
    async with world.client.get(world.custom(path="/stream")) as answer:
        assert await answer.content.readany() == b"first"
        world.set(customs=(msgspec.structs.replace(SECRET, version=2, value="b" * 20),))
        await _cut(world, answer)
    assert (await world.ask(world.custom()))[0] == 403


async def test_custom_used_up_approval_gone_from_the_policy_lets_its_stream_live(
    world: World,
) -> None:
    world.set(approvals=(world.approve(once=True),))
    async with world.client.get(world.custom(path="/stream")) as answer:
        assert await answer.content.readany() == b"first"
        world.set(approvals=())
        world.gate.set()
        assert await answer.content.read() == b""


async def test_provider_key_of_the_policy_wins_rotates_and_removes_live(world: World) -> None:
    url = f"{world.door.url}/broker/openai/v1/models"
    own = ProviderKey(provider="openai", secret_id="s", version=1, value="first-key-1234567")
    own = msgspec.structs.replace(own, base_url=world.upstream)
    anthropic = msgspec.structs.replace(own, provider="anthropic", value="a-third-key-12345")
    await world.ask(url)
    world.set(providers=(own,))
    await world.ask(url)
    world.set(providers=(msgspec.structs.replace(own, version=2, value="second-key-123456"),))
    await world.ask(url)
    sent = [request.headers["Authorization"] for request in world.seen]
    assert sent == [f"Bearer {KEY}", "Bearer first-key-1234567", "Bearer second-key-123456"]
    world.set(providers=(anthropic,))
    messages = f"{world.door.url}/broker/anthropic/v1/messages?stream=1"
    async with world.client.post(messages) as answer:
        assert await answer.content.readany() == b"first"
        world.set(providers=())
        await _cut(world, answer)
    status, _ = await world.ask(messages, "POST")
    assert status == 404


async def test_gateway_of_a_member_leads_to_nothing_of_the_server(world: World) -> None:
    """As a name may, whose address changes after it was looked at."""
    url = f"{world.door.url}/broker/openai/v1/models"
    key = ProviderKey(provider="openai", secret_id="s", version=1, value="member-key-1234567")
    bounded = msgspec.structs.replace(key, base_url=world.upstream, reach=GatewayReach())
    for host in ("127.0.0.1", "localhost"):
        base = world.upstream.replace("127.0.0.1", host)
        world.set(providers=(msgspec.structs.replace(bounded, base_url=base),))
        status, text = await world.ask(url)
        assert (status, json.loads(text)["error"]) == (403, "address_refused")
    assert not world.seen
    world.set(providers=(msgspec.structs.replace(bounded, reach=GatewayReach(loopback=True)),))
    assert [(await world.ask(url))[0] for _ in range(2)] == [200, 200]


async def test_provider_key_that_cannot_be_sent_closes_its_door(world: World) -> None:
    for value in ("two\r\nlines-1234567", "schlüssel-123456"):
        bad = ProviderKey(provider="openai", secret_id="s", version=1, value=value)
        world.set(providers=(bad,))
        assert (await world.ask(f"{world.door.url}/broker/openai/v1/models"))[0] == 404


async def test_limit_of_requests_a_minute_is_a_clear_429(world: World) -> None:
    world.set(limits=DoorLimits(requests_per_minute=3))
    url = f"{world.door.url}/broker/openai/v1/models"
    answers = [await world.ask(url) for _ in range(4)]
    assert [status for status, _ in answers] == [200, 200, 200, 429]
    assert json.loads(answers[3][1])["error"] == "limit_reached"
    assert world.door.audit[-1]["step"] == "admit"


async def test_limit_of_requests_at_once_holds_until_one_ends(world: World) -> None:
    world.set(limits=DoorLimits(concurrent=1))
    url = f"{world.door.url}/broker/openai/v1/responses"
    async with world.client.post(f"{url}?stream=1") as answer:
        await answer.content.readany()
        assert (await world.ask(url, "POST"))[0] == 429
        world.gate.set()
        await answer.read()
    assert (await world.ask(url, "POST"))[0] == 200


async def test_limit_of_bytes_cuts_an_upload(world: World) -> None:
    world.set(limits=DoorLimits(bytes_per_hour=100_000))
    url = f"{world.door.url}/broker/openai/v1/responses"
    status, text = await world.ask(url, "POST", data=bytes(200_000))
    assert (status, json.loads(text)["error"]) == (429, "bytes_used_up")


async def test_limit_of_money_stops_a_loop_of_costly_calls(world: World) -> None:
    world.usage = {"input_tokens": 10_000, "output_tokens": 10_000}  # $0.1125 of gpt-5
    world.set(limits=DoorLimits(spend_micros={"openai": 400_000}))
    url = f"{world.door.url}/broker/openai/v1/responses"
    statuses = []
    for _ in range(8):
        statuses.append((await world.ask(url, "POST"))[0])
    assert statuses == [200] * 4 + [429] * 4
    entry = world.door.audit[0]
    assert (entry["model"], entry["tokens_in"], entry["tokens_out"]) == ("gpt-5", 10_000, 10_000)
    assert (entry["cost_micros"], entry["estimated"]) == (112_500, False)
    assert KEY not in str(world.door.journal) and VALUE not in str(world.door.journal)


async def test_limit_of_money_outlives_its_runtime(tmp_path: Path) -> None:
    spent = tmp_path / "spent.json"
    cap = DoorLimits(spend_micros={"openai": 400_000})
    for life, statuses in enumerate(([200, 200], [200, 200, 429], [429])):
        async with serve(spent) as world:
            world.usage = {"input_tokens": 10_000, "output_tokens": 10_000}
            world.set(limits=cap if life else DoorLimits())  # the first had no cap yet
            url = f"{world.door.url}/broker/openai/v1/responses"
            assert [(await world.ask(url, "POST"))[0] for _ in statuses] == statuses
    assert json.loads(spent.read_bytes()) == {"openai": 450_000}


async def test_money_spent_under_a_cap_is_written_before_the_answer_is_over(
    tmp_path: Path,
) -> None:
    spent = tmp_path / "spent.json"
    async with serve(spent) as world:
        world.usage = {"input_tokens": 10_000, "output_tokens": 10_000}
        world.set(limits=DoorLimits(spend_micros={"openai": 400_000}))
        await world.ask(f"{world.door.url}/broker/openai/v1/responses", "POST")
        assert json.loads(spent.read_bytes()) == {"openai": 112_500}


@pytest.mark.parametrize("damage", [b"", b"{", b'{"openai":"much"}', b"\xff"])
async def test_money_of_an_unreadable_record_counts_from_nothing(
    tmp_path: Path, damage: bytes
) -> None:
    spent = tmp_path / "spent.json"
    spent.write_bytes(damage)
    async with serve(spent) as world:
        world.usage = {"input_tokens": 10_000, "output_tokens": 10_000}
        await world.ask(f"{world.door.url}/broker/openai/v1/responses", "POST")
    assert json.loads(spent.read_bytes()) == {"openai": 112_500}


@pytest.mark.parametrize("begun", [False, True])
async def test_limit_of_money_holds_for_whoever_hangs_up_before_the_count(
    world: World, begun: bool
) -> None:
    world.set(limits=DoorLimits(spend_micros={"openai": 25_000}))
    path = "/v1/responses?stream=1" if begun else "/v1/responses?silent=1"
    for _ in range(3):
        reader, writer = await asyncio.open_connection("127.0.0.1", world.door.port)
        writer.write(f"POST /broker/openai{path} HTTP/1.1\r\nHost: x\r\n".encode())
        writer.write(b"Content-Length: 2\r\n\r\n{}")
        async with asyncio.timeout(10):
            if begun:
                await reader.readuntil(b"first")
            await world.arrived.get()
            writer.close()
            await writer.wait_closed()
            assert await world.door.news.get() == "door.request"
    for entry in world.door.audit:
        assert (entry["outcome"], entry["estimated"]) == ("client_gone", True)
        assert int(str(entry["cost_micros"])) >= 10_000
    status, text = await world.ask(f"{world.door.url}/broker/openai/v1/responses", "POST")
    assert (status, json.loads(text)["error"]) == (429, "limit_reached")


async def test_websocket_under_a_money_cap_is_refused_since_nobody_can_count_it(
    world: World,
) -> None:
    world.set(limits=DoorLimits(spend_micros={"openai": 25_000}))
    opening = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }
    url = f"{world.door.url}/broker/openai/v1/realtime?model=gpt-realtime"
    status, text = await world.ask(url, headers=opening)
    assert (status, json.loads(text)["error"]) == (403, "not_metered")
    assert world.seen == []
