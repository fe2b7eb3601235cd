"""Logins of agents at their vendors, and where they are used.

No answer holds a token, a code that is traded for one, or a key: shown are references.
"""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import FIRST_PAGE, ItemId, Paging, Word
from atoll.wire.api.operation import Answer, Area, Request, SealedRequest, operation
from atoll.wire.words.agents import MAX_EXPOSED, MAX_PASTED, LoginMethod, LoginState

MAX_KEY = 4096
MAX_PROVIDER = 64


class AgentLoginBody(SealedRequest):
    """A login to begin: by device code (`method` 1), in a browser (0), or by an API key (2), which
    alone has `api_key`, and `provider` where the agent calls several."""

    agent: Word = "codex"
    method: Annotated[int, Meta(ge=0, le=2)] = LoginMethod.DEVICE.value
    api_key: Annotated[str, Meta(max_length=MAX_KEY)] = ""
    provider: Annotated[str, Meta(max_length=MAX_PROVIDER)] = ""


class RedirectBody(SealedRequest):
    """The whole address that the browser was sent back to."""

    redirect: Annotated[str, Meta(min_length=1, max_length=MAX_PASTED)]


class LoginUseBody(Request):
    """The use of a login by sandboxes of its agent: its owner says that their plan allows it."""

    in_use: bool


class LoginExposureBody(Request):
    """The sandboxes and profiles without doors that get the access token of a login itself:
    `sandbox:<sandbox id>` or `profile:profile.<name>`. An empty list takes it back."""

    exposed_to: Annotated[list[Word], Meta(max_length=MAX_EXPOSED)]


class AgentLoginView(Answer):
    """A login of an agent. `token_ref` is the secret that holds its tokens, which nobody reads.
    While it waits for its person, `page` is where they confirm it, by device code with `user_code`.
    `expires_at` is the end of its token, which is refreshed before; null for a key. `reason` says
    why it ended. `provider` is that of a key. `exposed_to` names where its access token is put
    inside."""

    id: str
    agent: str
    method: int
    status: LoginState
    reason: str
    in_use: bool
    token_ref: str
    scopes: list[str]
    provider: str
    exposed_to: list[str]
    page: str
    user_code: str
    created_at: str
    expires_at: str | None


class AgentLoginList(Answer):
    """The caller's logins, oldest first."""

    logins: list[AgentLoginView]
    next: str | None


class AgentLogins(Area):
    """The caller's logins of agents at their vendors."""

    tag = "agent logins"
    needs = "secret.manage"

    @operation(
        "POST /v1/agent-logins",
        name="begin_agent_login",
        status=201,
        problems=(403, 404, 413, 429, 503),
    )
    def begin(self, body: AgentLoginBody) -> AgentLoginView:
        """Begin a login. No sandbox uses it before its owner turns it on."""

    @operation(
        "GET /v1/agent-logins", name="list_agent_logins", needs="secret.read", problems=(403,)
    )
    def list(self, *, page: Paging = FIRST_PAGE) -> AgentLoginList:
        """Return the caller's logins, also those that ended."""

    @operation(
        "GET /v1/agent-logins/{login}",
        name="get_agent_login",
        needs="secret.read",
        problems=(403, 404),
    )
    def get(self, login: ItemId) -> AgentLoginView:
        """Return a login of the caller."""

    @operation(
        "POST /v1/agent-logins/{login}/redirect",
        name="paste_agent_login",
        problems=(403, 404, 409, 413, 503),
    )
    def paste(self, login: ItemId, body: RedirectBody) -> AgentLoginView:
        """Finish a login in a browser by the address that it was sent back to."""

    @operation(
        "PUT /v1/agent-logins/{login}/use", name="turn_agent_login", problems=(403, 404, 409, 413)
    )
    def turn(self, login: ItemId, body: LoginUseBody) -> AgentLoginView:
        """Turn the use of a login on or off. Of the logins of an agent one is on."""

    @operation(
        "PUT /v1/agent-logins/{login}/exposure",
        name="expose_agent_login",
        problems=(403, 404, 409, 413, 429),
    )
    def expose(self, login: ItemId, body: LoginExposureBody) -> AgentLoginView:
        """Put the access token of a login into these sandboxes without doors, and into no other."""

    @operation("DELETE /v1/agent-logins/{login}", name="revoke_agent_login", problems=(403, 404))
    def revoke(self, login: ItemId) -> AgentLoginView:
        """End a login here and at its issuer, and forget its tokens. Idempotent."""
