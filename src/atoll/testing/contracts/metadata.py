"""The contract of MetadataFiles.

Subclass `MetadataFilesContract` in a test module, give it the fixtures `files` (nothing is kept
yet) and `read` (returns a sandbox's document as other tools find it).
"""

from collections.abc import Callable

from atoll.domain.ids import SandboxId
from atoll.ports.metadata import MetadataFiles

Reader = Callable[[SandboxId], bytes]
ONE, OTHER = SandboxId("sb_one"), SandboxId("sb_other")


class MetadataFilesContract:
    """A document for each sandbox, replaced whole; everything may be repeated."""

    async def test_nothing_is_known_at_first(self, files: MetadataFiles) -> None:
        assert list(await files.known()) == []

    async def test_document_is_replaced_whole(self, files: MetadataFiles, read: Reader) -> None:
        await files.put(ONE, b'{"long": "document"}')
        await files.put(ONE, b"{}")
        await files.put(OTHER, b"[]")
        assert read(ONE) == b"{}"
        assert read(OTHER) == b"[]"
        assert sorted(await files.known()) == [ONE, OTHER]

    async def test_document_is_forgotten_once_and_again(
        self, files: MetadataFiles, read: Reader
    ) -> None:
        await files.put(ONE, b"{}")
        await files.forget(ONE)
        await files.forget(ONE)
        assert list(await files.known()) == []
        await files.put(ONE, b"[]")
        assert read(ONE) == b"[]"
