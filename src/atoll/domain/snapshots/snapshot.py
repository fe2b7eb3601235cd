"""A snapshot: a sandbox's disk as it was, with the sandbox that had it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from atoll.domain.contents.content import ContentId
from atoll.domain.errors import Conflict, Forbidden, Invalid, LimitReached
from atoll.domain.ids import OrgId, PrincipalId, SandboxId, SnapshotId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.naming import read_name
from atoll.domain.sandboxes.project import forget_prebuild
from atoll.domain.sandboxes.sandbox import RUNNING, Attachment, Sandbox, keeps_files
from atoll.domain.size import spelled_size
from atoll.domain.snapshots.turns import TURN_STILL_MS, AgentTurn
from atoll.wire.words.sandboxes import DiskPromise, Scope, SnapshotState

MAX_TTL_SECONDS = 10 * 366 * 86400
UNSHARED = (
    "Contents lie in the home of each server here: `content_store` names a place that all reach."
)
RUNNING_OR_KEPT = "only one that runs, or whose files are kept, has a disk to keep"


@dataclass(frozen=True, slots=True)
class SnapshotExport:
    """A snapshot's disk among the contents of its organization: `stored` is the bytes that it took
    beside what was there. The files in it have `uid`."""

    content: ContentId
    uid: int
    stored: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Prebuild:
    """The use of a snapshot that was taken after a set-up: sandboxes of its owner with the same
    key begin as it. `repository` is the key of the one whose set-up it was, `digest` that of what
    was approved."""

    key: str
    repository: str
    digest: str
    used_at: datetime


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot.

    - `source`: the sandbox as it was, without what its backend and its runtime knew.
    - `disk`: the state of the files. `size`: the bytes they take; `still_ms`: the time for which
      whoever wrote inside waited.
    - `expires_at`: when it is removed, None for never.
    - `forks`: the sandboxes that a fork makes of it. It is theirs alone: no list shows it, and it
      goes once they have begun.
    - `export`: its disk among the contents, None where it is on the machine alone.
    - `reason`: why it failed. `automatic`: its sandbox's profile had it taken, after the end of
      `turn` where that is one.
    - `prebuild`: it was taken after a set-up, for sandboxes that would run the same one. No list
      shows it, and nobody can name it.
    """

    id: SnapshotId
    org_id: OrgId
    owner: PrincipalId
    name: str
    source: Sandbox
    disk: DiskPromise
    created_at: datetime
    state: SnapshotState = SnapshotState.MAKING
    expires_at: datetime | None = None
    size: int = 0
    still_ms: int = 0
    reason: str | None = None
    automatic: bool = False
    forks: tuple[SandboxId, ...] | None = None
    export: SnapshotExport | None = None
    prebuild: Prebuild | None = None
    turn: AgentTurn | None = None

    @property
    def longest_still_ms(self) -> int | None:
        """The longest time for which whoever writes inside waits while it is made; None for as long
        as the backend allows."""
        return None if self.turn is None else TURN_STILL_MS

    @property
    def extension(self) -> str:
        """The backend that keeps it."""
        return self.source.profile.extension


def snapshot_of(
    source: Sandbox,
    *,
    snapshot_id: SnapshotId,
    name: str | None,
    disk: DiskPromise,
    now: datetime,
    ttl_seconds: int | None = None,
    for_forks: bool = False,
    prebuild: Prebuild | None = None,
) -> Snapshot:
    """Return a snapshot that is being made. Raises `Invalid` for a name that cannot be one and a
    time that is too short or too long, `Conflict` for a sandbox without a disk."""
    if ttl_seconds is not None and not 1 <= ttl_seconds <= MAX_TTL_SECONDS:
        raise Invalid(f"ttl must lie between 1 and {MAX_TTL_SECONDS} seconds.", field="ttl")
    if not (source.attachment.address is not None or keeps_files(source)):
        raise Conflict(f"Sandbox {source.name} is {source.state}: {RUNNING_OR_KEPT}.")
    project = None if source.project is None else forget_prebuild(source.project)
    bare = replace(source, attachment=Attachment(), relocation=None, leftovers=(), project=project)
    return Snapshot(
        snapshot_id,
        source.org_id,
        source.owner,
        f"{source.name[:40]}-{now:%Y%m%d-%H%M%S}" if name is None else read_name(name),
        bare,
        disk,
        now,
        expires_at=None if ttl_seconds is None else now + timedelta(seconds=ttl_seconds),
        forks=() if for_forks else None,
        prebuild=prebuild,
    )


def end_after_sandbox(snapshot: Snapshot, now: datetime) -> Snapshot:
    """Return a snapshot that its profile had taken, as it is once its sandbox is destroyed: it is
    kept for as long as an ended sandbox of that profile. One that has an end already keeps it."""
    if snapshot.expires_at is not None:
        return snapshot
    kept = timedelta(seconds=snapshot.source.profile.ttl.retention_seconds)
    return replace(snapshot, expires_at=now + kept)


