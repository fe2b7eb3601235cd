"""The arguments of a route: the services of this app, and the caller.

The guard has authenticated the caller before any route runs; nothing is decided here.
"""

from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from atoll.domain.people.principal import Principal
from atoll.services.application import Application
from atoll.surfaces.http.body.fields import SandboxRef


async def _application_of(connection: HTTPConnection) -> Application:
    application: Application = connection.app.state.services
    return application


async def _caller_of(connection: HTTPConnection) -> Principal:
    caller: Principal = connection.state.caller
    return caller


async def _at(
    caller: Annotated[Principal, Depends(_caller_of)], sandbox: SandboxRef
) -> tuple[Principal, str]:
    return caller, sandbox


Atoll = Annotated[Application, Depends(_application_of)]
"""A route parameter: the services."""

Caller = Annotated[Principal, Depends(_caller_of)]
"""A route parameter: the caller."""

CallerSandbox = Annotated[tuple[Principal, str], Depends(_at)]
"""A route parameter: the caller, and the sandbox that the path names."""
