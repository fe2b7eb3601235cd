"""The contract of MetadataFiles.

Subclass `MetadataFilesContract` in a test module, give it the fixtures `files` (nothing is kept
yet) and `read` (returns a sandbox's document as other tools find it), and override `hinder`.
"""

import asyncio
from collections.abc import Callable

import pytest

from atoll.domain.errors import Failed
from atoll.domain.ids import SandboxId
from atoll.ports.metadata import MetadataFiles

Reader = Callable[[SandboxId], bytes]
ONE, OTHER = SandboxId("sb_one"), SandboxId("sb_other")
LONG = b'{"long": "' + b"x" * 2**20 + b'"}'


class MetadataFilesContract:
    """A document for each sandbox, replaced whole; everything may be repeated."""

    def hinder(self, files: MetadataFiles) -> None:
        """Make every later write fail, as a full disk would."""
        raise NotImplementedError("override hinder() in your subclass of MetadataFilesContract")

    async def test_nothing_is_known_at_first(self, files: MetadataFiles) -> None:
        assert list(await files.known()) == []

    @pytest.mark.parametrize("document", [b"", b"\x00\xff\r\n", LONG], ids=["no", "odd", "long"])
    async def test_document_is_kept_byte_for_byte(
        self, files: MetadataFiles, read: Reader, document: bytes
    ) -> None:
        await files.put(ONE, document)
        await files.put(ONE, document)
        assert read(ONE) == document
        assert list(await files.known()) == [ONE]

    async def test_document_is_replaced_whole(self, files: MetadataFiles, read: Reader) -> None:
        await files.put(ONE, b'{"long": "document"}')
        await files.put(ONE, b"{}")
        await files.put(OTHER, b"[]")
        assert read(ONE) == b"{}"
        assert read(OTHER) == b"[]"
        assert sorted(await files.known()) == [ONE, OTHER]

    async def test_reader_never_finds_half_a_document(
        self, files: MetadataFiles, read: Reader
    ) -> None:
        await files.put(ONE, b"{}")
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(files.put(ONE, LONG))
            while not writing.done():
                assert read(ONE) in (b"{}", LONG)
                await asyncio.sleep(0)
        assert read(ONE) == LONG

    async def test_documents_of_many_sandboxes_are_written_at_once(
        self, files: MetadataFiles, read: Reader
    ) -> None:
        many = [SandboxId(f"sb_{number}") for number in range(20)]
        await asyncio.gather(*(files.put(sandbox_id, sandbox_id.encode()) for sandbox_id in many))
        assert sorted(await files.known()) == sorted(many)
        assert all(read(sandbox_id) == sandbox_id.encode() for sandbox_id in many)

    async def test_document_is_forgotten_once_and_again(
        self, files: MetadataFiles, read: Reader
    ) -> None:
        await files.put(ONE, b"{}")
        await files.forget(ONE)
        await files.forget(ONE)
        assert list(await files.known()) == []
        await files.put(ONE, b"[]")
        assert read(ONE) == b"[]"

    async def test_document_of_one_sandbox_is_forgotten_alone(
        self, files: MetadataFiles, read: Reader
    ) -> None:
        await files.put(ONE, b"1")
        await files.put(OTHER, b"2")
        await files.forget(ONE)
        assert list(await files.known()) == [OTHER]
        assert read(OTHER) == b"2"

    async def test_write_that_fails_says_so(self, files: MetadataFiles) -> None:
        self.hinder(files)
        for _ in range(2):
            with pytest.raises(Failed):
                await files.put(ONE, b"{}")
