"""The contract of a CloudDrive: files that people keep elsewhere.

Subclass `CloudDriveContract` in a test module and give it the fixture `drive`: a drive whose root
holds the folder `docs` ("Docs") and the file `notes` ("notes.txt", `NOTES`); the folder holds the
document `paper` ("Paper"), exported as Markdown to `PAPER`, and `MANY` more files. Implement
`consent`, which does what a person and their browser do, and `end`, by which they end it.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest

from atoll.domain.drive.drive import (
    BegunConnection,
    DriveAccess,
    DriveFile,
    DriveQuery,
    DriveUpload,
)
from atoll.domain.errors import Forbidden, Invalid, NotFound
from atoll.domain.ids import PERSONAL_ORG, PrincipalId
from atoll.ports.outside.drive import CloudDrive

NOTES = b"one\ntwo\n" * 40_000
PAPER = b"# Paper\n"
MANY = 5
BEGUN = BegunConnection(
    PERSONAL_ORG,
    PrincipalId("ada"),
    "mark",
    "a-state",
    "a-verifier-of-forty-three-characters-or-more",
    "http://127.0.0.1:8765/auth/drive/callback",
    datetime(2026, 1, 2, tzinfo=UTC),
)


async def in_parts(*parts: bytes) -> AsyncIterator[bytes]:
    """Yield bytes as a stream does."""
    for part in parts:
        yield part


class CloudDriveContract(ABC):
    """Contract of a drive: consent leads to files, which come and go whole."""

    @abstractmethod
    def consent(self, drive: CloudDrive, url: str) -> str:
        """Consent at this address; return the code with which the browser is sent back."""

    @abstractmethod
    def end(self, drive: CloudDrive) -> None:
        """End the consent at the drive."""

    @pytest.fixture
    async def access(self, drive: CloudDrive) -> DriveAccess:
        code = self.consent(drive, drive.consent_url(BEGUN))
        grant = await drive.connect(BEGUN, code)
        return await drive.access(grant.refresh_token)

    async def test_consent_is_traded_once_and_by_its_own_verifier(self, drive: CloudDrive) -> None:
        url = drive.consent_url(BEGUN)
        assert urlsplit(url).scheme in ("https", "http") and BEGUN.verifier not in url
        code = self.consent(drive, url)
        for begun, wrong in ((BEGUN, "another"), (replace(BEGUN, verifier="w" * 43), code)):
            with pytest.raises(Forbidden) as refused:
                await drive.connect(begun, wrong)
            assert refused.value.code == "drive_ended"
        code = self.consent(drive, drive.consent_url(BEGUN))
        grant = await drive.connect(BEGUN, code)
        assert grant.account and grant.refresh_token not in repr(grant)
        with pytest.raises(Forbidden):
            await drive.connect(BEGUN, code)

    async def test_consent_that_ended_gives_no_token(self, drive: CloudDrive) -> None:
        code = self.consent(drive, drive.consent_url(BEGUN))
        grant = await drive.connect(BEGUN, code)
        assert (await drive.access(grant.refresh_token)).token
        await drive.revoke(grant.refresh_token)
        await drive.revoke(grant.refresh_token)
        with pytest.raises(Forbidden) as refused:
            await drive.access(grant.refresh_token)
        assert refused.value.code == "drive_ended"
        assert grant.refresh_token not in str(refused.value)

    async def test_folder_is_listed_in_pages_folders_first(
        self, drive: CloudDrive, access: DriveAccess
    ) -> None:
        root = await drive.page(access, DriveQuery())
        assert [file.id for file in root.files] == ["docs", "notes"]
        assert root.files[0].is_folder and root.files[1].size == len(NOTES)
        assert root.following == ""
        seen: list[DriveFile] = []
        query = DriveQuery("docs", limit=2)
        while True:
            page = await drive.page(access, query)
            assert len(page.files) <= 2
            seen += page.files
            if not page.following:
                break
            query = replace(query, cursor=page.following)
        assert len({file.id for file in seen}) == len(seen) == MANY + 1

    async def test_name_is_searched_everywhere(
        self, drive: CloudDrive, access: DriveAccess
    ) -> None:
        listing = await drive.page(access, DriveQuery(name="pape"))
        assert [file.id for file in listing.files] == ["paper"]
        assert (await drive.page(access, DriveQuery(name="it's \\ not' there"))).files == ()

    async def test_file_comes_whole_and_document_in_a_form(
        self, drive: CloudDrive, access: DriveAccess
    ) -> None:
        async with drive.open(access, "notes", None) as opened:
            assert b"".join([part async for part in opened.body]) == NOTES
            assert opened.file.name == "notes.txt"
        async with drive.open(access, "paper", "md") as opened:
            assert b"".join([part async for part in opened.body]) == PAPER
        for file_id, form in (("docs", None), ("paper", "mp3"), ("notes", "pdf")):
            with pytest.raises(Invalid):
                async with drive.open(access, file_id, form):
                    pass
        with pytest.raises(NotFound):
            async with drive.open(access, "gone", None):
                pass

    async def test_file_is_stored_new_or_as_a_new_version(
        self, drive: CloudDrive, access: DriveAccess
    ) -> None:
        made = await drive.store(access, DriveUpload("out.bin", "docs"), in_parts(b"a" * 9, b"b"))
        assert (made.name, made.size) == ("out.bin", 10)
        again = await drive.store(
            access, DriveUpload("out.bin", file_id=made.id), in_parts(b"second")
        )
        assert (again.id, again.size) == (made.id, 6)
        empty = await drive.store(access, DriveUpload("empty"), in_parts())
        assert empty.size == 0 and empty.id != made.id
        async with drive.open(access, made.id, None) as opened:
            assert b"".join([part async for part in opened.body]) == b"second"

    async def test_file_whose_source_fails_is_not_stored(
        self, drive: CloudDrive, access: DriveAccess
    ) -> None:
        async def fail_halfway() -> AsyncIterator[bytes]:
            yield b"half"
            raise NotFound("the source is gone")

        with pytest.raises(NotFound, match="the source is gone"):
            await drive.store(access, DriveUpload("half.bin"), fail_halfway())
        assert (await drive.page(access, DriveQuery(name="half"))).files == ()

    async def test_token_that_ended_is_refused(
        self, drive: CloudDrive, access: DriveAccess
    ) -> None:
        self.end(drive)
        with pytest.raises(Forbidden) as refused:
            await drive.page(access, DriveQuery())
        assert refused.value.code == "drive_refused"
        assert access.token not in str(refused.value)
