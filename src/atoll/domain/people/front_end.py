"""Principals that a trusted front end names by headers: its own people, or guests it let in.

Pure. The front end has authenticated them; whether it is trusted is decided before these headers
are read. A guest scope is one person alone in an organization of its own, so guests see nothing of
anybody else, nor of each other.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from atoll.domain.errors import Unauthenticated
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.wire.words.events import ActorKind

USER = "x-oa-user-id"
GUEST_SCOPE = "x-oa-guest-scope"
SECRET = "x-atoll-front-end"  # noqa: S105 - the name of a header
"""The headers, in lower case."""

GUEST_ROLE = "guest-scope"
"""The role of a guest's principal, which is no member of anything."""

GUEST_CAPABILITIES = frozenset(
    {
        *(Capability.EVENT_READ, Capability.PROFILE_READ),
        *(Capability.SANDBOX_READ, Capability.SANDBOX_CREATE, Capability.SANDBOX_MANAGE),
        *(Capability.TERMINAL_WATCH, Capability.TERMINAL_USE, Capability.EXEC_USE),
        *(Capability.FILE_READ, Capability.FILE_WRITE),
        *(Capability.AGENT_READ, Capability.AGENT_USE),
    }
)
"""The capabilities of a guest, with sandboxes of its own: no secrets, approvals, links, tokens or
webhooks."""

_USER = re.compile(r"[A-Za-z0-9_.:@-]{1,128}")
_GUEST_ORG = "scope_"
"""Prefix that no id or slug of an organization has: none has an underscore there."""
_SCOPE = re.compile(r"[a-z0-9][a-z0-9-]{0,47}")


@dataclass(frozen=True, slots=True)
class NamedPrincipal:
    """A principal as a front end names it: a `user`, or a `guest_scope`."""

    user: PrincipalId | None = None
    guest_scope: str | None = None


def names_principal(headers: Iterable[str]) -> bool:
    """Report whether one of these names of headers could be meant for a principal: in any case, and
    with underscores, which some servers make hyphens of."""
    return any(name.lower().replace("_", "-") in (USER, GUEST_SCOPE) for name in headers)


def read_principal(headers: Mapping[str, list[str]]) -> NamedPrincipal:
    """Return the principal in the headers of a trusted front end. Raises `Unauthenticated` for
    more than one, and for a value that is none: an empty one, or several in one line."""
    meant = [name for name in headers if names_principal((name,))]
    values = [value for name in meant for value in headers[name]]
    if len(values) != 1 or meant[0] not in (USER, GUEST_SCOPE):
        raise Unauthenticated(f"send {USER} or {GUEST_SCOPE} once, spelled like this")
    value = values[0].strip()
    if meant[0] == USER and _USER.fullmatch(value):
        return NamedPrincipal(user=PrincipalId(value))
    if meant[0] == GUEST_SCOPE and _SCOPE.fullmatch(value):
        return NamedPrincipal(guest_scope=value)
    raise Unauthenticated(f"the value of {meant[0]} is no principal")


def is_guest_org(org_id: OrgId) -> bool:
    """Report whether an organization is that of one guest alone."""
    return org_id.startswith(_GUEST_ORG)


def guest_of_scope(scope: str) -> Principal:
    """Return the principal of a guest scope."""
    name = f"{_GUEST_ORG}{scope}"
    return Principal(
        OrgId(name),
        PrincipalId(name),
        ActorKind.PERSON,
        name="Guest",
        capabilities=GUEST_CAPABILITIES,
        roles=(GUEST_ROLE,),
    )
