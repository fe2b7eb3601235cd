"""Snapshots of sandboxes, what comes back as one, and forks.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.transport import Call, Pairs, Transport, api_path, get, post, query_of

SnapshotState = Literal["making", "ready", "failed", "removing"]

DiskPromise = Literal["crash", "quiesced"]

SnapshotMode = Literal["filesystem", "full"]

MemoryMode = Literal["auto", "required", "no"]

Conversation = Literal["continue", "fresh", "none"]


class AgentTurn(Shape):
    """A turn that ended: the one with this `number`, from 1, of the agent `agent_id`, which is
    an `agent`."""

    agent = fields.text()
    agent_id = fields.text()
    number = fields.number()


class Snapshot(Shape):
    """A snapshot: whose disk it is, and in which state the files are. `size` is the bytes that
    they take, `still_ms` the time for which whoever wrote inside waited. `automatic`: the
    profile had it taken, after the end of `turn` where that is one. `agent` is the one whose
    conversation is in it. `exported`: its disk is among the contents, too, from where another
    machine can bring it back."""

    snapshot_id = fields.text()
    name = fields.text()
    sandbox_id = fields.text()
    sandbox_name = fields.text()
    owner = fields.text()
    state: Field[SnapshotState] = fields.word()
    disk: Field[DiskPromise] = fields.word()
    extension = fields.text()
    host = fields.text()
    size = fields.number()
    still_ms = fields.number()
    automatic = fields.flag()
    turn = fields.one(AgentTurn)
    exported = fields.flag()
    agent = fields.text()
    branches = fields.texts()
    created_at = fields.text()
    expires_at = fields.text()


class SnapshotVerification(Shape):
    """The result of reading all that was stored for a snapshot: of `blobs`, so many are
    `damaged`, missing or changed. With one of them it does not come back."""

    snapshot_id = fields.text()
    whole = fields.flag()
    blobs = fields.number()
    damaged = fields.number()


class SnapshotPage(Shape):
    """A page of snapshots, newest first."""

    snapshots = fields.many(Snapshot)
    next = fields.text()


class Fork(Shape):
    """The copies, which are starting."""

    sandboxes = fields.many(Sandbox)


class SnapshotBody(TypedDict, total=False):
    """A snapshot to take; without `ttl` it is kept until it is removed. `memory` says whether
    what runs is to be kept, too: a backend that cannot refuses `required`."""

    name: str | None
    ttl: int | str | None
    mode: SnapshotMode
    memory: MemoryMode


class RestoreBody(TypedDict, total=False):
    """The snapshot that a sandbox is to be as again."""

    snapshot: Required[str]


class ForkBody(TypedDict, total=False):
    """Copies to make of a sandbox as it is now. With several, `name` and `branch` get a number
    each. `prompt` are words for the agent of each copy."""

    count: int
    name: str | None
    branch: str | None
    conversation: Conversation
    prompt: str | None
    ttl: int | str | None


class SandboxSnapshots:
    """Snapshots of one sandbox, and what is made of it. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def take(self, name: str, body: SnapshotBody) -> Snapshot:
        """Keep the sandbox's files as they are now. It need not stop; its name, its doors and
        its secrets are no part of it."""
        return self._transport.read(Snapshot, post("sandboxes", name, "snapshots", value=body))

    def restore(self, name: str, body: RestoreBody, *, query: Pairs = ()) -> Sandbox:
        """Bring the sandbox back as a snapshot of it was, after saving commits nobody pulled."""
        return self._transport.read(
            Sandbox, post("sandboxes", name, "restore", value=body, query=query)
        )

    def fork(self, name: str, body: ForkBody) -> Fork:
        """Make copies of the sandbox as it is now: each has its files, a branch of its own, and
        its agent's conversation, which goes on in each by itself."""
        return self._transport.read(Fork, post("sandboxes", name, "fork", value=body))


class Snapshots:
    """Snapshots that the caller may see. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, name: str | None = None, query: Pairs = ()) -> SnapshotPage:
        """Return a page of snapshots, newest first: the caller's, and those of sandboxes that
        were shared."""
        return self._transport.read_all(
            SnapshotPage, get("snapshots", query=query_of(sandbox=name) + query)
        )

    def get(self, snapshot_id: str) -> Snapshot:
        """Return a snapshot, by its id or name."""
        return self._transport.read(Snapshot, get("snapshots", snapshot_id))

    def export(self, snapshot_id: str) -> Snapshot:
        """Keep the snapshot's disk among the contents, sealed. What they have already is not
        stored again."""
        return self._transport.read(Snapshot, post("snapshots", snapshot_id, "export"))

    def verify(self, snapshot_id: str) -> SnapshotVerification:
        """Read all that was stored for an exported snapshot, and say whether it is whole."""
        return self._transport.read(SnapshotVerification, post("snapshots", snapshot_id, "verify"))

    def bring_back(self, snapshot_id: str) -> Snapshot:
        """Bring an exported snapshot's disk back to this machine, where it is gone."""
        return self._transport.read(Snapshot, post("snapshots", snapshot_id, "import"))

    def remove(self, snapshot_id: str) -> None:
        """Remove a snapshot; sandboxes that began as it keep their files."""
        self._transport.call(Call("DELETE", api_path("snapshots", snapshot_id)))
