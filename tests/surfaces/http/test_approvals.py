from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
import pytest

from atoll.domain.approvals.approval import Approval, ApprovalId, CommandAsk, Requester, SecretAsk
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.secrets.secret import Use
from atoll.services.secrets import SetSecret
from atoll.wire.contract.policy import decode_policy
from atoll.wire.words.secrets import Purpose
from tests.surfaces.http.world import World, client_of

KEY = "sk-canary-A1b2C3d4E5"


async def asked(
    atoll: World, *, command: bool = False, owner: str = "person", org: str = PERSONAL_ORG
) -> Approval:
    """An approval as a runtime's question leaves it."""
    services = atoll.services
    listed = await services.sandboxes.list(LOCAL_PERSON)
    box: Sandbox = listed.sandboxes[0] if listed.sandboxes else await _made(atoll)
    request = SetSecret("K", KEY, Use(Purpose.CUSTOM))
    secret = await services.secrets.set(LOCAL_PERSON, request)
    ground = atoll.ground
    now = ground.clock.now()
    approval = Approval(
        ApprovalId(ApprovalId(ground.ids.new("ap"))),
        OrgId(org),
        PrincipalId(owner),
        Requester(box.id, box.name, 1, "ask_1"),
        CommandAsk(("rm", "\x1b[2J\u202e"), "/workspace")
        if command
        else SecretAsk("K", secret.id, secret.version, "api.example.com", 443),
        now,
        None,
    )
    async with ground.store.begin() as rows:
        await rows.approvals.put(approval)
    return approval


async def _made(atoll: World) -> Sandbox:
    async with client_of(atoll.url, atoll.token) as client:
        await client.post("/v1/sandboxes?wait=ready", json={"name": "box"})
    return await atoll.services.sandboxes.get(LOCAL_PERSON, "box")


@asynccontextmanager
async def person(atoll: World) -> AsyncIterator[httpx.AsyncClient]:
    """A browser with a session."""
    headers = {**await atoll.browser(), "Origin": atoll.url, "X-Request-ID": "test"}
    async with httpx.AsyncClient(base_url=atoll.url, headers=headers, timeout=10) as client:
        yield client


async def test_person_approves_what_was_shown_and_takes_it_back(atoll: World) -> None:
    one = await asked(atoll)
    async with person(atoll) as client:
        shown = (await client.get(f"/v1/approvals/{one.id}")).json()
        body = {"for": "sandbox", "ttl": "15m", "shown": shown["digest"]}
        said = await client.post(f"/v1/approvals/{one.id}/approve", json=body)
        again = await client.post(f"/v1/approvals/{one.id}/approve", json=body)
        back = await client.post(f"/v1/approvals/{one.id}/revoke")
        listed = await client.get("/v1/approvals", params={"state": "revoked"})
    assert shown["lines"][1] == "to https://api.example.com:443"
    assert (said.json()["state"], said.json()["for"]) == ("granted", "sandbox")
    assert (again.status_code, again.json()["code"]) == (409, "already_decided")
    assert back.json()["state"] == "revoked"
    assert [each["approval_id"] for each in listed.json()["approvals"]] == [one.id]


@pytest.mark.parametrize(("ttl", "ends"), [({"ttl": "15m"}, True), ({}, False)])
async def test_approval_for_a_time_ends_with_its_ttl(
    atoll: World, ttl: dict[str, str], ends: bool
) -> None:
    one = await asked(atoll)
    async with person(atoll) as client:
        shown = (await client.get(f"/v1/approvals/{one.id}")).json()
        body = {"for": "sandbox", "shown": shown["digest"], **ttl}
        await client.post(f"/v1/approvals/{one.id}/approve", json=body)
        atoll.clock.at += timedelta(minutes=16)
        # Every change of a secret sends the policy anew.
        await client.put("/v1/secrets/OTHER", json={"value": KEY + "9"})
    sent = [body for _, path, _, body in atoll.runtime.asked if path == "/policy"]
    # Read as a runtime reads it: a policy leaves out what has its default.
    assert len(decode_policy(sent[-1]).approvals) == (0 if ends else 1)


async def test_token_alone_does_not_approve_and_the_words_do(atoll: World) -> None:
    one = await asked(atoll)
    async with client_of(atoll.url, atoll.token) as client:
        shown = (await client.get(f"/v1/approvals/{one.id}")).json()
        yes = {"shown": shown["digest"]}
        path = f"/v1/approvals/{one.id}"
        bare = await client.post(f"{path}/approve", json=yes)
        words = (await client.post(f"{path}/confirmation")).json()
        wrong = await client.post(f"{path}/approve", json={**yes, "words": "none-such"})
        right = await client.post(f"{path}/approve", json={**yes, "words": words["words"]})
    assert (bare.status_code, bare.json()["code"]) == (403, "not_interactive")
    assert words["digest"] == shown["digest"]
    assert wrong.status_code == 429
    assert right.json()["state"] == "granted"


async def test_text_from_inside_is_spelled_out(atoll: World) -> None:
    one = await asked(atoll, command=True)
    async with person(atoll) as client:
        shown = (await client.get(f"/v1/approvals/{one.id}")).json()
    assert shown["subject"]["argv"] == ["rm", "\\x1b[2J\\u202e"]
    assert all(line.isprintable() for line in shown["lines"])


async def test_denied_is_denied(atoll: World) -> None:
    one = await asked(atoll)
    async with client_of(atoll.url, atoll.token) as client:
        said = await client.post(f"/v1/approvals/{one.id}/deny")
        late = await client.post(f"/v1/approvals/{one.id}/confirmation")
    assert said.json()["state"] == "denied"
    assert late.status_code == 409


@pytest.mark.parametrize("act", ["", "/confirmation", "/approve", "/deny", "/revoke"])
async def test_somebody_elses_approval_is_not_there(atoll: World, act: str) -> None:
    one = await asked(atoll, owner="other", org="elsewhere")
    body = {"shown": "0" * 64} if act == "/approve" else None
    async with person(atoll) as client:
        method = "POST" if act else "GET"
        theirs = await client.request(method, f"/v1/approvals/{one.id}{act}", json=body)
        absent = await client.request(method, f"/v1/approvals/ap_none{act}", json=body)
        listed = await client.get("/v1/approvals")
    assert theirs.status_code == absent.status_code == 404
    assert theirs.text.replace(one.id, "X") == absent.text.replace("ap_none", "X")
    assert listed.json() == {"approvals": [], "next": None}
