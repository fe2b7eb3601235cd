"""Push subscriptions: the browsers in which a person wants to be notified while the page is closed.

What is pushed, and when, is `delivery`'s.
"""

from atoll.domain.errors import LimitReached, NotFound
from atoll.domain.people.principal import Principal
from atoll.domain.people.push import PushSubscription, PushSubscriptionId, PushTarget
from atoll.ports.senders.push import PushSender
from atoll.services.ground import Ground
from atoll.wire.words.people import MAX_SUBSCRIPTIONS


class PushSubscriptions:
    """The push subscriptions of the caller."""

    def __init__(self, ground: Ground, sender: PushSender) -> None:
        self._ground = ground
        self._sender = sender

    async def public_key(self) -> str:
        """Return the key that a browser subscribes with. Raises `Failed`."""
        return await self._sender.public_key()

    async def subscribe(self, caller: Principal, target: PushTarget) -> PushSubscription:
        """Add a browser; the same endpoint again replaces its keys. Raises `Forbidden`,
        `Unavailable` for an endpoint that may not or cannot be dialled, `LimitReached` beyond 20
        browsers."""
        await self._sender.check(target.endpoint)
        subscription = PushSubscription(
            id=PushSubscriptionId(self._ground.ids.new("push")),
            org_id=caller.org_id,
            owner=caller.id,
            target=target,
            created_at=self._ground.clock.now(),
        )
        async with self._ground.store.begin() as rows:
            subscriptions = await rows.push.of(caller.org_id, caller.id)
            others = [
                subscription
                for subscription in subscriptions
                if subscription.target.endpoint != target.endpoint
            ]
            if len(others) >= MAX_SUBSCRIPTIONS:
                raise LimitReached(
                    f"{MAX_SUBSCRIPTIONS} browsers receive your notifications already: turn them "
                    "off in one first."
                )
            await rows.push.put(subscription)
        return subscription

    async def list(self, caller: Principal) -> list[PushSubscription]:
        """Return the caller's browsers, oldest first."""
        async with self._ground.store.read() as rows:
            return await rows.push.of(caller.org_id, caller.id)

    async def unsubscribe(self, caller: Principal, subscription_id: str) -> None:
        """Remove one of the caller's browsers. Raises `NotFound`."""
        async with self._ground.store.begin() as rows:
            for subscription in await rows.push.of(caller.org_id, caller.id):
                if subscription.id == subscription_id:
                    return await rows.push.remove(subscription.id)
        raise NotFound(f"You have no push subscription {subscription_id[:80]!r}: list them to see.")
