"""The contract of SafetyLayers.

Subclass `SafetyLayersContract` in a test module, give it the fixture `layers`, and override
`hinder`, and `reopened` where a restart would make a new object.
"""

import asyncio
import stat
from pathlib import Path, PurePosixPath

import pytest

from atoll.domain.errors import Failed
from atoll.domain.profile.profile import Safety
from atoll.ports.safety import SafetyLayers
from atoll.wire.words.walls import WORKSPACE

PROFILE_SETTINGS = (
    Safety(),
    Safety(shell=True),
    Safety(shell=True, operator=(("git", "push"),)),
    Safety(operator=(("../../etc/cron",), ("..",), ("it's", "$(id)"), ("x/",), ("a" * 200,))),
)


class SafetyLayersContract:
    """A contract of safety layers: mounts are read-only, their sources exist, and repeated calls
    return the same ones."""

    def reopened(self, layers: SafetyLayers) -> SafetyLayers:
        """Return the layers as a restarted control plane opens them."""
        return layers

    def hinder(self, layers: SafetyLayers) -> None:
        """Make layers that do not exist yet impossible to write, as a full disk would."""
        raise NotImplementedError("override hinder() in your subclass of SafetyLayersContract")

    @pytest.mark.parametrize("safety", PROFILE_SETTINGS)
    async def test_mounts_name_folders_that_are_there(
        self, layers: SafetyLayers, safety: Safety
    ) -> None:
        mounts = await layers.mounts_for(safety)
        for mount in mounts:
            assert Path(mount.source).is_dir()
            assert PurePosixPath(mount.target).is_absolute()
            assert not mount.target.startswith(WORKSPACE)
        assert len({mount.target for mount in mounts}) == len(mounts)

    @pytest.mark.parametrize("safety", PROFILE_SETTINGS)
    async def test_every_sandbox_may_read_and_no_stranger_write(
        self, layers: SafetyLayers, safety: Safety
    ) -> None:
        """A sandbox has a uid of its own, and names of commands lead to no other place."""
        for mount in await layers.mounts_for(safety):
            top = Path(mount.source)
            for path in top.rglob("*"):
                assert path.resolve().is_relative_to(top.resolve())
                mode = path.stat().st_mode
                assert mode & stat.S_IROTH and not mode & stat.S_IWOTH

    @pytest.mark.parametrize("safety", PROFILE_SETTINGS)
    async def test_mounts_are_the_same_each_time_and_after_a_restart(
        self, layers: SafetyLayers, safety: Safety
    ) -> None:
        mounts = await layers.mounts_for(safety)
        assert await layers.mounts_for(safety) == mounts
        assert await self.reopened(layers).mounts_for(safety) == mounts

    async def test_starts_at_once_share_their_mounts(self, layers: SafetyLayers) -> None:
        mounts = await asyncio.gather(*(layers.mounts_for(PROFILE_SETTINGS[-1]) for _ in range(10)))
        assert len(set(mounts)) == 1

    async def test_layer_of_one_profile_stays_when_another_asks(self, layers: SafetyLayers) -> None:
        """Running sandboxes have it mounted."""
        (before, *_) = [await layers.mounts_for(safety) for safety in PROFILE_SETTINGS]
        assert all(Path(mount.source).is_dir() for mount in before)

    @pytest.mark.parametrize("safety", PROFILE_SETTINGS)
    async def test_variables_lead_below_the_mounts(
        self, layers: SafetyLayers, safety: Safety
    ) -> None:
        targets = tuple(mount.target for mount in await layers.mounts_for(safety))
        variables = layers.env_for(safety)
        for name, value in variables:
            assert name.isidentifier()
            assert not value.startswith("/") or value.startswith(targets)
        assert len(dict(variables)) == len(variables)
        assert layers.env_for(safety) == variables

    async def test_layer_that_cannot_be_written_is_a_failure(self, layers: SafetyLayers) -> None:
        self.hinder(layers)
        with pytest.raises(Failed):
            await layers.mounts_for(PROFILE_SETTINGS[1])
