"""Subscriptions of the Events extension: MCP clients name an endpoint for a kind of event.

Each is a webhook with an end, which its client renews. Its endpoint has to answer a challenge
before, so that nobody is posted to who does not want it.
"""

import hmac
import secrets
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from atoll.domain.errors import AtollError, Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.ids import WebhookId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.tool.occurrence import Wanted
from atoll.domain.webhook.signature import bound_to
from atoll.domain.webhook.subscription import (
    MAX_SUBSCRIPTIONS,
    OVERLAP,
    EventSubscription,
    checked_secret,
    granted_until,
    subscription_id,
)
from atoll.domain.webhook.webhook import Webhook, checked_url, enabled, has_ended
from atoll.ports import Transaction, Vault
from atoll.ports.store.webhooks import KeptWebhook, SealedKey
from atoll.services.ground import Ground
from atoll.services.people.tokens import is_bound, parent_of
from atoll.services.tools.bounds import CallBounds
from atoll.services.tools.event_feeds import Batch, EventFeeds
from atoll.services.webhooks.log import WebhookLog, safe_position
from atoll.services.webhooks.posting import WebhookPosting
from atoll.services.webhooks.webhooks import check_person
from atoll.wire.http.unreadable import UNREADABLE

CHALLENGE_FAILED = "challenge_failed"

