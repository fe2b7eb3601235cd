from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.adapters.workspaces.empty import EmptyWorkspaces
from atoll.adapters.workspaces.metadata_files import FILE, HomeMetadata
from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox, SandboxRepo
from atoll.ports import MetadataFiles, RuntimeClient
from atoll.testing import (
    FakeMetadataFiles,
    FakeRuntimes,
    FakeWorkspaces,
    MetadataFilesContract,
    WorkSaverContract,
    WorkspacePreparerContract,
)
from atoll.testing.contracts.workspaces import EMPTY

ABSENT = SandboxRepo("https://x.org/o/r", "main", None, "/w")


@pytest.fixture
def client() -> RuntimeClient:
    return FakeRuntimes()


@pytest.fixture
def laid_out() -> Sandbox:
    return EMPTY


class TestEmptyWorkspaces(WorkspacePreparerContract, WorkSaverContract):
    @pytest.fixture
    def preparer(self) -> EmptyWorkspaces:
        return EmptyWorkspaces()

    @pytest.fixture
    def saver(self) -> EmptyWorkspaces:
        return EmptyWorkspaces()

    @pytest.fixture
    def absent(self) -> SandboxRepo:
        return ABSENT

    async def test_repository_is_refused_as_wrong(self, preparer: EmptyWorkspaces) -> None:
        with pytest.raises(Invalid, match="repositories"):
            await preparer.mounts_for(EMPTY.org_id, (ABSENT,))


class TestFakeWorkspaces(WorkspacePreparerContract, WorkSaverContract):
    @pytest.fixture
    def preparer(self) -> FakeWorkspaces:
        return FakeWorkspaces()

    @pytest.fixture
    def saver(self) -> FakeWorkspaces:
        return FakeWorkspaces()

    @pytest.fixture
    def absent(self, preparer: FakeWorkspaces) -> SandboxRepo:
        preparer.failing["mounts"] = Unavailable("The remote does not answer.")
        return ABSENT


class TestHomeMetadata(MetadataFilesContract):
    @pytest.fixture
    def files(self, tmp_path: Path) -> HomeMetadata:
        return HomeMetadata(tmp_path / "sandboxes")

    @pytest.fixture
    def read(self, tmp_path: Path) -> Callable[[SandboxId], bytes]:
        return lambda sandbox_id: (tmp_path / "sandboxes" / sandbox_id / FILE).read_bytes()

    def hinder(self, files: MetadataFiles) -> None:
        assert isinstance(files, HomeMetadata)
        files._folder.write_text("no directory")


class TestFakeMetadataFiles(MetadataFilesContract):
    @pytest.fixture
    def files(self) -> FakeMetadataFiles:
        return FakeMetadataFiles()

    @pytest.fixture
    def read(self, files: FakeMetadataFiles) -> Callable[[SandboxId], bytes]:
        return lambda sandbox_id: files.documents[sandbox_id]

    def hinder(self, files: MetadataFiles) -> None:
        assert isinstance(files, FakeMetadataFiles)
        files.failure = Failed("The disk is full.")
