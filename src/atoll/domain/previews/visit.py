"""A visit: one browser's right to one preview origin, in the name of whoever made the link.

Pure. A link holds the secret of a ticket, which is good for one use. It is traded at the preview's
origin for the secret of a visit, which a cookie of that origin alone holds. Only fingerprints are
stored. `services.previews.visits` judges the right of its maker again while the visit lasts.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from atoll.domain.errors import Invalid
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.previews.preview import PreviewId
from atoll.wire.words.previews import MAX_PATH

MAX_LINK_SECONDS: Final = 86_400
VISIT_LIFE: Final = timedelta(hours=12)

MAX_VISITS: Final = 128
"""The tickets and visits of one sandbox at a time; beyond it the oldest end."""

_PATH = re.compile(r"/[\x21\x23-\x5b\x5d-\x7e]*")
"""The path after an origin: visible ASCII without quotation marks and backslashes."""


@dataclass(frozen=True, slots=True)
class PortAddress:
    """A place to open: a port of a sandbox under one of its names, and a path there. Raises
    `Invalid` for a path that leads elsewhere."""

    port: int
    label: str
    path: str = "/"
    preview_id: PreviewId | None = None

    def __post_init__(self) -> None:
        # A browser reads `//host/…` as an address of another server.
        good = _PATH.fullmatch(self.path) and not self.path.startswith("//")
        if not good or len(self.path) > MAX_PATH:
            raise Invalid("path must begin with one `/` and hold visible ASCII", field="path")


@dataclass(frozen=True, slots=True)
class Visit:
    """A ticket or a visit. `mark` is the fingerprint of its secret. `owner` made the link, with
    these capabilities; it ends with `login`, the name of the login or token it was made by."""

    mark: str
    is_ticket: bool
    org_id: OrgId
    owner: PrincipalId
    sandbox_id: SandboxId
    address: PortAddress
    login: str
    capabilities: tuple[str, ...]
    created_at: datetime
    expires_at: datetime
    login_ends_at: datetime | None = None


def link_ends(now: datetime, seconds: int, login_ends_at: datetime | None) -> datetime:
    """Return when a link made now ends: not after the token by which it is made. Raises `Invalid`
    for more than a day."""
    if not 1 <= seconds <= MAX_LINK_SECONDS:
        raise Invalid("a link lives between a second and a day", field="ttl")
    return _cap_time(now + timedelta(seconds=seconds), login_ends_at)


def open_visit(ticket: Visit, mark: str, now: datetime) -> Visit:
    """Return the visit that a ticket is traded for; `mark` is the fingerprint of its secret."""
    ends = _cap_time(now + VISIT_LIFE, ticket.login_ends_at)
    return replace(ticket, mark=mark, is_ticket=False, created_at=now, expires_at=ends)


def _cap_time(at: datetime, most: datetime | None) -> datetime:
    """Return a time, or the latest allowed one if that is earlier."""
    return at if most is None else min(at, most)
