"""Checks of the rows of webhooks and of their deliveries."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.ids import PERSONAL_ORG, EventId, OrgId, PrincipalId
from atoll.domain.webhooks.delivery import Delivery
from atoll.domain.webhooks.webhook import Webhook, WebhookId
from atoll.ports import Sealed, Store
from atoll.ports.store.webhooks import KeptWebhook, SealedKey
from atoll.testing.samples import NOW, OWNER
from atoll.wire.words.webhooks import DeliveryState

OTHER = PrincipalId("bob")
ALL = frozenset(DeliveryState)
DEAD = frozenset({DeliveryState.DEAD})


def kept(name: str, *, owner: PrincipalId = OWNER, number: int = 0) -> KeptWebhook:
    """Return a webhook, made `number` seconds after the first, with two secrets."""
    webhook = Webhook(
        id=WebhookId(name),
        org_id=PERSONAL_ORG,
        owner=owner,
        url="https://hooks.example/ünd?a=b",
        event_types=("sandbox.*",),
        streams=("sandbox:*", "vault"),
        enabled=True,
        reason=None,
        cursor=2**40 + number,
        secret_version=2,
        created_at=NOW + timedelta(seconds=number),
        failing_since=NOW,
        failure="hooks.example answered 500.",
        failed_at=NOW,
    )
    keys = (
        SealedKey(2, None, Sealed("mk_1", b"\x00\xff", b"two")),
        SealedKey(1, NOW + timedelta(days=1), Sealed("mk_1", b"", b"one")),
    )
    return KeptWebhook(webhook, keys)


def delivery(name: str, number: int, state: DeliveryState = DeliveryState.RETRYING) -> Delivery:
    """Return a delivery of a webhook, of the event at a position."""
    dead = state is DeliveryState.DEAD
    return Delivery(
        webhook_id=WebhookId(name),
        event_id=EventId(f"ev_{number}"),
        event_type="sandbox.ready",
        stream="sandbox:sb_1",
        position=number,
        state=state,
        attempts=3,
        next_at=None if dead else NOW,
        reason="hooks.example answered 500.",
        failed_at=NOW,
    )


async def check_webhooks_are_their_owners_oldest_first(store: Store) -> None:
    """A list is of one person only; `everything` has all, by id; secrets come back as they were."""
    two, one, foreign = kept("a", number=2), kept("b", number=1), kept("c", owner=OTHER)
    async with store.begin() as rows:
        for each in (two, foreign, one):
            await rows.webhooks.put(each)
    async with store.read() as rows:
        assert await rows.webhooks.of(PERSONAL_ORG, OWNER) == [one, two]
        assert await rows.webhooks.of(OrgId("another"), OWNER) == []
        assert await rows.webhooks.everything() == [two, one, foreign]
        assert await rows.webhooks.get(two.webhook.id) == two
        assert await rows.webhooks.get(WebhookId("none")) is None


async def check_webhook_is_replaced_as_a_whole(store: Store) -> None:
    """A row holds what was put last."""
    first = kept("a")
    changed = KeptWebhook(replace(first.webhook, cursor=9, enabled=False), first.keys[:1])
    async with store.begin() as rows:
        await rows.webhooks.put(first)
        await rows.webhooks.put(changed)
    async with store.read() as rows:
        assert await rows.webhooks.everything() == [changed]


async def check_removed_webhook_takes_its_deliveries_along(store: Store) -> None:
    """The deliveries of another webhook stay; to remove what is missing is no error."""
    async with store.begin() as rows:
        for name in ("a", "b"):
            await rows.webhooks.put(kept(name))
            await rows.webhook_deliveries.put(delivery(name, 1))
    async with store.begin() as rows:
        await rows.webhooks.remove(WebhookId("a"))
        await rows.webhooks.remove(WebhookId("a"))
    async with store.read() as rows:
        assert await rows.webhooks.everything() == [kept("b")]
        assert await rows.webhook_deliveries.get(WebhookId("a"), "ev_1") is None
        assert await rows.webhook_deliveries.get(WebhookId("b"), "ev_1") == delivery("b", 1)


async def check_deliveries_come_by_position_and_state(store: Store) -> None:
    """A page begins after a position; each event has one delivery of a webhook."""
    webhook, dead = WebhookId("a"), DeliveryState.DEAD
    async with store.begin() as rows:
        for number in (30, 10, 20):
            await rows.webhook_deliveries.put(delivery("a", number))
        await rows.webhook_deliveries.put(delivery("a", 20, dead))
        await rows.webhook_deliveries.put(delivery("b", 15))
    async with store.read() as rows:
        found = await rows.webhook_deliveries.of(webhook, states=ALL, after=0, limit=2)
        assert found == [delivery("a", 10), delivery("a", 20, dead)]
        found = await rows.webhook_deliveries.of(webhook, states=ALL, after=20, limit=2)
        assert found == [delivery("a", 30)]
        found = await rows.webhook_deliveries.of(webhook, states=DEAD, after=0, limit=2)
        assert found == [delivery("a", 20, dead)]
        counts = await rows.webhook_deliveries.counts(webhook)
        assert counts == {DeliveryState.RETRYING: 2, DeliveryState.DEAD: 1}
        assert await rows.webhook_deliveries.counts(WebhookId("none")) == {}


async def check_deliveries_are_removed_one_by_one_and_after_a_position(store: Store) -> None:
    """Only those in the states that are named go; their number comes back."""
    webhook, dead = WebhookId("a"), DeliveryState.DEAD
    async with store.begin() as rows:
        for number in (10, 20, 30):
            await rows.webhook_deliveries.put(delivery("a", number))
        for number in (25, 40):
            await rows.webhook_deliveries.put(delivery("a", number, dead))
        await rows.webhook_deliveries.put(delivery("b", 50))
    async with store.begin() as rows:
        await rows.webhook_deliveries.remove(webhook, "ev_10")
        await rows.webhook_deliveries.remove(webhook, "ev_10")
        assert await rows.webhook_deliveries.remove_after(webhook, 25, states=DEAD) == 1
        assert await rows.webhook_deliveries.remove_after(webhook, 20, states=ALL) == 2
    async with store.read() as rows:
        found = await rows.webhook_deliveries.of(webhook, states=ALL, after=0, limit=9)
        assert found == [delivery("a", 20)]
        assert await rows.webhook_deliveries.get(WebhookId("b"), "ev_50") == delivery("b", 50)
