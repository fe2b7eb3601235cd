"""Shared sandboxes by role, giving one away, and what a member who goes leaves behind."""

import asyncio
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from atoll.domain.approvals.approval import Approval, ApprovalId, HostAsk, Requester, SecretAsk
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.quota import Quota
from atoll.wire.words.people import OrgRole
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/sandboxes/{sandbox}/owner": {
        "member": "test_sandbox_is_given_to_a_member_with_its_history",
    },
}
MEMBERS = "/v1/organizations/acme/members"


async def _made(team: Team, who: str | None, **body: Any) -> str:
    made = await team.call(who, "POST", "/v1/sandboxes?wait=ready", json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["sandbox_id"])


async def _secret(team: Team, who: str | None, name: str, scope: str) -> Any:
    body = {"value": f"canary-of-{name}-0123", "kind": "custom", "scope": scope}
    return await team.call(who, "PUT", f"/v1/secrets/{name}", json=body)


async def _role_at_terminal(team: Team, who: str | None, sandbox: str) -> str:
    """The role that the runtime was told, which alone decides about keys."""
    atoll = team.atoll
    token = atoll.token if who is None else f"token-of-{who}"
    attach = f"{atoll.url}/v1/sandboxes/{sandbox}/terminals/t_1/attach"
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(attach, headers=headers) as socket,
    ):
        await socket.receive_str(timeout=5)
    told = atoll.runtime.attached[-1]
    return next(part for part in told.split("&") if part.startswith("role=")).removeprefix("role=")


async def test_shared_sandbox_is_found_and_attached_by_role(atoll: World) -> None:
    team = await team_of(atoll, ann="member", bob="member", vic="viewer", adam="admin")
    shared = await _made(team, "ann", name="ours", scope="shared")
    private = await _made(team, "ann", name="mine")
    for who in ("bob", "vic", "adam"):
        listed = (await team.call(who, "GET", "/v1/sandboxes")).json()["sandboxes"]
        assert [one["name"] for one in listed] == ["ours"]
        assert (await team.call(who, "GET", "/v1/sandboxes/ours")).status_code == 200
        assert (await team.call(who, "GET", f"/v1/sandboxes/{private}")).status_code == 404
    roles = {who: await _role_at_terminal(team, who, shared) for who in ("ann", "bob", "vic")}
    assert roles == {"ann": "owner", "bob": "controller", "vic": "viewer"}
    run = f"/v1/sandboxes/{shared}/exec"
    assert (await team.call("bob", "POST", run, json={"argv": ["true"]})).status_code == 200
    assert (await team.call("vic", "POST", run, json={"argv": ["true"]})).status_code == 403
    stop = f"/v1/sandboxes/{shared}/stop?wait=true"
    refused = await team.call("bob", "POST", stop)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert (await team.call("adam", "POST", stop)).json()["state"] == "stopped"


async def test_events_of_shared_sandboxes_are_everybodys_and_of_others_their_owners(
    atoll: World,
) -> None:
    team = await team_of(atoll, ann="member", bob="viewer")
    shared = await _made(team, "ann", name="ours", scope="shared")
    private = await _made(team, "ann", name="mine")
    streams = {
        one["stream"]
        for one in (await team.call("bob", "GET", "/v1/events?limit=1000")).json()["events"]
    }
    assert streams == {f"sandbox:{shared}", "org:personal"}
    told = [
        (await team.call("bob", "GET", f"/v1/events?stream=sandbox:{one}")).json()["detail"]
        for one in (private, "sb_none")
    ]
    # In the same words as one that is not there.
    assert told[0].replace(private, "sb_none") == told[1]


async def test_sandbox_is_given_to_a_member_with_its_history(atoll: World) -> None:
    team = await team_of(atoll, ann="member", bob="member", vic="viewer")
    box = await _made(team, "ann", name="box")
    assert (await _secret(team, "ann", "BOX", f"sandbox:{box}")).status_code == 200
    link = await team.call("ann", "POST", f"/v1/sandboxes/{box}/shares", json={})
    assert link.status_code == 201
    before = (await team.call("ann", "GET", f"/v1/events?stream=sandbox:{box}")).json()["events"]
    give = f"/v1/sandboxes/{box}/owner"
    for member, status in (("vic", 409), ("nobody", 404)):
        assert (await team.call("ann", "POST", give, json={"member": member})).status_code == status
    given = await team.call("ann", "POST", give, json={"member": "Bob"})
    assert given.status_code == 200, given.text
    assert (given.json()["owner"], given.json()["state"]) == ("bob", "stopped")
    assert (await team.call("ann", "GET", f"/v1/sandboxes/{box}")).status_code == 404
    assert (await team.call("ann", "GET", "/v1/sandboxes/box")).status_code == 404
    assert (await team.call("bob", "GET", "/v1/sandboxes/box")).json()["sandbox_id"] == box
    after = (await team.call("bob", "GET", f"/v1/events?stream=sandbox:{box}")).json()["events"]
    assert after[: len(before)] == before
    assert "sandbox.given" in {one["event_type"] for one in after}
    gone = await team.call("ann", "GET", f"/v1/events?stream=sandbox:{box}")
    assert (gone.status_code, gone.json()["field"]) == (422, "stream")
    assert (await team.call("bob", "GET", f"/v1/sandboxes/{box}/shares")).json()["shares"] == []
    assert (await team.call("ann", "GET", "/v1/secrets")).json()["secrets"] == []
    started = await team.call("bob", "POST", f"/v1/sandboxes/{box}/start?wait=ready")
    assert started.json()["state"] == "ready"


