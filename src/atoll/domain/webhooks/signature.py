"""Signed messages of webhooks, by the Standard Webhooks specification (version 1.0.0).

Pure. The body is the event in its envelope, as `GET /v1/events` has it. The signature is an
HMAC-SHA256 over the event's id, the time of the attempt and the body, so that neither can be
changed and an old request cannot be sent again later. While a secret is being rotated a message
has a signature of each.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from datetime import datetime

from atoll.domain.errors import Invalid
from atoll.domain.event import Event, envelope_of
from atoll.domain.webhooks.webhook import Webhook

SIGNING_KEY_BYTES = 32
LEAST_KEY_BYTES, MOST_KEY_BYTES = 24, 64
"""The bytes of a signing key; the specification asks for 24 to 64."""

MAX_BODY = 256 * 1024
"""The bytes of a message; an event with more is a dead letter at once."""

_PREFIX = "whsec_"


def spelled_secret(key: bytes) -> str:
    """Return a signing key as receivers are given it: `whsec_` and base64."""
    return _PREFIX + base64.b64encode(key).decode()


def checked_secret(value: str) -> str:
    """Return the value of a secret as a signing secret. Raises `Invalid`, which never has the
    value."""
    try:
        key = base64.b64decode(value.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not value.startswith(_PREFIX) or not LEAST_KEY_BYTES <= len(key) <= MOST_KEY_BYTES:
        raise Invalid(
            f"a signing secret is `{_PREFIX}` and the base64 of {LEAST_KEY_BYTES} to "
            f"{MOST_KEY_BYTES} random bytes, as Standard Webhooks has it"
        )
    return value


def bound_to(webhook: Webhook, version: int) -> tuple[str, ...]:
    """Return the data that a sealed secret is bound to: it opens for its own webhook only."""
    return ("webhook", webhook.org_id, webhook.owner, webhook.id, str(version))


def body_of(event: Event) -> bytes:
    """Return the message of an event as JSON: `type`, `timestamp` and `data`, the envelope."""
    envelope = envelope_of(event)
    message = {"type": event.event_type, "timestamp": envelope["at"], "data": envelope}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def signed_headers(
    event_id: str, body: bytes, *, at: datetime, secrets: Iterable[str]
) -> Mapping[str, str]:
    """Return the three headers of a message sent at this time, with a signature of each secret."""
    seconds = str(int(at.timestamp()))
    signed = f"{event_id}.{seconds}.".encode() + body
    return {
        "webhook-id": event_id,
        "webhook-timestamp": seconds,
        "webhook-signature": " ".join(_signature(secret, signed) for secret in secrets),
    }


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
