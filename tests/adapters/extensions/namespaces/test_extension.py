import asyncio
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from atoll.adapters.extensions.namespaces.extension import Namespaces, Settings
from atoll.adapters.zygote.link import ZygoteLink
from atoll.domain.errors import Invalid, Unavailable
from atoll.domain.profile.demands import DISK, ROOT, SUDO
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Ended, Extension, Handle, Mount, Provision
from atoll.testing.contracts.extensions.extension import ExtensionContract
from atoll.testing.subordinate_ids import why_not
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.claims import claim_person


@pytest.fixture(scope="module", params=["root", "rootless", "subordinate"])
def rig(request: pytest.FixtureRequest) -> Iterator[ZygoteRig]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    if request.param == "subordinate" and why_not():
        pytest.skip(why_not())
    uid = 0 if request.param == "root" else claim_person()
    with zygote_rig(uid, subordinates=request.param == "subordinate") as running:
        yield running


class TestNamespaces(ExtensionContract):
    @pytest.fixture
    async def extension(self, rig: ZygoteRig) -> AsyncIterator[Namespaces]:
        namespaces = Namespaces(Settings(rig.home.socket))
        yield namespaces
        await namespaces.close()

    async def kill(self, extension: Extension, handle: Handle) -> None:
        assert isinstance(extension, Namespaces)
        link = extension._link
        answer = await link.request(wire.ListBoxes(), seconds=5)
        assert isinstance(answer, wire.Listed)
        pid = next(b.runtime_pid for b in answer.boxes if b.sandbox_id == handle.sandbox_id)
        os.kill(pid, signal.SIGKILL)

    async def test_provision_of_a_foreign_image_is_refused(self, extension: Namespaces) -> None:
        request = Provision(
            self.request().sandbox_id, 1, "x", Profile("p", "1", image="docker.io/x")
        )
        with pytest.raises(Invalid, match="image"):
            await extension.provision(request)

    async def test_provision_with_a_mount_of_the_host_is_refused(
        self, extension: Namespaces
    ) -> None:
        request = self.request()
        hostile = Provision(
            request.sandbox_id, 1, "x", request.profile, mounts=(Mount("/etc", "/mnt/etc"),)
        )
        with pytest.raises(Invalid, match="cannot be mounted"):
            await extension.provision(hostile)

    async def test_deaths_told_by_another_zygote_ask_for_a_comparison(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
        place = folder / "z.sock"

        def zygote() -> socket.socket:
            place.unlink(missing_ok=True)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(str(place))
            listener.listen()
            return listener

        async def first_end() -> Ended:
            return await anext(extension.ended())

        loop = asyncio.get_running_loop()
        extension = Namespaces(Settings(place))
        try:
            first = zygote()
            first.setblocking(False)
            with pytest.raises(ExceptionGroup) as caught:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(first_end())
                    old, _ = await loop.sock_accept(first)
                    old.close()
                    first.close()
                    second = zygote()
            second.close()
            assert caught.group_contains(Unavailable, match="is back")
        finally:
            await extension.close()
            shutil.rmtree(folder)

    async def test_requests_beyond_the_socket_s_buffer_are_all_answered(
        self, extension: Namespaces
    ) -> None:
        # More than a unix socket holds while the zygote is busy.
        async with asyncio.timeout(30):
            reports = await asyncio.gather(*(extension.report() for _ in range(1000)))
        assert len(reports) == 1000

    async def test_report_names_what_the_host_lacks(
        self, extension: Namespaces, rig: ZygoteRig
    ) -> None:
        report = await extension.report()
        assert report.root is (rig.uid == 0)
        assert any("disk" in each for each in report.degraded) is (rig.uid != 0)
        assert extension.capabilities().ignores == ()
        await extension.examine()
        ignored = {field for field, _ in extension.capabilities().ignores}
        assert {DISK, SUDO} <= ignored if rig.uid else not ignored & {DISK, SUDO, ROOT}


async def test_zygote_replaced_while_others_ask_is_noticed_once() -> None:
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    link = ZygoteLink(folder / "z.sock")

    def zygote() -> socket.socket:
        link.path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(str(link.path))
        listener.listen()
        return listener

    try:
        with zygote() as first:
            async with asyncio.TaskGroup() as tasks:
                waiting = tasks.create_task(link.next_end())
                await asyncio.sleep(0)
                old, _ = first.accept()
                waiting.cancel()
            old.close()
        with zygote() as second:
            # Somebody else finds the connection gone, and makes a new one, before the next look.
            with pytest.raises(Unavailable):
                await link.request(wire.Report(), seconds=5)
            link.connect()
            new, _ = second.accept()
            assert await link.next_end() is None
            new.send(wire.encode_answer(0, wire.Ended("sb_a", 1, "it fell")))
            told = await link.next_end()
            assert told is not None and told.sandbox_id == "sb_a"
            new.close()
    finally:
        link.close()
        shutil.rmtree(folder)


async def test_namespaces_without_a_zygote_are_unavailable(tmp_path: Path) -> None:
    namespaces = Namespaces(Settings(tmp_path / "zygote.sock"))
    with pytest.raises(Unavailable, match="atoll up"):
        await namespaces.survey()
