"""Work that the stored state of a sandbox asks for, whoever decided it. Pure.

Where several control planes share a store, the one that accepts a request does not do the work. It
stores that work is owed, and the leader derives it from the state.
"""

from dataclasses import dataclass, replace

from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.instruction import Provision, Relocate, Teardown
from atoll.domain.sandboxes.sandbox import KEPT, Sandbox
from atoll.wire.words.sandboxes import State

PASSING = frozenset({State.PROVISIONING, State.DESTROYING})
"""States that a sandbox leaves only by work."""


@dataclass(frozen=True, slots=True)
class Owed:
    """Work that is owed for a sandbox. `number` grows with each further decision; `ending`: its
    processes are to be ended first, with its workspace kept."""

    sandbox_id: SandboxId
    number: int
    ending: bool


def owed_work(
    sandbox: Sandbox, *, ending: bool
) -> tuple[tuple[Sandbox, Provision | Teardown | Relocate], ...]:
    """Return the work that a stored sandbox asks for, in order, each with the sandbox as the work
    should see it."""
    number = sandbox.generation
    kept = Teardown(number, keep_state=True)
    if sandbox.state is State.DESTROYING:
        return ((sandbox, Teardown(number, keep_state=False)),)
    relocation = () if sandbox.relocation is None else ((sandbox, Relocate()),)
    if sandbox.state is State.PROVISIONING:
        work = Provision(number, renew=sandbox.renewing)
        # It was stopped and started again before anybody ended what ran. A renewal ends it itself.
        stopped = replace(sandbox, state=State.STOPPED)
        first = ((stopped, kept),) if ending and not sandbox.renewing else ()
        return (*first, (sandbox, work), *relocation)
    if ending and sandbox.state in KEPT | {State.STOPPED}:
        return ((sandbox, kept), *relocation)
    return relocation


def is_passing(sandbox: Sandbox) -> bool:
    """Report whether only work brings a sandbox out of where it is. A destruction that rests does
    not count: no work helps while its host is not trusted."""
    if sandbox.leftovers:
        return False
    return sandbox.state in PASSING or sandbox.relocation is not None
