from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.adapters.repos.direct_importer import DirectImporter
from atoll.adapters.repos.shelf import Settings, Shelf
from atoll.adapters.workspaces.empty import EmptyWorkspaces, HostAgents
from atoll.adapters.workspaces.metadata_files import FILE, HomeMetadata
from atoll.domain.errors import Failed, Invalid
from atoll.domain.ids import SandboxId
from atoll.domain.sandbox.sandbox import SandboxRepo
from atoll.domain.wall.isolation import Isolation, IsolationLevel
from atoll.ports import MetadataFiles, RuntimeClient
from atoll.services.library.workspaces import Workspaces
from atoll.testing import (
    AgentLayersContract,
    FakeMetadataFiles,
    FakeRuntimes,
    MetadataFilesContract,
    WorkSaverContract,
    WorkspacePreparerContract,
)
from atoll.testing.fakes.clock import VirtualClock
from tests.services.scene import NotedWorkspaces

NO_WALL = Isolation(IsolationLevel.NONE, "none")


@pytest.fixture
def client() -> RuntimeClient:
    return FakeRuntimes()


def workspaces(tmp_path: Path) -> Workspaces:
    settings = Settings(tmp_path / "repos", tmp_path / "imports", allow_loopback=True)
    return Workspaces(Shelf(settings, DirectImporter()), VirtualClock())


class TestEmptyWorkspaces(WorkspacePreparerContract, WorkSaverContract):
    @pytest.fixture
    def preparer(self) -> EmptyWorkspaces:
        return EmptyWorkspaces()

    @pytest.fixture
    def saver(self) -> EmptyWorkspaces:
        return EmptyWorkspaces()

    async def test_repository_cannot_be_had(self, preparer: EmptyWorkspaces) -> None:
        with pytest.raises(Invalid, match="repositories"):
            await preparer.mounts_for((SandboxRepo("https://x.org/o/r", "main", None, "/w"),))


class TestNotedWorkspaces(WorkspacePreparerContract, WorkSaverContract):
    @pytest.fixture
    def preparer(self) -> NotedWorkspaces:
        return NotedWorkspaces()

    @pytest.fixture
    def saver(self) -> NotedWorkspaces:
        return NotedWorkspaces()


class TestWorkspaces(WorkspacePreparerContract):
    @pytest.fixture
    def preparer(self, tmp_path: Path) -> Workspaces:
        return workspaces(tmp_path)


class TestHostAgents(AgentLayersContract):
    @pytest.fixture
    def layers(self) -> HostAgents:
        return HostAgents()

    @pytest.fixture
    def offered(self) -> str:
        return "codex"


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
