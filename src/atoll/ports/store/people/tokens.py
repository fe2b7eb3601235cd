"""Personal access tokens, and the keys that sign short-lived ones."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.token import Token, TokenId
from atoll.ports.vault import Sealed


class TokenRows(Protocol):
    """Personal access tokens. Only fingerprints of their texts are stored."""

    async def add(self, token: Token) -> None:
        """Add a token."""
        ...

    async def get(self, token_id: TokenId) -> Token | None:
        """Return a token by id."""
        ...

    async def marked(self, mark: str) -> Token | None:
        """Return the token whose text has this fingerprint."""
        ...

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[Token]:
        """Return an owner's tokens, oldest first."""
        ...

    async def living(self, org_id: OrgId, now: datetime, page: PageQuery) -> RowPage[Token]:
        """Return a page of an organization's tokens that have not ended, the first to end first."""
        ...

    async def used(self, token_id: TokenId, at: datetime) -> None:
        """Note a token's last use; a missing token is not an error."""
        ...

    async def remove(self, token_id: TokenId) -> None:
        """Remove a token, and those made by it; a missing one is not an error."""
        ...

    async def forget(self, before: datetime) -> None:
        """Remove tokens that ended at `before` or earlier."""
        ...


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key of this installation. `public` is a JSON Web Key in JSON. A key signs until another one
    is made (`retired_at`), and its signatures hold a while longer."""

    kid: str
    public: str
    created_at: datetime
    retired_at: datetime | None = None


class SigningKeyRows(Protocol):
    """The keys that sign, or signed a short time ago."""

    async def all(self) -> list[SigningKey]:
        """Return the keys, oldest first."""
        ...

    async def private(self, kid: str) -> Sealed | None:
        """Return the private half of a key that is there, sealed."""
        ...

    async def add(self, key: SigningKey, private: Sealed) -> None:
        """Add a key."""
        ...

    async def retire(self, at: datetime) -> None:
        """Retire all keys that are not retired."""
        ...

    async def forget(self, before: datetime) -> None:
        """Remove keys that were retired at `before` or earlier."""
        ...
