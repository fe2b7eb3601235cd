"""Offers of tools: what the profile of a sandbox lets its agents call."""

from atoll.domain.people.principal import Principal
from atoll.domain.tool.profile_tools import ProfileTools
from atoll.services.ground import Ground


class ToolOffers:
    """Use case of callers that list or call tools."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def to(self, caller: Principal) -> ProfileTools:
        """Return what is offered to a caller. A sandbox's token is known by its sandbox; everybody
        else is bounded by their permissions alone."""
        sandbox_id = None if caller.token is None else caller.token.sandbox_id
        if sandbox_id is None:
            return ProfileTools()
        async with self._ground.store.read() as rows:
            sandbox = await rows.sandboxes.get(sandbox_id)
        return ProfileTools(enabled=False) if sandbox is None else sandbox.profile.mcp
