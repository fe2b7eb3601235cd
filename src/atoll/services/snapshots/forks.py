"""Forks: copies of a sandbox as it is now, each of which goes on by itself.

One snapshot is taken for all of them. It is theirs alone, and goes once they have begun.
"""

from dataclasses import dataclass, replace

from atoll.domain.errors import AtollError, Conflict, Forbidden, Invalid
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.naming import read_name
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox, SeedRequest
from atoll.domain.sandboxes.task import TaskRequest
from atoll.domain.snapshots.beginning import continued
from atoll.domain.snapshots.snapshot import Snapshot, check_usable
from atoll.services.contents.contents import Contents
from atoll.services.ground import Ground
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.snapshots.exports import SnapshotExports
from atoll.services.snapshots.keeper import SnapshotKeeper, SnapshotRequest
from atoll.services.snapshots.schedule import SnapshotSchedule
from atoll.services.snapshots.snapshots import Snapshots, SnapshotUpkeep
from atoll.services.snapshots.turns import TurnSnapshots
from atoll.wire.words.sandboxes import MAX_FORKS, AgentMode, Conversation, Scope

KEPT_SECONDS = 3600
"""The life of the snapshot of a fork, unless one of its copies has still to begin."""


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """A request for `count` copies. With more than one, `name` and `branch` get a number each.
    `prompt` are the words that the agent of each goes on, or begins, with."""

    count: int = 1
    name: str | None = None
    branch: str | None = None
    conversation: Conversation = Conversation.CONTINUE
    prompt: str | None = None
    ttl_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Fork:
    """A fork: its snapshot, and the copies, which are starting."""

    snapshot: Snapshot
    sandboxes: tuple[Sandbox, ...]


@dataclass(frozen=True, slots=True)
class SnapshotServices:
    """Snapshots, exports, forks, and what the leader does for them. `contents` are where exports
    lie."""

    keeper: SnapshotKeeper
    snapshots: Snapshots
    exports: SnapshotExports
    forks: "Forks"
    upkeep: SnapshotUpkeep
    schedule: SnapshotSchedule
    turns: TurnSnapshots
    contents: Contents | None = None


class Forks:
    """Use cases on forks."""

    def __init__(self, ground: Ground, snapshots: Snapshots, sandboxes: Sandboxes) -> None:
        self._ground = ground
        self._snapshots = snapshots
        self._sandboxes = sandboxes

    async def fork(self, caller: Principal, ref: str, request: ForkRequest) -> Fork:
        """Make copies of a sandbox that the caller may see; they are the caller's. All of them are
        made, or none. Raises what a snapshot and a create raise, `Forbidden` for another's sandbox
        that values of secrets were put into."""
        if caller.token is not None and caller.token.sandbox_id is not None:
            raise Forbidden("a program inside a sandbox makes no copies of it")
        _check(request)
        snapshot = await self._snapshots.take(
            caller, ref, SnapshotRequest(ttl_seconds=KEPT_SECONDS), for_forks=True
        )
        made: list[Sandbox] = []
        try:
            check_usable(caller, snapshot)
            for number in range(1, request.count + 1):
                wanted = _create_request(snapshot, request, number)
                made.append(await self._sandboxes.create(caller, wanted))
            shared = replace(snapshot, forks=tuple(sandbox.id for sandbox in made))
            async with self._ground.store.begin() as rows:
                await rows.snapshots.put(shared)
        except AtollError:
            for sandbox in made:
                await self._sandboxes.destroy(caller, sandbox.id)
            await self._snapshots.remove(caller, snapshot.id)
            raise
        return Fork(shared, tuple(made))


def _check(request: ForkRequest) -> None:
    if not 1 <= request.count <= MAX_FORKS:
        raise Invalid(f"A fork makes 1 to {MAX_FORKS} sandboxes.", field="count")
    if request.prompt is not None and request.conversation is Conversation.NONE:
        raise Invalid(
            "a prompt needs an agent: take conversation continue or fresh", field="conversation"
        )
    if request.name is not None:
        read_name(_numbered(request.name, request.count, request.count))


def _create_request(snapshot: Snapshot, request: ForkRequest, number: int) -> CreateSandbox:
    source, count = snapshot.source, request.count
    seed = SeedRequest(
        snapshot.id,
        request.conversation,
        None if request.branch is None else _numbered(request.branch, number, count),
    )
    return CreateSandbox(
        name=None if request.name is None else _numbered(request.name, number, count),
        # A sandbox of scope `agent` is the only one of its consumer.
        scope=Scope.SESSION if source.scope is Scope.AGENT else source.scope,
        ttl_seconds=request.ttl_seconds,
        task=_task(snapshot, request),
        seed=seed,
    )


def _task(snapshot: Snapshot, request: ForkRequest) -> TaskRequest | None:
    """Return the task of a copy, in the mode of the agent that goes on. Raises `Conflict` for a
    sandbox that has no agent to give it to."""
    if request.prompt is None:
        return None
    goes_on = continued(snapshot.source, request.conversation)
    if not goes_on and snapshot.source.agent is None:
        raise Conflict(f"Sandbox {snapshot.source.name} has no agent that could take a prompt.")
    machine = any(agent.mode == "machine" for agent in goes_on)
    return TaskRequest(
        request.prompt,
        AgentMode.MACHINE if machine else None,
        group=snapshot.id if request.count > 1 else None,
    )


def _numbered(text: str, number: int, count: int) -> str:
    return text if count == 1 else f"{text}-{number}"
