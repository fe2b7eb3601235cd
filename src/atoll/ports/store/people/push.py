"""Browsers that receive push notifications."""

from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.push import PushSubscription, PushSubscriptionId


class PushRows(Protocol):
    """Push subscriptions. An endpoint is one browser: no two rows of a person have the same."""

    async def put(self, subscription: PushSubscription) -> None:
        """Add a subscription, in place of the person's earlier one with the same endpoint."""
        ...

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[PushSubscription]:
        """Return a person's subscriptions, oldest first."""
        ...

    async def owners(self) -> list[tuple[OrgId, PrincipalId]]:
        """Return everybody with a subscription."""
        ...

    async def remove(self, subscription_id: PushSubscriptionId) -> None:
        """Remove a subscription; a missing one is not an error."""
        ...
