"""Logins at the broker: a token is added, a refused one waits for the next, and none comes back."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import msgspec
import pytest
from aiohttp import web

from atoll.domain.agents.login_use import PLACEHOLDER_REFRESH
from atoll.runtime.doors.broker import broker, exchange, login_renewals
from atoll.wire.contract.policy import DoorLimits, LoginToken, Policy
from tests.peers.broker import Door, broker_door

RESPONSES = "/broker/chatgpt/backend-api/codex/responses"
TOKEN = "token-canary-of-a-login-{}-9f3b7c"
WORKING = TOKEN.format(2)


@dataclass
class Vendor:
    """A vendor that takes `working` alone; `seen` are the requests, `held` waits for `gate`."""

    url: str = ""
    working: str = WORKING
    seen: list[tuple[str, str, bytes]] = field(default_factory=list)
    heads: list[dict[str, str]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    arrived: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.heads.append(dict(request.headers))
        if request.query.get("early"):
            self.arrived.put_nowait("early")
            return web.json_response({"error": "expired"}, status=401)
        body = await request.read()
        self.seen.append((request.path_qs, token, body))
        self.arrived.put_nowait(request.path)
        if token != self.working:
            if request.query.get("late"):
                await self.gate.wait()
            return web.json_response({"error": "expired"}, status=401)
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(f"echo {token} ".encode())
        if request.query.get("held"):
            await self.gate.wait()
        await response.write(b"done")
        return response


@dataclass
class World:
    door: Door
    vendor: Vendor
    client: aiohttp.ClientSession

    def lend(self, version: int, **more: object) -> None:
        """A policy with this version of the token."""
        self.set((login(version, **more),))

    def set(self, logins: tuple[LoginToken, ...], **more: object) -> None:
        old = self.door.policy.current
        new = msgspec.structs.replace(old, revision=old.revision + 1, logins=logins, **more)
        self.door.policy.replace(new)

    async def ask(
        self, path: str = RESPONSES, method: str = "POST", **more: object
    ) -> tuple[int, str]:
        url = f"{self.door.url}{path}"
        if method == "POST" and not {"data", "json"} & more.keys():
            more["data"] = b'{"input": "words"}'
        async with self.client.request(method, url, **more) as answer:  # type: ignore[arg-type]
            return answer.status, await answer.text()

    async def said(self, kind: str) -> None:
        while await self.door.news.get() != kind:
            pass


def login(version: int, **more: object) -> LoginToken:
    fields = {"provider": "chatgpt", "login_id": "alg_1", "value": TOKEN.format(version)}
    return LoginToken(version=version, **{**fields, "account": "acct-1", **more})  # type: ignore[arg-type]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    vendor = Vendor()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{tail:.*}", vendor.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    vendor.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    places = {"chatgpt": vendor.url, "claude": vendor.url}
    try:
        async with (
            asyncio.timeout(30),
            broker_door(None, Policy(), places=places) as door,
            aiohttp.ClientSession() as client,
        ):
            yield World(door, vendor, client)
    finally:
        vendor.gate.set()
        await runner.cleanup()


async def test_token_and_account_are_set_whatever_the_agent_sends(world: World) -> None:
    world.lend(2)
    sent = {"Authorization": "Bearer mine", "chatgpt-account-id": "other", "Cookie": "a=b"}
    status, text = await world.ask(headers={**sent, "session_id": "s", "OpenAI-Beta": "b"})
    assert status == 200 and WORKING not in text and "done" in text
    head = {name.lower(): value for name, value in world.vendor.heads[0].items()}
    assert head["authorization"] == f"Bearer {WORKING}" and head["chatgpt-account-id"] == "acct-1"
    assert (head["session_id"], head["openai-beta"]) == ("s", "b") and "cookie" not in head
    assert WORKING not in repr(world.door.journal)


async def test_account_that_is_not_known_is_not_taken_from_the_agent(world: World) -> None:
    world.lend(2, account="")
    await world.ask(headers={"ChatGPT-Account-Id": "other"})
    assert "chatgpt-account-id" not in {name.lower() for name in world.vendor.heads[0]}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/backend-api/ps/plugins/list"), ("POST", "/backend-api/ps/mcp"),
        ("GET", "/backend-api/wham/settings/user"), ("GET", "/backend-api/codex/responses"),
        ("POST", "/backend-api/codex/responses/x"), ("DELETE", "/backend-api/codex/models"),
        ("POST", "/backend-api/wham/accounts/check"), ("GET", "/backend-api/me"),
        ("POST", "/oauth/revoke"), ("GET", "/oauth/token"), ("POST", "/oauth/token/x"),
    ],
)  # fmt: skip
async def test_what_is_not_listed_is_refused(world: World, method: str, path: str) -> None:
    world.lend(2)
    status, text = await world.ask(f"/broker/chatgpt{path}", method)
    assert status == 403 and json.loads(text)["error"] == "not_allowed"
    assert not world.vendor.seen


async def test_refresh_is_answered_at_the_door(world: World) -> None:
    for _ in range(2):
        assert (await world.ask("/broker/chatgpt/oauth/token"))[0] == 404  # nothing is lent
    world.lend(2)
    status, text = await world.ask("/broker/chatgpt/oauth/token", json={"refresh_token": "x"})
    answer = json.loads(text)
    assert status == 200 and answer["refresh_token"] == PLACEHOLDER_REFRESH
    assert answer.keys() == {"id_token", "access_token", "refresh_token"}
    assert WORKING not in text and not world.vendor.seen
    assert world.door.audit[-1]["outcome"] == "answered"
    world.set((login(2),), limits=DoorLimits(requests_per_minute=1))
    found = [(await world.ask("/broker/chatgpt/oauth/token"))[0] for _ in range(3)]
    assert 429 in found


async def test_refused_token_waits_for_the_next_and_is_repeated_once(world: World) -> None:
    world.lend(1)
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(world.ask(data=b"x" * 300_000)) for _ in range(3)]
        await world.said("login.refused")
        for _ in range(3):
            await world.vendor.arrived.get()
        world.lend(1)  # another change, which brings no newer token
        await asyncio.sleep(0)
        assert not any(one.done() for one in asked)
        world.lend(2)
    assert [one.result()[0] for one in asked] == [200] * 3
    assert [token for _, token, _ in world.vendor.seen].count(WORKING) == 3
    assert {body for _, _, body in world.vendor.seen} == {b"x" * 300_000}
    assert world.door.said("login.refused") == [{"login_id": "alg_1", "version": 1}]


async def test_token_that_is_newer_by_now_is_used_at_once(world: World) -> None:
    world.lend(1)
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(world.ask(f"{RESPONSES}?late=1"))
        await world.vendor.arrived.get()
        world.lend(2)
        world.vendor.gate.set()
    assert asked.result()[0] == 200 and not world.door.said("login.refused")


@pytest.mark.parametrize("ends_at", [None, 2**32])
async def test_second_refusal_passes(world: World, ends_at: float | None) -> None:
    world.lend(1)
    world.vendor.working = "none"
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(world.ask())
        await world.said("login.refused")
        world.lend(2, ends_at=ends_at)
    status, text = asked.result()
    assert (status, json.loads(text)) == (401, {"error": "expired"})
    assert [token for _, token, _ in world.vendor.seen] == [TOKEN.format(1), WORKING]


async def test_refusal_of_a_token_that_had_ended_is_not_the_second(world: World) -> None:
    """Where tokens live short, the next may have ended before it was used."""
    world.vendor.working = TOKEN.format(4)
    world.lend(1, ends_at=0)
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(world.ask())
        for version in (2, 3):
            await world.said("login.refused")
            world.lend(version, ends_at=0 if version == 2 else 2**32)
        await world.said("login.refused")
        world.lend(4, ends_at=2**32)
    assert asked.result()[0] == 200
    tokens = [TOKEN.format(version) for version in (1, 2, 3, 4)]
    assert [token for _, token, _ in world.vendor.seen] == tokens


async def test_tokens_that_always_have_ended_end_the_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_renewals, "RENEWAL_SECONDS", 0.2)
    monkeypatch.setattr(broker, "SWEEP_SECONDS", 0.01)
    world.lend(1, ends_at=0)
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(world.ask())
        version = 1
        while not asked.done():
            await asyncio.wait((asked,), timeout=0.05)
            version += 1
            world.lend(version, ends_at=0, value=TOKEN.format(1))
    status, text = asked.result()
    assert (status, json.loads(text)["error"]) == (401, "login_not_renewed")


async def test_chunked_body_is_repeated_whole(world: World) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for number in range(5):
            yield b"%d" % number * 1000

    world.lend(1)
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(world.ask(data=pieces()))
        await world.said("login.refused")
        world.lend(2)
    assert asked.result()[0] == 200
    assert len({body for _, _, body in world.vendor.seen}) == 1 and len(world.vendor.seen) == 2


@pytest.mark.parametrize("how", ["long", "early"])
async def test_request_that_cannot_be_repeated_passes_its_refusal(
    world: World, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    world.lend(1)
    if how == "long":
        monkeypatch.setattr(exchange, "REPEATED_BYTES", 10)
        assert (await world.ask())[0] == 401
    else:
        gate = asyncio.Event()

        async def slow() -> AsyncIterator[bytes]:
            yield b"first"
            await gate.wait()

        async with asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(world.ask(f"{RESPONSES}?early=1", data=slow()))
            await world.vendor.arrived.get()
            assert (await asked)[0] == 401
            gate.set()
    assert not world.door.said("login.refused")


async def test_refresh_ends_no_live_request_and_no_mask(world: World) -> None:
    world.lend(2)
    async with asyncio.TaskGroup() as tasks:
        held = tasks.create_task(world.ask(f"{RESPONSES}?held=1"))
        await world.vendor.arrived.get()
        for version in (3, 4):
            world.lend(version)
        world.vendor.gate.set()
    status, text = held.result()
    assert status == 200 and text.endswith("done") and WORKING not in text


@pytest.mark.parametrize("other", [(), (login(9, login_id="alg_2"),)])
async def test_login_that_is_taken_back_ends_its_requests(
    world: World, other: tuple[LoginToken, ...]
) -> None:
    world.lend(1)
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(world.ask())
        await world.said("login.refused")
        world.set(other)
    status, text = waiting.result()
    assert (status, json.loads(text)["error"]) == (403, "revoked")
    assert len(world.vendor.seen) == 1


async def test_token_that_does_not_come_ends_the_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_renewals, "RENEWAL_SECONDS", 0.0)
    monkeypatch.setattr(broker, "SWEEP_SECONDS", 0.01)
    world.lend(1)
    status, text = await world.ask()
    assert (status, json.loads(text)["error"]) == (401, "login_not_renewed")
    assert "atoll agent logins" in text


async def test_client_that_goes_away_is_not_repeated(world: World) -> None:
    world.lend(1)
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(world.ask())
        await world.said("login.refused")
        asked.cancel()
        await world.said("door.request")
    world.lend(2)
    assert (await world.ask())[0] == 200
    assert [token for _, token, _ in world.vendor.seen] == [TOKEN.format(1), WORKING]


async def test_provoked_refusals_are_bounded_in_the_journal(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_renewals, "MAX_PER_MINUTE", 2)
    monkeypatch.setattr(login_renewals, "RENEWAL_SECONDS", 0.0)
    monkeypatch.setattr(broker, "SWEEP_SECONDS", 0.01)
    world.vendor.working = "none"
    for version in range(1, 5):
        world.lend(version)
        assert (await world.ask())[0] == 401
    assert [one["version"] for one in world.door.said("login.refused")] == [1, 2]


async def test_claude_is_called_with_a_bearer_and_no_key(world: World) -> None:
    world.set((login(2, provider="claude", account=""),))
    beta = {"anthropic-beta": "oauth-2025-04-20", "x-api-key": "mine"}
    assert (await world.ask("/broker/claude/v1/messages?beta=true", headers=beta))[0] == 200
    head = {name.lower(): value for name, value in world.vendor.heads[0].items()}
    assert head["authorization"] == f"Bearer {WORKING}" and "x-api-key" not in head
    assert head["anthropic-beta"] == "oauth-2025-04-20"
    assert (await world.ask("/broker/claude/v1/files"))[0] == 403


@pytest.mark.parametrize(
    "bad",
    [
        {"value": "two\r\nX-Evil: 1"}, {"value": ""}, {"account": "a\r\nb"}, {"value": "é" * 20},
        {"provider": "openai"}, {"provider": "nobody"},
    ],
)  # fmt: skip
async def test_login_that_cannot_be_sent_is_left_out(world: World, bad: dict[str, str]) -> None:
    world.lend(2, **bad)
    assert (await world.ask())[0] == 404


async def test_vendor_that_may_fetch_nothing_by_key_fetches_nothing_by_login(world: World) -> None:
    world.set((login(2),), limits=DoorLimits(no_fetch=("openai",)))
    body = {"tools": [{"type": "mcp", "server_url": "https://evil.example"}]}
    status, text = await world.ask(json=body)
    assert (status, json.loads(text)["error"]) == (403, "fetch_not_allowed")
    assert (await world.ask(json={"input": "x"}))[0] == 200
