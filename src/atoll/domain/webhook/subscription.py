"""Subscriptions of the Events extension of MCP (SEP-3415) that are delivered by a webhook.

Pure. What makes a webhook a subscription: the events it asks for, the credential it was made with,
and its end. Its id is derived from its key, so that the same request renews the same one.
"""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from atoll.domain.errors import Invalid
from atoll.domain.event import Event, Json
from atoll.domain.ids import OrgId, PrincipalId, TokenId, WebhookId
from atoll.domain.tool.occurrence import Wanted, cursor_of, occurrence_of

MAX_SUBSCRIPTIONS: Final = 100
"""The number of subscriptions of one person."""

SHORTEST: Final = timedelta(minutes=1)
LONGEST: Final = timedelta(days=1)
DEFAULT: Final = timedelta(hours=1)
"""The times for which a subscription is granted; what is asked for is moved into these bounds."""

OVERLAP: Final = timedelta(minutes=10)
"""The time for which a former secret signs, too, after another one came."""

HEADER: Final = "X-MCP-Subscription-Id"

_MARK: Final = "whsec_"
_KEY_BYTES: Final = range(24, 65)


@dataclass(frozen=True, slots=True)
class EventSubscription:
    """The part of a webhook that makes it a subscription. `token_id` is the token that it was made
    with and ends with, None for the home's."""

    wanted: Wanted
    expires_at: datetime
    token_id: TokenId | None = None


def subscription_id(org_id: OrgId, owner: PrincipalId, url: str, wanted: Wanted) -> WebhookId:
    """Return the id of a subscription, derived from its key. It routes, and proves nothing."""
    key = json.dumps([org_id, owner, url, wanted.kind, wanted.stream, wanted.path])
    return WebhookId(f"sub_{hashlib.sha256(key.encode()).hexdigest()[:32]}")


def checked_secret(text: str) -> str:
    """Return a secret of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. Raises
    `Invalid`."""
    try:
        key = base64.b64decode(text.removeprefix(_MARK), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(_MARK) or len(key) not in _KEY_BYTES:
        raise Invalid(f"a secret is {_MARK} and the base64 of 24 to 64 bytes", field="secret")
    return text


def granted_until(now: datetime, asked: timedelta, *, at_most: datetime | None) -> datetime:
    """Return when a subscription ends that asks for so long: never after its credential."""
    until = now + min(max(asked, SHORTEST), LONGEST)
    return until if at_most is None else min(until, at_most)


def event_message(event: Event, safe: int) -> bytes:
    """Return the message of an event. Its cursor is the position up to which everything was
    accepted or given up."""
    return message_of({**occurrence_of(event), "cursor": cursor_of(safe)})


def message_of(told: dict[str, Json]) -> bytes:
    """Return a message as JSON."""
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
