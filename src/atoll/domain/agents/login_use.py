"""The use of a person's login by an agent inside, where no token is unless its owner exposes it.

The agent has placeholders and the broker's address; the broker adds the token on the way out. What
is laid inside says that there is a login, in the form that the agent's own login leaves. Without
doors there is no broker: then the access token itself lies there, and never a refresh token.
"""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from atoll.domain.agents.catalogue import codex
from atoll.domain.broker.provider import (
    ANTHROPIC,
    CHATGPT,
    CLAUDE,
    PLACEHOLDER_PREFIX,
    Provider,
    broker_environment,
)

FAR: Final = 4102444800
"""The end of placeholder tokens, in the year 2100: no agent inside has to refresh one."""

PLACEHOLDER_REFRESH: Final = f"{PLACEHOLDER_PREFIX}refresh-no-token-inside"

_LOGGED_IN_AT: Final = "2026-01-01T00:00:00.000000000Z"
"""An old one triggers no refresh."""


@dataclass(frozen=True, slots=True)
class LoginInside:
    """The part of a login in use that lies inside: the vendor's id of its account, and the access
    token where its owner exposes it."""

    account: str
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ExposedLogin:
    """A login whose access token goes into a sandbox without doors. `name` is its secret's, and
    `version` counts its tokens."""

    agent: str
    name: str
    version: int
    inside: LoginInside


@dataclass(frozen=True, slots=True)
class LoginFile:
    """A file in the home: its content by the login in use, and without a login, None where there is
    none then. What a person changed or made themselves is left as it is."""

    path: str
    of: Callable[[LoginInside], str]
    without: str | None = None

    @property
    def forms(self) -> tuple[str, ...]:
        """Return its contents by which it is known as ours: with doors, and with a token."""
        return self.of(LoginInside("")), self.of(LoginInside("", "token"))


@dataclass(frozen=True, slots=True)
class LoginUse:
    """The use of a login by an agent, with the row of the broker that has its token. The variables
    `cleared` would take precedence over it."""

    provider: Provider
    files: tuple[LoginFile, ...] = ()
    cleared: tuple[str, ...] = ()
    refresh_env: str = ""

    def environment(self, broker: str) -> tuple[tuple[str, str], ...]:
        """Return the variables of processes inside, by the broker's address."""
        variables = broker_environment(self.provider, broker)
        if self.refresh_env:
            refreshes = f"{broker}/{self.provider.name}{self.provider.refresh_path}"
            variables += ((self.refresh_env, refreshes),)
        return (*variables, *((name, "") for name in self.cleared))

    def exposed_environment(self, broker: str, token: str) -> tuple[tuple[str, str], ...]:
        """Return the variables of processes inside that call the vendor themselves. A refresh of
        theirs still goes to the broker's address, where nobody answers it."""
        named = self.provider.key_env, self.provider.base_env
        others = [(name, value) for name, value in self.environment(broker) if name not in named]
        return (*others, *((name, token) for name in named[:1] if name))


def placeholder_tokens(account: str) -> dict[str, str]:
    """Return tokens that are none: unsigned JSON Web Tokens that say that somebody is logged in,
    as an issuer's answer has them. Codex looks its account up, so they name it."""
    user = f"{PLACEHOLDER_PREFIX}user"
    named = {
        "chatgpt_account_id": account,
        "chatgpt_plan_type": "pro",
        "chatgpt_user_id": user,
    }
    claims = {
        "sub": user,
        "email": "agent@atoll.invalid",
        "https://api.openai.com/auth": named,
        "exp": FAR,
    }
    return {
        "id_token": _make_unsigned_jwt(claims),
        "access_token": _make_unsigned_jwt({**claims, "jti": f"{PLACEHOLDER_PREFIX}access"}),
        "refresh_token": PLACEHOLDER_REFRESH,
    }


def _make_unsigned_jwt(claims: Mapping[str, object]) -> str:
    """Return an unsigned JWT with these claims."""
    parts = (
        json.dumps(section, separators=(",", ":")).encode() for section in ({"alg": "none"}, claims)
    )
    encoded = (base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return ".".join((*encoded, "placeholder"))


def _auth_file(inside: LoginInside) -> str:
    tokens = {**placeholder_tokens(inside.account), "account_id": inside.account}
    if inside.token:
        tokens["access_token"] = inside.token
    held = {"auth_mode": "chatgpt", "tokens": tokens, "last_refresh": _LOGGED_IN_AT}
    return json.dumps(held, indent=1) + "\n"


def _config_file(inside: LoginInside) -> str:
    return codex.EXPOSED_CONFIG if inside.token else codex.LOGIN_CONFIG


LOGIN_USES: Final[Mapping[str, LoginUse]] = {
    "codex": LoginUse(
        CHATGPT,
        files=(
            LoginFile(".codex/auth.json", _auth_file),
            LoginFile(".codex/config.toml", _config_file, codex.CONFIG),
        ),
        refresh_env="CODEX_REFRESH_TOKEN_URL_OVERRIDE",
    ),
    "claude-code": LoginUse(CLAUDE, cleared=(ANTHROPIC.key_env,)),
}
"""The agents that a person can log in, by name. Others take keys."""


def agent_of(provider: str) -> str:
    """Return the agent whose login the broker has in this provider's row; empty for any other."""
    names = (name for name, use in LOGIN_USES.items() if use.provider.name == provider)
    return next(names, "")
