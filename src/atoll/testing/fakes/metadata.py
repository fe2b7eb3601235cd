"""Metadata documents in memory."""

from collections.abc import Collection
from dataclasses import dataclass, field

from atoll.domain.errors import AtollError
from atoll.domain.ids import SandboxId


@dataclass(slots=True)
class FakeMetadataFiles:
    """A `ports.metadata.MetadataFiles` whose `documents` a test may read and change. Each method
    raises `failure` while it is set; `refused` counts how often."""

    documents: dict[SandboxId, bytes] = field(default_factory=dict)
    failure: AtollError | None = None
    refused: int = 0

    async def put(self, sandbox_id: SandboxId, document: bytes) -> None:
        """See the port."""
        self._check()
        self.documents[sandbox_id] = document

    async def forget(self, sandbox_id: SandboxId) -> None:
        """See the port."""
        self._check()
        self.documents.pop(sandbox_id, None)

    async def known(self) -> Collection[SandboxId]:
        """See the port."""
        self._check()
        return tuple(self.documents)

    def _check(self) -> None:
        if self.failure is not None:
            self.refused += 1
            raise self.failure
