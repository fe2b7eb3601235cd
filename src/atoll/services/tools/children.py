"""Children: the sandboxes that a caller of tools acts upon.

A caller outside acts upon theirs. A caller inside a sandbox acts upon what was made from inside it
and nothing else: each act is done as a caller who reaches that one child alone.
"""

from dataclasses import dataclass, replace

from atoll.domain.errors import NotFound
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.services.ground import Ground
from atoll.services.sandboxes.cursors import read_cursor, spell_cursor
from atoll.services.sandboxes.sandboxes import Page, Sandboxes
from atoll.services.tools.wakings import sandbox_of


@dataclass(frozen=True, slots=True)
class ToolReach:
    """A caller as they reach one sandbox, and how they name it."""

    caller: Principal
    ref: str


class Children:
    """Use cases on sandboxes for callers outside and inside."""

    def __init__(self, ground: Ground, sandboxes: Sandboxes) -> None:
        self._ground = ground
        self._sandboxes = sandboxes

    async def reach(self, caller: Principal, ref: str) -> ToolReach:
        """Return the caller for an act upon a sandbox. Raises `NotFound` for a caller inside whose
        child it is not."""
        own, token = sandbox_of(caller), caller.token
        if own is None or token is None:
            return ToolReach(caller, ref)
        async with self._ground.store.read() as rows:
            sandbox = await rows.sandboxes.get(SandboxId(ref))
            if sandbox is None:
                sandbox = await rows.sandboxes.named(caller.org_id, caller.id, ref)
        if sandbox is None or not _is_child(caller, sandbox, own):
            raise NotFound(f"There is no sandbox {ref[:80]!r}: list them to see which there are.")
        return ToolReach(replace(caller, token=replace(token, sandbox_id=sandbox.id)), sandbox.id)

    async def list(self, caller: Principal, *, cursor: str | None, limit: int) -> Page:
        """Return a page of the caller's sandboxes, of a caller inside the children, newest
        first."""
        own = sandbox_of(caller)
        if own is None:
            return await self._sandboxes.list(caller, cursor=cursor, limit=limit)
        async with self._ground.store.read() as rows:
            kin = await rows.sandboxes.unfinished(caller.org_id, caller.id)
        before = None if cursor is None else read_cursor(cursor)
        children = sorted(
            (child for child in kin if _is_child(caller, child, own)), key=_age, reverse=True
        )
        rest = [child for child in children if before is None or _age(child) < before]
        page, more = tuple(rest[:limit]), len(rest) > limit
        last = page[-1] if more else None
        return Page(page, None if last is None else spell_cursor(last.created_at, last.id))


def _is_child(caller: Principal, sandbox: Sandbox, own: SandboxId) -> bool:
    theirs = (sandbox.org_id, sandbox.owner) == (caller.org_id, caller.id)
    return theirs and sandbox.parent == own


def _age(sandbox: Sandbox) -> tuple[object, SandboxId]:
    return sandbox.created_at, sandbox.id
