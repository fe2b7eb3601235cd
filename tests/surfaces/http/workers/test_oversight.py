"""Every worker of an organization, for its administrators: where it is and why, and how it ended;
never what its agent says."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from atoll.domain.event import Json
from atoll.domain.ids import OrgId, PrincipalId, WorkerKey
from atoll.domain.profile.profile import Profile
from atoll.domain.routes.health import PAUSE, TRIP, Outcome
from atoll.domain.workers.artifact import WorkerArtifact
from atoll.domain.workers.create import CreateWorker, WorkerId
from atoll.domain.workers.heartbeat import Lease
from atoll.domain.workers.lifecycle import Worker, WorkerTornDown
from atoll.domain.workers.record import WorkerEventDraft, WorkerRecord
from atoll.domain.workers.talk import WorkerTalk, WorkerThread
from atoll.testing.samples import sandbox
from atoll.wire.words.people import OrgRole
from atoll.wire.words.workers import WorkerStatus
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World, client_of, world

__all__ = ["atoll"]

EVERY = "/v1/organizations/acme/workers"
BACKENDS = f"{EVERY}/backends"
TITLE = "what ann talks about"


@pytest.fixture
async def atoll() -> AsyncIterator[World]:
    async with world() as made:
        yield made


async def put(
    team: Team, owner: str, name: str, *, org: str = "personal", failed: bool = False
) -> None:
    """A worker of somebody's, which runs, or failed and was taken down."""
    now = team.atoll.clock.now()
    created = CreateWorker(WorkerId(name), metadata={"ticket": TITLE})
    worker = Worker(created.worker_id, status=WorkerStatus.RUNNING)
    if failed:
        gone = WorkerTornDown(("sandbox:sb_1",), ("volume v: busy",))
        ended = WorkerStatus.FAILED
        worker = replace(worker, status=ended, reason="no room", remove_at=now, torn_down=gone)
    key = WorkerKey(f"wk_{owner}_{name}")
    made = WorkerRecord(
        *(key, OrgId(org), PrincipalId(owner), created, worker, Lease(1, now), now),
        talk=WorkerTalk((WorkerThread("t", None, TITLE),)),
    )
    async with team.atoll.ground.store.begin() as rows:
        await rows.workers.put(made)
        await rows.worker_artifacts.put(key, WorkerArtifact(TITLE, "a/b", 1, "a" * 64), now)


async def test_administrators_see_every_worker_and_nothing_of_what_it_says(atoll: World) -> None:
    team = await team_of(atoll, ann="member", bob="member", adam="admin")
    await team.organization("elsewhere")
    await team.join("eve", OrgRole.OWNER, org="elsewhere")
    await put(team, "ann", "docs")
    await put(team, "bob", "docs", failed=True)
    await put(team, "eve", "hers", org="elsewhere")
    listed = await team.call("adam", "GET", EVERY)
    assert listed.status_code == 200, listed.text
    shown = {one["owner"]: one for one in listed.json()["workers"]}
    assert set(shown) == {"ann", "bob"}
    assert (shown["ann"]["status"], shown["ann"]["heartbeat_state"]) == ("running", "fresh")
    assert (shown["ann"]["torn_down"], shown["ann"]["route"]) == (None, None)
    assert (shown["bob"]["status"], shown["bob"]["reason"]) == ("failed", "no room")
    torn_down = {"removed": ["sandbox:sb_1"], "leftovers": ["volume v: busy"]}
    assert shown["bob"]["torn_down"] == torn_down
    assert TITLE not in listed.text
    half = (await team.call("adam", "GET", EVERY, params={"limit": 1})).json()
    rest = (await team.call("adam", "GET", EVERY, params={"cursor": half["next"]})).json()
    owners = [one["owner"] for page in (half, rest) for one in page["workers"]]
    assert (sorted(owners), rest["next"]) == (["ann", "bob"], None)


