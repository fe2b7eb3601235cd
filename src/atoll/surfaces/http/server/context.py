"""The arguments of a route: the services of this app, and the caller.

The guard has authenticated the caller before any route runs; nothing is decided here.
"""

from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from atoll.domain.people.principal import Principal
from atoll.services.application import Application


async def _application_of(connection: HTTPConnection) -> Application:
    application: Application = connection.app.state.services
    return application


async def _caller_of(connection: HTTPConnection) -> Principal:
    caller: Principal = connection.state.caller
    return caller


Atoll = Annotated[Application, Depends(_application_of)]
"""A route parameter: the services."""

Caller = Annotated[Principal, Depends(_caller_of)]
"""A route parameter: the caller."""
