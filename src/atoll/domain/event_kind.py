"""Kinds of events that the log knows.

`KINDS` is the contract with readers of the log. A kind's payload may gain optional fields; any
other change needs a new version.
"""

from collections.abc import Mapping

from atoll.domain.event import Json
from atoll.domain.event_kinds.hooks import HOOKS
from atoll.domain.event_kinds.inside import INSIDE
from atoll.domain.event_kinds.kind import EventKind
from atoll.domain.event_kinds.outside import OUTSIDE
from atoll.domain.event_kinds.tools import TOOLS

KINDS: Mapping[str, EventKind] = dict((*INSIDE, *OUTSIDE, *HOOKS, *TOOLS))


def check(
    event_type: str, payload: Mapping[str, Json], kinds: Mapping[str, EventKind] = KINDS
) -> EventKind:
    """Return the kind of `event_type` among `kinds`, after comparing its payload with it.

    Raises `ValueError`: an event that does not fit is a mistake in the program, never in a request.
    """
    kind = kinds.get(event_type)
    if kind is None:
        raise ValueError(f"no event kind is called {event_type!r}: add it to domain.event_kinds")
    missing = kind.fields - payload.keys()
    if missing:
        raise ValueError(f"{event_type} lacks {', '.join(sorted(missing))}")
    unknown = payload.keys() - kind.fields - kind.optional
    if unknown and "*" not in kind.optional:
        raise ValueError(f"{event_type} does not know {', '.join(sorted(unknown))}")
    return kind
