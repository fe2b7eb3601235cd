"""Webhooks, as their owners make, change, test and remove them.

A secret is returned once, by the call that makes it. A new webhook receives what is appended from
then on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from atoll.domain.errors import Conflict, Forbidden, LimitReached, NotFound
from atoll.domain.event import Json
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.principal import Principal
from atoll.domain.webhooks.delivery import MAX_UNFINISHED, UNFINISHED, renew_delivery
from atoll.domain.webhooks.signature import bound_to, spelled_secret
from atoll.domain.webhooks.webhook import (
    Webhook,
    WebhookId,
    checked_event_types,
    checked_streams,
    enable_webhook,
)
from atoll.ports import Transaction, Vault
from atoll.ports.store.webhooks import KeptWebhook, SealedKey
from atoll.services.ground import Ground
from atoll.services.webhooks.log import WebhookLog, reading
from atoll.services.webhooks.named_streams import check_named_streams
from atoll.services.webhooks.posting import WebhookPosting
from atoll.wire.words.events import ActorKind
from atoll.wire.words.webhooks import DEFAULT_OVERLAP, MAX_WEBHOOKS, DeliveryState, WebhookScope


@dataclass(frozen=True, slots=True)
class WebhookChange:
    """A change of a webhook; None leaves what is there."""

    url: str | None = None
    event_types: tuple[str, ...] | None = None
    streams: tuple[str, ...] | None = None
    enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class WebhookReport:
    """A webhook, and how many deliveries it has in each state."""

    webhook: Webhook
    retrying: int = 0
    replaying: int = 0
    dead: int = 0


@dataclass(frozen=True, slots=True)
class EndpointTest:
    """Result of a test: the event that was posted, and why it was not accepted."""

    event_id: str
    reason: str | None


class Webhooks:
    """The webhooks of the caller. A foreign one is `NotFound`, like one that is missing."""

    def __init__(self, ground: Ground, vault: Vault, posting: WebhookPosting) -> None:
        self._ground = ground
        self._vault = vault
        self._posting = posting
        self._log = WebhookLog(ground)

    async def create(
        self,
        caller: Principal,
        url: str,
        *,
        event_types: tuple[str, ...] = (),
        streams: tuple[str, ...] = (),
        scope: WebhookScope = WebhookScope.OWN,
    ) -> tuple[WebhookReport, str]:
        """Return a new webhook and its secret. Raises `Invalid` with `field`, `Forbidden`,
        `Unavailable` for a URL that may not or cannot be posted to, `LimitReached`, and `Forbidden`
        for one of the organization by somebody who is no administrator of it."""
        check_person(caller)
        types, names = checked_event_types(event_types), checked_streams(streams)
        await self._posting.check(url)
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            if len(await _list_own(rows, caller)) >= MAX_WEBHOOKS:
                raise LimitReached(f"You have {MAX_WEBHOOKS} webhooks already: remove one first.")
            webhook = Webhook(
                id=WebhookId(self._ground.ids.new("whk")),
                org_id=caller.org_id,
                owner=caller.id,
                url=url,
                event_types=types,
                streams=names,
                enabled=True,
                reason=None,
                cursor=await rows.events.last_position(),
                secret_version=1,
                created_at=now,
                scope=scope,
            )
            query = await reading(rows, webhook)
            if query is not None:
                await check_named_streams(rows, query, webhook.streams)
            elif scope is WebhookScope.ORGANIZATION:
                raise Forbidden("only an administrator of a team makes webhooks of the team")
            key, secret = self._new_key(webhook)
            await rows.webhooks.put(KeptWebhook(webhook, (key,)))
            await self._log.append(rows, webhook, "webhook.created", actor=caller)
        self._log.announce_change(webhook)
        return WebhookReport(webhook), secret

    async def list(self, caller: Principal) -> list[WebhookReport]:
        """Return the caller's webhooks, oldest first. Those of sandboxes are theirs alone."""
        async with self._ground.store.read() as rows:
            return [
                _report(record.webhook, await rows.webhook_deliveries.counts(record.webhook.id))
                for record in await _list_own(rows, caller)
            ]

    async def get(self, caller: Principal, webhook_id: str) -> WebhookReport:
        """Return one of the caller's webhooks. Raises `NotFound`."""
        async with self._ground.store.read() as rows:
            # The counts first: a delivery that they count is known to the webhook that follows.
            counts = await rows.webhook_deliveries.counts(WebhookId(webhook_id))
            return _report((await find_own_webhook(rows, caller, webhook_id)).webhook, counts)

    async def change(
        self, caller: Principal, webhook_id: str, change: WebhookChange
    ) -> WebhookReport:
        """Change a webhook. New filters apply to what was not read yet. One that is enabled goes on
        where it stopped. Raises as `create` does, `NotFound`, and `Conflict` for more than that of
        a sandbox's."""
        check_person(caller)
        if change.url is not None:
            await self._posting.check(change.url)
        async with self._ground.store.begin() as rows:
            record = await find_own_webhook(rows, caller, webhook_id)
            if (change.url, change.event_types, change.streams) != (None, None, None):
                _check_not_of_sandbox(record.webhook, "made for another endpoint or other events")
            webhook = _apply_change(record.webhook, change)
            query = await reading(rows, webhook)
            if query is not None:
                added = set(webhook.streams) - set(record.webhook.streams)
                await check_named_streams(rows, query, sorted(added))
            if webhook != record.webhook:
                await rows.webhooks.put(replace(record, webhook=webhook))
                if webhook.enabled and not record.webhook.enabled:
                    await self._renew(rows, webhook)
                payload: dict[str, Json] = {"enabled": webhook.enabled}
                await self._log.append(
                    rows, webhook, "webhook.changed", payload=payload, actor=caller
                )
            report = _report(webhook, await rows.webhook_deliveries.counts(webhook.id))
        self._log.announce_change(webhook)
        return report

    async def remove(self, caller: Principal, webhook_id: str) -> None:
        """Remove a webhook, its secrets and its dead letters. Raises `NotFound`."""
        check_person(caller)
        async with self._ground.store.begin() as rows:
            webhook = (await find_own_webhook(rows, caller, webhook_id)).webhook
            await rows.webhooks.remove(webhook.id)
            await self._log.append(rows, webhook, "webhook.removed", actor=caller)
        self._log.announce_change(webhook)

    async def rotate(
        self, caller: Principal, webhook_id: str, *, overlap: timedelta = DEFAULT_OVERLAP
    ) -> tuple[WebhookReport, str]:
        """Return the webhook and its new secret. The former one signs, too, for the time of
        `overlap`; one before that signs no longer. Raises `NotFound`, `Conflict` for that of a
        sandbox, which a secret of its owner signs."""
        check_person(caller)
        until = self._ground.clock.now() + overlap
        async with self._ground.store.begin() as rows:
            record = await find_own_webhook(rows, caller, webhook_id)
            _check_not_of_sandbox(record.webhook, "rotated: rotate the secret that it names")
            version = record.webhook.secret_version + 1
            webhook = replace(record.webhook, secret_version=version)
            key, secret = self._new_key(webhook)
            former = (replace(record.keys[0], until=until),) if overlap else ()
            await rows.webhooks.put(KeptWebhook(webhook, (key, *former)))
            payload: dict[str, Json] = {"version": version, "until": until.isoformat()}
            await self._log.append(rows, webhook, "webhook.rotated", payload=payload, actor=caller)
            report = _report(webhook, await rows.webhook_deliveries.counts(webhook.id))
        self._log.announce(webhook)
        return report, secret

    async def test(self, caller: Principal, webhook_id: str) -> EndpointTest:
        """Post an event `webhook.tested` now, once, also to a webhook that is disabled. It passes
        no filter and waits for nothing. Raises `NotFound`."""
        check_person(caller)
        async with self._ground.store.begin() as rows:
            record = await find_own_webhook(rows, caller, webhook_id)
            event = await self._log.append(rows, record.webhook, "webhook.tested", actor=caller)
        self._log.announce(record.webhook)
        failure = await self._posting.post(record, event)
        return EndpointTest(event.id, None if failure is None else failure.reason)

    async def _renew(self, rows: Transaction, webhook: Webhook) -> None:
        """Make due at once what waited for its next attempt."""
        waiting = await rows.webhook_deliveries.of(
            webhook.id, states=UNFINISHED, after=0, limit=MAX_UNFINISHED
        )
        for delivery in waiting:
            await rows.webhook_deliveries.put(renew_delivery(delivery, self._ground.clock.now()))

    def _new_key(self, webhook: Webhook) -> tuple[SealedKey, str]:
        secret = spelled_secret(self._ground.ids.signing_key())
        sealed = self._vault.seal(secret, bound_to(webhook, webhook.secret_version))
        return SealedKey(webhook.secret_version, None, sealed), secret


