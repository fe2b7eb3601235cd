"""The contract of SafetyLayers.

Subclass `SafetyLayersContract` in a test module and give it the fixture `layers`.
"""

from pathlib import Path

import pytest

from atoll.domain.profile.profile import Safety
from atoll.ports.safety import SafetyLayers

WISHES = (Safety(), Safety(shell=True), Safety(shell=True, operator=(("git", "push"),)))


@pytest.mark.parametrize("safety", WISHES)
class SafetyLayersContract:
    """Read-only mounts whose source is there, the same ones each time."""

    async def test_mounts_name_folders_that_are_there(
        self, layers: SafetyLayers, safety: Safety
    ) -> None:
        for mount in await layers.mounts_for(safety):
            assert Path(mount.source).is_dir()
            assert Path(mount.target).is_absolute()

    async def test_mounts_are_the_same_when_asked_again(
        self, layers: SafetyLayers, safety: Safety
    ) -> None:
        assert await layers.mounts_for(safety) == await layers.mounts_for(safety)

    async def test_variables_lead_below_the_mounts(
        self, layers: SafetyLayers, safety: Safety
    ) -> None:
        targets = tuple(mount.target for mount in await layers.mounts_for(safety))
        for name, value in layers.env_for(safety):
            assert name.isidentifier()
            assert not value.startswith("/") or value.startswith(targets)
