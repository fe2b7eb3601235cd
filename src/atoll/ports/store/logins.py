"""Tickets and sessions of the installation's person."""

from typing import Protocol

from atoll.domain.people.login import LoginBook


class LoginRows(Protocol):
    """The one login book of an installation, and the number of its changes."""

    async def newer(self, version: int) -> tuple[int, LoginBook] | None:
        """Return the book with its version, None unless it is newer than `version`. The first one
        has the version 1."""
        ...

    async def put(self, book: LoginBook) -> int:
        """Replace the book, and return its version."""
        ...
