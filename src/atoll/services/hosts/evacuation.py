"""The evacuation of a drained host: its sandboxes move, or the reason why they stay is told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from atoll.domain.errors import AtollError, Conflict
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.routes.decision import Decision
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.ports import Extension, Transaction
from atoll.services.ground import Ground
from atoll.services.provisioning.relocation import relocating
from atoll.wire.words.sandboxes import State

_GOING = (State.DESTROYING, State.DESTROYED)


@dataclass(frozen=True, slots=True)
class Moving:
    """A sandbox whose files go to another host."""

    sandbox_id: SandboxId
    name: str
    target: str


@dataclass(frozen=True, slots=True)
class Staying:
    """A sandbox that stays, and why."""

    sandbox_id: SandboxId
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Evacuation:
    """The sandboxes that a host had. Those that move do so from now on."""

    moving: tuple[Moving, ...]
    staying: tuple[Staying, ...]


class Relocator(Protocol):
    """Beginner of relocations."""

    async def relocate(self, caller: Principal, sandbox_id: SandboxId, target: str) -> Sandbox:
        """Have the files of a stopped sandbox go to another host. Raises `Conflict`, `NotFound`."""
        ...


class Placer(Protocol):
    """Decider about another host."""

    async def elsewhere(self, rows: Transaction, sandbox: Sandbox) -> Decision:
        """Return the decision for another host of the sandbox's backend."""
        ...


class Evacuations:
    """Evacuations of hosts."""

    def __init__(
        self,
        ground: Ground,
        extensions: Mapping[str, Extension],
        *,
        placer: Placer,
        relocator: Relocator,
    ) -> None:
        self._ground = ground
        self._extensions = extensions
        self._placer = placer
        self._relocator = relocator

    async def begin(self, caller: Principal, host: str) -> Evacuation:
        """Have every sandbox of a host move that can."""
        async with self._ground.store.read() as rows:
            there = await rows.hosts.sandboxes(host)
        moving, staying = [], []
        for sandbox in there:
            if sandbox.state in _GOING:
                continue
            try:
                target = await self._move_sandbox(caller, sandbox)
            except AtollError as err:
                staying.append(Staying(sandbox.id, sandbox.name, err.message))
            else:
                moving.append(Moving(sandbox.id, sandbox.name, target))
        return Evacuation(tuple(moving), tuple(staying))

    async def _move_sandbox(self, caller: Principal, sandbox: Sandbox) -> str:
        """Have one move, and return its new host. Raises `Conflict`, `Failed` with the reason why
        it stays."""
        relocation = sandbox.relocation
        if relocation is not None and relocation.source == sandbox.host:
            return relocation.target
        if sandbox.state in RUNNING:
            raise Conflict("it runs: stop it first")
        if sandbox.state is State.FAILED:
            raise Conflict("it failed, and its programs may still run there: start and stop it")
        extension = self._extensions.get(sandbox.profile.extension)
        if extension is None:
            raise Conflict(f"{sandbox.profile.extension} is not installed")
        relocating(extension)
        async with self._ground.store.read() as rows:
            decision = await self._placer.elsewhere(rows, sandbox)
        chosen = decision.chosen
        if chosen is None:
            raise Conflict(_why(decision))
        await self._relocator.relocate(caller, sandbox.id, chosen.host)
        return chosen.host


def _why(decision: Decision) -> str:
    named = decision.request.host
    if named is not None:
        return f"host {named} was chosen for it by name: it goes nowhere else"
    reasons = "; ".join(
        f"{verdict.candidate.host or verdict.candidate.extension}: {', '.join(verdict.reasons)}"
        for verdict in decision.verdicts
    )
    return (
        f"no other host takes it ({reasons})" if reasons else "there is no other host of its kind"
    )
