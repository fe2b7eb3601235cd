"""The port `ports.metadata.MetadataFiles` as `metadata.json`, one directory for each sandbox of a
home.
"""

import asyncio
from collections.abc import Collection
from pathlib import Path

from atoll.adapters.auth.private_file import write_private
from atoll.adapters.settled import remove_tree
from atoll.domain.errors import Failed
from atoll.domain.ids import SandboxId

FILE = "metadata.json"


class HomeMetadata:
    """Files below `folder`, which belongs to the control plane."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, sandbox_id: SandboxId, document: bytes) -> None:
        """See the port."""
        await asyncio.to_thread(self._put, self._folder / sandbox_id, document)

    async def forget(self, sandbox_id: SandboxId) -> None:
        """See the port."""
        await remove_tree(self._folder / sandbox_id)

    async def known(self) -> Collection[SandboxId]:
        """See the port."""
        return await asyncio.to_thread(self._list_sandbox_ids)

    def _put(self, folder: Path, document: bytes) -> None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise Failed(f"cannot make {folder}: {error.strerror}") from error
        write_private(folder / FILE, document)

    def _list_sandbox_ids(self) -> list[SandboxId]:
        try:
            return [SandboxId(entry.name) for entry in self._folder.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Failed(f"cannot list {self._folder}: {error.strerror}") from error
