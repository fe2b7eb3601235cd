"""The SafetyLayers port: shell scripts and shims of the safety layers, mounted inside a sandbox."""

from typing import Protocol

from atoll.domain.profile.profile import Safety
from atoll.ports.extension import Mount


class SafetyLayers(Protocol):
    """Shims, shell warnings and shell marks, read-only."""

    async def mounts_for(self, safety: Safety) -> tuple[Mount, ...]:
        """Return the mounts of these layers. Idempotent. Raises `Failed` when it cannot be
        written."""
        ...

    def env_for(self, safety: Safety) -> tuple[tuple[str, str], ...]:
        """Return the variables that make shells load the layers."""
        ...
