"""Snapshots whose disks are out of reach: what would begin as one is refused before it begins."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from atoll.domain.contents.content import ContentId
from atoll.domain.ids import SnapshotId
from atoll.domain.snapshots.snapshot import SnapshotExport
from tests.services.snapshots.exporting import FolderDisks, have_disks
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World

BASE = "/v1/sandboxes"


@pytest.fixture
def disks(atoll: World, tmp_path: Path) -> FolderDisks:
    """The disks of this server, which has none yet."""
    return have_disks(atoll.services.sandboxes._disks, atoll.ground, tmp_path)


async def call(client: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    """Return the answer to an act that is done."""
    answer = await client.post(path, json=body)
    assert answer.is_success, answer.text
    view: dict[str, Any] = answer.json()
    return view


async def begun(client: httpx.AsyncClient, disks: FolderDisks) -> tuple[str, str, Path]:
    """Return a sandbox that began as a snapshot, a snapshot of that one, and its disk."""
    trunk = (await call(client, f"{BASE}?wait=ready"))["sandbox_id"]
    first = (await call(client, f"{BASE}/{trunk}/snapshots", name="first"))["snapshot_id"]
    (disks.kept / first).write_bytes(b"disk")
    box = await call(client, f"{BASE}?wait=ready", seed={"snapshot": first})
    assert box["state"] == "ready", box
    own = await call(client, f"{BASE}/{box['sandbox_id']}/snapshots", name="own")
    return box["sandbox_id"], own["snapshot_id"], disks.kept / first


ACTS: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "restore": lambda box: (f"{BASE}/{box}/restore", {"snapshot": "own"}),
    "recreate": lambda box: (f"{BASE}/{box}/recreate", {}),
    "create": lambda _: (BASE, {"seed": {"snapshot": "own"}}),
    "profile": lambda _: (BASE, {"profile": "profile.seeded"}),
}
PROFILE = "id: profile.seeded\nversion: '1.0.0'\nextension: ext.namespaces\nseed: own\n"


@pytest.mark.parametrize("name", ACTS)
@pytest.mark.parametrize("state", ["ready", "stopped"])
async def test_snapshot_that_is_nowhere_is_refused_and_the_sandbox_stays_as_it_is(
    name: str, state: str, atoll: World, disks: FolderDisks
) -> None:
    team = await team_of(atoll, ada="member")
    async with team.client("ada") as ada:
        box, _, disk = await begun(ada, disks)
        saved = await ada.put(
            "/v1/profiles/profile.seeded",
            content=PROFILE,
            headers={"content-type": "application/yaml"},
        )
        assert saved.is_success, saved.text
        disk.unlink()
        if state == "stopped":
            await call(ada, f"{BASE}/{box}/stop?wait=true")
        before = (await ada.get(f"{BASE}/{box}")).json()
        assert before["state"] == state
        events = (await ada.get(f"/v1/events?stream=sandbox:{box}")).json()
        path, body = ACTS[name](box)
        refused = await ada.post(path, json=body)
        assert (refused.status_code, refused.json()["code"]) == (409, "snapshot_elsewhere")
        assert (await ada.get(f"{BASE}/{box}")).json() == before
        assert (await ada.get(f"/v1/events?stream=sandbox:{box}")).json() == events
        assert len((await ada.get(BASE)).json()["sandboxes"]) == 2


async def test_snapshot_that_was_exported_is_not_refused(atoll: World, disks: FolderDisks) -> None:
    team = await team_of(atoll, ada="member")
    async with team.client("ada") as ada:
        box, own, _ = await begun(ada, disks)
        async with atoll.ground.store.begin() as rows:
            snapshot = await rows.snapshots.get(SnapshotId(own))
            assert snapshot is not None
            export = SnapshotExport(ContentId("ct_gone"), 1, 1, atoll.clock.now())
            await rows.snapshots.put(replace(snapshot, export=export))
        answer = await ada.post(f"{BASE}/{box}/restore", json={"snapshot": "own"})
        assert answer.status_code == 202, answer.text


async def test_who_may_not_restore_learns_nothing_of_where_the_disk_is(
    atoll: World, disks: FolderDisks
) -> None:
    team = await team_of(atoll, ada="member", bob="member")
    async with team.client("ada") as ada, team.client("bob") as bob:
        box = (await call(ada, f"{BASE}?wait=ready", scope="shared"))["sandbox_id"]
        own = (await call(ada, f"{BASE}/{box}/snapshots"))["snapshot_id"]
        refused = await bob.post(f"{BASE}/{box}/restore", json={"snapshot": own})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        (disks.kept / own).write_bytes(b"disk")
        again = await bob.post(f"{BASE}/{box}/restore", json={"snapshot": own})
        assert again.json() == refused.json()
