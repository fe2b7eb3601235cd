"""Logins: a ticket for a cookie, the end of a session, and command lines that a person lets in.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape


class Logout(Shape):
    """The address at the provider that ends the login there, for the browser to open."""

    end_session_url = fields.text()


class Ticket(Shape):
    """A new login link, valid once within `expires_in` seconds. `outside_url` is the same link
    for another machine, None where none reaches the server."""

    ticket = fields.text()
    url = fields.text()
    outside_url = fields.text()
    expires_in = fields.number()


class CliLogin(Shape):
    """A login that begins: the page at `url` shows `code`; `secret` fetches the token."""

    code = fields.text()
    secret = fields.text()
    url = fields.text()
    expires_in = fields.number()
    interval = fields.number()


class CliPoll(Shape):
    """The token of a confirmed login, once; without, the login still waits."""

    token = fields.text()
    token_id = fields.text()
    expires_at = fields.text()


class WaitingCliLogin(Shape):
    """A command line that waits: where it runs, and until when."""

    code = fields.text()
    machine = fields.text()
    address = fields.text()
    expires_at = fields.text()


class Realm(Shape):
    """A realm: a login provider. The browser opens `login_path`."""

    realm = fields.text()
    name = fields.text()
    login_path = fields.text()


class RealmList(Shape):
    """The ways to log in. `mode` is `local` for login links alone, `oidc` for these realms, too."""

    mode: Field[Literal["local", "oidc"]] = fields.word()
    realms = fields.many(Realm)


class TicketBody(TypedDict, total=False):
    """The ticket of a login link."""

    ticket: Required[str]


class CliLoginBody(TypedDict, total=False):
    """The machine on which the command line runs, for the person who confirms."""

    machine: str


class CliPollBody(TypedDict, total=False):
    """The secret that `POST /auth/cli` returned."""

    secret: Required[str]
