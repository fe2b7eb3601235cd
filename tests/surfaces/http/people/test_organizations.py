"""Organizations: a team in place of a single person, its members, invitations and accounts."""

from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from sqlalchemy import select

from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.store import SqlStore
from atoll.domain.ids import PERSONAL_ORG
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.secrets.secret import bound_to
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/organizations": {
        "slug": "test_first_organization_takes_the_place_of_personal",
        "name": "test_first_organization_takes_the_place_of_personal",
    },
    "PATCH /v1/organizations/{organization}": {
        "slug": "test_organization_is_renamed_and_keeps_its_id",
        "name": "test_organization_is_renamed_and_keeps_its_id",
    },
    "PATCH /v1/organizations/{organization}/members/{member}": {
        "role": "test_role_decides_what_a_member_may_do_from_the_next_moment_on",
        "groups": "test_groups_of_a_member_are_those_it_was_given",
    },
    "POST /v1/organizations/{organization}/service-accounts": {
        "name": "test_service_account_acts_as_automation_and_is_never_an_owner",
        "role": "test_service_account_acts_as_automation_and_is_never_an_owner",
        "groups": "test_service_account_acts_as_automation_and_is_never_an_owner",
    },
    "POST /v1/organizations/{organization}/invitations": {
        "role": "test_invitation_makes_its_taker_a_member_once",
        "groups": "test_invitation_makes_its_taker_a_member_once",
        "email": "test_invitation_makes_its_taker_a_member_once",
        "ttl": "test_invitation_that_is_over_used_revoked_or_wrong_answers_alike",
    },
    "POST /v1/invitations/look": {
        "secret": "test_invitation_is_looked_at_without_being_used_up",
    },
    "POST /v1/invitations/accept": {
        "secret": "test_invitation_that_is_over_used_revoked_or_wrong_answers_alike",
    },
}
PROVIDER = {"value": "sk-test-0123456789", "kind": "provider", "provider": "openai"}
OWN = {"organizations", "members", "events", "audit", "alembic_version"}


async def _rows(atoll: World) -> dict[str, list[Any]]:
    """Every row of every table that making a team does not write to."""
    store = atoll.ground.store
    assert isinstance(store, SqlStore)
    found = {}
    async with store.engines.reader.connect() as connection:
        for table in metadata.sorted_tables:
            if not table.name.startswith("audit") and table.name not in OWN:
                rows = await connection.execute(select(table))
                found[table.name] = sorted(map(repr, rows.all()))
    return found


async def test_first_organization_takes_the_place_of_personal(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        before = (await client.get("/v1/organizations")).json()["organizations"]
        assert [(one["organization_id"], one["slug"], one["role"]) for one in before] == [
            ("personal", "personal", "owner")
        ]
        body = {"slug": "acme", "name": "Acme & Sons"}
        made = (await client.post("/v1/organizations", json=body)).json()
        assert (made["organization_id"], made["slug"], made["name"]) == (
            "personal",
            "acme",
            "Acme & Sons",
        )
        for ref in ("acme", "personal"):
            found = await client.get(f"/v1/organizations/{ref}")
            assert found.json() == made
        (owner,) = (await client.get("/v1/organizations/acme/members")).json()["members"]
        assert (owner["member_id"], owner["role"], owner["kind"]) == ("person", "owner", "adm")
        second = await client.post("/v1/organizations", json={"slug": "other"})
        assert second.json()["organization_id"].startswith("org_")
        taken = await client.post("/v1/organizations", json={"slug": "other"})
        assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")
        listed = (await client.get("/v1/organizations")).json()["organizations"]
        assert [one["slug"] for one in listed] == ["acme", "other"]


async def test_home_that_becomes_a_teams_loses_nothing_while_it_runs(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={"name": "box"})
        sandbox = made.json()["sandbox_id"]
        assert (await client.put("/v1/secrets/KEY", json=PROVIDER)).status_code == 200
        shared = await client.post(f"/v1/sandboxes/{sandbox}/shares", json={"role": "viewer"})
        assert shared.status_code == 201
        events = (await client.get("/v1/events?limit=1000")).json()["events"]
        before = await _rows(atoll)
        headers = {"Authorization": f"Bearer {atoll.token}"}
        attach = f"{atoll.url}/v1/sandboxes/{sandbox}/terminals/t_1/attach"
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(attach, headers=headers) as socket,
        ):
            assert "start" in await socket.receive_str(timeout=5)
            answer = await client.post("/v1/organizations", json={"slug": "acme"})
            assert answer.status_code == 201
            await socket.send_bytes(b"still here")
            assert await socket.receive_bytes(timeout=5) == b"still here"
        assert await _rows(atoll) == before
        after = (await client.get("/v1/events?limit=1000")).json()["events"]
        assert after[: len(events)] == events
        added = [one["event_type"] for one in after[len(events) :]]
        assert added[:2] == ["org.created", "member.added"]
        assert (await client.get("/v1/sandboxes/box")).json()["state"] in {"ready", "active"}
        rotated = await client.put("/v1/secrets/KEY", json={**PROVIDER, "value": "sk-other-98765"})
        assert rotated.json()["version"] == 2
    async with atoll.ground.store.read() as rows:
        (kept,) = await rows.secrets.sealed(PERSONAL_ORG, LOCAL_PERSON.id)
    vault = atoll.services.secrets._vault
    assert vault.open(kept.sealed, bound_to(kept.secret)) == "sk-other-98765"


