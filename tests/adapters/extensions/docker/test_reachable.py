"""`ext.docker` with real runtimes, also those that waited in a pool: `make test-backends` runs
these."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters.extensions.docker.extension import Docker, Settings
from atoll.domain.profile.profile import Profile
from atoll.domain.wall.resources import Resources
from atoll.ports.extension import Extension, Handle, Mount
from atoll.testing import KeepsPoolsContract
from atoll.testing.contracts.extensions.pools import keeping
from atoll.testing.contracts.extensions.reachable import AGENT, Another
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from tests.peers.docker_daemon import IMAGE, DockerDaemon, docker_daemon, why_not

pytestmark = [
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.root,
    pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
]


TAG = "atoll-test/moved:1"


@pytest.fixture(scope="module")
def daemon() -> Iterator[DockerDaemon]:
    with docker_daemon() as running:
        yield running


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(os.geteuid(), real=True) as running:
        yield running


class TestDockerReached(KeepsPoolsContract):
    @pytest.fixture
    def another(self, rig: ZygoteRig, daemon: DockerDaemon) -> Another:
        self.home, self.daemon = rig.home.root, daemon
        settings = Settings(
            *(rig.home.socket, rig.home.tag, rig.home.root / "i", daemon.host), agents=(AGENT,)
        )
        return lambda: Docker(settings)

    def home_in(self, folder: Path) -> Path:
        return self.home

    def profile(self) -> Profile:
        return Profile(id="profile.small", version="1.0.0", extension="ext.docker", image=IMAGE)

    async def kill(self, extension: Extension, handle: Handle) -> None:
        self.daemon.run("kill", dict(handle.data)["container"])

    async def test_container_is_bounded_as_its_request_asks(self, extension: Extension) -> None:
        """Find the limits of the request in a container that was there before."""
        keeper = await keeping(extension)
        waiting = self.request()
        spare = await keeper.build_pooled(waiting)
        container = dict(spare.data)["container"]
        limits = Resources(memory_mb=256, cpu=0.5)
        wanted = replace(waiting, profile=replace(waiting.profile, resources=limits))
        before = self.daemon.run("inspect", "-f", "{{.Id}}", container)
        async with self.reached(extension, wanted):
            form = "{{.Id}} {{.HostConfig.Memory}} {{.HostConfig.NanoCpus}}"
            after = self.daemon.run("inspect", "-f", form, container)
        assert after == f"{before} {256 * 2**20} 500000000"

    async def test_container_of_an_image_before_serves_nobody(self, extension: Extension) -> None:
        """Find the image that a name has now, where one waits that was made of its former one."""
        keeper = await keeping(extension)
        self.daemon.run("tag", IMAGE, TAG)
        waiting = self.request()
        waiting = replace(waiting, profile=replace(waiting.profile, image=TAG))
        await keeper.build_pooled(waiting)
        self.daemon.run("create", "--name", "draft", IMAGE, "true")
        self.daemon.run("commit", "--change", "ENV MADE=anew", "draft", TAG)
        try:
            async with self.reached(extension, waiting) as (_, it):
                assert await it.run("echo $MADE") == "anew\n"
        finally:
            self.daemon.run("rm", "draft")
            self.daemon.run("rmi", TAG)

    async def test_links_of_an_image_lead_nowhere_of_this_machine(
        self, extension: Extension, tmp_path: Path
    ) -> None:
        """Take a container whose image put a link where agents are mounted late."""
        keeper = await keeping(extension)
        place = Path("/workspace")
        assert not place.exists()
        layer = self.home / "agents" / "linked"
        layer.mkdir(mode=0o755, parents=True)
        (tmp_path / "opt").symlink_to(place)
        self.daemon.run("create", "--name", "draft", IMAGE, "true")
        self.daemon.run("cp", str(tmp_path / "opt"), "draft:/")
        self.daemon.run("commit", "draft", TAG)
        waiting = self.request()
        waiting = replace(waiting, profile=replace(waiting.profile, image=TAG))
        mounts = (Mount(str(layer), "/opt/atoll/agents/linked"),)
        before = Path("/proc/self/mounts").read_text().count("/atoll/agents")
        try:
            await keeper.build_pooled(waiting)
            async with self.reached(extension, replace(waiting, mounts=mounts)) as (_, it):
                refused = "touch /workspace/atoll/agents/linked/x 2> /dev/null || echo refused"
                assert await it.run(refused) == "refused\n"
        finally:
            self.daemon.run("rm", "draft")
            self.daemon.run("rmi", TAG)
        assert not place.exists()
        assert list(layer.iterdir()) == []
        assert Path("/proc/self/mounts").read_text().count("/atoll/agents") == before

    async def test_container_that_died_waiting_serves_nobody(self, extension: Extension) -> None:
        """Find a sandbox that works, where what waited for it was killed."""
        keeper = await keeping(extension)
        waiting = self.request()
        spare = await keeper.build_pooled(waiting)
        await self.kill(extension, spare)
        async with self.reached(extension, waiting) as (_, it):
            assert await it.run("echo works") == "works\n"
