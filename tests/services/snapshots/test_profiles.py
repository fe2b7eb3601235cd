"""What a profile says of snapshots, where its backend keeps none."""

from dataclasses import replace
from typing import Any

import pytest

from atoll.domain.errors import NoRoute
from atoll.domain.ids import SnapshotId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox
from atoll.domain.snapshots.snapshot import snapshot_of
from atoll.testing.samples import NOW
from atoll.wire.words.sandboxes import DiskPromise, SnapshotState
from tests.services.scene import BARE, Scene, scene


async def kept(s: Scene) -> None:
    """Keep a snapshot `first`, whose backend has forgotten since how."""
    box = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))
    box = await s.sandboxes.wait(LOCAL_PERSON, box.id, timeout_seconds=30)
    made: dict[str, Any] = {"name": "first", "disk": DiskPromise.CRASH, "now": NOW}
    snapshot = snapshot_of(box, snapshot_id=SnapshotId("snap_1"), **made)
    async with s.store.begin() as rows:
        await rows.snapshots.put(replace(snapshot, state=SnapshotState.READY))


@pytest.mark.parametrize("key", ["checkpoint: {every: 1h}", "seed: first"])
async def test_backend_without_snapshots_takes_no_sandbox_of_a_profile_that_needs_them(
    key: str,
) -> None:
    async with scene() as s:
        await kept(s)
        document = BARE.replace("bare", "keeping") + key
        await s.profiles.save(LOCAL_PERSON, "keeping", document)
        with pytest.raises(NoRoute, match="it keeps no snapshots") as refused:
            await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="keeping"))
        assert f"`{key.partition(':')[0]}` asks for" in refused.value.message


async def test_profile_of_another_backend_cannot_begin_as_a_snapshot() -> None:
    async with scene() as s:
        await kept(s)
        document = BARE.replace("bare", "other").replace("in-memory", "elsewhere") + "seed: first"
        await s.profiles.save(LOCAL_PERSON, "other", document)
        with pytest.raises(NoRoute, match=r"ext\.elsewhere"):
            await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="other"))