def check_person(caller: Principal) -> None:
    """Raise `Forbidden` for anybody but a person: an agent may not send its owner's log away."""
    if caller.kind is not ActorKind.PERSON or caller.guest_access is not None:
        raise Forbidden("only a person may change webhooks")


async def find_own_webhook(rows: Transaction, caller: Principal, webhook_id: str) -> KeptWebhook:
    """Return a webhook of the caller's. Raises `NotFound`."""
    record = await rows.webhooks.get(WebhookId(webhook_id))
    if record is None or (record.webhook.org_id, record.webhook.owner) != (
        caller.org_id,
        caller.id,
    ):
        raise NotFound(f"You have no webhook {webhook_id[:80]!r}: list them to see.")
    return record


async def remove_all(
    rows: Transaction, ground: Ground, whose: tuple[OrgId, PrincipalId], *, actor: Principal
) -> None:
    """Remove the webhooks of somebody who is gone, in the caller's transaction. Announce `WEBHOOKS`
    after it."""
    for record in await rows.webhooks.of(*whose):
        await rows.webhooks.remove(record.webhook.id)
        await WebhookLog(ground).append(rows, record.webhook, "webhook.removed", actor=actor)


async def _list_own(rows: Transaction, caller: Principal) -> Sequence[KeptWebhook]:
    """Return the webhooks that a person made, oldest first."""
    records = await rows.webhooks.of(caller.org_id, caller.id)
    return [record for record in records if record.webhook.sandbox_id is None]


def _check_not_of_sandbox(webhook: Webhook, act: str) -> None:
    if webhook.sandbox_id is not None:
        raise Conflict(f"The webhook of sandbox {webhook.sandbox_id} cannot be {act}.")


def _apply_change(webhook: Webhook, change: WebhookChange) -> Webhook:
    """Return the webhook after a change. Raises `Invalid`."""
    if change.enabled is not None and change.enabled != webhook.enabled:
        webhook = enable_webhook(webhook) if change.enabled else replace(webhook, enabled=False)
    types, streams = change.event_types, change.streams
    return replace(
        webhook,
        url=webhook.url if change.url is None else change.url,
        event_types=webhook.event_types if types is None else checked_event_types(types),
        streams=webhook.streams if streams is None else checked_streams(streams),
    )


def _report(webhook: Webhook, counts: Mapping[DeliveryState, int]) -> WebhookReport:
    return WebhookReport(
        webhook,
        retrying=counts.get(DeliveryState.RETRYING, 0),
        replaying=counts.get(DeliveryState.REPLAYING, 0),
        dead=counts.get(DeliveryState.DEAD, 0),
    )
