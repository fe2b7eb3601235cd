"""The caller: their name, their sessions, and the organization in which they work."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import ItemId
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import MAX_NAME, MAX_SESSIONS
from atoll.wire.words.terminals import Shade


class MeBody(Request):
    """A change of the caller: the name that others see."""

    name: Annotated[str, Meta(max_length=MAX_NAME)]


class GuestAccessView(Answer):
    """The role of a guest at the terminals (or one) of a sandbox, until it ends; with
    `recording_id` at that recording alone. With `dashboard_id` it is a look at that dashboard, and
    with `terminals` at the terminals on it; the sandbox's members are null then. `inviter` is the
    name of whoever made the link, or empty."""

    share_id: str
    inviter: str
    sandbox_id: str | None
    sandbox_name: str | None
    sandbox_state: str | None
    dashboard_id: str | None
    dashboard_name: str | None
    terminals: bool
    terminal_id: str | None
    recording_id: str | None
    role: str
    expires_at: str


class MeView(Answer):
    """The caller. `interactive`: a person in a browser, who may approve. `guest` describes a caller
    who came by a share link. `roles` are the claims of that name: first the role in `org_id`, which
    is `nobody` for a person who is a member of nothing yet."""

    id: str
    org_id: str
    kind: ActorKind
    interactive: bool
    name: str
    roles: list[str]
    guest: GuestAccessView | None


class EnteredView(MeView):
    """The caller after a login.

    The page sends `page_key` as the header `Atoll-Page-Key` beside its cookie, and as the
    subprotocol `atoll.key.KEY` of WebSockets. No other response contains it. `next` is the route
    of the page that a login at a provider was begun for, else empty.
    """

    page_key: str
    next: str


class MySessionView(Answer):
    """A browser in which the caller is logged in. `current` is the one that asks."""

    id: str
    realm: str
    current: bool
    created_at: str
    last_seen_at: str
    expires_at: str
    address: str
    agent: str


class MySessionList(Answer):
    """The caller's sessions, oldest first."""

    sessions: list[MySessionView]


class OrganizationChoice(Request):
    """The organization, by id or slug, in which this session works from now on."""

    organization: Annotated[str, Meta(min_length=1, max_length=64)]


class ShadeBody(Request):
    """The background that the caller works on."""

    shade: Shade


class Me(Area):
    """The caller."""

    tag = "auth"
    needs = "me.manage"

    @operation("GET /auth/me", name="who_am_i")
    def who(self) -> MeView:
        """Return the caller."""

    @operation("GET /v1/me", name="read_me")
    def get(self) -> MeView:
        """Return the caller, like `/auth/me`."""

    @operation("PATCH /v1/me", name="change_me", problems=(413,))
    def change(self, body: MeBody) -> MeView:
        """Change the name that others at a terminal, guests and invitations see."""

    @operation("PUT /v1/me/shade", name="set_my_shade", status=204)
    def set_shade(self, body: ShadeBody) -> None:
        """Say which background the caller works on. Agents that begin before anybody looks are
        told it, in all of the caller's sandboxes."""

    @operation("GET /v1/me/sessions", name="list_my_sessions", max_items=MAX_SESSIONS)
    def sessions(self) -> MySessionList:
        """Return the browsers in which the caller is logged in at a provider."""

    @operation(
        "DELETE /v1/me/sessions/{session}", name="end_my_session", status=204, problems=(404,)
    )
    def end_session(self, session: ItemId) -> None:
        """End one of the caller's sessions, and within 5 seconds its open connections."""

    @operation(
        "PUT /v1/me/organization", name="choose_organization", status=204, problems=(404, 413)
    )
    def choose_organization(self, body: OrganizationChoice) -> None:
        """Have this session work in another organization of the caller. Takes effect at once."""
