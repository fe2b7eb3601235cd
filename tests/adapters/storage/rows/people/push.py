"""Checks of the rows of push subscriptions."""

from datetime import timedelta

from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId
from atoll.domain.people.push import PushSubscription, PushSubscriptionId, PushTarget
from atoll.ports import Store
from atoll.testing.samples import NOW, OWNER

OTHER = PrincipalId("bob")


def subscription(
    name: str, *, endpoint: str = "", owner: PrincipalId = OWNER, number: int = 0
) -> PushSubscription:
    """Return a browser, subscribed `number` seconds after the first."""
    url = endpoint or f"https://push.example/{name}"
    return PushSubscription(
        id=PushSubscriptionId(name),
        org_id=PERSONAL_ORG,
        owner=owner,
        target=PushTarget(url, b"p" * 65, b"\x00\xff" * 8),
        created_at=NOW + timedelta(seconds=number),
    )


async def check_push_subscriptions_are_their_owners_oldest_first(store: Store) -> None:
    """Of one person only; `owners` names everybody once."""
    two, one = subscription("a", number=2), subscription("b", number=1)
    foreign = subscription("c", owner=OTHER)
    async with store.begin() as rows:
        for each in (two, one, foreign):
            await rows.push.put(each)
    async with store.read() as rows:
        assert await rows.push.of(PERSONAL_ORG, OWNER) == [one, two]
        assert await rows.push.of(OrgId("another"), OWNER) == []
        assert sorted(await rows.push.owners()) == sorted(
            [(PERSONAL_ORG, OWNER), (PERSONAL_ORG, OTHER)]
        )
    async with store.begin() as rows:
        await rows.push.remove(two.id)
        await rows.push.remove(two.id)
    async with store.read() as rows:
        assert await rows.push.of(PERSONAL_ORG, OWNER) == [one]


async def check_push_subscription_replaces_its_persons_own_of_the_endpoint(store: Store) -> None:
    """A browser that subscribes again is one browser; another person's stays."""
    url = "https://push.example/same"
    again = subscription("b", endpoint=url)
    foreign = subscription("c", endpoint=url, owner=OTHER)
    async with store.begin() as rows:
        for each in (subscription("a", endpoint=url), foreign, again):
            await rows.push.put(each)
    async with store.read() as rows:
        assert await rows.push.of(PERSONAL_ORG, OWNER) == [again]
        assert await rows.push.of(PERSONAL_ORG, OTHER) == [foreign]
