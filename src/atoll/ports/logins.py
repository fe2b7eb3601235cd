"""The LoginBooks port: where the fingerprints of tickets and sessions are kept."""

from typing import Protocol

from atoll.domain.people.login import LoginBook


class LoginBooks(Protocol):
    """Storage of one book, so that a restart leaves people logged in."""

    async def load(self) -> LoginBook:
        """Return the kept book, or an empty one. An unreadable book is an empty one: everybody logs
        in again."""
        ...

    async def save(self, book: LoginBook) -> None:
        """Replace the kept book atomically; it is durable on return. One that is cancelled never
        replaces the book of a later save. Raises `Failed`: the kept book is the one before."""
        ...
