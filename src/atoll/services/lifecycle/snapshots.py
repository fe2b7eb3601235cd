"""Finds snapshots within a transaction. A `ref` is an id, or the name of one of the caller's."""

from atoll.domain.errors import Conflict, NotFound
from atoll.domain.ids import SnapshotId
from atoll.domain.people.principal import Principal
from atoll.domain.profile.profile import Profile
from atoll.domain.snapshots.snapshot import Snapshot, check_usable, may_see_snapshot
from atoll.ports import Transaction


async def find_snapshot(rows: Transaction, caller: Principal, ref: str) -> Snapshot:
    """Return a snapshot. Raises `NotFound`, also for one that the caller may not see."""
    snapshot = await rows.snapshots.get(SnapshotId(ref))
    snapshot = snapshot or await rows.snapshots.named(caller.org_id, caller.id, ref)
    if snapshot is None or not may_see_snapshot(caller, snapshot):
        raise NotFound(f"There is no snapshot {ref[:80]!r}: list them to see which there are.")
    return snapshot


async def find_usable_snapshot(rows: Transaction, caller: Principal, ref: str) -> Snapshot:
    """Return a snapshot that a sandbox of the caller's may begin as. Raises `NotFound`, `Conflict`,
    `Forbidden`."""
    snapshot = await find_snapshot(rows, caller, ref)
    check_usable(caller, snapshot)
    return snapshot


async def find_profile_seed(rows: Transaction, caller: Principal, profile: Profile) -> Snapshot:
    """Return the snapshot that sandboxes of a profile begin as. Raises as `find_usable_snapshot`,
    but `Conflict` for one that is not there, or that the caller may not see."""
    ref = profile.seed or ""
    try:
        return await find_usable_snapshot(rows, caller, ref)
    except NotFound as error:
        raise Conflict(
            f"Sandboxes of {profile.id} begin as snapshot {ref!r}, which was removed, or is none "
            "that you may see: name another in the profile's `seed`, or in that of the create.",
            code="seed_gone",
            field="profile",
        ) from error