async def test_workers_of_an_organization_are_shown_to_its_administrators_alone(
    atoll: World,
) -> None:
    team = await team_of(atoll, ann="member", vic="viewer", adam="admin")
    await team.organization("elsewhere")
    await team.join("eve", OrgRole.OWNER, org="elsewhere")
    await put(team, "ann", "docs")
    for who, status in (("ann", 403), ("vic", 403), ("eve", 404)):
        assert (await team.call(who, "GET", EVERY)).status_code == status
    # An administrator does not drive what is not theirs.
    assert (await team.call("adam", "GET", "/v1/workers/docs/snapshot")).status_code == 404
    assert (await team.call("adam", "GET", "/v1/workers")).json()["workers"] == []


async def test_administrators_see_where_their_workers_run_and_were_lost(atoll: World) -> None:
    team = await team_of(atoll, ann="member", adam="admin")
    await team.organization("elsewhere")
    await team.join("eve", OrgRole.OWNER, org="elsewhere")
    await _placed(team)
    listed = await team.call("adam", "GET", BACKENDS)
    assert listed.status_code == 200, listed.text
    assert listed.json()["backends"] == [
        shown("docker", "local", "local", workers=0, lost=1),
        shown("namespaces", "local", "local", workers=1, lost=0),
    ]
    hers = await team.call("eve", "GET", BACKENDS.replace("acme", "elsewhere"))
    assert hers.json()["backends"] == []
    for who, status in (("ann", 403), ("eve", 404)):
        assert (await team.call(who, "GET", BACKENDS)).status_code == status


async def test_who_runs_the_installation_sees_the_health_of_every_place(atoll: World) -> None:
    team = await team_of(atoll, ann="member")
    await _placed(team)
    now = atoll.clock.now()
    async with atoll.ground.store.begin() as rows:
        for ago, ready_ms in ((2, 300), (1, None)):
            outcome = Outcome(now - timedelta(hours=ago), ready_ms)
            await rows.routes.note(("ext.namespaces", "local"), outcome)
        for _ in range(TRIP):
            await rows.routes.note(("ext.namespaces", "eu-1"), Outcome(now - PAUSE * 2, None))
    async with client_of(atoll.url, atoll.token) as client:
        found = (await client.get(BACKENDS)).json()["backends"]
        known = (await client.get("/v1/routes/health")).json()["places"]
    half = {"attempts": 2, "success": 0.5, "p50_ms": 300, "p95_ms": 300, "breaker": "closed"}
    broken = {"attempts": TRIP, "success": 0.0, "breaker": "half_open"}
    assert found == [
        shown("docker", "local", "local", workers=0, lost=1),
        shown("namespaces", "", "eu-1", workers=0, lost=0, **broken),
        shown("namespaces", "local", "local", workers=1, lost=0, **half),
    ]
    assert [one["place"] for one in known] == ["eu-1", "local"]


def shown(backend: str, host: str, region: str, **more: Any) -> dict[str, Any]:
    """A backend as it is answered; without a health unless that is given."""
    place = {"backend": backend, "extension": f"ext.{backend}", "host": host, "region": region}
    none = dict.fromkeys(("attempts", "success", "p50_ms", "p95_ms", "breaker"))
    return {"placement": place, **none, **more}


async def _placed(team: Team) -> None:
    """A worker that runs, and one that was lost on another backend and failed since."""
    await put(team, "ann", "docs")
    await put(team, "ann", "gone", failed=True)
    await put(team, "ann", "unplaced")
    now = team.atoll.clock.now()
    wall: dict[str, Json] = {"sandbox": {"id": "sb_x", "host": "local", "region": "local"}}
    head: dict[str, Json] = {"worker_id": "gone", "epoch": 1}
    told: dict[str, Json] = {"reattached": False, "extension": "ext.docker", **wall}
    started = WorkerEventDraft("worker.started", now - timedelta(hours=30), head | told)
    lost = WorkerEventDraft("worker.lost", now - timedelta(hours=23), head | {"reason": "silent"})
    profile = Profile("p", "1.0.0", extension="ext.namespaces")
    box = replace(sandbox("wall"), profile=profile, host="local", region="local")
    async with team.atoll.ground.store.begin() as rows:
        await rows.sandboxes.insert(box)
        found = await rows.workers.get(WorkerKey("wk_ann_docs"))
        assert found is not None
        await rows.workers.put(replace(found, sandbox_id=box.id))
        await rows.worker_events.append(WorkerKey("wk_ann_gone"), (started, lost))
