"""Push notifications: a browser's subscription, what a push may say, and how often.

Pure. A push leaves this machine for a push service that others run (RFC 8030). It carries the name
of a sandbox or a dashboard and one of seven fixed sentences, never text from inside.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import ip_address
from typing import NewType
from urllib.parse import urlsplit

from atoll.domain.errors import Invalid
from atoll.domain.ids import DashboardId, OrgId, PrincipalId
from atoll.wire.words.people import MAX_ENDPOINT

PushSubscriptionId = NewType("PushSubscriptionId", str)

MAX_NAME = 80

PER_WINDOW = 10
WINDOW = timedelta(minutes=1)
"""A sandbox causes at most `PER_WINDOW` pushes in a `WINDOW`."""

_PUBLIC_KEY_BYTES = 65
_AUTH_BYTES = 16


class PushReason(StrEnum):
    """Why a person is notified."""

    NEEDS_YOU = "needs_you"
    DONE = "done"
    FAILED = "failed"
    SETUP_FAILED = "setup_failed"
    PUSHED = "pushed"
    ENDS_SOON = "ends_soon"
    MENTIONED = "mentioned"


_SENTENCES: Mapping[PushReason, str] = {
    PushReason.NEEDS_YOU: "An agent needs you.",
    PushReason.DONE: "An agent is done.",
    PushReason.FAILED: "An agent failed.",
    PushReason.SETUP_FAILED: "Its set-up failed.",
    PushReason.PUSHED: "A pushed branch waits for you.",
    PushReason.ENDS_SOON: "Its time is nearly over.",
    PushReason.MENTIONED: "Somebody mentions you.",
}


@dataclass(frozen=True, slots=True)
class PushTarget:
    """A browser as a push service knows it: `endpoint` is the URL to post to, `p256dh` the
    browser's public key (65 bytes), `auth` its secret (16 bytes)."""

    endpoint: str
    p256dh: bytes = field(repr=False)
    auth: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PushSubscription:
    """A browser that a person subscribed."""

    id: PushSubscriptionId
    org_id: OrgId
    owner: PrincipalId
    target: PushTarget
    created_at: datetime


def read_target(endpoint: str, p256dh: str, auth: str) -> PushTarget:
    """Return a browser's subscription as the Push API spells it. Raises `Invalid` for an endpoint
    that is not https or has no host's name, and for broken keys."""
    return PushTarget(
        check_endpoint(endpoint),
        _key(p256dh, "p256dh", _PUBLIC_KEY_BYTES),
        _key(auth, "auth", _AUTH_BYTES),
    )


def check_endpoint(endpoint: str) -> str:
    """Return the endpoint. Raises `Invalid`. Where its host leads is checked when it is dialled."""
    try:
        parts = urlsplit(endpoint)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        raise _invalid("is not a URL") from None
    if len(endpoint) > MAX_ENDPOINT or not endpoint.isascii() or not endpoint.isprintable():
        raise _invalid(f"has more than {MAX_ENDPOINT} characters, or odd ones")
    if parts.scheme != "https" or not host or " " in endpoint:
        raise _invalid("must begin with https:// and a host")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise _invalid("must have neither user nor fragment")
    if _is_address(host):
        raise _invalid("must name its host, not an address")
    return endpoint


def origin_of(endpoint: str) -> str:
    """Return the origin of an endpoint (RFC 6454), which a VAPID token is bound to."""
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc}"


def host_of(endpoint: str) -> str:
    """Return the host of an endpoint: the push service."""
    return urlsplit(endpoint).hostname or ""


def push_reason(event_type: str, status: object = None) -> PushReason | None:
    """Return why an event is pushed; None for most. `status` is that of an agent, or
    of a set-up."""
    match event_type, status:
        case ("approval.asked", _) | ("agent.status", "needs_you"):
            return PushReason.NEEDS_YOU
        case "agent.status", "done":
            return PushReason.DONE
        case "agent.status", "failed":
            return PushReason.FAILED
        case "sandbox.setup_ended", "failed":
            return PushReason.SETUP_FAILED
        case "git.pushed", _:
            return PushReason.PUSHED
        case "sandbox.ends_soon", _:
            return PushReason.ENDS_SOON
        case "dashboard.mentioned", _:
            return PushReason.MENTIONED
        case _:
            return None


def push_message(
    name: str, reason: PushReason, board: tuple[DashboardId, str] | None = None
) -> bytes:
    """Return the content of a push about the sandbox `name`, as the service worker reads it; or
    about the dashboard of that name where `board` is its id and that of an item on it."""
    shown = "".join(one for one in name if one.isprintable())[:MAX_NAME]
    told = {"sandbox": shown, "reason": reason, "text": _SENTENCES[reason]}
    place = {} if board is None else {"dashboard": board[0], "item": board[1]}
    return json.dumps({**told, **place}).encode()


@dataclass(frozen=True, slots=True)
class PushRate:
    """The times of each sandbox's last pushes. Sandboxes without any in the last window are
    forgotten."""

    times: Mapping[str, tuple[datetime, ...]] = field(default_factory=dict)

    def admit(self, sandbox_id: str, now: datetime) -> "PushRate | None":
        """Return the rate after one more push, or None when the sandbox has had its share."""
        since = now - WINDOW
        recent = {
            one: kept
            for one, times in self.times.items()
            if (kept := tuple(at for at in times if at > since))
        }
        own = recent.get(sandbox_id, ())
        return None if len(own) >= PER_WINDOW else PushRate({**recent, sandbox_id: (*own, now)})


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _key(text: str, name: str, size: int) -> bytes:
    try:
        key = base64.urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != size:
        raise Invalid(f"{name} must be {size} bytes in base64url", field=f"keys.{name}")
    return key


def _invalid(why: str) -> Invalid:
    return Invalid(f"The push endpoint {why}: subscribe again in the browser.", field="endpoint")
