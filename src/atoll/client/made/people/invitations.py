"""Invitations to an organization. The secret of one is returned once, and stored nowhere.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape

OrgRole = Literal["owner", "admin", "member", "viewer"]


class OrgInvitation(Shape):
    """An invitation to an organization, without its secret."""

    invitation_id = fields.text()
    role: Field[OrgRole] = fields.word()
    groups = fields.texts()
    email = fields.text()
    invited_by = fields.text()
    created_at = fields.text()
    expires_at = fields.text()


class MadeOrgInvitation(OrgInvitation):
    """An invitation just made: `secret`, and the link `url` with it, are returned only once.
    `local_only` when no other machine can open the link."""

    secret = fields.text()
    url = fields.text()
    local_only = fields.flag()


class Offer(Shape):
    """The terms of an invitation. `organization` and `invited_by` are names to read; who invited
    and has left has none."""

    organization = fields.text()
    role: Field[OrgRole] = fields.word()
    invited_by = fields.text()
    expires_at = fields.text()


class OrgInvitationList(Shape):
    """The invitations that can still be accepted."""

    invitations = fields.many(OrgInvitation)
    next = fields.text()


class InviteBody(TypedDict, total=False):
    """An invitation to make. `email` is a note of whom it is for; nothing is sent there."""

    role: OrgRole
    groups: list[str]
    email: str
    ttl: int | str


class AcceptBody(TypedDict, total=False):
    """The secret of an invitation."""

    secret: Required[str]
