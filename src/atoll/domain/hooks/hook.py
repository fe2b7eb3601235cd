"""A hook: an address for the signed reports of one other system.

Pure. Every event it makes belongs to its owner's organization: nothing in a report says whose it
is.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NewType

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.name import printable_name
from atoll.wire.words.hooks import HookSource

HookId = NewType("HookId", str)

MAX_BODY: Final = 1024 * 1024
"""The bytes of a report."""

REMEMBERED: Final = timedelta(days=30)
"""The time for which a report is known again; the same one is taken once."""

KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook, without its secret. Raises `Invalid` for a name that cannot be shown."""

    id: HookId
    org_id: OrgId
    owner: PrincipalId
    source: HookSource
    name: str
    created_at: datetime

    def __post_init__(self) -> None:
        printable_name(self.name)


def bound_to(hook: Hook) -> tuple[str, ...]:
    """Return the data that a sealed secret is bound to: it opens for its own hook only."""
    return ("hook", hook.org_id, hook.owner, hook.id)


def stream_of(hook: Hook) -> str:
    """Return the name of the stream of a hook's events."""
    return f"hook:{hook.id}"
