"""Snapshots of sandboxes, what comes back as one, and forks."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import (
    FIRST_PAGE,
    NO_WAIT,
    ItemId,
    Paging,
    SandboxRef,
    Seconds,
    Waiting,
    Word,
)
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.api.sandboxes.requests import Prompt
from atoll.wire.api.sandboxes.views import SandboxView
from atoll.wire.words.sandboxes import (
    MAX_FORKS,
    Conversation,
    DiskPromise,
    MemoryMode,
    SnapshotMode,
    SnapshotState,
)

OfSandbox = Annotated[
    Annotated[str, Meta(min_length=1, max_length=200)] | None,
    Meta(description="Only those of this sandbox, by its id or name."),
]


class SnapshotBody(Request):
    """A snapshot to take; without `ttl` it is kept until it is removed. `memory` says whether what
    runs is to be kept, too: a backend that cannot refuses `required`."""

    name: Word | None = None
    ttl: Seconds | None = None
    mode: SnapshotMode = SnapshotMode.FILESYSTEM
    memory: MemoryMode = MemoryMode.AUTO


class AgentTurnView(Answer):
    """A turn that ended: the one with this `number`, from 1, of the agent `agent_id`, which is an
    `agent`."""

    agent: str
    agent_id: str
    number: int


class SnapshotView(Answer):
    """A snapshot: whose disk it is, and in which state the files are. `size` is the bytes that they
    take, `still_ms` the time for which whoever wrote inside waited. `automatic`: the profile had it
    taken, after the end of `turn` where that is one. `agent` is the one whose conversation is in
    it. `exported`: its disk is among the contents, too, from where another machine can bring it
    back."""

    snapshot_id: str
    name: str
    sandbox_id: str
    sandbox_name: str
    owner: str
    state: SnapshotState
    disk: DiskPromise
    extension: str
    host: str
    size: int
    still_ms: int
    automatic: bool
    turn: AgentTurnView | None
    exported: bool
    agent: str | None
    branches: list[str]
    created_at: str
    expires_at: str | None


class SnapshotVerification(Answer):
    """The result of reading all that was stored for a snapshot: of `blobs`, so many are `damaged`,
    missing or changed. With one of them it does not come back."""

    snapshot_id: str
    whole: bool
    blobs: int
    damaged: int


class SnapshotPage(Answer):
    """A page of snapshots, newest first."""

    snapshots: list[SnapshotView]
    next: str | None


class RestoreBody(Request):
    """The snapshot that a sandbox is to be as again."""

    snapshot: Word


class ForkBody(Request):
    """Copies to make of a sandbox as it is now. With several, `name` and `branch` get a number
    each. `prompt` are words for the agent of each copy."""

    count: Annotated[int, Meta(ge=1, le=MAX_FORKS)] = 1
    name: Word | None = None
    branch: Word | None = None
    conversation: Conversation = Conversation.CONTINUE
    prompt: Prompt | None = None
    ttl: Seconds | None = None


class ForkView(Answer):
    """The copies, which are starting."""

    sandboxes: list[SandboxView]


class SandboxSnapshots(Area):
    """Snapshots of one sandbox, and what is made of it."""

    tag = "snapshots"
    needs = "sandbox.manage"

    @operation(
        "POST /v1/sandboxes/{sandbox}/snapshots",
        name="take_snapshot",
        status=201,
        problems=(404, 409, 413, 502),
    )
    def take(self, sandbox: SandboxRef, body: SnapshotBody) -> SnapshotView:
        """Keep the sandbox's files as they are now. It need not stop; its name, its doors and its
        secrets are no part of it."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/restore",
        name="restore_sandbox",
        status=202,
        problems=(404, 409, 413),
    )
    def restore(
        self, sandbox: SandboxRef, body: RestoreBody, *, waiting: Waiting = NO_WAIT
    ) -> SandboxView:
        """Bring the sandbox back as a snapshot of it was, after saving commits nobody pulled."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/fork",
        name="fork_sandbox",
        status=202,
        needs="sandbox.create",
        problems=(404, 409, 413, 502),
    )
    def fork(self, sandbox: SandboxRef, body: ForkBody) -> ForkView:
        """Make copies of the sandbox as it is now: each has its files, a branch of its own, and its
        agent's conversation, which goes on in each by itself."""


class Snapshots(Area):
    """Snapshots that the caller may see."""

    tag = "snapshots"
    needs = "sandbox.read"

    @operation("GET /v1/snapshots", name="list_snapshots")
    def list(self, *, sandbox: OfSandbox = None, page: Paging = FIRST_PAGE) -> SnapshotPage:
        """Return a page of snapshots, newest first: the caller's, and those of sandboxes that were
        shared."""

    @operation("GET /v1/snapshots/{snapshot}", name="get_snapshot", problems=(404,))
    def get(self, snapshot: ItemId) -> SnapshotView:
        """Return a snapshot, by its id or name."""

    @operation(
        "POST /v1/snapshots/{snapshot}/export",
        name="export_snapshot",
        needs="sandbox.manage",
        problems=(404, 409, 413, 502),
    )
    def export(self, snapshot: ItemId) -> SnapshotView:
        """Keep the snapshot's disk among the contents, sealed. What they have already is not stored
        again."""

    @operation(
        "POST /v1/snapshots/{snapshot}/verify",
        name="verify_snapshot",
        needs="sandbox.manage",
        problems=(404, 409, 502),
    )
    def verify(self, snapshot: ItemId) -> SnapshotVerification:
        """Read all that was stored for an exported snapshot, and say whether it is whole."""

    @operation(
        "POST /v1/snapshots/{snapshot}/import",
        name="import_snapshot",
        needs="sandbox.manage",
        problems=(404, 409, 413, 502),
    )
    def bring_back(self, snapshot: ItemId) -> SnapshotView:
        """Bring an exported snapshot's disk back to this machine, where it is gone."""

    @operation(
        "DELETE /v1/snapshots/{snapshot}",
        name="remove_snapshot",
        status=204,
        needs="sandbox.manage",
        problems=(404, 409, 502),
    )
    def remove(self, snapshot: ItemId) -> None:
        """Remove a snapshot; sandboxes that began as it keep their files."""
