"""Transitions: a stimulus is applied in one transaction with its events, which are then announced.

The only place that calls `domain.sandboxes.lifecycle.step` and stores what it decides.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from atoll.domain.errors import NotFound
from atoll.domain.event import EventDraft, Json, sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.sandboxes.instruction import (
    Append,
    Instruction,
    Provision,
    Relocate,
    Teardown,
)
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.sandbox import KEPT, LIVE, RUNNING, Sandbox
from atoll.domain.sandboxes.stimulus import ParentEnded, Stimulus, SwitchNetwork
from atoll.ports import LogLine, Transaction
from atoll.services.ground import Ground
from atoll.services.lifecycle.directory import Directory
from atoll.services.lifecycle.host_room import HostRoom
from atoll.services.lifecycle.projections import Projections
from atoll.services.lifecycle.room import SandboxRoom
from atoll.wire.words.sandboxes import State

Work = Provision | Teardown | Relocate
"""Instructions that are left to do once a transition is stored."""


Stored = tuple[Sandbox, tuple[Work, ...]]
"""A sandbox as it was stored, and the work that is left to do for it."""

Settle = Callable[[Transaction, Sandbox, Sandbox, Principal], Awaitable[None]]
"""Ends what a transition leaves without a subject, given the sandbox before and after."""

Also = Callable[[Transaction, Sandbox], Awaitable[None]]
"""A change beside a transition, given the sandbox as it was before."""


class Transitions:
    """An applier of stimuli to stored sandboxes. `changed` is called with each sandbox that
    changed."""

    def __init__(
        self,
        ground: Ground,
        directory: Directory,
        *,
        room: SandboxRoom,
        hosts: HostRoom,
        projections: Projections,
        changed: Callable[[Sandbox], None],
        settle: Settle,
    ) -> None:
        self._store, self._bus = ground.store, ground.bus
        self._clock, self._ids = ground.clock, ground.ids
        self._leadership = ground.leadership
        self._directory = directory
        self._room = room
        self._hosts = hosts
        self._projections = projections
        self._changed = changed
        self._settle = settle

    async def apply(
        self,
        sandbox_id: SandboxId,
        stimulus: Stimulus,
        *,
        actor: Principal = SYSTEM,
        lines: Sequence[LogLine] = (),
        also: Also | None = None,
        leading: bool = False,
    ) -> tuple[Stored, ...]:
        """Apply a stimulus. Returns the sandbox and the work to do, then those of its family that
        changed with it. `lines` are added to its log; `also` changes more in the same transaction,
        before the events are appended.
        Raises `NotFound`, and `Conflict` when its state does not allow the act. With `leading` it
        is the outcome of a leader's work, `Conflict` when another one leads by now."""
        async with self._store.begin() as rows:
            before = await self._read(rows, sandbox_id, leading=leading)
            after, instructions = step(before, stimulus, self._clock.now())
            after = await self._take_room(rows, before, after)
            if lines:
                await rows.logs.append(after, lines)
            await _write(rows, before, after)
            if also is not None:
                await also(rows, before)
            if after.state is State.DESTROYED and self._leadership.shared:
                await rows.logs.forget_actors(after.id)
            decided = ((after, instruction) for instruction in instructions)
            stored = [(after, await self.append(rows, decided, actor=actor))]
            await self._settle(rows, before, after, actor)
            for child, effect in await effects_on_family(rows, before, after, stimulus):
                stored.append(await self._follow(rows, child, effect, actor=actor))
        for sandbox, _ in stored:
            self.publish(sandbox)
        return tuple(stored)

    async def _follow(
        self, rows: Transaction, before: Sandbox, stimulus: Stimulus, *, actor: Principal
    ) -> Stored:
        """Apply to one of a family what follows from a change of its parent."""
        after, instructions = step(before, stimulus, self._clock.now())
        await _write(rows, before, after)
        decided = ((after, instruction) for instruction in instructions)
        work = await self.append(rows, decided, actor=actor)
        await self._settle(rows, before, after, actor)
        return after, work

    async def _take_room(self, rows: Transaction, before: Sandbox, after: Sandbox) -> Sandbox:
        """Take room for a sandbox that starts or changes its place, and return it."""
        if after.state is State.PROVISIONING and before.state is not after.state:
            after = await self._room.take(rows, after)
            await self._hosts.check(rows, after)
        elif after.state is State.PROVISIONING and _place(before) != _place(after):
            await self._hosts.admit(rows, after)
        return after

    async def _read(self, rows: Transaction, sandbox_id: SandboxId, *, leading: bool) -> Sandbox:
        if leading:
            await self._leadership.check(rows)
        sandbox = await rows.sandboxes.get(sandbox_id)
        if sandbox is None:
            raise NotFound(f"There is no sandbox {sandbox_id}.")
        return sandbox

    async def apply_within(self, rows: Transaction, sandbox: Sandbox, stimulus: Stimulus) -> None:
        """Apply a stimulus in the caller's transaction, with its events. For stimuli that cause no
        work."""
        before = await rows.sandboxes.get(sandbox.id)
        if before is None:
            return
        after, instructions = step(before, stimulus, self._clock.now())
        if after is not before:
            await rows.sandboxes.update(after)
            await self.append(
                rows, ((after, instruction) for instruction in instructions), actor=SYSTEM
            )
            self._directory.put(after)

    async def append(
        self,
        rows: Transaction,
        decided: Iterable[tuple[Sandbox, Instruction]],
        *,
        actor: Principal,
    ) -> tuple[Work, ...]:
        """Append the events among the instructions, each with its sandbox as it then was;
        returns the others, which are owed by whoever leads."""
        drafts: list[EventDraft] = []
        work: list[Work] = []
        for sandbox, instruction in decided:
            match instruction:
                case Append():
                    drafts.append(self._draft(sandbox, instruction, actor))
                case Provision() | Teardown() | Relocate():
                    work.append(instruction)
                    if self._leadership.shared:
                        ending = isinstance(instruction, Teardown) and instruction.keep_state
                        await rows.replicas.owe(sandbox.id, ending=ending)
        if drafts:
            await self._projections.follow(rows, await rows.events.append(drafts))
        return tuple(work)

    def publish(self, sandbox: Sandbox) -> None:
        """Announce a changed sandbox to all that wait for it."""
        self._directory.put(sandbox)
        self._changed(sandbox)
        self._bus.announce((sandbox_stream(sandbox.id),))

    def _draft(self, sandbox: Sandbox, append: Append, actor: Principal) -> EventDraft:
        payload: dict[str, Json] = {
            "sandbox_id": sandbox.id,
            "name": sandbox.name,
            "generation": sandbox.generation,
            "state": sandbox.state.value,
            **append.extra,
        }
        return EventDraft(
            id=self._ids.event(),
            stream=sandbox_stream(sandbox.id),
            event_type=append.event_type,
            at=self._clock.now(),
            org_id=sandbox.org_id,
            owner=sandbox.owner,
            actor=actor,
            reason=append.reason,
            payload=payload,
        )


