import hashlib
import hmac
import json
from typing import Any

import pytest

from atoll.domain.people.login import MAX_GUESSES
from tests.domain.hooks.test_reports import PULL
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/hooks": {
        "source": "test_hook_is_made_with_a_secret_shown_once",
        "name": "test_hook_is_made_with_a_secret_shown_once",
    },
}
BODY = json.dumps(PULL).encode()


async def _made(atoll: World, source: str = "gitea") -> dict[str, Any]:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/hooks", json={"source": source, "name": "our Gitea"})
        assert made.status_code == 201, made.text
        shown: dict[str, Any] = made.json()
        return shown


async def _report(
    atoll: World,
    hook: dict[str, Any],
    body: bytes = BODY,
    *,
    delivery: str = "d1",
    signature: str = "",
) -> tuple[int, dict[str, Any]]:
    signed = hmac.new(hook["secret"].encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "X-Gitea-Event": "pull_request",
        "X-Gitea-Delivery": delivery,
        "X-Gitea-Signature": signature or signed,
    }
    async with client_of(atoll.url) as client:
        answer = await client.post(hook["address"], content=body, headers=headers)
    return answer.status_code, answer.json()


async def _events(atoll: World, hook: dict[str, Any]) -> list[str]:
    async with client_of(atoll.url, atoll.token) as client:
        query = {"stream": f"hook:{hook['hook_id']}"}
        found = (await client.get("/v1/events", params=query)).json()["events"]
    return [one["event_type"] for one in found]


async def test_hook_is_made_with_a_secret_shown_once(atoll: World) -> None:
    made = await _made(atoll)
    assert (made["source"], made["name"]) == ("gitea", "our Gitea")
    assert made["address"] == f"/v1/ingest/gitea/{made['hook_id']}"
    assert len(made["secret"]) == 64
    del made["secret"]
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.get("/v1/hooks")).json() == {"hooks": [made]}
        assert (await client.delete(f"/v1/hooks/{made['hook_id']}")).status_code == 204
        assert (await client.delete(f"/v1/hooks/{made['hook_id']}")).status_code == 404


async def test_signed_report_becomes_an_event_once(atoll: World) -> None:
    hook = await _made(atoll)
    assert await _report(atoll, hook) == (
        202,
        {"event_type": "gitea.pr.opened", "repeated": False},
    )
    again = {"event_type": None, "repeated": True}
    assert await _report(atoll, hook) == (202, again)
    assert await _report(atoll, hook, delivery="d2") == (202, again)
    assert await _report(atoll, hook, BODY + b" ") == (202, again)
    assert await _events(atoll, hook) == ["hook.created", "gitea.pr.opened"]


async def test_forged_report_is_refused_and_counted(atoll: World) -> None:
    hook = await _made(atoll)
    refused = [await _report(atoll, hook, signature="0" * 64) for _ in range(MAX_GUESSES + 1)]
    assert refused[0][0] == 401
    assert refused[-1][0] == 429
    assert await _events(atoll, hook) == ["hook.created"]


@pytest.mark.parametrize("change", ["source", "hook", "secret"])
async def test_report_at_another_address_is_refused(atoll: World, change: str) -> None:
    hook, other = await _made(atoll), await _made(atoll)
    places = {
        "source": f"/v1/ingest/github/{hook['hook_id']}",
        "hook": "/v1/ingest/gitea/hook_none",
        "secret": other["address"],
    }
    status, told = await _report(atoll, {**hook, "address": places[change]})
    assert (status, told["code"]) == (401, "unauthenticated")


async def test_report_that_is_too_long_or_unreadable_is_refused(atoll: World) -> None:
    hook = await _made(atoll)
    assert (await _report(atoll, hook, b"x" * (2 * 1024 * 1024)))[0] == 413
    status, told = await _report(atoll, hook, b"[" * 500_000)
    assert (status, told["field"]) == (422, "body")
    assert len(told["detail"]) < 1000
    assert await _events(atoll, hook) == ["hook.created"]


async def test_test_of_a_hook_is_an_event(atoll: World) -> None:
    hook = await _made(atoll)
    async with client_of(atoll.url, atoll.token) as client:
        path = f"/v1/hooks/{hook['hook_id']}/test"
        assert (await client.post(path)).json()["hook_id"] == hook["hook_id"]
        assert (await client.post("/v1/hooks/hook_none/test")).status_code == 404
    assert await _events(atoll, hook) == ["hook.created", "hook.tested"]


async def test_hook_of_somebody_else_is_not_there(atoll: World) -> None:
    hook = await _made(atoll)
    team = await team_of(atoll, bob="member")
    assert (await team.call("bob", "GET", "/v1/hooks")).json() == {"hooks": []}
    place = f"/v1/hooks/{hook['hook_id']}"
    assert (await team.call("bob", "DELETE", place)).status_code == 404
    assert (await team.call("bob", "POST", f"{place}/test")).status_code == 404
