"""Profiles: the bundled ones, those in a directory, and those people saved.

Bundled ones cannot be changed. What a profile may say is `domain.profile_schema`'s business.
"""

from collections.abc import Iterable, Sequence

from atoll.domain.principal import Principal
from atoll.domain.profile import Profile


class Profiles:
    """Profiles by id (`profile.shell`, or short `shell`) and version."""

    async def list(self, caller: Principal) -> Sequence[Profile]:
        """The newest version of each, by id."""

    async def get(self, caller: Principal, ref: str, *, version: str | None = None) -> Profile:
        """One; the newest version when none is named. Raises `NotFound`."""

    async def versions(self, caller: Principal, ref: str) -> Sequence[str]:
        """All versions of one, newest first. Raises `NotFound`."""

    async def save(self, caller: Principal, ref: str, text: str) -> Profile:
        """Read YAML or JSON and keep it; the id inside must be `ref`'s. Raises `Invalid` with
        line and field, `Forbidden` for a bundled one."""

    async def delete(self, caller: Principal, ref: str, *, version: str | None = None) -> None:
        """Remove one version or all. Raises `NotFound`, `Forbidden` for a bundled one."""

    def bundled(self, ref: str) -> bool:
        """Whether this profile comes with Atoll."""
