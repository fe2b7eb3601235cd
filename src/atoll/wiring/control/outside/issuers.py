"""Issuers of agents' logins: those that the settings name, and the use cases over them."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Protocol

from atoll.adapters.addresses import Reach
from atoll.adapters.issuers.device_grant import DeviceGrantIssuer, OAuthPaths
from atoll.adapters.issuers.http import IssuerHttp
from atoll.adapters.issuers.openai import OpenAIIssuer
from atoll.adapters.issuers.settings import IssuerSettings
from atoll.domain.network.egress import PRIVATE
from atoll.ports import Vault
from atoll.ports.clock import Clock
from atoll.ports.outside.issuer import AgentIssuer
from atoll.services.ground import Ground
from atoll.services.logins.agent_logins import AgentLogins
from atoll.services.logins.lent import ExposureRules
from atoll.services.logins.settings import AgentLoginSettings
from atoll.services.logins.steps import Push
from atoll.services.logins.upkeep import LoginServices, LoginUpkeep
from atoll.services.task_runner import TaskRunner

_OWN = Reach(loopback=True, ranges=tuple(map(str, PRIVATE)))
"""An administrator names an issuer, so it may be on this machine or in a private network."""


class LoginPorts(Protocol):
    """The issuers by agent, and the vault that holds the tokens."""

    @property
    def issuers(self) -> Mapping[str, AgentIssuer]:
        """The issuers."""
        ...

    @property
    def vault(self) -> Vault:
        """The vault."""
        ...


def open_issuers(
    settings: IssuerSettings, clock: Clock, stack: AsyncExitStack
) -> Mapping[str, AgentIssuer]:
    """Return the issuer of each agent that the settings name. Nothing is sent yet."""
    http = IssuerHttp(_OWN)
    stack.push_async_callback(http.close)
    return {name: _issuer(settings, name, http, clock) for name in settings.agent_issuers}


def build_logins(
    ground: Ground,
    ports: LoginPorts,
    runner: TaskRunner,
    settings: AgentLoginSettings,
    *,
    push: Push,
    exposures: ExposureRules,
) -> LoginServices:
    """Return the use cases on logins. `push` sends the policies of an owner's sandboxes anew, and
    `exposures` judge where a token may be put."""
    logins = AgentLogins(
        ground,
        ports.issuers,
        vault=ports.vault,
        runner=runner,
        early=settings.early,
        push=push,
        exposures=exposures,
    )
    return LoginServices(logins, LoginUpkeep(ground, logins, runner))


def _issuer(settings: IssuerSettings, agent: str, http: IssuerHttp, clock: Clock) -> AgentIssuer:
    client = settings.client_of(agent)
    if settings.flow_of(agent) == "openai":
        return OpenAIIssuer(client, http, clock)
    own = settings.agent_issuers[agent]
    paths = OAuthPaths(own.device_path, own.authorize_path, own.token_path, own.revocation_path)
    return DeviceGrantIssuer(client, http, clock, paths=paths)
