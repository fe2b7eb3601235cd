"""Claims of a login provider, read into a person, their roles and groups. Pure.

A claim is what a provider says, and some of it what a person typed there. What does not fit is left
out: it gives nothing, and it never fails a login, except for the subject.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from atoll.domain.errors import Invalid, Unauthenticated
from atoll.domain.people.capability import SOVEREIGN_ADMIN
from atoll.domain.people.name import printable_name
from atoll.domain.people.organization import is_group
from atoll.domain.people.realm import Realm
from atoll.wire.words.people import MAX_GROUPS, MAX_NAME, OrgRole

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

MAX_SUBJECT = 255
"""The longest subject, by OpenID Connect Core §2."""

MAX_VALUES = 1000
"""The values of one claim that are looked at."""

MAX_ORGS = 64

_EMAIL = re.compile(r"[A-Za-z0-9._%+'-]{1,64}@[A-Za-z0-9.-]{1,190}")
_ORG = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ORG_ADMIN = re.compile(r"org:([A-Za-z0-9_-]{1,64}):admin")
_RANK = tuple(OrgRole)


@dataclass(frozen=True, slots=True)
class ClaimedRole:
    """A role in an organization. `implied`: no role was named, so that one which was given here
    stays. Without `lasting` it is given once, and not taken back."""

    role: OrgRole
    implied: bool = False
    lasting: bool = True


@dataclass(frozen=True, slots=True)
class ClaimedPerson:
    """A person as a provider describes them. `roles` are theirs by organization (slug or id)."""

    subject: str
    name: str
    email: str
    groups: tuple[str, ...]
    roles: Mapping[str, ClaimedRole]
    sovereign: bool


def read_claims(realm: Realm, claims: Mapping[str, object]) -> ClaimedPerson:
    """Return the person that these claims describe. Raises `Unauthenticated` without a subject."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT:
        raise Unauthenticated("the provider does not say who logged in", code="login_refused")
    given = _texts(_find_claim(claims, realm.claim_role))
    mapped = {realm.roles[one] for one in given if one in realm.roles}
    sovereign = not realm.organization and (SOVEREIGN_ADMIN in mapped or SOVEREIGN_ADMIN in given)
    email = _email(claims, realm)
    return ClaimedPerson(
        subject,
        _name(claims, realm, email),
        email,
        _groups(_find_claim(claims, realm.claim_groups)),
        _roles(realm, given, mapped - {SOVEREIGN_ADMIN}, _find_claim(claims, realm.claim_org)),
        sovereign,
    )


def unique_name(name: str, taken: Iterable[str]) -> str:
    """Return a name that no other member has: this one, or with a number."""
    others = set(taken)
    found, number = name, 2
    while found in others:
        mark = f" {number}"
        found, number = name[: MAX_NAME - len(mark)] + mark, number + 1
    return found


def _roles(
    realm: Realm, given: Iterable[str], mapped: Iterable[str], orgs: object
) -> Mapping[str, ClaimedRole]:
    best = min((OrgRole(one) for one in mapped), key=_RANK.index, default=None)
    named = None if best is None else ClaimedRole(best)
    if realm.organization:
        if named is None and realm.strangers:
            named = ClaimedRole(OrgRole(realm.strangers), implied=True, lasting=False)
        return {} if named is None else {realm.organization: named}
    if named is None and realm.claimed_role:
        named = ClaimedRole(OrgRole(realm.claimed_role), implied=True)
    listed = [one for one in _texts(orgs) if _ORG.fullmatch(one)][:MAX_ORGS]
    found = {} if named is None else dict.fromkeys(listed, named)
    for admin in filter(None, map(_ORG_ADMIN.fullmatch, given)):
        before = found.get(admin[1])
        if before is None or before.role is not OrgRole.OWNER:
            found[admin[1]] = ClaimedRole(OrgRole.ADMIN)
    return found


def _find_claim(claims: Mapping[str, object], path: str) -> object:
    """Return the claim of this name; a dot in the name leads into an object."""
    if path in claims:
        return claims[path]
    found: object = dict(claims)
    for part in path.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(part)
    return found


def _texts(value: object) -> tuple[str, ...]:
    """Return the texts of a claim: one, a list, or the names of an object."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | dict):
        every = (one for one, _ in zip(value, range(MAX_VALUES), strict=False))
        return tuple(one for one in every if isinstance(one, str))
    return ()


def _groups(value: object) -> tuple[str, ...]:
    return tuple(sorted({one for one in _texts(value) if is_group(one)})[:MAX_GROUPS])


def _email(claims: Mapping[str, object], realm: Realm) -> str:
    """Return the email address, which counts only when the provider has verified it."""
    found = _find_claim(claims, realm.claim_email)
    verified = claims.get("email_verified") is True
    return found if verified and isinstance(found, str) and _EMAIL.fullmatch(found) else ""


def _name(claims: Mapping[str, object], realm: Realm, email: str) -> str:
    """Return the first name that may be shown."""
    for one in (_find_claim(claims, realm.claim_name), claims.get("preferred_username"), email):
        if isinstance(one, str) and len(one) <= MAX_NAME:
            try:
                return printable_name(one)
            except Invalid:
                continue
    return "somebody"
