"""SSH keys over HTTP: whose they are, which are taken, and who may add one."""

import base64
from datetime import timedelta
from typing import Any

import httpx
import pytest

from atoll.domain.ids import PERSONAL_ORG, PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.wire.words.people import MAX_KEY_LINE, MAX_SSH_KEYS, OrgRole
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/ssh/keys": {
        "key": "test_key_is_added_listed_and_removed",
        "name": "test_name_of_a_key_is_its_own_or_its_comment",
    },
}


def ed25519(number: int = 0) -> str:
    parts = (b"ssh-ed25519", number.to_bytes(32, "big"))
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return f"ssh-ed25519 {base64.b64encode(blob).decode()}"


async def add(client: httpx.AsyncClient, line: str, **more: str) -> dict[str, Any]:
    answer = await client.post("/v1/ssh/keys", json={"key": line, **more})
    assert answer.status_code == 201, answer.text
    added: dict[str, Any] = answer.json()
    return added


async def test_key_is_added_listed_and_removed(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        added = await add(client, f"{ed25519()} ada@laptop")
        assert added["fingerprint"].startswith("SHA256:") and added["kind"] == "ssh-ed25519"
        assert added["used_at"] is None
        assert (await client.get("/v1/ssh/keys")).json() == {"keys": [added]}
        (holder,) = await atoll.services.ssh.keys.of_key(added["fingerprint"])
        assert (holder.key.id, holder.person.id) == (added["key_id"], LOCAL_PERSON.id)
        path = f"/v1/ssh/keys/{added['key_id']}"
        assert (await client.delete(path)).status_code == 204
        assert (await client.delete(path)).status_code == 404
        assert (await client.get("/v1/ssh/keys")).json() == {"keys": []}
        events = (await client.get("/v1/events", params={"stream": "auth"})).json()["events"]
    noted = [one for one in events if one["event_type"].startswith("ssh.")]
    assert [one["event_type"] for one in noted] == ["ssh.key_added", "ssh.key_removed"]
    assert noted[0]["payload"]["fingerprint"] == added["fingerprint"]
    assert await atoll.services.ssh.keys.of_key(added["fingerprint"]) == []
    assert await atoll.services.ssh.keys.holder(added["key_id"]) is None


async def test_name_of_a_key_is_its_own_or_its_comment(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        assert (await add(client, f"{ed25519(1)} ada@laptop"))["name"] == "ada@laptop"
        assert (await add(client, f"{ed25519(2)} ada@laptop", name="mine"))["name"] == "mine"
        assert (await add(client, ed25519(3)))["name"] == "ssh-ed25519"


@pytest.mark.parametrize(
    "line",
    [
        f'command="id",no-pty {ed25519()}',
        f'from="*" {ed25519()}',
        f"{ed25519()}\n{ed25519(1)}",
        f"{ed25519()}\0",
        f"ssh-ed25519\0 {ed25519().split()[1]}",
        f"{ed25519()[:-8]}",
        "ssh-dss AAAAB3NzaC1kc3M=",
        "ssh-ed25519-cert-v01@openssh.com AAAA",
        "x" * MAX_KEY_LINE,
    ],
)
async def test_line_that_is_no_plain_key_is_refused(atoll: World, line: str) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post("/v1/ssh/keys", json={"key": line})
        assert answer.status_code == 422 and answer.json()["field"] in ("key", "body")
        assert (await client.get("/v1/ssh/keys")).json() == {"keys": []}
        giant = await client.post("/v1/ssh/keys", json={"key": "x" * (MAX_KEY_LINE + 1)})
        assert (giant.status_code, giant.json()["field"]) == (422, "key")


async def test_person_has_a_key_once_and_no_more_than_fifty(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for number in range(MAX_SSH_KEYS):
            await add(client, ed25519(number))
        again = await client.post("/v1/ssh/keys", json={"key": f"{ed25519()} other"})
        assert (again.status_code, again.json()["field"]) == (409, "key")
        beyond = await client.post("/v1/ssh/keys", json={"key": ed25519(MAX_SSH_KEYS)})
        assert beyond.status_code == 429


async def team(atoll: World) -> Team:
    return await team_of(atoll, ann="member", bob="member")


async def test_same_key_is_several_peoples_and_each_has_their_own(atoll: World) -> None:
    made = await team(atoll)
    async with made.client("ann") as ann, made.client("bob") as bob:
        of_ann, of_bob = await add(ann, ed25519()), await add(bob, ed25519())
        assert (await bob.get("/v1/ssh/keys")).json() == {"keys": [of_bob]}
        assert (await bob.delete(f"/v1/ssh/keys/{of_ann['key_id']}")).status_code == 404
        holders = await atoll.services.ssh.keys.of_key(of_ann["fingerprint"])
        assert {holder.person.id for holder in holders} == {"ann", "bob"}
        # Who leaves loses the keys; the other one's stays.
        gone = await made.call(None, "DELETE", "/v1/organizations/acme/members/ann")
        assert gone.status_code == 204, gone.text
        (left,) = await atoll.services.ssh.keys.of_key(of_ann["fingerprint"])
        assert left.person.id == "bob"
        assert await atoll.services.ssh.keys.holder(of_ann["key_id"]) is None


async def test_holder_has_the_role_of_now(atoll: World) -> None:
    made = await team(atoll)
    async with made.client("ann") as ann:
        added = await add(ann, ed25519())
    await made.as_role("ann", OrgRole.VIEWER)
    atoll.services.tenancy.memberships.forget(PERSONAL_ORG, PrincipalId("ann"))
    holder = await atoll.services.ssh.keys.holder(added["key_id"])
    assert holder is not None and "terminal.use" not in holder.person.capabilities


async def test_token_that_may_less_adds_no_key(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = (await client.post("/v1/sandboxes?wait=ready", json={"profile": "shell"})).json()
        made = []
        for body in (
            {"capabilities": ["token.manage", "sandbox.read"]},
            {"sandbox_id": box["sandbox_id"]},
            {},
        ):
            answer = await client.post("/auth/pat", json={"name": "ci", **body})
            made.append(answer.json()["token"])
    for token in made[:2]:
        async with client_of(atoll.url, token) as client:
            refused = await client.post("/v1/ssh/keys", json={"key": ed25519()})
            assert refused.status_code in (403, 404), refused.text
    async with client_of(atoll.url, made[1]) as client:
        assert (await client.get("/v1/ssh/keys")).status_code == 404
    async with client_of(atoll.url, made[2]) as client:
        await add(client, ed25519())


async def test_use_of_a_key_is_noted_once_a_minute_and_never_brings_it_back(atoll: World) -> None:
    keys = atoll.services.ssh.keys

    async def used() -> object:
        async with client_of(atoll.url, atoll.token) as client:
            (listed,) = (await client.get("/v1/ssh/keys")).json()["keys"]
            return listed["used_at"]

    async with client_of(atoll.url, atoll.token) as client:
        added = await add(client, ed25519())
    holder = await keys.holder(added["key_id"])
    assert holder is not None
    await keys.note_use(holder.key)
    first = await used()
    assert first is not None
    atoll.clock.at += timedelta(seconds=30)
    again = await keys.holder(added["key_id"])
    assert again is not None
    await keys.note_use(again.key)
    assert await used() == first
    atoll.clock.at += timedelta(seconds=31)
    await keys.note_use(again.key)
    assert await used() != first
    await keys.remove(LOCAL_PERSON, added["key_id"])
    await keys.note_use(holder.key)
    assert await keys.holder(added["key_id"]) is None
