"""Deliveries: events that an endpoint did not accept, and when they are posted again.

Pure. An event that is accepted at once has no delivery. One that fails is retried, and the later
events of its stream wait for it; other streams go on. After the last attempt it is a dead letter
and its stream goes on, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from atoll.domain.event import Event
from atoll.domain.ids import EventId
from atoll.domain.webhooks.webhook import STREAMS, Webhook, WebhookId, disable_webhook
from atoll.wire.words.webhooks import DeliveryState

MAX_ATTEMPTS = 10
FIRST_CEILING = timedelta(seconds=10)
GROWTH = 4
LAST_CEILING = timedelta(hours=6)
"""The wait before another attempt is random below a ceiling, which grows fourfold from 10 seconds
to 6 hours ("full jitter"): ten attempts take at most a day, half of it on average."""

MAX_HELD = 100
"""Streams of a webhook that may wait for a retry; with more, nothing new is read from the log."""

MAX_COPY = 16 * 1024
"""The bytes of a message that is kept with its delivery, for when its event is removed from the
log."""

MAX_DEAD_AGE = timedelta(days=30)
"""The time for which a dead letter is kept."""

MAX_DEAD = 1000
"""Dead letters of one webhook; with so many it is disabled, and its backlog stays in the log."""

GIVE_UP_AFTER = timedelta(days=3)
"""The time without one success after which a failing webhook is disabled."""

_GONE = 410


UNFINISHED = frozenset({DeliveryState.RETRYING, DeliveryState.REPLAYING})
"""The states of deliveries that are posted again."""

MAX_UNFINISHED = 4 * MAX_DEAD
"""More unfinished deliveries than a webhook can have."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event that is not delivered to a webhook. `next_at` is the time of the next attempt, None
    for a dead letter. `reason` says why the last attempt failed; None before the first one. `copy`
    is the message, once an attempt failed and where it is not too large."""

    webhook_id: WebhookId
    event_id: EventId
    event_type: str
    stream: str
    position: int
    state: DeliveryState
    attempts: int
    next_at: datetime | None
    reason: str | None
    failed_at: datetime | None
    copy: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """An endpoint's answer: its status, and the time it asks to wait for (RFC 9110 §10.2.3)."""

    status: int
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of one attempt. `final`: another attempt cannot succeed. `gone`: the endpoint wants
    no more events."""

    reason: str
    retry_after: timedelta | None = None
    final: bool = False
    gone: bool = False


def failure_of(host: str, receipt: Receipt) -> Failure | None:
    """Return what an answer means: None for a success (2xx), as the specification has it."""
    status = receipt.status
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return Failure(f"{host} answered {status}: redirects are not followed.")
    if status == _GONE:
        return Failure(f"{host} answered 410: it wants no more events.", gone=True)
    return Failure(f"{host} answered {status}.", receipt.retry_after)


def new_delivery(webhook_id: WebhookId, event: Event, now: datetime) -> Delivery:
    """Return the delivery of an event that its stream waits for, due at once."""
    return Delivery(
        webhook_id=webhook_id,
        event_id=event.id,
        event_type=event.event_type,
        stream=event.stream,
        position=event.position,
        state=DeliveryState.RETRYING,
        attempts=0,
        next_at=now,
        reason=None,
        failed_at=None,
    )


def after_attempt(
    delivery: Delivery, failure: Failure, now: datetime, *, chance: float
) -> Delivery:
    """Return the delivery after an attempt that failed. `chance` is random, in 0 to 1."""
    attempts = delivery.attempts + 1
    tried = replace(delivery, attempts=attempts, reason=failure.reason, failed_at=now)
    if failure.final or attempts >= MAX_ATTEMPTS:
        return replace(tried, state=DeliveryState.DEAD, next_at=None)
    wait = ceiling(attempts) * chance
    asked = min(failure.retry_after or timedelta(), LAST_CEILING)
    return replace(tried, next_at=now + max(wait, asked))


def with_copy(delivery: Delivery, message: bytes) -> Delivery:
    """Return the delivery with a copy of its message, unless that is too large."""
    if delivery.copy is not None or len(message) > MAX_COPY:
        return delivery
    return replace(delivery, copy=message.decode())


def is_old(delivery: Delivery, now: datetime) -> bool:
    """Report whether a dead letter is kept no longer."""
    return delivery.failed_at is not None and now - delivery.failed_at > MAX_DEAD_AGE


def after_failure(webhook: Webhook, failure: Failure, now: datetime, *, dead: int) -> Webhook:
    """Return the webhook after an attempt that failed, with so many dead letters now. It is
    disabled when it wants no more, has too many dead letters, or had no success for three days."""
    since, last = webhook.failing_since or now, f"The last reason: {failure.reason}"
    failing = replace(webhook, failing_since=since, failure=failure.reason, failed_at=now)
    if failure.gone:
        return disable_webhook(failing, failure.reason)
    if dead >= MAX_DEAD:
        return disable_webhook(failing, f"{dead} events could not be delivered. {last}")
    if now - since >= GIVE_UP_AFTER:
        return disable_webhook(
            failing, f"No delivery succeeded for {GIVE_UP_AFTER.days} days. {last}"
        )
    return failing


def ceiling(attempts: int) -> timedelta:
    """Return the longest wait after so many attempts."""
    grown: int = GROWTH ** (attempts - 1)
    return min(FIRST_CEILING * grown, LAST_CEILING)


def replay_delivery(delivery: Delivery, now: datetime) -> Delivery:
    """Return a dead letter that is sent again, with all its attempts."""
    return renew_delivery(replace(delivery, state=DeliveryState.REPLAYING), now)


def renew_delivery(delivery: Delivery, now: datetime) -> Delivery:
    """Return a delivery that is due now, with all its attempts."""
    return replace(delivery, attempts=0, next_at=now)


def in_turn(deliveries: Iterable[Delivery]) -> list[Delivery]:
    """Return the deliveries whose turn it is: of each stream the oldest that is retried, and the
    oldest that is replayed. Dead letters have no turn."""
    first: dict[tuple[str, str], Delivery] = {}
    for one in sorted(deliveries, key=lambda each: each.position):
        if one.next_at is not None:
            first.setdefault((one.state, one.stream), one)
    return list(first.values())


def is_told(delivery: Delivery) -> bool:
    """Report whether the failure of a delivery is an event. Failures to deliver events about
    webhooks are not: two webhooks that fail would report each other without end."""
    return not delivery.stream.startswith(STREAMS)
