"""References of requests to things that must be there."""

from collections.abc import Awaitable, Callable

from atoll.domain.errors import Invalid, NotFound
from atoll.domain.people.principal import Principal

FindProfile = Callable[[Principal, str], Awaitable[object]]
"""Finds a profile by its id. Raises `NotFound`."""


async def check_profile(find: FindProfile, caller: Principal, ref: str, *, field: str) -> None:
    """Check that a profile which a field names is there for the caller. Raises `Invalid`."""
    try:
        await find(caller, ref)
    except NotFound as error:
        raise Invalid(error.message, field=field) from error