async def test_link_of_a_member_says_who_invites_and_not_who_runs_the_server(
    atoll: World,
) -> None:
    team = await team_of(atoll, ann="member")
    await team.call(None, "PATCH", "/v1/me", json={"name": "Ada"})
    box = await _made(team, "ann", name="box")
    made = (await team.call("ann", "POST", f"/v1/sandboxes/{box}/shares", json={})).json()
    ticket = made["link"].partition("#share=")[2]
    async with client_of(atoll.url) as client:
        offer = await client.post("/auth/invitations", json={"ticket": ticket})
        assert offer.json()["inviter"] == "Ann"
        alike = await client.post("/auth/guests", json={"ticket": ticket, "name": "Аnn"})
        assert (alike.status_code, alike.json()["field"]) == (422, "name")
        entered = await client.post("/auth/guests", json={"ticket": ticket, "name": "Ada"})
        assert entered.json()["guest"]["inviter"] == "Ann"


async def test_sandbox_is_not_given_beyond_the_quota_of_its_new_owner(atoll: World) -> None:
    team = await team_of(atoll, ann="member", bob="member", adam="admin")
    box = await _made(team, "ann", name="box")
    async with atoll.ground.store.begin() as rows:
        await rows.quotas.put(PERSONAL_ORG, PrincipalId("bob"), Quota(sandboxes=0))
    give = f"/v1/sandboxes/{box}/owner"
    refused = await team.call("ann", "POST", give, json={"member": "bob"})
    assert refused.status_code == 429, refused.text
    assert (await team.call("ann", "GET", "/v1/sandboxes/box")).json()["owner"] == "ann"


async def test_sandbox_is_not_given_over_another_of_its_name_nor_by_who_only_shares_it(
    atoll: World,
) -> None:
    team = await team_of(atoll, ann="member", bob="member", adam="admin")
    await _made(team, "bob", name="box")
    box = await _made(team, "ann", name="box", scope="shared")
    give = f"/v1/sandboxes/{box}/owner"
    taken = await team.call("ann", "POST", give, json={"member": "bob"})
    assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")
    assert (await team.call("ann", "GET", f"/v1/sandboxes/{box}")).json()["owner"] == "ann"
    assert (await team.call("bob", "POST", give, json={"member": "bob"})).status_code == 403
    assert (await team.call("adam", "POST", give, json={"member": "adam"})).status_code == 200


async def test_single_person_has_nobody_to_give_to(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={"name": "box"})
        assert made.status_code == 201
        refused = await client.post("/v1/sandboxes/box/owner", json={"member": "person"})
        assert refused.json()["code"] == "personal_organization"


async def test_organizations_secrets_are_its_administrators_to_set_and_remove(
    atoll: World,
) -> None:
    team = await team_of(atoll, ann="member", adam="admin", olga="owner")
    refused = await _secret(team, "ann", "ORG", "organization")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert (await _secret(team, "adam", "ORG", "organization")).status_code == 200
    seen = (await team.call("ann", "GET", "/v1/secrets")).json()["secrets"]
    assert [one["name"] for one in seen] == ["ORG"]
    assert (await team.call("ann", "DELETE", "/v1/secrets/ORG")).status_code == 403
    rotated = await team.call("olga", "POST", "/v1/secrets/ORG/rotate", json={"value": "other-77"})
    assert rotated.json()["version"] == 2
    assert (await team.call("olga", "DELETE", "/v1/secrets/ORG")).status_code == 204


async def _asked(team: Team, number: int, owner: str, sandbox: str, *, secret: bool) -> str:
    """A request from inside a sandbox, as its runtime would have reported it."""
    now = team.atoll.clock.now()
    ask = SecretAsk("KEY", "sec_1", 1, "h.example.org", 443) if secret else HostAsk("h.x.org", 443)
    asked = Approval(
        ApprovalId(f"ap_{number}"),
        PERSONAL_ORG,
        PrincipalId(owner),
        Requester(SandboxId(sandbox), "box", 1, "ask_1"),
        ask,
        now,
        now + timedelta(days=1),
    )
    async with team.atoll.ground.store.begin() as rows:
        await rows.approvals.put(asked)
    return asked.id