async def test_organization_is_renamed_and_keeps_its_id(atoll: World) -> None:
    team = await team_of(atoll, ann="admin", bob="member")
    changed = await team.call(
        "ann", "PATCH", "/v1/organizations/acme", json={"slug": "acme-2", "name": "Acme 2"}
    )
    assert changed.json()["organization_id"] == "personal"
    assert (await team.call("bob", "GET", "/v1/organizations/acme-2")).json()["name"] == "Acme 2"
    assert (await team.call("bob", "GET", "/v1/organizations/acme")).status_code == 404
    refused = await team.call("bob", "PATCH", "/v1/organizations/acme-2", json={"name": "Mine"})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert "org.manage" in refused.json()["detail"]


async def test_single_persons_home_has_no_members_to_manage(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for path, body in (
            ("service-accounts", {"name": "bot"}),
            ("invitations", {"role": "member"}),
        ):
            refused = await client.post(f"/v1/organizations/personal/{path}", json=body)
            assert (refused.status_code, refused.json()["code"]) == (409, "personal_organization")
        listed = (await client.get("/v1/organizations/personal/members")).json()["members"]
        assert [one["member_id"] for one in listed] == ["person"]


async def test_role_decides_what_a_member_may_do_from_the_next_moment_on(atoll: World) -> None:
    team = await team_of(atoll, ann="owner", bob="member", vic="viewer")
    assert (await team.call("vic", "POST", "/v1/sandboxes", json={})).status_code == 403
    changed = await team.call(
        "ann", "PATCH", "/v1/organizations/acme/members/vic", json={"role": "member"}
    )
    assert changed.json()["role"] == "member"
    assert (await team.call("vic", "POST", "/v1/sandboxes", json={})).status_code == 202
    await team.as_role("vic", OrgRole.VIEWER)
    atoll.clock.at += timedelta(seconds=5)
    assert (await team.call("vic", "POST", "/v1/sandboxes", json={})).status_code == 403


async def test_groups_of_a_member_are_those_it_was_given(atoll: World) -> None:
    team = await team_of(atoll, ann="admin", bob="member")
    path = "/v1/organizations/acme/members/bob"
    changed = await team.call("ann", "PATCH", path, json={"groups": ["b", "a", "b"]})
    assert (changed.json()["groups"], changed.json()["role"]) == (["a", "b"], "member")
    wrong = await team.call("ann", "PATCH", path, json={"groups": ["no blanks"]})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "groups")


@pytest.mark.parametrize(
    ("who", "act", "code"),
    [
        ("adam", ("PATCH", "olga", {"role": "member"}), "forbidden"),
        ("adam", ("PATCH", "adam", {"role": "owner"}), "forbidden"),
        ("adam", ("DELETE", "olga", None), "forbidden"),
        ("bob", ("DELETE", "adam", None), "forbidden"),
        ("olga", ("DELETE", "person", None), "installation_person"),
        ("olga", ("PATCH", "person", {"role": "viewer"}), "installation_person"),
    ],
)
async def test_only_owners_change_owners_and_nobody_the_installations_person(
    atoll: World, who: str, act: tuple[str, str, Any], code: str
) -> None:
    team = await team_of(atoll, olga="owner", adam="admin", bob="member")
    method, member, body = act
    path = f"/v1/organizations/acme/members/{member}"
    refused = await team.call(who, method, path, **({} if body is None else {"json": body}))
    assert refused.json()["code"] == code


async def test_last_owner_of_an_organization_cannot_leave(atoll: World) -> None:
    team = Team(atoll)
    await team.organization("elsewhere")
    await team.join("olga", OrgRole.OWNER, org="elsewhere")
    await team.join("adam", OrgRole.ADMIN, org="elsewhere")
    leave = "/v1/organizations/elsewhere/leave"
    refused = await team.call("olga", "POST", leave)
    assert (refused.status_code, refused.json()["code"]) == (409, "last_owner")
    demoted = await team.call(
        "olga", "PATCH", "/v1/organizations/elsewhere/members/olga", json={"role": "admin"}
    )
    assert demoted.json()["code"] == "last_owner"
    assert (await team.call("adam", "POST", leave)).status_code == 204
    gone = await team.call("adam", "GET", "/v1/organizations")
    assert (gone.status_code, gone.json()["code"]) == (401, "unauthenticated")


