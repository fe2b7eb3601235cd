"""Signatures of reports, by the rules of each system.

Pure. Each signs the body alone, by HMAC-SHA256 in hex. The id of a delivery is not signed, so that
a report is known again by its body as well.

Sources: Gitea's documentation of webhooks; GitHub's "Validating webhook deliveries"; Flux's
`generic-hmac` provider.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from atoll.wire.words.hooks import HookSource

_SIGNATURES = {
    HookSource.GITEA: ("x-gitea-signature", ""),
    HookSource.GITHUB: ("x-hub-signature-256", "sha256="),
    HookSource.FLUX: ("x-signature", "sha256="),
}
"""The header with the signature, and what stands before its digits."""

_DELIVERIES = {
    HookSource.GITEA: "x-gitea-delivery",
    HookSource.GITHUB: "x-github-delivery",
    HookSource.FLUX: "",
}

_EVENTS = {
    HookSource.GITEA: "x-gitea-event",
    HookSource.GITHUB: "x-github-event",
    HookSource.FLUX: "",
}

_MAX_HEADER = 200


@dataclass(frozen=True, slots=True)
class ReportMarks:
    """A report that arrived: the kind of event that its sender names (empty where it names none),
    and two marks, by either of which it is known again."""

    event: str
    marks: tuple[str, str]


def is_signed(source: HookSource, headers: Mapping[str, str], body: bytes, key: bytes) -> bool:
    """Report whether a body was signed with the key of its hook. Names of headers are lower
    case."""
    header, before = _SIGNATURES[source]
    told = headers.get(header, "")
    signed = hmac.new(key, body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(told.encode("utf-8", "replace"), f"{before}{signed}".encode())


def delivery_of(source: HookSource, headers: Mapping[str, str], body: bytes) -> ReportMarks:
    """Return what a report is known by."""
    digest = f"body:{hashlib.sha256(body).hexdigest()}"
    named = headers.get(_DELIVERIES[source], "")[:_MAX_HEADER]
    event = headers.get(_EVENTS[source], "")[:_MAX_HEADER]
    return ReportMarks(event, (digest, f"id:{named}" if named else digest))
