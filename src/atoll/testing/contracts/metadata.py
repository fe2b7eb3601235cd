"""The contract of MetadataFiles.

Subclass `MetadataFilesContract` in a test module, give it the fixture `files` (nothing is kept
yet), and say in `read` how other tools read a document.
"""

from atoll.domain.ids import SandboxId
from atoll.ports.metadata import MetadataFiles

ONE, OTHER = SandboxId("sb_one"), SandboxId("sb_other")


class MetadataFilesContract:
    """A document for each sandbox, replaced whole; everything may be repeated."""

    def read(self, files: MetadataFiles, sandbox_id: SandboxId) -> bytes:
        """Return a document as other tools find it."""
        raise NotImplementedError("override read() in your subclass of MetadataFilesContract")

    async def test_nothing_is_known_at_first(self, files: MetadataFiles) -> None:
        assert list(await files.known()) == []

    async def test_document_is_replaced_whole(self, files: MetadataFiles) -> None:
        await files.put(ONE, b'{"long": "document"}')
        await files.put(ONE, b"{}")
        await files.put(OTHER, b"[]")
        assert self.read(files, ONE) == b"{}"
        assert self.read(files, OTHER) == b"[]"
        assert sorted(await files.known()) == [ONE, OTHER]

    async def test_document_is_forgotten_once_and_again(self, files: MetadataFiles) -> None:
        await files.put(ONE, b"{}")
        await files.forget(ONE)
        await files.forget(ONE)
        assert list(await files.known()) == []
        await files.put(ONE, b"[]")
        assert self.read(files, ONE) == b"[]"
