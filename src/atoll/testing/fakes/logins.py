"""A login book in memory."""

from dataclasses import dataclass, field

from atoll.domain.errors import AtollError
from atoll.domain.people.login import LoginBook


@dataclass(slots=True)
class FakeLoginBooks:
    """A `ports.logins.LoginBooks` that lasts as long as the object: give it to a second service to
    restart the first. Each save raises `failure` while it is set; `saves` counts the others."""

    book: LoginBook = field(default_factory=LoginBook)
    failure: AtollError | None = None
    saves: int = 0

    async def load(self) -> LoginBook:
        """See the port."""
        return self.book

    async def save(self, book: LoginBook) -> None:
        """See the port."""
        if self.failure is not None:
            raise self.failure
        self.book = book
        self.saves += 1
