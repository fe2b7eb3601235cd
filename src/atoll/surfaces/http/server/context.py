"""The arguments of a route: the services of this app, and the caller.

The guard has authenticated the caller before any route runs; nothing is decided here.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import HTTPConnection

from atoll.domain.people.principal import Principal
from atoll.ports.extension import Extension
from atoll.services.agents.agents import Agents
from atoll.services.approvals.approvals import Approvals
from atoll.services.journals.events import Events
from atoll.services.library.kept import KeptWorktrees
from atoll.services.library.profiles import Profiles
from atoll.services.library.unpulled import Unpulled
from atoll.services.people.logins import Logins
from atoll.services.people.shares import Shares
from atoll.services.sandboxes.consumers import Consumers
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.secrets.secrets import Secrets
from atoll.services.terminals.execs import Execs
from atoll.services.terminals.files import Files
from atoll.services.terminals.recordings import Recordings
from atoll.services.terminals.terminals import Terminals

Readiness = Callable[[], Awaitable[str | None]]
"""The reason why the server is not ready yet, or None when it is."""


@dataclass(frozen=True, slots=True)
class Services:
    """The services that the routes use; made once in `wiring`. `repositories` is the service of
    `services.library.repositories`."""

    sandboxes: Sandboxes
    terminals: Terminals
    recordings: Recordings
    agents: Agents
    consumers: Consumers
    shares: Shares
    execs: Execs
    files: Files
    unpulled: Unpulled
    kept: KeptWorktrees
    profiles: Profiles
    events: Events
    logins: Logins
    extensions: Mapping[str, Extension]
    readiness: Readiness
    secrets: Secrets
    approvals: Approvals
    repositories: Any = None


async def _services_of(connection: HTTPConnection) -> Services:
    services: Services = connection.app.state.services
    return services


async def _caller_of(connection: HTTPConnection) -> Principal:
    caller: Principal = connection.state.caller
    return caller


Atoll = Annotated[Services, Depends(_services_of)]
"""A route parameter: the services."""

Caller = Annotated[Principal, Depends(_caller_of)]
"""A route parameter: the caller."""
