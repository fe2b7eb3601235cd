"""`ext.docker` against a real daemon: the contract every extension keeps, and its own cases."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from atoll.adapters.extensions.docker.ends import ContainerEnds
from atoll.adapters.extensions.docker.extension import Docker, Settings
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Ended, Extension, Handle
from atoll.testing.contracts.extensions.extension import ExtensionContract
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
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


@pytest.mark.parametrize(
    ("words", "how"),
    [
        (("kill",), "its container ended with status 137"),
        (("rm", "-f"), "its container was removed"),
    ],
    ids=["killed", "removed"],
)
async def test_end_that_nobody_saw_is_told_with_what_the_daemon_knows(
    rig: ZygoteRig, daemon: DockerDaemon, words: tuple[str, ...], how: str
) -> None:
    settings = Settings(rig.home.socket, rig.home.tag, rig.home.root / "i", daemon.host)
    before, after = Docker(settings), Docker(settings)
    request = replace(ExtensionContract().request(), profile=TestDocker().profile())
    handle = await before.provision(request)
    await before.wait_ready(handle)
    await before.close()
    daemon.run(*words, dict(handle.data)["container"])
    try:
        async with asyncio.timeout(30):
            while await after.survey():  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.05)
        why = await after.why_ended(handle.sandbox_id)
        assert why is not None and how in why
    finally:
        await after.teardown(handle, keep_state=False)
        await after.close()


async def test_end_by_a_container_that_was_removed_says_so(
    rig: ZygoteRig, daemon: DockerDaemon
) -> None:
    docker = Docker(Settings(rig.home.socket, rig.home.tag, rig.home.root / "i", daemon.host))
    request = replace(ExtensionContract().request(), profile=TestDocker().profile())
    handle = await docker.provision(request)
    await docker.wait_ready(handle)
    ends = docker.ended()
    try:
        daemon.run("rm", "-f", dict(handle.data)["container"])
        async with asyncio.timeout(30):
            reason = (await anext(ends)).reason
        assert "container ended with status 137" in reason or "its container was removed" in reason
    finally:
        await docker.teardown(handle, keep_state=False)
        await docker.close()


SETTLED = ("sleep", "300")


def labelled(daemon: DockerDaemon, **labels: str) -> str:
    """A container that some version of Atoll made with these labels."""
    words = [word for name, value in labels.items() for word in ("-l", f"atoll.{name}={value}")]
    return daemon.run("run", "-d", *words, IMAGE, *SETTLED)


async def test_late_look_at_an_end_removes_no_container_of_a_later_start(
    rig: ZygoteRig, daemon: DockerDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(rig.home.socket, rig.home.tag, rig.home.root / "i", daemon.host)
    watching, starting = Docker(settings), Docker(settings)
    looks, go_on = asyncio.Event(), asyncio.Event()
    settle = ContainerEnds.settle

    async def wait(ends: ContainerEnds, sandbox_id: str, container: str) -> str:
        how = await settle(ends, sandbox_id, container)
        looks.set()
        await go_on.wait()
        return how

    monkeypatch.setattr(ContainerEnds, "settle", wait)
    request = replace(ExtensionContract().request(), profile=TestDocker().profile())
    handle = await starting.provision(request)
    await starting.wait_ready(handle)
    await starting.teardown(handle, keep_state=True)
    report = wire.Ended(handle.sandbox_id, 1, "everything inside ended", "container")
    look = asyncio.get_running_loop().create_task(watching._end_of_runtime(report))
    try:
        async with asyncio.timeout(30):
            await looks.wait()
            again = await starting.provision(replace(request, generation=2))
            await starting.wait_ready(again)
            go_on.set()
            await look
        assert dict(again.data)["container"] in daemon.containers()
    finally:
        look.cancel()
        await starting.teardown(handle, keep_state=False)
        await watching.close()
        await starting.close()


async def test_survey_ends_only_what_its_own_installation_made(
    rig: ZygoteRig, daemon: DockerDaemon
) -> None:
    """Two homes of one path, as in two containers that share a daemon."""
    settings = Settings(rig.home.socket, rig.home.tag, rig.home.root / "i", daemon.host)
    docker = Docker(replace(settings, installation="mine"))
    usual = {"home": rig.home.tag, "extension": "ext.docker", "generation": "1"}
    theirs = labelled(daemon, **usual, sandbox="sb_theirs", installation="other")
    mine = labelled(daemon, **usual, sandbox="sb_mine", installation="mine")
    # As versions before the label left them: whose this is nobody can tell.
    unknown = labelled(daemon, **usual, sandbox="sb_unknown")
    request = replace(ExtensionContract().request(), profile=TestDocker().profile())
    handle = await docker.provision(request)
    await docker.teardown(handle, keep_state=True)
    kept = labelled(daemon, **usual, sandbox=request.sandbox_id)
    try:
        await docker.survey()
        running = set(daemon.run("ps", "-aq", "--no-trunc").split())
        assert {theirs, unknown} == running & {theirs, mine, unknown, kept}
    finally:
        await docker.teardown(handle, keep_state=False)
        daemon.run("rm", "-f", theirs, unknown)
        await docker.close()


async def test_end_by_a_restart_of_the_daemon_says_so(rig: ZygoteRig, daemon: DockerDaemon) -> None:
    docker = Docker(Settings(rig.home.socket, rig.home.tag, rig.home.root / "i", daemon.host))
    request = replace(ExtensionContract().request(), profile=TestDocker().profile())
    handle = await docker.provision(request)

    async def first_end() -> Ended:
        return await anext(docker.ended())

    try:
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            next_end = tasks.create_task(first_end())
            while docker._feed._lines is None:  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.05)
            await asyncio.to_thread(daemon.kill)
            await asyncio.to_thread(daemon.start)
        reason = next_end.result().reason
        assert "its container ended with status 137; the Docker daemon had gone away" in reason
    finally:
        await docker.teardown(handle, keep_state=False)
        await docker.close()
