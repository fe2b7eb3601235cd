"""Secrets with their sealed values."""

from dataclasses import dataclass
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId, SecretId
from atoll.domain.secrets.secret import Secret
from atoll.ports.vault import Sealed


@dataclass(frozen=True, slots=True)
class Kept:
    """A secret and its sealed value."""

    secret: Secret
    sealed: Sealed


class SecretRows(Protocol):
    """Secrets and their sealed values; values in the clear never come here."""

    async def put(self, secret: Secret, sealed: Sealed) -> None:
        """Add or replace the secret of this id. Raises `Conflict` when its holder has another
        one of that name and scope."""
        ...

    async def get(self, org_id: OrgId, secret_id: SecretId) -> Secret | None:
        """Return a secret by id."""
        ...

    async def visible(self, org_id: OrgId, owner: PrincipalId) -> list[Secret]:
        """Return the secrets of the owner and of the organization, by name."""
        ...

    async def sealed(self, org_id: OrgId, owner: PrincipalId) -> list[Kept]:
        """Return the same secrets with their sealed values, by id."""
        ...

    async def everything(self) -> list[Kept]:
        """Return the secrets of every organization, for a change of the master key."""
        ...

    async def remove(self, secret_id: SecretId) -> None:
        """Remove a secret and its value; a missing one is not an error."""
        ...
