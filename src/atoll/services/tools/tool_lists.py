"""The tools of a sandbox: what agents inside have, as its people read it, and as their own agents
take it over."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from atoll.domain.errors import NotFound
from atoll.domain.people.principal import Principal, TokenAccess
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.tools.offer import ToolOffer, ToolReach, offer_of
from atoll.domain.tools.tool import Tool
from atoll.services.people.token_issuer import held_inside
from atoll.services.people.tokens import Owners, standing_for
from atoll.services.sandboxes.sandboxes import Sandboxes

Catalogue = Callable[[], Sequence[Tool]]
"""Returns every tool of this installation, sorted by name."""


class ToolLists:
    """Use cases on the tools of one sandbox. `reach` is what an administrator configured."""

    def __init__(
        self, sandboxes: Sandboxes, owners: Owners, catalogue: Catalogue, *, reach: ToolReach
    ) -> None:
        self._sandboxes = sandboxes
        self._owners = owners
        self._catalogue = catalogue
        self.reach = reach

    async def of(self, caller: Principal, ref: str) -> list[ToolOffer]:
        """Return every tool with what agents inside a sandbox have of it, by name. Raises
        `NotFound`."""
        sandbox = await self._sandboxes.get(caller, ref)
        owner = await self._owners(sandbox.org_id, sandbox.owner)
        inside = replace(caller, capabilities=frozenset()) if owner is None else owner
        bound, profile = _bind_to_sandbox(inside, sandbox), sandbox.profile.mcp
        return [offer_of(tool, bound, profile, self.reach) for tool in self._catalogue()]

    async def bound(self, caller: Principal, ref: str) -> Principal:
        """Return a caller bounded to a sandbox of theirs: it has what agents inside have. Raises
        `NotFound`."""
        sandbox = await self._sandboxes.get(caller, ref)
        own = None if caller.token is None else caller.token.sandbox_id
        owned = (sandbox.org_id, sandbox.owner) == (caller.org_id, caller.id)
        if not owned or own not in (None, sandbox.id):
            raise NotFound(f"You own no sandbox {ref[:80]!r}.")
        return _bind_to_sandbox(caller, sandbox)


def _bind_to_sandbox(owner: Principal, sandbox: Sandbox) -> Principal:
    """Return an owner with the rights that they have from inside a sandbox."""
    own = owner.token or TokenAccess("home", datetime.max.replace(tzinfo=UTC))
    return standing_for(owner, held_inside(owner, sandbox), replace(own, sandbox_id=sandbox.id))
