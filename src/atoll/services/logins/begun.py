"""Beginnings of logins: what a person asks for, and the login that waits or has a key."""

import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from atoll.domain.agents.agent import Agent
from atoll.domain.errors import Invalid
from atoll.domain.logins.agent_login import AgentLoginRecord, Opened, TokensCame
from atoll.domain.logins.lifecycle import step
from atoll.domain.logins.redirect import BegunRedirect
from atoll.domain.people.login import SECRET_BYTES, spell_secret
from atoll.domain.secrets.value import check_value
from atoll.ports.outside.issuer import AgentIssuer
from atoll.services.logins.payload import LoginSecrets
from atoll.wire.words.agents import LoginMethod
from atoll.wire.words.secrets import Purpose

REDIRECT_URI: Final = "http://localhost:1455/auth/callback"
"""The address that a browser is sent back to, on its person's machine, where nobody listens."""


@dataclass(frozen=True, slots=True)
class BegunAgentLogin:
    """A request for a login. `api_key` is the key of that method, and `provider` whose it is; the
    agent's first where it is empty."""

    agent: str
    method: LoginMethod = LoginMethod.DEVICE
    api_key: str = field(default="", repr=False)
    provider: str = ""


async def open_login(
    record: AgentLoginRecord, request: BegunAgentLogin, issuer: AgentIssuer, now: datetime
) -> tuple[AgentLoginRecord, LoginSecrets]:
    """Return a login that waits for its person's approval, and its secrets."""
    if request.method is LoginMethod.BROWSER:
        state, verifier = (spell_secret(secrets.token_bytes(SECRET_BYTES)) for _ in range(2))
        begun = BegunRedirect(state, verifier, REDIRECT_URI)
        login, _ = step(record.login, Opened(), now)
        return replace(record, login=login, page=issuer.page_of(begun)), LoginSecrets(begun=begun)
    device = await issuer.begin()
    login, _ = step(record.login, Opened(device.life, device.interval), now)
    shown = replace(record, login=login, page=device.page, user_code=device.user_code)
    return shown, LoginSecrets(device=device)


def key_provider(agent: Agent, name: str) -> str:
    """Return the provider of a key. Raises `Invalid` for an agent that calls none, and (code
    `unknown_provider`) for one that this agent does not call."""
    if not agent.providers:
        raise Invalid(f"{agent.name} calls no provider, so it has no key", field="agent")
    if name and name not in agent.providers:
        raise Invalid(
            f"{agent.name} does not call {name[:40]!r}: it calls {', '.join(agent.providers)}",
            code="unknown_provider",
            field="provider",
        )
    return name or agent.providers[0]


def with_key(
    record: AgentLoginRecord, text: str, now: datetime
) -> tuple[AgentLoginRecord, LoginSecrets]:
    """Return a login that is ready by a key, and its secrets. Raises `Invalid`."""
    try:
        key = check_value(text, Purpose.OAUTH)
    except Invalid as error:
        raise Invalid(error.message, field="api_key") from error
    login, _ = step(record.login, TokensCame(), now)
    return replace(record, login=login), LoginSecrets(api_key=key)
