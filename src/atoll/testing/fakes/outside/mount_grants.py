"""Grants of mounts in memory."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from atoll.ports.outside.mount_grants import MountGrant


@dataclass(slots=True)
class FakeMountGrants:
    """A `ports.outside.mount_grants.MountGrants` whose `written` a test may read and change."""

    written: dict[str, datetime] = field(default_factory=dict)

    def write(self, name: str, at: datetime | None = None) -> None:
        """Write a grant as a person does, now or at another time."""
        self.written[name] = at or datetime.now(UTC)

    async def find(self) -> Sequence[MountGrant]:
        """See the port."""
        return [MountGrant(name, at) for name, at in self.written.items()]

    async def remove(self, names: Collection[str]) -> None:
        """See the port."""
        for name in names:
            self.written.pop(name, None)

    async def close(self) -> None:
        """Do nothing: it holds nothing."""