_NEEDED = frozenset({Capability.EVENT_READ, Capability.WEBHOOK_MANAGE})


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a subscription: which events, to which endpoint, from when, for how long."""

    wanted: Wanted
    url: str
    secret: str
    after: int | None
    lasts: timedelta
    max_age: timedelta | None = None


@dataclass(frozen=True, slots=True)
class GrantedSubscription:
    """A subscription that was made or renewed. `position` is the place up to which its endpoint
    accepted everything. `truncated`: delivery begins later than was asked for. `was_active`:
    whether it was delivered before, None for a new one."""

    id: WebhookId
    expires_at: datetime
    position: int
    truncated: bool
    delivered_at: datetime | None = None
    was_active: bool | None = None


@dataclass(frozen=True, slots=True)
class Unverified:
    """An endpoint that did not prove that it wants messages, and the category of why."""

    reason: str


class EventSubscriptions:
    """Use cases on subscriptions. Everything raises `Forbidden` for anybody who may make no
    webhooks."""

    def __init__(
        self, ground: Ground, vault: Vault, posting: WebhookPosting, feeds: EventFeeds
    ) -> None:
        self._ground = ground
        self._vault = vault
        self._posting = posting
        self._feeds = feeds
        self._log = WebhookLog(ground)
        self._challenges = CallBounds(ground.clock)

    async def subscribe(self, caller: Principal, asked: Asked) -> GrantedSubscription | Unverified:
        """Make or renew a subscription. Raises `Invalid` for a URL or a secret that may not be,
        `LimitReached`."""
        check_subscriber(caller)
        await self._feeds.check(caller, asked.wanted)
        await self._check(asked)
        made = self._made(caller, asked)
        kept, others = await self._known(made)
        if kept is None and len(others) >= MAX_SUBSCRIPTIONS:
            raise LimitReached(f"you have {MAX_SUBSCRIPTIONS} subscriptions already: end one first")
        if kept is None and asked.url not in {one.webhook.url for one in others}:
            failed = await self._verify(self._with_key(made, asked.secret))
            if failed is not None:
                return Unverified(failed)
        begun = await self._feeds.batch(
            caller, asked.wanted, after=asked.after, limit=1, max_age=asked.max_age
        )
        granted = await self._put(replace(made, cursor=_place(begun)), asked.secret)
        truncated = begun.truncated and granted.was_active is None
        self._log.announce_change(made)
        return replace(granted, truncated=truncated)

    async def unsubscribe(self, caller: Principal, wanted: Wanted, url: str) -> None:
        """End a subscription. Raises `NotFound`."""
        check_subscriber(caller)
        named = subscription_id(caller.org_id, caller.id, url, wanted)
        async with self._ground.store.begin() as rows:
            kept = await rows.webhooks.get(named)
            if kept is None or has_ended(kept.webhook, self._ground.clock.now()):
                raise NotFound("there is no such subscription")
            await rows.webhooks.remove(named)
            await self._log.append(rows, kept.webhook, "webhook.removed", actor=caller)
        self._log.announce_change(kept.webhook)

    async def _check(self, asked: Asked) -> None:
        """Check what a client named. Raises `Invalid`."""
        checked_secret(asked.secret)
        checked_url(asked.url)
        try:
            await self._posting.check(asked.url)
        except AtollError as error:
            # Not why: whoever asks must not learn which names lead where.
            told = "the URL leads to no address that may be posted to"
            raise Invalid(told, field="url") from error

    def _made(self, caller: Principal, asked: Asked) -> Webhook:
        now, access = self._ground.clock.now(), caller.token
        until = granted_until(now, asked.lasts, at_most=access.expires_at if access else None)
        token = None if access is None else parent_of(access.origin)
        return Webhook(
            id=subscription_id(caller.org_id, caller.id, asked.url, asked.wanted),
            org_id=caller.org_id,
            owner=caller.id,
            url=asked.url,
            event_types=(),
            streams=(),
            enabled=True,
            reason=None,
            cursor=0,
            secret_version=1,
            created_at=now,
            subscription=EventSubscription(asked.wanted, until, token),
        )

    async def _known(self, made: Webhook) -> tuple[KeptWebhook | None, Sequence[KeptWebhook]]:
        """Return the subscription of the same key that is alive, and all others of its person."""
        async with self._ground.store.read() as rows:
            return await self._living(rows, made)

    async def _living(
        self, rows: Transaction, made: Webhook
    ) -> tuple[KeptWebhook | None, Sequence[KeptWebhook]]:
        now = self._ground.clock.now()
        own = [
            one
            for one in await rows.webhooks.of(made.org_id, made.owner)
            if one.webhook.subscription is not None and not has_ended(one.webhook, now)
        ]
        same = next((one for one in own if one.webhook.id == made.id), None)
        return same, [one for one in own if one is not same]

    async def _put(self, made: Webhook, secret: str) -> GrantedSubscription:
        """Store a new subscription, or renew the one that is alive. Raises `LimitReached`."""
        async with self._ground.store.begin() as rows:
            known, others = await self._living(rows, made)
            if known is None and len(others) >= MAX_SUBSCRIPTIONS:
                raise LimitReached(f"you have {MAX_SUBSCRIPTIONS} subscriptions already")
            if known is None:
                await rows.webhooks.remove(made.id)
                await rows.webhooks.put(self._with_key(made, secret))
                await self._log.append(rows, made, "webhook.created")
                return GrantedSubscription(made.id, _end(made), made.cursor, False)
            renewed = replace(enabled(known.webhook), subscription=made.subscription)
            await rows.webhooks.put(self._renewed(known, renewed, secret))
            safe, before = await safe_position(rows, renewed), known.webhook
            return GrantedSubscription(
                made.id, _end(made), safe, False, before.delivered_at, was_active=before.enabled
            )

    def _renewed(self, known: KeptWebhook, webhook: Webhook, secret: str) -> KeptWebhook:
        """Return a subscription that is renewed. A former secret signs a while longer, too."""
        newest = known.keys[0]
        held = self._vault.open(newest.sealed, bound_to(webhook, newest.version))
        if hmac.compare_digest(held.encode(), secret.encode()):
            return KeptWebhook(webhook, known.keys)
        until = self._ground.clock.now() + OVERLAP
        changed = replace(webhook, secret_version=newest.version + 1)
        (key,) = self._with_key(changed, secret).keys
        return KeptWebhook(changed, (key, replace(newest, until=until)))

    def _with_key(self, webhook: Webhook, secret: str) -> KeptWebhook:
        version = webhook.secret_version
        sealed = self._vault.seal(secret, bound_to(webhook, version))
        return KeptWebhook(webhook, (SealedKey(version, None, sealed),))

    async def _verify(self, kept: KeptWebhook) -> str | None:
        """Challenge an endpoint. Returns the category of a failure. Raises `LimitReached` after too
        many for its host."""
        nonce = secrets.token_urlsafe(32)
        with self._challenges.counted(kept.webhook.host, "challenges of an endpoint"):
            try:
                answer = await self._posting.challenge(kept, nonce)
            except AtollError as error:
                return _category(error)
        if not 200 <= answer.status < 300:
            return "http_5xx" if answer.status >= 500 else "http_4xx"
        return None if _echoed(answer.body, nonce) else CHALLENGE_FAILED


class _Echoed(msgspec.Struct):
    """The answer to a challenge."""

    challenge: str


def check_subscriber(caller: Principal) -> None:
    """Check that a caller may have events sent away. Raises `Forbidden`."""
    check_person(caller)
    if is_bound(caller) or not caller.capabilities >= _NEEDED:
        raise Forbidden(f"this needs the permissions {', '.join(sorted(_NEEDED))}")
    access = caller.token
    if access is not None and parent_of(access.origin) is None:
        # Its log-out would end it at once, and a subscription by webhook outlives connections.
        raise Forbidden("this needs a personal access token, or one that was exchanged from it")


def _place(begun: Batch) -> int:
    """Return the place before the first event that is asked for."""
    return begun.events[0].position - 1 if begun.events else begun.position


def _end(made: Webhook) -> datetime:
    subscription = made.subscription
    if subscription is None:
        raise ValueError("a subscription is asked for its end")
    return subscription.expires_at


def _echoed(body: bytes, nonce: str) -> bool:
    try:
        told = msgspec.json.decode(body, type=_Echoed)
    except UNREADABLE:
        return False
    return hmac.compare_digest(told.challenge.encode(), nonce.encode())


def _category(error: AtollError) -> str:
    """Return why an endpoint cannot be reached, in the words of the extension, and no other."""
    match error.__cause__:
        case TimeoutError():
            return "timeout"
        case ssl.SSLError() | ssl.CertificateError():
            return "tls_error"
        case _:
            return "connection_refused"
