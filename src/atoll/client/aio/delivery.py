"""A webhook's delivery as its receiver reads it: verified by the Standard Webhooks specification.

Nothing is asked of a server here; docs/program/webhooks.md has the same in ten lines without us.
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from typing import Final

from atoll.client.fields import Shape
from atoll.client.made.events import Event
from atoll.domain.errors import AtollError, Unauthenticated

TOLERANCE_SECONDS: Final = 300
"""The distance that the time of a delivery may have from ours: an older one may be a replay."""

_NOT_GENUINE = "this delivery is not signed with the webhook's secret: answer it with 401"


def read_delivery(
    secret: str | Iterable[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: float | None = None,
) -> Event:
    """Return the event of a delivery that is signed with one of the secrets, and new.

    Raises `Unauthenticated` for any other. An event may come twice: its `id` says so.
    """
    given = {name.lower(): text for name, text in headers.items()}
    at = given.get("webhook-timestamp", "")
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not at.isascii() or not at.isdecimal() or len(at) > 12:
        raise Unauthenticated(_NOT_GENUINE)
    if abs((time.time() if now is None else now) - int(at)) > TOLERANCE_SECONDS:
        raise Unauthenticated("this delivery is not from now: answer it with 401")
    signed = f"{given.get('webhook-id', '')}.{at}.".encode("utf-8", "replace") + body
    made = [_signature(key, signed) for key in secrets]
    words = given.get("webhook-signature", "").split()
    claims = [word.encode("utf-8", "replace") for word in words]
    if not any(hmac.compare_digest(signature, claim) for signature in made for claim in claims):
        raise Unauthenticated(_NOT_GENUINE)
    return _event(body)


def _event(body: bytes) -> Event:
    try:
        return Event.read(Shape.read(json.loads(body)).value.get("data"))
    except (ValueError, AtollError) as problem:
        raise Unauthenticated(_NOT_GENUINE) from problem


def _signature(secret: str, signed: bytes) -> bytes:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256))
