"""The port of rows that are a key and a value."""

from typing import Protocol, TypeVar, TypeVarTuple

from atoll.domain.ids import OrgId, PrincipalId

T = TypeVar("T")
Key = TypeVarTuple("Key")


class Records(Protocol[T, *Key]):
    """Values of one noun, each by its key: `Records[Member, OrgId, PrincipalId]` are members by
    organization and principal. Raises nothing of its own: absent is None."""

    async def put(self, value: T, /) -> None:
        """Add a value, or replace the one of its key."""
        ...

    async def get(self, *key: *Key) -> T | None:
        """Return the value of a key."""
        ...

    async def remove(self, *key: *Key) -> None:
        """Remove the value of a key; a missing one is not an error."""
        ...


class OwnedRecords(Records[T, *Key], Protocol[T, *Key]):
    """Values that each belong to a person in an organization."""

    async def of(self, org_id: OrgId, owner: PrincipalId, /) -> list[T]:
        """Return the values of a person, in the order of their noun."""
        ...
