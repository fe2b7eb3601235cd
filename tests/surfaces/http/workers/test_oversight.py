"""Every worker of an organization, for its administrators: where it is and why, and how it ended;
never what its agent says."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from atoll.domain.ids import OrgId, PrincipalId, WorkerKey
from atoll.domain.people.capability import OrgRole
from atoll.domain.worker.artifact import WorkerArtifact
from atoll.domain.worker.create import CreateWorker, WorkerId
from atoll.domain.worker.heartbeat import Lease
from atoll.domain.worker.lifecycle import Worker, WorkerStatus, WorkerTornDown
from atoll.domain.worker.record import WorkerRecord
from atoll.domain.worker.talk import WorkerTalk, WorkerThread
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World, world

__all__ = ["atoll"]

EVERY = "/v1/organizations/acme/workers"
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
