"""The LoginBooks port: storage of the fingerprints of login tickets and sessions."""

from typing import Protocol

from atoll.domain.people.login import LoginBook


class LoginBooks(Protocol):
    """Storage of one book, so that a restart leaves people logged in."""

    async def load(self) -> LoginBook:
        """Return the stored book, or an empty one when there is none or it is unreadable. Everybody
        then logs in again."""
        ...

    async def save(self, book: LoginBook) -> None:
        """Replace the kept book atomically; it is durable on return. One that is cancelled never
        replaces the book of a later save. Raises `Failed`: the kept book is the one before."""
        ...
