"""The webhook that a create names, over HTTP: what is posted, what is refused, what is shown."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from atoll.domain.errors import Forbidden
from atoll.domain.webhooks.delivery import Receipt
from tests.peers.receivers.webhook_receiver import verify
from tests.surfaces.http.people.test_tokens import _held, _sandbox
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World, client_of

SIGNING = "whsec_" + base64.b64encode(b"s" * 32).decode()
URL = "https://hooks.example/in/a-key-of-the-path"
HOOK = {"url": URL, "secret_ref": "SIGNING"}
SECRET = {"name": "SIGNING", "value": SIGNING, "kind": "custom"}


@asynccontextmanager
async def _working(atoll: World) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(atoll.services.webhooks.worker.run())
        yield
        running.cancel()


async def _create(client: httpx.AsyncClient, **more: Any) -> httpx.Response:
    return await client.post("/v1/sandboxes?wait=ready", json={"lifecycle_webhook": HOOK, **more})


def _webhook_of(sandbox: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = sandbox["reachability"]["lifecycle_webhook"]
    return found


async def _until(client: httpx.AsyncClient, path: str, state: str) -> dict[str, Any]:
    for _ in range(1000):
        shown = _webhook_of((await client.get(path)).json())
        if shown["state"] == state:
            return shown
    raise AssertionError(f"it never was {state}")


async def test_events_of_a_sandbox_are_posted_signed_and_in_order_until_it_is_gone(
    atoll: World,
) -> None:
    """`lifecycle_webhook`: `url` says where, `secret_ref` what signs."""
    async with client_of(atoll.url, atoll.token) as client, _working(atoll):
        assert (await client.post("/v1/secrets", json=SECRET)).status_code == 201
        made = await _create(client)
        assert made.status_code == 201, made.text
        path = made.json()["poll_url"]
        other = await client.post("/v1/sandboxes?wait=ready", json={})
        await client.delete(path, params={"wait": "true"})
        ended = await _until(client, path, "ended")
        log = await client.get(made.json()["reachability"]["events_url"])
        mine = [
            event for event in log.json()["events"] if event["event_type"].startswith("sandbox.")
        ]
        listed = await client.get("/v1/webhooks")
        page = await client.get("/v1/sandboxes", params={"state": "destroyed"})
        told = await client.get("/v1/events", params={"stream": f"webhook:{ended['webhook_id']}"})
    assert _webhook_of(other.json()) is None
    assert [json.loads(body)["data"] for _, body in atoll.hooks.sent[URL]] == mine
    assert [event["seq"] for event in mine] == sorted(event["seq"] for event in mine)
    assert (mine[0]["event_type"], mine[-1]["event_type"]) == (
        "sandbox.requested", "sandbox.destroyed",
    )  # fmt: skip
    for headers, body in atoll.hooks.sent[URL]:
        verify(SIGNING, dict(headers), body)
    assert listed.json()["webhooks"] == []
    kinds = [event["event_type"] for event in told.json()["events"]]
    assert kinds == ["webhook.created", "webhook.ended"]
    for answer in (made, log, page, told):
        for hidden in (SIGNING, SIGNING.removeprefix("whsec_"), "a-key-of-the-path", "SIGNING"):
            assert hidden not in answer.text


async def test_failure_is_shown_with_its_reason_where_the_sandbox_is(atoll: World) -> None:
    atoll.hooks.answers[URL] = [Forbidden("hooks.example is not a public address.")]
    async with client_of(atoll.url, atoll.token) as client, _working(atoll):
        await client.post("/v1/secrets", json=SECRET)
        made = (await _create(client)).json()
        failing = await _until(client, made["poll_url"], "failing")
        webhook = f"/v1/webhooks/{failing['webhook_id']}"
        shown = (await client.get(webhook)).json()
        (held,) = (await client.get(f"{webhook}/deliveries")).json()["deliveries"]
        gone = {**HOOK, "url": "https://gone.example/in"}
        atoll.hooks.answers[gone["url"]] = [Receipt(410)]
        other = (await _create(client, lifecycle_webhook=gone)).json()
        disabled = await _until(client, other["poll_url"], "disabled")
    assert (failing["host"], failing["delivered_at"]) == ("hooks.example", None)
    assert failing["reason"] == "hooks.example is not a public address."
    assert (shown["url"], shown["sandbox_id"]) == (URL, made["sandbox_id"])
    assert (held["event_type"], held["reason"]) == ("sandbox.requested", failing["reason"])
    assert disabled["reason"] == "gone.example answered 410: it wants no more events."


@pytest.mark.parametrize(
    ("hook", "field", "code"),
    [
        ({**HOOK, "secret_ref": "MISSING"}, "lifecycle_webhook.secret_ref", "unknown_secret"),
        ({**HOOK, "secret_ref": "OPENAI"}, "lifecycle_webhook.secret_ref", "invalid"),
        ({**HOOK, "url": "http://hooks.example/"}, "lifecycle_webhook.url", "invalid"),
        ({**HOOK, "url": "https://me:p@hooks.example/"}, "lifecycle_webhook.url", "invalid"),
        ({"url": URL}, "lifecycle_webhook", "invalid"),
        ({**HOOK, "secret": SIGNING}, "lifecycle_webhook", "invalid"),
    ],
)
async def test_webhook_that_cannot_be_is_refused_before_anything_starts(
    atoll: World, hook: dict[str, Any], field: str, code: str
) -> None:
    async with client_of(atoll.url, atoll.token) as client, _working(atoll):
        await client.post("/v1/secrets", json=SECRET)
        key = {"name": "OPENAI", "value": "sk-0123456789", "kind": "provider", "provider": "openai"}
        await client.post("/v1/secrets", json=key)
        refused = await _create(client, lifecycle_webhook=hook)
        problem = refused.json()
        assert (refused.status_code, problem["code"]) == (422, code), problem
        assert problem["field"].startswith(field)
        assert SIGNING not in refused.text
        assert (await client.get("/v1/sandboxes")).json()["sandboxes"] == []
        events = (await client.get("/v1/events", params={"limit": 1000})).json()["events"]
    assert not [one for one in events if one["event_type"].startswith(("sandbox.", "webhook."))]
    assert atoll.hooks.sent == {}


async def test_secret_of_another_member_signs_nothing(atoll: World) -> None:
    team = await team_of(atoll, ann="member", bob="member", vic="viewer")
    assert (await team.call("ann", "POST", "/v1/secrets", json=SECRET)).status_code == 201
    body = {"lifecycle_webhook": HOOK}
    theirs = await team.call("bob", "POST", "/v1/sandboxes", json=body)
    assert (theirs.status_code, theirs.json()["code"]) == (422, "unknown_secret")
    assert (await team.call("vic", "POST", "/v1/sandboxes", json=body)).status_code == 403
    made = await team.call("ann", "POST", "/v1/sandboxes", json={**body, "scope": "shared"})
    assert made.status_code == 202
    webhook = _webhook_of(made.json())["webhook_id"]
    seen = await team.call("bob", "GET", f"/v1/sandboxes/{made.json()['sandbox_id']}")
    assert seen.status_code == 200 and "a-key-of-the-path" not in seen.text
    for method in ("GET", "DELETE"):
        answer = await team.call("bob", method, f"/v1/webhooks/{webhook}")
        assert answer.status_code == 404


async def test_repeated_create_holds_the_webhook_against_what_stands(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await client.post("/v1/secrets", json=SECRET)
        await client.post("/v1/secrets", json={**SECRET, "name": "OTHER"})
        agent = {"scope": "agent", "consumer": {"harness": "h", "session_id": "s"}}
        first = (await _create(client, **agent)).json()
        again = (await _create(client, **agent)).json()
        silent = (await client.post("/v1/sandboxes", json=agent)).json()
        assert first["sandbox_id"] == again["sandbox_id"] == silent["sandbox_id"]
        for changed, field in (
            ({**HOOK, "url": "https://hooks.example/other"}, "lifecycle_webhook.url"),
            ({**HOOK, "secret_ref": "OTHER"}, "lifecycle_webhook.secret_ref"),
        ):
            other = await _create(client, **agent, lifecycle_webhook=changed)
            problem = other.json()
            assert (other.status_code, problem["code"]) == (409, "other_inputs"), problem
            assert problem["field"] == field
        key = {"Idempotency-Key": "k-1"}
        body = {"lifecycle_webhook": HOOK}
        keyed = await client.post("/v1/sandboxes", json=body, headers=key)
        same = await client.post("/v1/sandboxes", json=body, headers=key)
        assert keyed.json()["sandbox_id"] == same.json()["sandbox_id"]
        body = {"lifecycle_webhook": {**HOOK, "secret_ref": "OTHER"}}
        mismatch = await client.post("/v1/sandboxes", json=body, headers=key)
        assert mismatch.json()["field"] == "lifecycle_webhook.secret_ref"
        webhooks = await client.get(
            "/v1/events", params={"stream": f"webhook:{_webhook_of(first)['webhook_id']}"}
        )
        assert len(webhooks.json()["events"]) == 1


async def test_program_inside_names_no_webhook(atoll: World) -> None:
    profile = (
        "id: profile.family\nversion: '1.0.0'\nextension: namespaces\nmcp: {children: {live: 1}}\n"
    )
    async with client_of(atoll.url, atoll.token) as client:
        await client.put("/v1/profiles/family", content=profile)
        await client.post("/v1/secrets", json=SECRET)
    held = await _held(atoll, await _sandbox(atoll, profile="family", name="parent"))
    async with client_of(atoll.url, held.text) as inside:
        refused = await _create(inside)
    assert refused.status_code in {403, 404}, refused.text
    assert atoll.hooks.sent == {}
