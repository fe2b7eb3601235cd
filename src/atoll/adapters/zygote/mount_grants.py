"""Grants of mounts in the home, which its owner writes and the zygote removes."""

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from atoll.adapters.zygote.link import ZygoteLink
from atoll.domain.errors import Failed
from atoll.ports.outside.mount_grants import MountGrant
from atoll.wire.zygote import messages as wire

SECONDS = 10.0
_NAME = re.compile(r"[0-9a-f]{32}")


@dataclass(slots=True)
class HomeGrants:
    """The `ports.outside.mount_grants.MountGrants` of the home at `home`. A file of another name
    is none of ours."""

    home: Path
    _link: ZygoteLink = field(init=False)

    def __post_init__(self) -> None:
        self._link = ZygoteLink(self.home / "run" / "zygote.sock")

    async def find(self) -> Sequence[MountGrant]:
        """See the port."""
        try:
            return await asyncio.to_thread(self._read)
        except OSError as error:
            raise Failed(f"the grants of mounts cannot be read: {error}") from error

    def _read(self) -> Sequence[MountGrant]:
        folder = self.home / "grants"
        files = folder.iterdir() if folder.exists() else ()  # the first mount makes it
        named = (one for one in files if _NAME.fullmatch(one.name))
        return [
            MountGrant(one.name, datetime.fromtimestamp(one.lstat().st_mtime, UTC)) for one in named
        ]

    async def remove(self, names: Collection[str]) -> None:
        """See the port."""
        left = sorted(names)
        for begin in range(0, len(left), wire.MAX_GRANTS):
            some = tuple(left[begin : begin + wire.MAX_GRANTS])
            await self._link.request(wire.RemoveGrants(some), seconds=SECONDS)

    async def close(self) -> None:
        """See the port."""
        self._link.close()