async def test_service_account_acts_as_automation_and_is_never_an_owner(atoll: World) -> None:
    team = await team_of(atoll, ann="owner")
    path = "/v1/organizations/acme/service-accounts"
    body = {"name": "deploy", "role": "viewer", "groups": ["ci"]}
    made = (await team.call("ann", "POST", path, json=body)).json()
    assert made["member_id"].startswith("svc_")
    assert (made["kind"], made["role"], made["groups"]) == ("atm", "viewer", ["ci"])
    listed = (await team.call("ann", "GET", path)).json()["members"]
    assert [one["name"] for one in listed] == ["deploy"]
    for wrong in ({"name": "x", "role": "owner"}, {"name": "deploy"}):
        refused = await team.call("ann", "POST", path, json=wrong)
        assert refused.status_code in {409, 422}
    no_person = await team.call("ann", "DELETE", f"{path}/ann")
    assert no_person.status_code == 404
    assert (await team.call("ann", "DELETE", f"{path}/deploy")).status_code == 204
    assert (await team.call("ann", "GET", path)).json()["members"] == []


async def test_invitation_makes_its_taker_a_member_once(atoll: World) -> None:
    team = await team_of(atoll, ann="admin")
    await team.organization("elsewhere")
    await team.join("newcomer", org="elsewhere")
    path = "/v1/organizations/acme/invitations"
    body = {"role": "viewer", "groups": ["ops"], "email": "new@example.org"}
    made = (await team.call("ann", "POST", path, json=body)).json()
    listed = (await team.call("ann", "GET", path)).json()["invitations"]
    assert [one["email"] for one in listed] == ["new@example.org"]
    assert not {"secret", "url"} & listed[0].keys()
    assert made["url"].endswith(f"/#join={made['secret']}")
    assert made["local_only"] is True
    joined = await team.call(
        "newcomer", "POST", "/v1/invitations/accept", json={"secret": made["secret"]}
    )
    assert (joined.json()["slug"], joined.json()["role"]) == ("acme", "viewer")
    members = (await team.call("ann", "GET", "/v1/organizations/acme/members")).json()["members"]
    new = next(one for one in members if one["member_id"] == "newcomer")
    assert (new["role"], new["groups"], new["email"]) == ("viewer", ["ops"], "new@example.org")
    assert (await team.call("ann", "GET", path)).json()["invitations"] == []
    owner = await team.call("ann", "POST", path, json={"role": "owner"})
    assert owner.status_code == 403


async def test_invitation_is_looked_at_without_being_used_up(atoll: World) -> None:
    team = await team_of(atoll, ann="admin")
    await team.organization("elsewhere")
    await team.join("newcomer", org="elsewhere")
    made = await team.call(
        "ann", "POST", "/v1/organizations/acme/invitations", json={"role": "viewer"}
    )
    for _ in range(2):
        offer = await team.call(
            "newcomer", "POST", "/v1/invitations/look", json={"secret": made.json()["secret"]}
        )
        assert offer.json() == {
            "organization": "acme",
            "role": "viewer",
            "invited_by": "Ann",
            "expires_at": made.json()["expires_at"],
        }
    wrong = await team.call("newcomer", "POST", "/v1/invitations/look", json={"secret": "x" * 43})
    assert wrong.status_code == 404


async def test_invitation_that_is_over_used_revoked_or_wrong_answers_alike(atoll: World) -> None:
    team = await team_of(atoll, ann="admin")
    await team.organization("elsewhere")
    await team.join("first", org="elsewhere")
    await team.join("second", org="elsewhere")
    path = "/v1/organizations/acme/invitations"

    async def made(**body: Any) -> dict[str, Any]:
        answer = await team.call("ann", "POST", path, json=body)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    used, revoked, over = await made(), await made(), await made(ttl="1m")
    accept = "/v1/invitations/accept"
    taken = await team.call("first", "POST", accept, json={"secret": used["secret"]})
    assert taken.status_code == 200
    gone = await team.call("ann", "DELETE", f"{path}/{revoked['invitation_id']}")
    assert gone.status_code == 204
    atoll.clock.at += timedelta(seconds=61)
    answers = [
        await team.call("second", "POST", accept, json={"secret": secret})
        for secret in (used["secret"], revoked["secret"], over["secret"], "x" * 43)
    ]
    assert {one.status_code for one in answers} == {404}
    assert len({one.text for one in answers}) == 1


async def test_service_account_cannot_take_an_invitation(atoll: World) -> None:
    team = await team_of(atoll, ann="admin")
    await team.organization("elsewhere")
    await team.join("bot", org="elsewhere", kind=ActorKind.AUTOMATION)
    made = await team.call("ann", "POST", "/v1/organizations/acme/invitations", json={})
    body = {"secret": made.json()["secret"]}
    for who in ("bot", None):
        refused = await team.call(who, "POST", "/v1/invitations/accept", json=body)
        assert (refused.status_code, refused.json()["code"]) == (409, "not_invited")


async def test_name_of_a_member_is_its_own_and_not_the_installations(atoll: World) -> None:
    team = await team_of(atoll, ann="member")
    renamed = await team.call("ann", "PATCH", "/v1/me", json={"name": "Ann B."})
    assert renamed.json()["name"] == "Ann B."
    assert (await team.call("ann", "GET", "/v1/me")).json()["name"] == "Ann B."
    assert atoll.services.logins.person().name == ""
    await team.call(None, "PATCH", "/v1/me", json={"name": "Ada"})
    members = (await team.call("ann", "GET", "/v1/organizations/acme/members")).json()["members"]
    assert sorted(one["name"] for one in members) == ["Ada", "Ann B."]
