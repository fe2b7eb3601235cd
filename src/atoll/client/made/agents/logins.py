"""Logins of agents at their vendors, and where they are used.

Made from the declarations of the API by `scripts/client`.
"""

from collections.abc import Sequence
from typing import Literal, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Pairs, Transport, api_path, get, omit_absent, post, put

LoginState = Literal["requested", "pending", "ready", "denied", "expired", "failed", "revoked"]


class AgentLogin(Shape):
    """A login of an agent. `token_ref` is the secret that holds its tokens, which nobody reads.
    While it waits for its person, `page` is where they confirm it, by device code with
    `user_code`. `expires_at` is the end of its token, which is refreshed before; null for a key.
    `reason` says why it ended. `provider` is that of a key. `exposed_to` names where its access
    token is put inside."""

    id = fields.text()
    agent = fields.text()
    method = fields.number()
    status: Field[LoginState] = fields.word()
    reason = fields.text()
    in_use = fields.flag()
    token_ref = fields.text()
    scopes = fields.texts()
    provider = fields.text()
    exposed_to = fields.texts()
    page = fields.text()
    user_code = fields.text()
    created_at = fields.text()
    expires_at = fields.text()


class AgentLoginList(Shape):
    """The caller's logins, oldest first."""

    logins = fields.many(AgentLogin)
    next = fields.text()


class AgentLoginBody(TypedDict, total=False):
    """A login to begin: by device code (`method` 1), in a browser (0), or by an API key (2),
    which alone has `api_key`, and `provider` where the agent calls several."""

    agent: str
    method: int
    api_key: str
    provider: str


class AgentLogins:
    """The caller's logins of agents at their vendors. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def begin(self, body: AgentLoginBody) -> AgentLogin:
        """Begin a login. No sandbox uses it before its owner turns it on."""
        return self._transport.read(AgentLogin, post("agent-logins", value=body))

    def list(self, *, query: Pairs = ()) -> AgentLoginList:
        """Return the caller's logins, also those that ended."""
        return self._transport.read_all(AgentLoginList, get("agent-logins", query=query))

    def get(self, login_id: str) -> AgentLogin:
        """Return a login of the caller."""
        return self._transport.read(AgentLogin, get("agent-logins", login_id))

    def paste(self, login_id: str, redirect: str) -> AgentLogin:
        """Finish a login in a browser by the address that it was sent back to."""
        return self._transport.read(
            AgentLogin,
            post("agent-logins", login_id, "redirect", value=omit_absent(redirect=redirect)),
        )

    def turn(self, login_id: str, *, in_use: bool) -> AgentLogin:
        """Turn the use of a login on or off. Of the logins of an agent one is on."""
        return self._transport.read(
            AgentLogin, put("agent-logins", login_id, "use", value=omit_absent(in_use=in_use))
        )

    def expose(self, login_id: str, exposed_to: Sequence[str]) -> AgentLogin:
        """Put the access token of a login into these sandboxes without doors, and into no other."""
        return self._transport.read(
            AgentLogin,
            put("agent-logins", login_id, "exposure", value=omit_absent(exposed_to=exposed_to)),
        )

    def revoke(self, login_id: str) -> AgentLogin:
        """End a login here and at its issuer, and forget its tokens. Idempotent."""
        return self._transport.read(AgentLogin, Call("DELETE", api_path("agent-logins", login_id)))
