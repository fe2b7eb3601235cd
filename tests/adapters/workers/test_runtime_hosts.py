"""The suite of worker hosts on each kind of wall: this machine's own, a pod's runtime over TCP, a
container, a machine that SSH reaches, and an extension that the docs' own command wrote.

A pod takes seconds to start. Its suites are a slow tier, of which one test each runs always.
"""

import os
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from platform import machine
from tempfile import TemporaryDirectory

import pytest

from atoll.adapters.extensions.docker.extension import Docker, Settings
from atoll.adapters.extensions.namespaces.extension import make
from atoll.adapters.extensions.ssh.backend import SshBackend
from atoll.adapters.extensions.ssh.client import SshHost
from atoll.adapters.extensions.ssh.machines import ssh_places
from atoll.adapters.linked.extension import LinkedSettings, RelocatingExtension
from atoll.adapters.pods.process import PodProcess
from atoll.domain.hosts.host import Host, HostId
from atoll.domain.ids import SandboxId
from atoll.ports.extension import ExtensionSetup
from atoll.testing import WorkerHostContract
from atoll.testing.samples import NOW
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.words.hosts import HostKind
from atoll.wire.zygote import messages as wire
from atoll.wiring.control.extensions import load_extensions
from tests.adapters.apart.test_check import installed
from tests.adapters.workers.pod_machines import PodMachines
from tests.adapters.workers.runtime_stage import (
    CODEX,
    RuntimeHarness,
    RuntimeStage,
    runtime_stage,
)
from tests.peers.docker_daemon import IMAGE, DockerDaemon, docker_daemon, why_not
from tests.peers.far.sides import known_host
from tests.peers.machines import ssh_server
from tests.peers.machines.ssh_server import SshServer, throwaway_ssh_server

POLICY = "isolation: {level: policy}\n"
NO_SSH = ssh_server.missing() or ("" if os.geteuid() == 0 else "needs root")


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(os.geteuid(), real=True) as running:
        yield running


class ZygoteHarness(RuntimeHarness):
    """A wall whose runtimes are forked by the zygote of this machine."""

    @pytest.fixture(autouse=True)
    def zygote(self, rig: ZygoteRig) -> None:
        self.rig = rig

    async def kill_runtime(self, sandbox_id: SandboxId) -> None:
        answer = self.rig.ask(wire.ListBoxes())
        assert isinstance(answer, wire.Listed)
        (box,) = [one for one in answer.boxes if one.sandbox_id == sandbox_id]
        os.kill(box.runtime_pid, signal.SIGKILL)

    def left(self) -> list[str]:
        answer = self.rig.ask(wire.ListBoxes())
        assert isinstance(answer, wire.Listed)
        folders = [one.name for one in self.rig.home.boxes.glob("sb_*")]
        return folders + [one.sandbox_id for one in answer.boxes]


class TestNamespaces(ZygoteHarness, WorkerHostContract):
    @pytest.fixture
    async def stage(self, rig: ZygoteRig, tmp_path: Path) -> AsyncIterator[RuntimeStage]:
        extension = make(ExtensionSetup(rig.home.root, "atoll-test", agents=(CODEX,)))
        async with runtime_stage(tmp_path, extension) as found:
            yield found
        await extension.close()


@pytest.fixture(scope="module")
def daemon() -> Iterator[DockerDaemon]:
    with docker_daemon() as running:
        yield running


@pytest.mark.docker
@pytest.mark.root
@pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}")
class TestDocker(ZygoteHarness, WorkerHostContract):
    @pytest.fixture
    async def stage(
        self, rig: ZygoteRig, daemon: DockerDaemon, tmp_path: Path
    ) -> AsyncIterator[RuntimeStage]:
        home = rig.home
        settings = Settings(home.socket, home.tag, home.root / "i", daemon.host, agents=(CODEX,))
        extension = Docker(settings)
        self.daemon = daemon
        async with runtime_stage(tmp_path, extension, f"image: {IMAGE}\n") as found:
            yield found
        await extension.close()

    def left(self) -> list[str]:
        return super().left() + self.daemon.containers()


