"""Subscriptions of the Events extension by webhook."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from atoll.domain.errors import Forbidden, Unavailable
from atoll.domain.event import Json
from atoll.domain.people.capability import Capability
from atoll.domain.webhook.delivery import Receipt
from tests.peers.receivers.webhook_receiver import verify
from tests.surfaces.http.world import World, client_of, world
from tests.surfaces.mcp.test_events_extension import ask, call_a_tool

URL = "https://hooks.example/in"
SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()
OTHER_SECRET = "whsec_" + base64.b64encode(b"o" * 32).decode()
DELIVERY = {"mode": "webhook", "url": URL, "secret": SECRET}
CALLED: dict[str, object] = {"name": "tool.called", "delivery": DELIVERY}


@pytest.fixture
async def extended() -> AsyncIterator[World]:
    async with world(mcp_events=True) as made:
        yield made


@pytest.fixture
async def client(extended: World) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(extended.url, extended.token) as made:
        yield made


@asynccontextmanager
async def working(atoll: World) -> AsyncIterator[None]:
    """The worker of webhooks, as the leader runs it."""
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(atoll.services.webhooks.worker.run())
        yield
        running.cancel()


def told_of(sent: tuple[Mapping[str, str], bytes]) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(sent[1])
    return message


async def until_sent(atoll: World, count: int, url: str = URL) -> list[dict[str, Any]]:
    """The messages to an endpoint, the challenge included, once there are so many."""
    async with asyncio.timeout(10):
        await atoll.hooks.until_sent(url, count)
    return [told_of(one) for one in atoll.hooks.sent[url]]


async def subscribed(client: httpx.AsyncClient, **more: object) -> dict[str, Any]:
    answer = await ask(client, "events/subscribe", **{**CALLED, **more})
    assert "result" in answer, answer
    result: dict[str, Any] = answer["result"]
    return result


async def test_subscription_is_challenged_signed_and_delivered(
    extended: World, client: httpx.AsyncClient
) -> None:
    async with working(extended):
        made = await subscribed(client, ttlMs=None)
        at = await call_a_tool(extended)
        challenge, event = await until_sent(extended, 2)
        assert challenge["type"] == "verification"
        assert (event["name"], event["data"]["position"]) == ("tool.called", at)
        assert int(event["cursor"]) < at
        for headers, body in extended.hooks.sent[URL]:
            verify(SECRET, dict(headers), body)
            assert headers["X-MCP-Subscription-Id"] == made["id"]
        assert extended.hooks.sent[URL][1][0]["webhook-id"] == event["eventId"]
        until = datetime.fromisoformat(made["refreshBefore"])
        assert until == extended.clock.at + timedelta(days=1)


async def test_renewal_keeps_the_place_and_signs_by_both_secrets(
    extended: World, client: httpx.AsyncClient
) -> None:
    made = await subscribed(client)
    assert "deliveryStatus" not in made
    changed = {**DELIVERY, "secret": OTHER_SECRET}
    again = await subscribed(client, delivery=changed, cursor=made["cursor"])
    assert (again["id"], again["deliveryStatus"]["active"]) == (made["id"], True)
    assert len(extended.hooks.sent[URL]) == 1
    async with working(extended):
        await call_a_tool(extended)
        await until_sent(extended, 2)
        headers, body = extended.hooks.sent[URL][1]
        verify(SECRET, dict(headers), body)
        verify(OTHER_SECRET, dict(headers), body)


async def test_subscription_that_is_not_renewed_receives_nothing(
    extended: World, client: httpx.AsyncClient
) -> None:
    made = await subscribed(client, ttlMs=0)
    extended.clock.at += timedelta(minutes=1)
    at = await call_a_tool(extended)
    async with working(extended):
        again = await subscribed(client, cursor=made["cursor"])
        assert "deliveryStatus" not in again
        sent = await until_sent(extended, 3)
    assert [one.get("type", "event") for one in sent] == ["verification", "verification", "event"]
    assert sent[2]["data"]["position"] == at


async def test_ended_subscription_is_gone(extended: World, client: httpx.AsyncClient) -> None:
    await subscribed(client)
    named = {"name": "tool.called", "delivery": {"url": URL}}
    assert (await ask(client, "events/unsubscribe", **named))["result"]["resultType"] == "complete"
    again = await ask(client, "events/unsubscribe", **named)
    assert again["error"]["code"] == -32023
    async with extended.ground.store.read() as rows:
        assert await rows.webhooks.everything() == []


@pytest.mark.parametrize(
    ("delivery", "code"),
    [
        ({"url": "http://hooks.example/in"}, -32602),
        ({"url": "file:///etc/passwd"}, -32602),
        ({"url": "https://u:p@hooks.example/"}, -32602),
        ({"url": "https://hooks.example/" + "x" * 2000}, -32602),
        ({"url": ""}, -32602),
        ({"secret": "whsec_c2hvcnQ="}, -32602),
        ({"secret": "password"}, -32602),
        ({"secret": None}, -32602),
        ({"mode": "push"}, -32026),
    ],
)
async def test_wrong_endpoint_is_refused_unasked(
    extended: World, client: httpx.AsyncClient, delivery: dict[str, Any], code: int
) -> None:
    answer = await ask(
        client, "events/subscribe", name="tool.called", delivery={**DELIVERY, **delivery}
    )
    assert answer["error"]["code"] == code
    assert extended.hooks.sent == {}


@pytest.mark.parametrize(
    ("answer", "echo", "reason"),
    [
        (Receipt(200), b"{}", "challenge_failed"),
        (Receipt(200), b'{"challenge":"guessed"}', "challenge_failed"),
        (Receipt(200), b"[" * 10_000, "challenge_failed"),
        (Receipt(404), None, "http_4xx"),
        (Receipt(302), None, "http_4xx"),
        (Receipt(503), None, "http_5xx"),
        (Unavailable("hooks.example cannot be reached"), None, "connection_refused"),
    ],
)
async def test_endpoint_that_does_not_echo_is_never_posted_to(
    extended: World,
    client: httpx.AsyncClient,
    answer: Receipt | Unavailable,
    echo: bytes | None,
    reason: str,
) -> None:
    extended.hooks.answers[URL] = [answer]
    if echo is not None:
        extended.hooks.echo = lambda body: echo
    refused = (await ask(client, "events/subscribe", **CALLED))["error"]
    assert (refused["code"], refused["data"]) == (-32027, {"reason": reason})
    async with extended.ground.store.read() as rows:
        assert await rows.webhooks.everything() == []


async def test_address_that_may_not_be_dialled_tells_nothing_of_it(
    extended: World, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(url: str) -> None:
        raise Forbidden("metadata.internal leads to 169.254.169.254")

    monkeypatch.setattr(extended.hooks, "check", refused)
    error = (await ask(client, "events/subscribe", **CALLED))["error"]
    assert error["code"] == -32602
    assert "169.254" not in json.dumps(error)


async def test_revoked_token_ends_its_subscriptions_at_once(extended: World) -> None:
    async with client_of(extended.url, extended.token) as owner, working(extended):
        made = (await owner.post("/auth/pat", json={"name": "hooks"})).json()
        async with client_of(extended.url, made["token"]) as client:
            await subscribed(client)
        assert (await owner.delete(f"/v1/tokens/{made['id']}")).status_code == 204
        await call_a_tool(extended)
        _, told = await until_sent(extended, 2)
        assert (told["type"], told["error"]["code"]) == ("terminated", -32024)
        async with extended.ground.store.read() as rows:
            assert await rows.webhooks.everything() == []


async def test_whoever_may_not_send_events_away_is_refused(extended: World) -> None:
    async with client_of(extended.url, extended.token) as owner:
        body = {"name": "less", "capabilities": [Capability.EVENT_READ]}
        less = (await owner.post("/auth/pat", json=body)).json()["token"]
    async with client_of(extended.url, less) as client:
        assert (await ask(client, "events/subscribe", **CALLED))["error"]["code"] == -32024
        listed = (await ask(client, "events/list"))["result"]["events"]
        assert {tuple(one["delivery"]) for one in listed} == {("poll", "push")}
    assert extended.hooks.sent == {}


async def test_very_many_subscriptions_are_refused(
    extended: World, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atoll.services.tools.subscriptions.MAX_SUBSCRIPTIONS", 3)
    for number in range(3):
        await subscribed(client, arguments={"stream": f"service:personal:{number}"})
    nothing: dict[str, Json] = {"stream": "sandbox:nothing"}
    refused = (await ask(client, "events/subscribe", **{**CALLED, "arguments": nothing}))["error"]
    assert refused["code"] == -32602
    for number in range(5):
        told: dict[str, Json] = {"stream": f"profile:{number}"}
        answer = await ask(client, "events/subscribe", **{**CALLED, "arguments": told})
        assert answer["error"]["code"] == -32025
    # The endpoint was challenged once for all of them.
    assert len(extended.hooks.sent[URL]) == 1
    assert (await client.get("/v1/webhooks")).json()["webhooks"] == []


async def test_challenges_of_one_host_are_bounded(
    extended: World, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atoll.services.tools.bounds.PER_MINUTE", 2)
    extended.hooks.echo = lambda body: b""
    codes = []
    for number in range(3):
        url = f"{URL}/{number}"
        answer = await ask(
            client, "events/subscribe", name="tool.called", delivery={**DELIVERY, "url": url}
        )
        codes.append(answer["error"]["code"])
    assert codes == [-32027] * 2 + [-32025]
