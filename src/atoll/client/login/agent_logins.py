"""Logins of agents at their vendors, over the API. No answer holds a token."""

from collections.abc import Sequence
from typing import Literal, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Transport, at, get, post, put

LoginStatus = Literal["requested", "pending", "ready", "denied", "expired", "failed", "revoked"]
OPEN: tuple[LoginStatus, ...] = ("requested", "pending", "ready")
BROWSER, DEVICE, KEY = 0, 1, 2
"""The methods of a login, by their numbers."""


class AgentLoginBody(TypedDict, total=False):
    """A login to begin; `api_key` and `provider` go with the method `KEY` alone."""

    agent: str
    method: int
    api_key: str
    provider: str


class AgentLogin(Shape):
    """A login of an agent. While it waits for its person, `page` is where they confirm it, by
    device code with `user_code`; `token_ref` is the secret that holds its tokens. `exposed_to`
    names the sandboxes and profiles that get its access token itself."""

    id = fields.text()
    agent = fields.text()
    method = fields.number()
    status: Field[LoginStatus] = fields.word()
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


class AgentLogins:
    """The caller's logins of agents."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def begin(self, body: AgentLoginBody) -> AgentLogin:
        """Begin a login, which no sandbox uses before it is turned on."""
        return self._transport.read(AgentLogin, post("agent-logins", value=body))

    def list(self) -> AgentLoginList:
        """Return all logins, also those that ended."""
        return self._transport.read_all(AgentLoginList, get("agent-logins"))

    def get(self, login_id: str) -> AgentLogin:
        """Return a login."""
        return self._transport.read(AgentLogin, get("agent-logins", login_id))

    def paste(self, login_id: str, redirect: str) -> AgentLogin:
        """Finish a login in a browser by the address that it was sent back to."""
        call = post("agent-logins", login_id, "redirect", value={"redirect": redirect})
        return self._transport.read(AgentLogin, call)

    def turn(self, login_id: str, *, in_use: bool) -> AgentLogin:
        """Turn its use in sandboxes on or off. Of the logins of an agent one is on."""
        call = put("agent-logins", login_id, "use", value={"in_use": in_use})
        return self._transport.read(AgentLogin, call)

    def expose(self, login_id: str, exposed_to: Sequence[str]) -> AgentLogin:
        """Put its access token into these sandboxes without doors, and into no other."""
        value = {"exposed_to": [*exposed_to]}
        call = put("agent-logins", login_id, "exposure", value=value)
        return self._transport.read(AgentLogin, call)

    def revoke(self, login_id: str) -> AgentLogin:
        """End a login, here and at its issuer."""
        return self._transport.read(AgentLogin, Call("DELETE", at("agent-logins", login_id)))