@pytest.fixture(scope="module")
def box() -> Iterator[SshServer]:
    with throwaway_ssh_server() as running:
        yield running


@pytest.mark.slow
@pytest.mark.skipif(bool(NO_SSH), reason=NO_SSH)
class TestSsh(ZygoteHarness, WorkerHostContract):
    @pytest.fixture
    async def stage(
        self, rig: ZygoteRig, box: SshServer, tmp_path: Path
    ) -> AsyncIterator[RuntimeStage]:
        self.far, home = box.home, rig.home.root
        known = {"box": await known_host(home, box)}

        async def find() -> Mapping[str, SshHost]:
            return known

        backend = SshBackend(find, ssh_places(home), "test", machine())
        extension = RelocatingExtension(LinkedSettings(home, agents=(CODEX,)), backend)
        host = Host(HostId("ho_box"), "box", HostKind.SSH, NOW, box.address, known["box"].host_key)
        async with runtime_stage(tmp_path, extension, host=host) as found:
            yield found
        await extension.close()

    def left(self) -> list[str]:
        return super().left() + [one.name for one in self.far.glob(".atoll/*/boxes/*")]


class PodHarness(RuntimeHarness):
    """A pod's runtime on TCP, with a token."""

    @pytest.fixture
    async def stage(self) -> AsyncIterator[RuntimeStage]:
        with TemporaryDirectory(prefix="at", dir="/tmp") as folder:
            Path(folder).chmod(0o711)
            pods = PodMachines(Path(folder), (CODEX,))
            async with runtime_stage(Path(folder), pods, POLICY) as found:
                yield found

    async def kill_runtime(self, sandbox_id: SandboxId) -> None:
        assert isinstance(self.behind.extension, PodMachines)
        await self.behind.extension.kill(sandbox_id)

    def left(self) -> list[str]:
        assert isinstance(self.behind.extension, PodMachines)
        return self.behind.extension.left()


class TestPod(PodHarness):
    test_killed = (
        WorkerHostContract.test_killed_worker_has_each_request_settled_once_it_is_reattached
    )


@pytest.mark.slow
class TestPodWhole(PodHarness, WorkerHostContract):
    """The whole suite."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("written"), "written")


class WrittenHarness(RuntimeHarness):
    """The extension that `atoll extension new` writes, found by its entry point."""

    @pytest.fixture
    async def stage(
        self, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> AsyncIterator[RuntimeStage]:
        monkeypatch.syspath_prepend(str(site))
        self.home = tmp_path
        setup = ExtensionSetup(tmp_path, "atoll-test", agents=(CODEX,))
        async with AsyncExitStack() as stack:
            loaded = load_extensions(setup, (), stack)
            extension = loaded.extensions["ext.written"]
            yield await stack.enter_async_context(runtime_stage(tmp_path, extension, POLICY))

    async def kill_runtime(self, sandbox_id: SandboxId) -> None:
        record = PodProcess(self._own / sandbox_id).record
        assert record is not None
        os.kill(record.pid, signal.SIGKILL)

    def left(self) -> list[str]:
        return [one.name for one in self._own.glob("sb_*")]

    @property
    def _own(self) -> Path:
        return self.home / "extensions" / "written"


class TestWritten(WrittenHarness):
    test_killed = (
        WorkerHostContract.test_killed_worker_has_each_request_settled_once_it_is_reattached
    )

    def test_extension_has_no_line_about_workers(self, site: Path) -> None:
        texts = [one.read_text().lower() for one in site.rglob("*.py")]
        assert texts and not any("worker" in one for one in texts)


@pytest.mark.slow
class TestWrittenWhole(WrittenHarness, WorkerHostContract):
    """The whole suite."""
