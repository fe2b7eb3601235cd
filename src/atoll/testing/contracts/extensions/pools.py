"""The contract of an Extension that builds environments for sandboxes to come.

Subclass `KeepsPoolsContract` beside `ReachableContract`, with the same fixtures.
"""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.domain.errors import AtollError
from atoll.domain.profile.profile import Workspace
from atoll.domain.wall.resources import Resources
from atoll.ports.extension import Examines, Extension, Handle, KeepsPools, Mount
from atoll.testing.contracts.extensions.reachable import ReachableContract
from atoll.wire.contract.journal import check_health
from atoll.wire.words.sandboxes import Access

NAMED = "cat /proc/sys/kernel/hostname; echo $WHO"


class KeepsPoolsContract(ReachableContract):
    """Contract of `Capabilities.pools` and `KeepsPools`."""

    async def test_sandbox_is_made_of_its_spare(self, extension: Extension) -> None:
        """Find the name and the variables of the request in an environment that was there
        before."""
        keeper = await keeping(extension)
        waiting = self.request()
        spare = await keeper.build_pooled(replace(waiting, name="pooled"))
        before = await standing(extension, spare)
        wanted = replace(waiting, env=(("WHO", "somebody"),), name="asked-for")
        async with self.reached(extension, wanted) as (request, it):
            assert await it.run(NAMED) == "asked-for\nsomebody\n"
            health = await it.client.call(check_health())
            assert (health.sandbox_id, health.generation) == (request.sandbox_id, 1)
        assert before

    async def test_mounts_reach_a_spare(self, extension: Extension, tmp_path: Path) -> None:
        """Find a repository that was named after the environment was built, and nothing there that
        may be written."""
        keeper = await keeping(extension)
        source = self.home_in(tmp_path) / "repos" / f"contract-{os.urandom(4).hex()}.git"
        source.mkdir(mode=0o755, parents=True)
        (source / "HEAD").write_text("ref: refs/heads/main\n")
        waiting = self.request()
        await keeper.build_pooled(waiting)
        wanted = replace(waiting, mounts=(Mount(str(source), "/.atoll/repos/1.git", live=True),))
        try:
            async with self.reached(extension, wanted) as (_, it):
                assert await it.run("cat /.atoll/repos/1.git/HEAD") == "ref: refs/heads/main\n"
                for place in ("/.atoll/repos/1.git/x", "/.atoll/repos/x"):
                    assert (
                        await it.run(f"touch {place} 2> /dev/null || echo refused") == "refused\n"
                    )
        finally:
            shutil.rmtree(source)

    async def test_request_of_another_shape_is_served_as_ever(self, extension: Extension) -> None:
        """Find a workspace that cannot be written, where a pooled sandbox had one that can."""
        keeper = await keeping(extension)
        waiting = self.request()
        await keeper.build_pooled(waiting)
        profile = replace(waiting.profile, workspace=Workspace(access=Access.READ_ONLY))
        async with self.reached(extension, replace(waiting, profile=profile)) as (_, it):
            assert "Read-only" in await it.run("touch /workspace/x 2>&1")

    async def test_spare_is_kept_once_and_leaves_nothing(self, extension: Extension) -> None:
        """Ask twice for one spare, have it of another shape, end it, and find no trace."""
        keeper = await keeping(extension)
        waiting = self.request()
        spare = await keeper.build_pooled(waiting)
        assert (await keeper.build_pooled(waiting)).sandbox_id == spare.sandbox_id
        limits = Resources(ptys=7)
        other = replace(waiting, profile=replace(waiting.profile, resources=limits))
        spare = await keeper.build_pooled(other)
        assert await standing(extension, spare)
        await extension.teardown(spare, keep_state=False)
        assert not await standing(extension, spare)
        assert not (await extension.teardown(spare, keep_state=False)).removed

    async def test_nothing_is_kept_in_the_place_of_files(self, extension: Extension) -> None:
        """Find a pooled sandbox refused whose sandbox has files."""
        keeper = await keeping(extension)
        async with self.reached(extension) as (request, _it):
            handle = Handle(request.sandbox_id, 1, extension.name)
            await extension.teardown(handle, keep_state=True)
            with pytest.raises(AtollError):
                await keeper.build_pooled(replace(request, generation=2))


async def keeping(extension: Extension) -> KeepsPools:
    """Return an extension that keeps pools; skip the test of one that does not on this
    machine."""
    if isinstance(extension, Examines):
        await extension.examine()
    if not extension.capabilities().pools or not isinstance(extension, KeepsPools):
        pytest.skip("keeps no pools here")
    return extension


async def standing(extension: Extension, handle: Handle) -> bool:
    """Return whether an environment of a handle runs."""
    return any(each == handle for each in await extension.survey())