async def test_approvals_are_decided_by_the_owner_or_an_administrator(atoll: World) -> None:
    team = await team_of(atoll, ann="member", bob="member", adam="admin")
    private = await _made(team, "ann", name="mine")
    shared = await _made(team, "ann", name="ours", scope="shared")
    about_secret = await _asked(team, 1, "ann", private, secret=True)
    about_host = await _asked(team, 2, "ann", private, secret=False)
    about_shared = await _asked(team, 3, "ann", shared, secret=False)

    async def seen(who: str) -> set[str]:
        listed = (await team.call(who, "GET", "/v1/approvals")).json()["approvals"]
        return {one["approval_id"] for one in listed}

    assert await seen("ann") == {about_secret, about_host, about_shared}
    assert await seen("bob") == set()
    # A command or a host of a private sandbox is its owner's business alone.
    assert await seen("adam") == {about_secret, about_shared}
    deny = "/v1/approvals/{}/deny"
    assert (await team.call("bob", "POST", deny.format(about_secret))).status_code == 404
    assert (await team.call("adam", "POST", deny.format(about_host))).status_code == 404
    denied = await team.call("adam", "POST", deny.format(about_shared))
    assert (denied.status_code, denied.json()["state"]) == (200, "denied")


async def test_member_who_goes_leaves_no_secret_link_or_approval_and_its_sandboxes_wait(
    atoll: World,
) -> None:
    team = await team_of(atoll, ann="member", adam="admin", bob="member")
    box = await _made(team, "ann", name="box")
    assert (await _secret(team, "ann", "MINE", "person")).status_code == 200
    await team.call("ann", "POST", f"/v1/sandboxes/{box}/shares", json={})
    asked = await _asked(team, 1, "ann", box, secret=True)
    assert (await team.call("adam", "DELETE", f"{MEMBERS}/ann")).status_code == 204
    gone = await team.call("ann", "GET", "/v1/me")
    assert (gone.status_code, gone.json()["code"]) == (401, "unauthenticated")
    async with atoll.ground.store.read() as rows:
        assert await rows.secrets.everything() == []
        assert await rows.shares.of(SandboxId(box)) == []
        approval = await rows.approvals.get(PERSONAL_ORG, ApprovalId(asked))
    assert approval is not None
    assert approval.verdict == "expired"
    waiting = "/v1/organizations/acme/waiting-sandboxes"
    assert (await team.call("bob", "GET", waiting)).status_code == 403
    page = (await team.call("adam", "GET", f"{waiting}?limit=1")).json()
    (left,), following = page["sandboxes"], page["next"]
    assert following is None
    assert (left["sandbox_id"], left["state"], left["owner"]) == (box, "stopped", "ann")
    assert (await team.call("bob", "GET", f"/v1/sandboxes/{box}")).status_code == 404
    assert (await team.call("adam", "GET", f"/v1/sandboxes/{box}")).status_code == 200
    given = await team.call("adam", "POST", f"/v1/sandboxes/{box}/owner", json={"member": "bob"})
    assert given.json()["owner"] == "bob"
    assert (await team.call("adam", "GET", waiting)).json()["sandboxes"] == []
    assert (await team.call("adam", "GET", f"/v1/sandboxes/{box}")).status_code == 404
    history = await team.call("bob", "GET", f"/v1/events?stream=sandbox:{box}")
    assert history.json()["events"][0]["event_type"] == "sandbox.requested"


async def test_organizations_secrets_stay_when_who_set_them_goes(atoll: World) -> None:
    team = await team_of(atoll, adam="admin", olga="owner")
    assert (await _secret(team, "adam", "ORG", "organization")).status_code == 200
    assert (await team.call("olga", "DELETE", f"{MEMBERS}/adam")).status_code == 204
    rotated = await team.call("olga", "POST", "/v1/secrets/ORG/rotate", json={"value": "other-77"})
    assert rotated.json()["version"] == 2


@pytest.mark.parametrize("how", ["removed", "demoted"])
async def test_open_connections_of_a_member_close_within_five_seconds(
    atoll: World, how: str
) -> None:
    team = await team_of(atoll, ann="member", bob="member", adam="admin")
    box = await _made(team, "ann", name="ours", scope="shared")
    attach = f"{atoll.url}/v1/sandboxes/{box}/terminals/t_1/attach"
    async with (
        aiohttp.ClientSession(headers={"Authorization": "Bearer token-of-bob"}) as session,
        session.ws_connect(attach) as socket,
        session.get(f"{atoll.url}/v1/events/stream?after=0") as stream,
    ):
        await socket.receive_str(timeout=5)
        assert stream.status == 200
        if how == "removed":
            assert (await team.call("adam", "DELETE", f"{MEMBERS}/bob")).status_code == 204
        else:
            # As another replica does it: this one sees it when it looks again.
            await team.as_role("bob", OrgRole.VIEWER)
            atoll.clock.at += timedelta(seconds=3)
        async with asyncio.timeout(5):
            message = await socket.receive()
            assert message.type is aiohttp.WSMsgType.CLOSE
            assert message.data == 4401
            with pytest.raises(aiohttp.ClientPayloadError):
                while await stream.content.read(65536):
                    pass
    if how == "demoted":
        assert await _role_at_terminal(team, "bob", box) == "viewer"