async def _write(rows: Transaction, before: Sandbox, after: Sandbox) -> None:
    if before.state in RUNNING and after.state not in RUNNING:
        await rows.sessions.clear(after.id)
    if after is not before:
        await rows.sandboxes.update(after)


async def effects_on_family(
    rows: Transaction, before: Sandbox, after: Sandbox, stimulus: Stimulus
) -> list[tuple[Sandbox, Stimulus]]:
    """Return what a change of a sandbox causes to those that were made from inside it: they run no
    longer than it does, and a change of its network is one of theirs."""
    if before.profile.mcp.children is None:
        return []
    effect: Stimulus | None = None
    if before.state in RUNNING and after.state not in RUNNING:
        effect = ParentEnded(before.name)
    elif isinstance(stimulus, SwitchNetwork):
        effect = stimulus
    if effect is None:
        return []
    kin = await rows.sandboxes.unfinished(before.org_id, before.owner)
    return [(relative, effect) for relative in kin if _concerns(before, relative)]


def _concerns(parent: Sandbox, relative: Sandbox) -> bool:
    return parent.id in relative.ancestors and relative.state in LIVE | KEPT


def _place(sandbox: Sandbox) -> tuple[str, str, str]:
    """Return what a fallback of the first start changes."""
    return sandbox.profile.extension, sandbox.host, sandbox.region
