"""Realms: the login providers of an installation or of one organization, as the settings name them.

Pure. A realm says whom it speaks for: one of an organization can never give a role in another one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from atoll.domain.errors import Invalid
from atoll.domain.people.capability import SOVEREIGN_ADMIN
from atoll.wire.words.people import OrgRole

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,38}")
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_DEFAULT_ROLES: Mapping[str, str] = {f"atoll-{role.value}": role.value for role in OrgRole}


@dataclass(frozen=True, slots=True)
class Realm:
    """A login provider. Raises `Invalid` for what cannot be meant.

    `organization` is the slug or id of the one organization it logs people into; empty is the whole
    installation, where the claim `claim_org` names organizations. `roles` maps the provider's roles
    to ours; `strangers` is the role of people without any claim, empty for none.
    """

    realm: str
    issuer: str
    client_id: str
    name: str = ""
    organization: str = ""
    client_secret_file: str = ""
    client_secret_env: str = ""
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    claim_org: str = "org"
    claim_role: str = "roles"
    claim_groups: str = "groups"
    claim_name: str = "name"
    claim_email: str = "email"
    claimed_role: str = OrgRole.MEMBER.value
    roles: Mapping[str, str] = field(default_factory=lambda: dict(_DEFAULT_ROLES))
    strangers: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.realm):
            raise _invalid("realm", "has 1 to 39 lower-case letters, digits and `-`")
        if not is_safe_url(self.issuer, plain=True) or urlsplit(self.issuer).query:
            raise _invalid("issuer", "is https://…, or http:// on this machine")
        if not 1 <= len(self.client_id) <= 200 or not self.client_id.isprintable():
            raise _invalid("client_id", "has 1 to 200 printable characters")
        if "openid" not in self.scopes:
            raise _invalid("scopes", "contain `openid`")
        _check_roles(self)

    @property
    def title(self) -> str:
        """Return the name that people read."""
        return self.name or self.realm

    @property
    def local(self) -> bool:
        """True when the provider is on this machine and speaks plain HTTP."""
        return urlsplit(self.issuer).scheme == "http"


def is_safe_url(url: str, *, plain: bool) -> bool:
    """Report whether credentials may go to this URL: https, or with `plain` loopback by http."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or parts.username is not None or parts.fragment or not url.isprintable():
        return False
    return parts.scheme == "https" or (plain and parts.scheme == "http" and host in _LOOPBACK)


def _check_roles(realm: Realm) -> None:
    known = {role.value for role in OrgRole}
    if realm.claimed_role not in {"", *known}:
        raise _invalid("claimed_role", f"is one of {', '.join(known)}, or empty")
    if realm.strangers not in {"", *known} or (realm.strangers and not realm.organization):
        raise _invalid("strangers", "is a role, in a realm of one organization, or empty")
    wrong = [one for one in realm.roles.values() if one not in {SOVEREIGN_ADMIN, *known}]
    if wrong:
        raise _invalid("roles", f"map to {', '.join(known)} or {SOVEREIGN_ADMIN}")
    if realm.organization and SOVEREIGN_ADMIN in realm.roles.values():
        raise _invalid("roles", f"of one organization's realm cannot give {SOVEREIGN_ADMIN}")


def _invalid(name: str, rule: str) -> Invalid:
    return Invalid(f"auth.realms: {name} {rule}", field="auth")
