"""`ext.docker` against a real daemon: the contract every extension keeps, and its own cases."""

from collections.abc import AsyncIterator, Iterator

import pytest

from atoll.adapters.extensions.docker.extension import Docker, Settings
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Extension, Handle
from atoll.testing.contracts.extension import ExtensionContract
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from tests.peers.docker_daemon import IMAGE, DockerDaemon, docker_daemon, why_not

pytestmark = [
    pytest.mark.docker,
    pytest.mark.root,
    pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
]


@pytest.fixture(scope="module")
def daemon() -> Iterator[DockerDaemon]:
    with docker_daemon() as running:
        yield running


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig() as running:
        yield running


class TestDocker(ExtensionContract):
    @pytest.fixture
    async def extension(self, rig: ZygoteRig, daemon: DockerDaemon) -> AsyncIterator[Docker]:
        made = Docker(Settings(rig.home.socket, rig.home.tag, rig.home.root / "i", daemon.host))
        yield made
        await made.close()

    def profile(self) -> Profile:
        return Profile(id="profile.small", version="1.0.0", extension="ext.docker", image=IMAGE)

    async def kill(self, extension: Extension, handle: Handle) -> None:
        assert isinstance(extension, Docker)
        await extension._engine._call("POST", f"/containers/{dict(handle.data)['container']}/kill")
