"""Lifecycle webhooks: the endpoint that a create names for the events of its sandbox.

Each is a webhook of the sandbox's owner that reads one stream. The worker serves it as it serves
the others; `lifecycle_endings` removes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from atoll.domain.errors import AtollError, Forbidden, LimitReached
from atoll.domain.ids import SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import LifecycleWebhook, Sandbox
from atoll.domain.webhooks.webhook import (
    Webhook,
    WebhookId,
    host_of,
    lifecycle_webhook_id,
    webhook_stream,
)
from atoll.ports import EventQuery, Transaction, Vault
from atoll.ports.store.webhooks import KeptWebhook
from atoll.services.ground import Ground
from atoll.services.webhooks.log import WebhookLog
from atoll.services.webhooks.posting import WebhookPosting
from atoll.services.webhooks.signing_secrets import SigningSecrets
from atoll.services.webhooks.webhooks import check_person
from atoll.wire.words.webhooks import MAX_LIFECYCLE_WEBHOOKS, LifecycleWebhookState

KINDS = ("sandbox.*",)
"""The kinds of events that are posted, of the sandbox's own stream."""

_URL = "lifecycle_webhook.url"


@dataclass(frozen=True, slots=True)
class LifecycleReport:
    """The state of a lifecycle webhook. `reason` says why it is failing or disabled, or why its
    last event was given up. The rest of its URL may hold a key, so only the host is here."""

    webhook_id: WebhookId
    host: str
    state: LifecycleWebhookState
    reason: str | None = None
    delivered_at: datetime | None = None
    failed_at: datetime | None = None


class LifecycleWebhooks:
    """The lifecycle webhooks of sandboxes."""

    def __init__(self, ground: Ground, vault: Vault, posting: WebhookPosting) -> None:
        self._ground = ground
        self._posting = posting
        self._log = WebhookLog(ground)
        self._signing = SigningSecrets(ground.store, vault)

    async def check(self, caller: Principal, wanted: LifecycleWebhook | None) -> None:
        """Check what a create names, before anything is stored. Raises `Invalid`, `Forbidden` or
        `Unavailable`, with `field`, for a URL that may not or cannot be posted to, and `Forbidden`
        for a caller who may make no webhooks."""
        if wanted is None:
            return
        check_person(caller)
        if not caller.may(Capability.WEBHOOK_MANAGE):
            raise Forbidden("you may make no webhooks here", field="lifecycle_webhook")
        try:
            await self._posting.check(wanted.url)
        except AtollError as error:
            error.field = _URL
            raise

    async def begin(self, rows: Transaction, sandbox: Sandbox, actor: Principal) -> None:
        """Make the webhook that a new sandbox names, in the transaction that stores it and before
        its first event. Announce it afterwards. Raises `Invalid` for a secret that is not there or
        cannot sign, `LimitReached`."""
        wanted = sandbox.lifecycle_webhook
        if wanted is None:
            return
        await _check_room(rows, sandbox)
        secret = await self._signing.find(rows, sandbox, wanted.secret_ref)
        webhook = Webhook(
            id=lifecycle_webhook_id(sandbox.id),
            org_id=sandbox.org_id,
            owner=sandbox.owner,
            url=wanted.url,
            event_types=KINDS,
            streams=(),
            enabled=True,
            reason=None,
            cursor=await rows.events.last_position(),
            secret_version=secret.version,
            created_at=self._ground.clock.now(),
            sandbox_id=sandbox.id,
            secret_id=secret.id,
        )
        await rows.webhooks.put(KeptWebhook(webhook, ()))
        await self._log.append(
            rows, webhook, "webhook.created", payload={"sandbox_id": sandbox.id}, actor=actor
        )

    def announce(self, sandbox: Sandbox) -> None:
        """Have the worker serve the webhook of a new sandbox, if it has one."""
        if sandbox.lifecycle_webhook is not None:
            self._log.announce_new(lifecycle_webhook_id(sandbox.id))

    async def reports(self, sandboxes: Sequence[Sandbox]) -> Mapping[SandboxId, LifecycleReport]:
        """Return what became of the lifecycle webhooks of those sandboxes that have one."""
        named = [
            (sandbox, sandbox.lifecycle_webhook.url)
            for sandbox in sandboxes
            if sandbox.lifecycle_webhook is not None
        ]
        if not named:
            return {}
        async with self._ground.store.read() as rows:
            return {sandbox.id: await _report(rows, sandbox, url) for sandbox, url in named}


async def _check_room(rows: Transaction, sandbox: Sandbox) -> None:
    """Raise `LimitReached` where the owner has too many lifecycle webhooks."""
    records = await rows.webhooks.of(sandbox.org_id, sandbox.owner)
    if sum(record.webhook.sandbox_id is not None for record in records) >= MAX_LIFECYCLE_WEBHOOKS:
        raise LimitReached(
            f"{MAX_LIFECYCLE_WEBHOOKS} webhooks of your sandboxes are not done yet: name none, or "
            "wait until their endpoints accept what they were sent.",
            code="limit_reached",
            field="lifecycle_webhook",
        )


async def _report(rows: Transaction, sandbox: Sandbox, url: str) -> LifecycleReport:
    webhook_id = lifecycle_webhook_id(sandbox.id)
    record = await rows.webhooks.get(webhook_id)
    if record is not None:
        return _report_standing(record.webhook)
    query = EventQuery(
        sandbox.org_id, sandbox.owner, webhook_stream(webhook_id), limit=1, latest=True
    )
    last = await rows.events.page(query)
    reason = last[-1].reason if last else None
    return LifecycleReport(webhook_id, host_of(url), LifecycleWebhookState.ENDED, reason)


def _report_standing(webhook: Webhook) -> LifecycleReport:
    if not webhook.enabled:
        state, reason = LifecycleWebhookState.DISABLED, webhook.reason
    elif webhook.failing_since is not None:
        state, reason = LifecycleWebhookState.FAILING, webhook.failure
    else:
        state, reason = LifecycleWebhookState.DELIVERING, None
    return LifecycleReport(
        webhook.id, webhook.host, state, reason, webhook.delivered_at, webhook.failed_at
    )
