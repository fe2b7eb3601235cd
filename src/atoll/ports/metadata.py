"""The MetadataFiles port: documents about sandboxes that other tools read without the API."""

from collections.abc import Collection
from typing import Protocol

from atoll.domain.ids import SandboxId


class MetadataFiles(Protocol):
    """Metadata documents, one for each sandbox. Methods raise `Failed`, and may be repeated."""

    async def put(self, sandbox_id: SandboxId, document: bytes) -> None:
        """Replace a sandbox's document, whole or not at all."""
        ...

    async def forget(self, sandbox_id: SandboxId) -> None:
        """Remove a sandbox's document."""
        ...

    async def known(self) -> Collection[SandboxId]:
        """Return the sandboxes that have a document."""
        ...
