"""Webhooks: a person's endpoint, the events it receives, and when Atoll stops posting to it.

Pure. A webhook reads its owner's events in the order of the log. Its `cursor` is the position up to
which every event was delivered, is being retried, or is a dead letter. So nothing is lost while an
endpoint is off: its backlog is the log itself.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NewType
from urllib.parse import urlsplit

from atoll.domain.errors import Invalid
from atoll.domain.event import Event, sandbox_stream
from atoll.domain.event_kind import KINDS
from atoll.domain.ids import OrgId, PrincipalId, SandboxId, SecretId
from atoll.domain.stream import check_stream
from atoll.wire.words.webhooks import MAX_FILTERS, MAX_STREAM, MAX_URL, WebhookScope

WebhookId = NewType("WebhookId", str)

STREAMS = "webhook:"
"""The prefix of the name of a webhook's own stream."""

_STREAM = re.compile(r"[a-z][a-z_-]*(?::(?:\*|[!-~]+))?")


@dataclass(frozen=True, slots=True)
class Webhook:
    """An endpoint. No filters of a kind mean every event.

    `reason` says why Atoll disabled it. `failure` and `failed_at` are of the last failure, and
    `failing_since` is the first one since the last success. `secret_version` counts rotations from
    1, `replays` how often the owner moved the cursor back. With `sandbox_id` it is the lifecycle
    webhook of that sandbox: it reads that stream alone, and ends with it. The owner's secret
    `secret_id` signs it then.
    """

    id: WebhookId
    org_id: OrgId
    owner: PrincipalId
    url: str
    event_types: tuple[str, ...]
    streams: tuple[str, ...]
    enabled: bool
    reason: str | None
    cursor: int
    secret_version: int
    created_at: datetime
    delivered_at: datetime | None = None
    failing_since: datetime | None = None
    failure: str | None = None
    failed_at: datetime | None = None
    replays: int = 0
    scope: WebhookScope = WebhookScope.OWN
    sandbox_id: SandboxId | None = None
    secret_id: SecretId | None = None

    @property
    def only_stream(self) -> str | None:
        """The one stream that a lifecycle webhook reads; None for another webhook."""
        return None if self.sandbox_id is None else sandbox_stream(self.sandbox_id)

    @property
    def stream(self) -> str:
        """The stream of events about this webhook."""
        return webhook_stream(self.id)

    @property
    def host(self) -> str:
        """The host of the endpoint; the rest of its URL may hold a key."""
        return host_of(self.url)

    def stands_as(self, other: "Webhook") -> bool:
        """Report whether the cursor is where it was, and was not moved back meanwhile."""
        return (self.cursor, self.replays) == (other.cursor, other.replays)

    def wants(self, event: Event) -> bool:
        """Report whether the event passes the filters. What happens to a webhook itself is never
        posted to it: a failing endpoint would cause its own next event."""
        if event.stream == self.stream:
            return False
        return _passes(event.event_type, self.event_types, ".") and _passes(
            event.stream, self.streams, ":"
        )


def webhook_stream(webhook_id: WebhookId) -> str:
    """Return the name of the stream of events about a webhook."""
    return f"{STREAMS}{webhook_id}"


def host_of(url: str) -> str:
    """Return the host of an endpoint's URL."""
    return urlsplit(url).hostname or ""


def lifecycle_webhook_id(sandbox_id: SandboxId) -> WebhookId:
    """Return the id of a sandbox's lifecycle webhook, which both bear in their last part."""
    return WebhookId(f"whk_{sandbox_id.partition('_')[2]}")


def checked_url(url: str, *, plain: bool = False) -> str:
    """Return the endpoint's URL. Raises `Invalid`, field `url`. With `plain` it may be http, too;
    where its host leads is checked when it is dialled."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _invalid_url("is not a URL") from None
    if len(url) > MAX_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise _invalid_url(f"has more than {MAX_URL} characters, or others than printable ASCII")
    if parts.scheme not in ({"https", "http"} if plain else {"https"}) or not host or port == 0:
        raise _invalid_url("must begin with https:// and a host")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise _invalid_url("must have neither user nor fragment")
    return url


def checked_event_types(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return event kinds, or all of a noun as `sandbox.*`, each once. Raises `Invalid`, field
    `event_types`, for one that no event has."""
    found = tuple(dict.fromkeys(patterns))
    nouns = {f"{kind.partition('.')[0]}.*" for kind in KINDS}
    for one in found:
        if one not in KINDS and one not in nouns:
            raise Invalid(
                f"there is no event kind {one[:60]!r}: docs/program/events.md lists them, and "
                "`sandbox.*` is all of a noun",
                field="event_types",
            )
    return _check_filter_count(found, "event_types")


def checked_streams(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return names of streams, or all of a kind as `sandbox:*`, each once. Raises `Invalid`, field
    `streams`."""
    found = tuple(dict.fromkeys(patterns))
    for one in found:
        if len(one) > MAX_STREAM or not _STREAM.fullmatch(one):
            raise Invalid(
                f"{one[:60]!r} is no stream: name one such as sandbox:sb_…, or all as sandbox:*",
                field="streams",
            )
        check_stream(one, patterns=True, field="streams")
    return _check_filter_count(found, "streams")


def after_success(webhook: Webhook, now: datetime) -> Webhook:
    """Return the webhook after a delivery that succeeded."""
    return replace(webhook, delivered_at=now, failing_since=None)


def disable_webhook(webhook: Webhook, reason: str) -> Webhook:
    """Return the webhook, disabled by Atoll for a reason."""
    return replace(webhook, enabled=False, reason=reason)


def enable_webhook(webhook: Webhook) -> Webhook:
    """Return the webhook, enabled: its failures count from now."""
    return replace(webhook, enabled=True, reason=None, failing_since=None)


def moved_back(webhook: Webhook, position: int) -> Webhook:
    """Return the webhook, about to read again from a position."""
    return replace(webhook, cursor=position, replays=webhook.replays + 1)


def _passes(name: str, patterns: tuple[str, ...], mark: str) -> bool:
    if not patterns or name in patterns:
        return True
    return f"{name.partition(mark)[0]}{mark}*" in patterns


def _check_filter_count(patterns: tuple[str, ...], field: str) -> tuple[str, ...]:
    if len(patterns) > MAX_FILTERS:
        raise Invalid(f"{field} has more than {MAX_FILTERS} entries: use `*`", field=field)
    return patterns


def _invalid_url(why: str) -> Invalid:
    return Invalid(f"The webhook's URL {why}.", field="url")