def check_runs(sandbox: Sandbox) -> None:
    """Check that a sandbox runs, before a turn in it is kept. Raises `Conflict`."""
    if sandbox.state not in RUNNING:
        raise Conflict(f"Sandbox {sandbox.name} is {sandbox.state}: a turn is kept while it runs.")


def may_see_snapshot(caller: Principal, snapshot: Snapshot) -> bool:
    """Report whether the caller may see a snapshot: that of a sandbox they own, or of one that is
    shared in the organization. A token of a sandbox sees none, and nobody one of a set-up."""
    if snapshot.org_id != caller.org_id or snapshot.prebuild is not None:
        return False
    if caller.token is not None and caller.token.sandbox_id is not None:
        return False
    return snapshot.owner == caller.id or snapshot.source.scope is Scope.SHARED


def check_may_remove(caller: Principal, snapshot: Snapshot) -> None:
    """Check that the caller is its owner or an administrator. Raises `Forbidden`."""
    if snapshot.owner != caller.id and not caller.may(Capability.ORG_MANAGE):
        raise Forbidden(
            f"Snapshot {snapshot.name} is shared with you; only its owner or an administrator may "
            "do so."
        )


def exported(snapshot: Snapshot) -> SnapshotExport:
    """Return where a snapshot's disk is among the contents. Raises `Conflict` where it is not."""
    if snapshot.export is None:
        raise Conflict(
            f"Snapshot {snapshot.name} was not exported: `atoll snapshot export {snapshot.name}` "
            "does so while its disk is on this machine.",
            code="not_exported",
        )
    return snapshot.export


def elsewhere(snapshot: Snapshot, *, shared: bool) -> Conflict:
    """Return the error for a snapshot whose disk is on another machine, and nowhere else. `shared`
    says whether other machines have the contents of this one."""
    place = "" if shared else f" {UNSHARED}"
    return Conflict(
        f"The disk of snapshot {snapshot.name} is not on this server, and was not exported: `atoll "
        f"snapshot export {snapshot.id}` on the server that has it brings it to others.{place}",
        code="snapshot_elsewhere",
    )


def check_exportable(snapshot: Snapshot) -> None:
    """Check that a snapshot may be kept among the contents. Raises `Conflict` for one that is not
    whole, and for that of a fork or a set-up, which goes by itself."""
    passing = snapshot.forks is not None or snapshot.prebuild is not None
    if snapshot.state is not SnapshotState.READY or passing:
        raise Conflict(
            f"Snapshot {snapshot.name} is {snapshot.state}: only one that is ready, and stays, can "
            "be exported."
        )


def check_disk_bound(used: int, most: int, largest: Snapshot | None) -> None:
    """Check that snapshots of an organization, which take `used` bytes, take less than `most`; 0 is
    no bound. Raises `LimitReached`, which names the `largest` that the person could remove."""
    if most != 0 and used >= most:
        raise _bound_reached(used, most, largest)


def find_outdated(used: int, most: int, taken: Sequence[Snapshot]) -> Sequence[Snapshot]:
    """Return the oldest of the snapshots that a rule has `taken`, as few as must go for those of
    the organization, which take `used` bytes, to take less than `most`; 0 is no bound. The oldest
    comes first. Raises `LimitReached` where it would not do if all of them went, with words that
    name no snapshot."""
    left = used
    for count, each in enumerate(taken):
        if most == 0 or left < most:
            return taken[:count]
        left -= each.size
    if most != 0 and left >= most:
        raise _bound_reached(used, most, None)
    return taken


def _bound_reached(used: int, most: int, largest: Snapshot | None) -> LimitReached:
    advice = (
        "ask its owners to remove some of theirs"
        if largest is None
        else f"`atoll snapshot rm {largest.name}` frees {spelled_size(largest.size)}"
    )
    return LimitReached(
        f"The snapshots of this organization take {spelled_size(used)} of {spelled_size(most)}, "
        f"which is the most (max_snapshot_gb): {advice}.",
        code="limit_reached",
    )


def check_usable(caller: Principal, snapshot: Snapshot) -> None:
    """Check that a sandbox of the caller's may begin as a snapshot. Raises `Conflict` for one that
    is not whole, `Forbidden` for another's that holds values of secrets."""
    if snapshot.state is not SnapshotState.READY:
        raise Conflict(
            f"Snapshot {snapshot.name} is {snapshot.state}: only one that is ready can be used."
        )
    if snapshot.owner != caller.id and snapshot.source.exposed_secrets:
        raise Forbidden(
            f"Values of its owner's secrets were put into {snapshot.source.name}, so only its "
            "owner may begin a sandbox as it was."
        )


def check_fits(snapshot: Snapshot, sandbox: Sandbox) -> None:
    """Check that a snapshot can come back in a sandbox: it is of the same one. Raises
    `Invalid`."""
    if snapshot.source.id != sandbox.id:
        raise Invalid(
            f"Snapshot {snapshot.name} is of {snapshot.source.name}: `atoll snapshot new "
            f"{snapshot.name}` makes a new sandbox of it",
            field="snapshot",
        )
