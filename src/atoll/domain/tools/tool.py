"""A tool that an agent calls: its name, its effects, and the one permission that it needs.

Pure. A permission is a string: a capability, or a role. It is compared with the claims of the
caller; no role is followed at the time of a call.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from atoll.domain.errors import Forbidden
from atoll.domain.people.capability import SOVEREIGN_ADMIN, Capability, admin_role
from atoll.domain.people.principal import Principal

MAX_NAME: Final = 52
"""The longest name in characters: agents put the name of the server before it, and their vendors
accept 64."""

ORG_ADMIN: Final = "org:admin"
"""The permission of the administrators of the caller's organization, `org:<id>:admin`."""

_NAME = re.compile(r"[a-z][a-zA-Z0-9-]*(\.[a-zA-Z0-9-]+)+\Z")
_NOT_FLAT = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of a tool on the world, as a client shows them to a person. A tool that only
    reads is never destructive. `outside` says that it reaches beyond this installation."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    outside: bool = False


READS: Final = Effects(read_only=True, idempotent=True)
"""The effects of a tool that only reads."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as its callers see it. `permission` is a capability, `ORG_ADMIN` or the role
    `sovereign-admin`. `inside` is the permission of callers with a token of a sandbox in its place;
    None shows it to none of them. Raises `ValueError` for a name or a permission that cannot be."""

    name: str
    description: str
    permission: str
    effects: Effects = Effects()
    inside: Capability | None = None

    def __post_init__(self) -> None:
        if not _NAME.match(self.name) or len(self.name) > MAX_NAME:
            raise ValueError(f"{self.name!r} is no name of a tool: `namespace.verb`, at most 52")
        if self.permission not in {*Capability, ORG_ADMIN, SOVEREIGN_ADMIN}:
            raise ValueError(f"{self.name} needs {self.permission!r}, which nobody can have")
        if self.effects.read_only and self.effects.destructive:
            raise ValueError(f"{self.name} cannot read only and be destructive")

    @property
    def namespace(self) -> str:
        """Return the name without its last part."""
        return self.name.rpartition(".")[0]

    def needed_by(self, caller: Principal) -> str | None:
        """Return the permission that this caller needs; None for one who may never call it."""
        bound = caller.token is not None and caller.token.sandbox_id is not None
        return self.inside if bound else self.permission

    def shown_to(self, caller: Principal) -> bool:
        """Report whether the caller may call it, and so sees it."""
        needed = self.needed_by(caller)
        return needed is not None and has_permission(caller, needed)


def has_permission(caller: Principal, permission: str) -> bool:
    """Report whether the claims of a caller have this permission."""
    if permission == ORG_ADMIN:
        return admin_role(caller.org_id) in caller.roles
    if permission == SOVEREIGN_ADMIN:
        return SOVEREIGN_ADMIN in caller.roles
    return permission in caller.capabilities


def check_permission(caller: Principal, tool: Tool) -> None:
    """Check that the caller may call a tool. Raises `Forbidden` with the permission that is
    missing."""
    if not tool.shown_to(caller):
        needed = tool.needed_by(caller) or tool.permission
        raise Forbidden(
            f"{tool.name} needs the permission {needed}, which your role or your token does not "
            "have here"
        )


def flat_name(name: str) -> str:
    """Return the name of a tool for clients that admit no dots and hyphens in one."""
    return _NOT_FLAT.sub("_", name)


def check_distinct(names: Iterable[str]) -> None:
    """Check that no two tools have one name, also when they are flat. Raises `ValueError`."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(flat_name(name), name)
        if other is not name:
            raise ValueError(f"the tools {other} and {name} have one name for some clients")
