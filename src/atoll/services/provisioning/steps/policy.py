"""The policy of a sandbox in a bring-up: composed first, in force before anything runs inside."""

from dataclasses import replace

from atoll.domain.sandboxes.sandbox import Attachment
from atoll.services.policies.policies import Policies, is_far
from atoll.services.provisioning.bring_up import BringUp


class PolicyComposition:
    """The policy composed, so that a secret that is missing is reported before anything starts."""

    def __init__(self, policies: Policies) -> None:
        self._policies = policies

    async def run(self, up: BringUp) -> None:
        """Compose the policy, and forget what the runtime before was sent."""
        up.changes = self._policies.changes
        up.policy = await self._policies.compose(up.sandbox)
        self._policies.forget(up.sandbox)


class PolicyInForce:
    """The policy set in the runtime, as of now."""

    def __init__(self, policies: Policies) -> None:
        self._policies = policies

    async def run(self, up: BringUp) -> None:
        """Compose the policy again where a change or the runtime's place asks for it; set it."""
        reached = replace(up.sandbox, attachment=Attachment(address=up.reach.address))
        if up.changes != self._policies.changes or is_far(reached):
            up.policy = await self._policies.compose(reached)
        await self._policies.put(up.client, up.sandbox, up.policy)
