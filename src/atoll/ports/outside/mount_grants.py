"""The MountGrants port: what people wrote to let folders of this machine be mounted."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class MountGrant:
    """A grant by its name, as mounts name it, and when it was written."""

    name: str
    written_at: datetime


class MountGrants(Protocol):
    """The grants of a home. Methods raise `Unavailable` and `Failed`, and may be repeated."""

    async def find(self) -> Sequence[MountGrant]:
        """Return the grants that are there; none where there may be none."""
        ...

    async def remove(self, names: Collection[str]) -> None:
        """Remove grants; a missing one is no error."""
        ...

    async def close(self) -> None:
        """Close what was opened for it."""
        ...
