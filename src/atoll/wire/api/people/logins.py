"""Logins: a ticket for a cookie, the end of a session, and command lines that a person lets in."""

from typing import Annotated, Literal

from msgspec import Meta

from atoll.wire.api.annotations import QueryKey
from atoll.wire.api.fields import ItemId
from atoll.wire.api.operation import (
    Another,
    Answer,
    Area,
    Failures,
    Request,
    SealedRequest,
    operation,
)
from atoll.wire.api.people.me import EnteredView
from atoll.wire.http.media_types import HTML
from atoll.wire.words.people import MAX_REALMS

Ticket = Annotated[str, Meta(min_length=1, max_length=200)]
Brought = Annotated[str, Meta(max_length=4096)]
"""A value that a browser brings back from a provider."""

_WAY = "To the provider, or back to the page."
_PAGES = Failures(
    {
        401: "A page: the login was refused.",
        404: "A page: there is no such realm.",
        503: "A page: the provider does not answer.",
    },
    HTML,
)


class TicketBody(SealedRequest):
    """The ticket of a login link."""

    ticket: Ticket


class LogoutView(Answer):
    """The address at the provider that ends the login there, for the browser to open."""

    end_session_url: str


class TicketView(Answer):
    """A new login link, valid once within `expires_in` seconds. `outside_url` is the same link for
    another machine, None where none reaches the server."""

    ticket: str
    url: str
    outside_url: str | None
    expires_in: int


class CliLoginBody(Request):
    """The machine on which the command line runs, for the person who confirms."""

    machine: Annotated[str, Meta(max_length=200)] = ""


class CliPollBody(SealedRequest):
    """The secret that `POST /auth/cli` returned."""

    secret: Ticket


class CliLoginView(Answer):
    """A login that begins: the page at `url` shows `code`; `secret` fetches the token."""

    code: str
    secret: str
    url: str
    expires_in: int
    interval: int


class CliPollView(Answer):
    """The token of a confirmed login, once; without, the login still waits."""

    token: str | None
    token_id: str | None
    expires_at: str | None


class WaitingCliLoginView(Answer):
    """A command line that waits: where it runs, and until when."""

    code: str
    machine: str
    address: str
    expires_at: str


class RealmView(Answer):
    """A realm: a login provider. The browser opens `login_path`."""

    realm: str
    name: str
    login_path: str


class RealmList(Answer):
    """The ways to log in. `mode` is `local` for login links alone, `oidc` for these realms, too."""

    mode: Literal["local", "oidc"]
    realms: list[RealmView]


class Logins(Area):
    """The logins of people."""

    tag = "auth"
    needs = "me.manage"

    @operation("POST /auth/login", name="log_in", public=True, problems=(409, 413))
    def enter(self, body: TicketBody) -> EnteredView:
        """Trade a ticket for a cookie: of a login link for `atoll_session` (30 days), of a login at
        a provider for that, or for `__Host-atoll_session` over TLS."""

    @operation(
        "POST /auth/logout",
        name="log_out",
        status=204,
        also={200: Another("OK", LogoutView)},
    )
    def leave(self) -> None:
        """End this browser's session, and within 5 seconds its open connections. A token is not a
        session and stays valid. Where the login was at a provider that can end it, too, the answer
        names the address."""

    @operation("POST /auth/logout/everywhere", name="log_out_everywhere", status=204)
    def leave_everywhere(self) -> None:
        """End all sessions of the caller, and within 5 seconds their open connections. Tokens
        stay."""

    @operation("POST /auth/tickets", name="new_ticket", status=201, needs="system.manage")
    def ticket(self) -> TicketView:
        """Return a new login link, to a caller with the token file. A browser cannot make one, nor
        can a personal access token: whoever logs in may approve."""


class CliLogins(Area):
    """The logins of command lines: begun there, confirmed on the page, fetched there once."""

    tag = "auth"
    needs = "token.manage"

    @operation("POST /auth/cli", name="begin_cli_login", status=201, public=True, problems=(413,))
    def begin(self, body: CliLoginBody) -> CliLoginView:
        """Begin a login of a command line, which a person confirms on the page within 10
        minutes."""

    @operation("POST /auth/cli/poll", name="poll_cli_login", public=True, problems=(413,))
    def poll(self, body: CliPollBody) -> CliPollView:
        """Return the token of a confirmed login, this once; null while it waits."""

    @operation("GET /auth/cli/{code}", name="read_cli_login", problems=(404,))
    def waiting(self, code: ItemId) -> WaitingCliLoginView:
        """Return the command line that waits with this code."""

    @operation("POST /auth/cli/{code}/confirm", name="confirm_cli_login", problems=(404,))
    def confirm(self, code: ItemId) -> WaitingCliLoginView:
        """Let the command line with this code act for the caller, by a personal access token."""


class ProviderLogins(Area):
    """Logins at a provider: a browser navigates here, so what goes wrong is a page."""

    tag = "auth"
    needs = ""

    @operation(
        "GET /auth/realms",
        name="list_realms",
        public=True,
        failures=Failures(),
        max_items=MAX_REALMS,
    )
    def realms(self) -> RealmList:
        """Return how people log in here."""

    @operation(
        "GET /auth/oidc/{realm}/login",
        name="begin_login",
        public=True,
        status=302,
        about=_WAY,
        failures=_PAGES,
    )
    def begin(self, realm: str, *, route: Annotated[str, QueryKey("next")] = "") -> None:
        """Lead the browser to the realm's provider. `next` is a route of the page for
        afterwards."""

    @operation(
        "GET /auth/oidc/{realm}/callback",
        name="end_login",
        public=True,
        status=302,
        about=_WAY,
        failures=_PAGES,
    )
    def end(
        self,
        realm: str,
        *,
        state: Brought = "",
        code: Brought = "",
        error: Brought = "",
        iss: Brought = "",
    ) -> None:
        """Take the answer of the provider, and lead the browser to the page with a single-use
        ticket, which it trades at `/auth/login`."""
