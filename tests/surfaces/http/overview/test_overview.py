"""The overview over HTTP: search, every sandbox of an organization, usage, and this machine."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from atoll.domain.errors import Unavailable
from atoll.domain.event import EventDraft, sandbox_stream
from atoll.domain.ids import PERSONAL_ORG, EventId, OrgId, PrincipalId
from atoll.domain.people.principal import SYSTEM
from atoll.ports.host import Finding
from atoll.services.lifecycle.usage_sampling import UsageSampling
from atoll.services.overview.machine import FRESH, MachineHealth, refuse_examination
from atoll.wire.words.people import OrgRole
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World

EVERY = "/v1/organizations/acme/sandboxes"
USAGE = "/v1/organizations/acme/usage"
SYSTEM_TIME = datetime(2026, 1, 1, tzinfo=UTC)


async def _made(team: Team, who: str | None, **body: Any) -> str:
    made = await team.call(who, "POST", "/v1/sandboxes?wait=ready", json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["sandbox_id"])


async def _found(team: Team, who: str | None, query: str, **more: Any) -> list[tuple[str, str]]:
    answer = await team.call(who, "GET", "/v1/search", params={"q": query, **more})
    assert answer.status_code == 200, answer.text
    return [(one["kind"], one["title"]) for one in answer.json()["hits"]]


async def _elsewhere(team: Team) -> None:
    """A member of another organization."""
    await team.organization("elsewhere")
    await team.join("eve", OrgRole.OWNER, org="elsewhere")


async def test_search_finds_what_the_caller_may_see_and_nothing_else(atoll: World) -> None:
    team = await team_of(atoll, ann="member", bob="member", vic="viewer")
    await _elsewhere(team)
    await _made(team, "ann", name="webshop")
    await _made(team, "ann", name="webshop-for-all", scope="shared")
    secret = {"value": "canary-0123456789", "kind": "custom"}
    assert (await team.call("ann", "PUT", "/v1/secrets/WEBSHOP_KEY", json=secret)).is_success
    shared = ("sandbox", "webshop-for-all")
    own = await _found(team, "ann", "webshop")
    assert own[0] == ("sandbox", "webshop")
    assert set(own) == {("sandbox", "webshop"), shared, ("secret", "WEBSHOP_KEY")}
    assert await _found(team, "bob", "webshop") == [shared]
    assert await _found(team, "vic", "webshop", kind="sandbox") == [shared]
    assert await _found(team, "eve", "webshop") == []
    assert await _found(team, "ann", "bob", kind=["member", "event"]) == [("member", "Bob")]
    assert ("profile", "shell") in await _found(team, "ann", "shel")
    assert await _found(team, "ann", "canary-0123456789") == []
    one = await team.call("ann", "GET", "/v1/search", params={"q": "webshop", "limit": 1})
    assert (len(one.json()["hits"]), one.json()["complete"]) == (1, False)
    assert (await team.call("ann", "GET", "/v1/search", params={"q": " "})).status_code == 422


async def test_search_finds_the_dashboards_that_the_caller_may_see(atoll: World) -> None:
    team = await team_of(atoll, ann="member", bob="member", vic="viewer")
    await _elsewhere(team)
    places = []
    for name, scope in (("Launch plan", "private"), ("Launch for all", "shared")):
        body = {"name": name, "scope": scope}
        made = await team.call("ann", "POST", "/v1/dashboards", json=body)
        assert made.status_code == 201, made.text
        places.append(f"/v1/dashboards/{made.json()['id']}")
    private = places[0]
    plan, everyones = ("dashboard", "Launch plan"), ("dashboard", "Launch for all")
    assert set(await _found(team, "ann", "launch")) == {plan, everyones}
    for who in ("bob", "vic"):
        assert await _found(team, who, "launch") == [everyones]
    assert await _found(team, "eve", "launch") == []
    given = await team.call("ann", "PUT", f"{private}/people/bob", json={"role": "viewer"})
    assert given.is_success
    assert await _found(team, "bob", "plan", kind="dashboard") == [plan]
    assert (await team.call("ann", "DELETE", private)).is_success
    assert await _found(team, "bob", "plan") == await _found(team, "ann", "plan") == []


async def test_search_finds_the_reason_of_an_event(atoll: World) -> None:
    team = Team(atoll)
    async with atoll.ground.store.begin() as rows:
        await rows.events.append((_door(PERSONAL_ORG, "sb_1", reason="The disk overflowed."),))
    answer = await team.call(None, "GET", "/v1/search", params={"q": "overflowed disk"})
    (hit,) = answer.json()["hits"]
    assert (hit["kind"], hit["title"], hit["sandbox_id"]) == ("event", "door.request", "sb_1")
    assert hit["text"] == "The disk overflowed."


async def test_administrators_see_that_every_sandbox_is_there_and_not_what_is_in_it(
    atoll: World,
) -> None:
    team = await team_of(atoll, ann="member", adam="admin")
    await _elsewhere(team)
    prompt = {"prompt": "words of ann alone", "agent": "codex"}
    box = await _made(team, "ann", name="mine", env={"TREASURE": "gold"}, **prompt)
    await _made(team, "adam", name="other")
    listed = await team.call("adam", "GET", EVERY, params={"sort": "name", "descending": "false"})
    page = listed.json()
    assert [one["name"] for one in page["sandboxes"]] == ["mine", "other"]
    assert (page["total"], page["next"]) == (2, None)
    first = page["sandboxes"][0]
    assert (first["owner"], first["sandbox_id"], first["profile"]) == ("ann", box, "profile.shell")
    assert "words of ann" not in listed.text and "gold" not in listed.text
    assert (await team.call("adam", "GET", f"/v1/sandboxes/{box}")).status_code == 404
    part = (await team.call("adam", "GET", EVERY, params={"limit": 1, "owner": "ann"})).json()
    assert (part["total"], part["tally"]) == (1, {first["state"]: 1})
    half = (await team.call("adam", "GET", EVERY, params={"limit": 1})).json()
    rest = (await team.call("adam", "GET", EVERY, params={"offset": half["next"]})).json()
    assert len(half["sandboxes"]) == len(rest["sandboxes"]) == 1
    assert half["sandboxes"] != rest["sandboxes"]
    assert (await team.call("ann", "GET", EVERY)).status_code == 403
    assert (await team.call("eve", "GET", EVERY)).status_code == 404


async def test_administrators_end_a_sandbox_of_somebody_else(atoll: World) -> None:
    team = await team_of(atoll, ann="member", adam="admin")
    await _elsewhere(team)
    box = await _made(team, "ann", name="mine")
    for who, status in (("ann", 403), ("eve", 404)):
        assert (await team.call(who, "POST", f"{EVERY}/{box}/stop")).status_code == status
    own = await team.call("eve", "POST", f"/v1/organizations/elsewhere/sandboxes/{box}/destroy")
    none = await team.call("eve", "POST", "/v1/organizations/elsewhere/sandboxes/sb_no/destroy")
    assert own.status_code == none.status_code == 404
    refusing = f"{EVERY}/{box}/destroy?unpulled=refuse"
    assert (await team.call("ann", "POST", refusing)).status_code == 403
    kept = await team.call("adam", "POST", refusing)
    assert (kept.status_code, kept.json()["code"]) == (409, "unpulled_work")
    stopped = await team.call("adam", "POST", f"{EVERY}/{box}/stop")
    assert (stopped.status_code, stopped.json()["state"]) == (202, "stopped")
    destroyed = await team.call("adam", "POST", f"{EVERY}/{box}/destroy")
    assert (destroyed.status_code, destroyed.json()["state"]) == (202, "destroying")
    events = (await team.call("ann", "GET", "/v1/events", params={"limit": 1000})).json()["events"]
    ended = {one["event_type"]: one["actor"]["id"] for one in events}
    assert ended["sandbox.stopped"] == ended["sandbox.destroying"] == "adam"


async def test_usage_counts_each_event_once_and_shows_it_to_administrators(atoll: World) -> None:
    team = await team_of(atoll, ann="member", adam="admin")
    await _elsewhere(team)
    box = await _made(team, "ann", name="mine")
    counts: dict[str, Any] = {"outcome": "passed", "bytes_in": 7, "tokens_out": 3}
    draft = _door(PERSONAL_ORG, box, at=atoll.clock.now() - timedelta(hours=3), **counts)
    foreign = replace(_door(OrgId("elsewhere"), "sb_foreign", **counts), at=draft.at)
    async with atoll.ground.store.begin() as rows:
        await rows.events.append((draft, foreign))
    sampling = UsageSampling(atoll.ground)
    for _ in range(2):
        await sampling.sweep()
    found = (await team.call("adam", "GET", USAGE, params={"hours": 4})).json()
    used = {name: value for name, value in found["counts"].items() if value}
    assert used == {"requests": 1, "bytes_in": 7, "tokens_out": 3}
    assert [one["counts"]["requests"] for one in found["points"]] == [0, 1, 0, 0, 0]
    assert found["points"][0]["standing"] is None
    assert found["points"][-1]["standing"]["sandboxes"] == 1
    assert found["now"]["sandboxes"] == 1
    # The bucket keeps its highest number; what is there now is not sampled.
    assert (await team.call("ann", "POST", f"/v1/sandboxes/{box}/stop?wait=true")).is_success
    after = (await team.call("adam", "GET", USAGE, params={"hours": 4})).json()
    assert after["points"][-1]["standing"]["sandboxes"] == 1
    assert after["now"]["sandboxes"] == 0
    fine = await team.call("adam", "GET", USAGE, params={"hours": 1, "bucket": "5m"})
    assert fine.json()["bucket_seconds"] == 300
    listed = (await team.call("adam", "GET", EVERY, params={"sort": "tokens"})).json()
    assert listed["sandboxes"][0]["counts"]["tokens_out"] == 3
    too_far = await team.call("adam", "GET", USAGE, params={"hours": 99, "bucket": "5m"})
    assert (too_far.status_code, too_far.json()["field"]) == (422, "hours")
    assert (await team.call("ann", "GET", USAGE)).status_code == 403
    assert (await team.call("eve", "GET", USAGE)).status_code == 404


async def test_health_of_the_machine_is_for_who_runs_the_installation(atoll: World) -> None:
    team = await team_of(atoll, adam="admin")
    assert (await team.call("adam", "GET", "/v1/extensions/findings")).status_code == 403
    found = await team.call(None, "GET", "/v1/extensions/findings")
    assert (found.status_code, found.json()["findings"]) == (200, [])
    with pytest.raises(Unavailable, match="atoll doctor"):
        await refuse_examination()


async def test_looks_at_the_machine_are_shared_and_shown_for_a_while(atoll: World) -> None:
    looks = []

    async def examine() -> list[Finding]:
        looks.append(atoll.clock.now())
        return [Finding("git", "ok", "there")]

    health = MachineHealth(atoll.clock, examine)
    await asyncio.gather(*(health.findings() for _ in range(3)))
    assert len(looks) == 1
    atoll.clock.at += FRESH + timedelta(seconds=1)
    found, at = await health.findings()
    assert ([one.name for one in found], at, len(looks)) == (["git"], atoll.clock.now(), 2)


def _door(org: OrgId, sandbox: str, *, at: Any = None, reason: str | None = None,
          **payload: Any) -> EventDraft:  # fmt: skip
    return EventDraft(
        id=EventId(f"ev_{sandbox}_door"),
        stream=sandbox_stream(sandbox),
        event_type="door.request",
        at=at or SYSTEM_TIME,
        org_id=org,
        owner=PrincipalId("person"),
        actor=SYSTEM,
        reason=reason,
        payload={"sandbox_id": sandbox, "generation": 1, "n": 1, **payload},
    )
