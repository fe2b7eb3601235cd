"""Organizations, their members and service accounts.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape

OrgRole = Literal["owner", "admin", "member", "viewer"]

ActorKind = Literal["adm", "agt", "atm"]


class Organization(Shape):
    """An organization and the caller's role in it. `created_at` is null for the one of
    single-person mode, which has no other members."""

    organization_id = fields.text()
    slug = fields.text()
    name = fields.text()
    created_at = fields.text()
    role: Field[OrgRole] = fields.word()


class OrganizationList(Shape):
    """The caller's organizations."""

    organizations = fields.many(Organization)
    next = fields.text()


class Member(Shape):
    """A member: a person (`adm`) or a service account (`atm`). With `groups_claimed` the groups
    come from the login provider, and cannot be changed here."""

    member_id = fields.text()
    kind: Field[ActorKind] = fields.word()
    name = fields.text()
    email = fields.text()
    role: Field[OrgRole] = fields.word()
    groups = fields.texts()
    groups_claimed = fields.flag()
    since = fields.text()


class MemberList(Shape):
    """The members of an organization."""

    members = fields.many(Member)
    next = fields.text()


class OrganizationBody(TypedDict, total=False):
    """An organization to make; `name` is the slug where it is left out."""

    slug: Required[str]
    name: str | None


class OrganizationChangeBody(TypedDict, total=False):
    """A change of an organization's names; what is left out stays."""

    slug: str | None
    name: str | None


class MemberBody(TypedDict, total=False):
    """A change of a member; what is left out stays."""

    role: OrgRole | None
    groups: list[str] | None


class ServiceAccountBody(TypedDict, total=False):
    """A service account to make: a member that acts as automation (`atm`)."""

    name: Required[str]
    role: OrgRole
    groups: list[str]
