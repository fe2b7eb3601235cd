"""Settings of the issuers of agents' logins: where each agent's vendor logs people in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec

from atoll.adapters.issuers.client import IssuerClient
from atoll.domain.agents.login_use import LOGIN_USES
from atoll.domain.errors import Invalid

MAX_SCOPES = 32
_USUAL: Mapping[str, tuple[str, str]] = {"codex": ("https://auth.openai.com", "openai")}
"""The vendor's own issuer of an agent, and its flow."""

_Word = Annotated[str, msgspec.Meta(pattern=r"^[!-~]{1,200}\Z")]
_Path = Annotated[str, msgspec.Meta(pattern=r"^/[A-Za-z0-9/._~-]{0,200}\Z")]
Flow = Literal["openai", "oauth"]


class AgentIssuerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An issuer, the client id by which this installation logs people in there, and its flow:
    OpenAI's own, or OAuth by the standards, whose endpoints are paths below the issuer."""

    client_id: _Word
    issuer: str = ""
    flow: Flow | None = None
    scopes: Annotated[tuple[_Word, ...], msgspec.Meta(max_length=MAX_SCOPES)] = ()
    device_path: _Path = "/oauth/device/code"
    authorize_path: _Path = "/oauth/authorize"
    token_path: _Path = "/oauth/token"  # noqa: S105 - a path, no secret
    revocation_path: _Path = "/oauth/revoke"


@dataclass(frozen=True, slots=True)
class IssuerSettings:
    """Settings of issuers. Raises `Invalid` for an agent that does not log in, or an address to
    which tokens may not be sent.

    `agent_issuers`: a table for each agent that may log in, by its name.
    """

    agent_issuers: dict[str, AgentIssuerSettings] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for agent in self.agent_issuers:
            if agent not in LOGIN_USES:
                raise Invalid(
                    f"agent_issuers.{agent[:40]}: the agents that log in are "
                    f"{', '.join(sorted(LOGIN_USES))}; others take keys",
                    field="agent_issuers",
                )
            self.client_of(agent)

    def client_of(self, agent: str) -> IssuerClient:
        """Return the issuer of an agent, and our client there."""
        one = self.agent_issuers[agent]
        usual, _ = _USUAL.get(agent, ("", ""))
        try:
            return IssuerClient(one.issuer or usual, one.client_id, one.scopes)
        except ValueError as error:
            raise Invalid(
                f"agent_issuers.{agent}.issuer must be https://…, or http:// to this machine",
                field="agent_issuers",
            ) from error

    def flow_of(self, agent: str) -> str:
        """Return the flow of an agent's issuer."""
        _, usual = _USUAL.get(agent, ("", "oauth"))
        return self.agent_issuers[agent].flow or usual
