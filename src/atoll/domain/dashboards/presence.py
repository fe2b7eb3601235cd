"""Presence on a dashboard: what a person's browser says of itself, and what may be believed of it.

Pure. A browser says where its pointer is, what is selected and where it looks. Who it is, is said
by the server: `user` is written anew from the caller.
"""

import hashlib
import json
from typing import Final

from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import Principal

MAX_STATE_BYTES: Final = 4096
COLOURS: Final = (
    *("#c2410c", "#b45309", "#4d7c0f", "#15803d", "#0f766e", "#0369a1"),
    *("#4338ca", "#7e22ce", "#a21caf", "#be185d", "#b91c1c", "#475569"),
)
"""Colours of people, each readable beside white in both schemes."""

GUEST: Final = "guest "
"""The beginning of a guest's name. A name is cut at its end, so this is always seen."""

GONE: Final = "null"
"""The state of a client that is gone."""


def colour_of(person: PrincipalId) -> str:
    """Return a person's colour, the same on every dashboard."""
    return COLOURS[hashlib.sha256(person.encode()).digest()[0] % len(COLOURS)]


def presence_name(caller: Principal) -> str:
    """Return the name by which others see a person here; a guest is called one."""
    name = caller.name or caller.id
    if caller.guest_access is None or name.startswith(GUEST):
        return name
    return GUEST + name


def own_state(state: str, person: PrincipalId, name: str, *, edits: bool) -> str:
    """Return a client's state with its person in it. Who does not edit moves no items, so others
    are not shown that they do. Raises `Invalid` for what is no object, and `LimitReached` for one
    that is too large."""
    if len(state.encode()) > MAX_STATE_BYTES:
        raise LimitReached(f"a presence has more than {MAX_STATE_BYTES} bytes", code="too_large")
    try:
        found = json.loads(state, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise Invalid("a presence is no JSON", field="awareness") from error
    if found is None:
        return GONE
    if not isinstance(found, dict):
        raise Invalid("a presence is no object", field="awareness")
    if not edits:
        found.pop("drag", None)
    found["user"] = {"id": person, "name": name, "colour": colour_of(person)}
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _finite(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
