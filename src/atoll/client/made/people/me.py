"""The caller: their name, their sessions, and the organization in which they work.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape

ActorKind = Literal["adm", "agt", "atm"]

Shade = Literal["light", "dark"]


class GuestAccess(Shape):
    """The role of a guest at the terminals (or one) of a sandbox, until it ends; with
    `recording_id` at that recording alone. With `dashboard_id` it is a look at that dashboard,
    and with `terminals` at the terminals on it; the sandbox's members are null then. `inviter`
    is the name of whoever made the link, or empty."""

    share_id = fields.text()
    inviter = fields.text()
    sandbox_id = fields.text()
    sandbox_name = fields.text()
    sandbox_state = fields.text()
    dashboard_id = fields.text()
    dashboard_name = fields.text()
    terminals = fields.flag()
    terminal_id = fields.text()
    recording_id = fields.text()
    role = fields.text()
    expires_at = fields.text()


class Me(Shape):
    """The caller. `interactive`: a person in a browser, who may approve. `guest` describes a
    caller who came by a share link. `roles` are the claims of that name: first the role in
    `org_id`, which is `nobody` for a person who is a member of nothing yet."""

    id = fields.text()
    org_id = fields.text()
    kind: Field[ActorKind] = fields.word()
    interactive = fields.flag()
    name = fields.text()
    roles = fields.texts()
    guest = fields.one(GuestAccess)


class Entered(Me):
    """The caller after a login. The page sends `page_key` as the header `Atoll-Page-Key` beside
    its cookie, and as the subprotocol `atoll.key.KEY` of WebSockets. No other response contains
    it. `next` is the route of the page that a login at a provider was begun for, else empty."""

    page_key = fields.text()
    next = fields.text()


class MySession(Shape):
    """A browser in which the caller is logged in. `current` is the one that asks."""

    id = fields.text()
    realm = fields.text()
    current = fields.flag()
    created_at = fields.text()
    last_seen_at = fields.text()
    expires_at = fields.text()
    address = fields.text()
    agent = fields.text()


class MySessionList(Shape):
    """The caller's sessions, oldest first."""

    sessions = fields.many(MySession)


class MeBody(TypedDict, total=False):
    """A change of the caller: the name that others see."""

    name: Required[str]


class OrganizationChoice(TypedDict, total=False):
    """The organization, by id or slug, in which this session works from now on."""

    organization: Required[str]


class ShadeBody(TypedDict, total=False):
    """The background that the caller works on."""

    shade: Required[Shade]
