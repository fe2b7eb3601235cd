"""The background that a person works on, as their page tells it.

An agent of a task begins before anybody looks, and asks its terminal for colours at once. The
runtime answers with those of its owner's page until somebody looks.
"""

from atoll.domain.people.principal import Principal
from atoll.services.ground import Ground
from atoll.services.policies.policy_push import PolicyPush
from atoll.wire.words.terminals import Shade


class Shades:
    """The backgrounds of all people."""

    def __init__(self, ground: Ground, policy_push: PolicyPush) -> None:
        self._ground = ground
        self._policy_push = policy_push

    async def set(self, caller: Principal, shade: Shade) -> None:
        """Set the caller's background, and tell it to the sandboxes of theirs that run."""
        async with self._ground.store.begin() as rows:
            if await rows.shades.get(caller.org_id, caller.id) is shade:
                return
            await rows.shades.put(caller.org_id, caller.id, shade)
        await self._policy_push.push_changes(caller.org_id, caller.id)
