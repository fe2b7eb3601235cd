"""The keeping of sandboxes' disks, and their use in place of a set-up."""

from collections.abc import Mapping
from dataclasses import dataclass

from atoll.domain.size import GIB
from atoll.ports import Extension
from atoll.services.ground import Ground
from atoll.services.provisioning.steps.prebuild import Prebuilding, PrebuiltTrees
from atoll.services.settings import ServiceSettings
from atoll.services.snapshots.keeper import SnapshotKeeper
from atoll.services.snapshots.prebuilds import Prebuilds


@dataclass(frozen=True, slots=True)
class Keeping:
    """The keeper of disks, and prebuilds with their use in a bring-up; None where no trees can
    begin as one."""

    keeper: SnapshotKeeper
    prebuilds: Prebuilds | None = None
    prebuilding: Prebuilding | None = None


def build_keeping(
    ground: Ground,
    extensions: Mapping[str, Extension],
    trees: PrebuiltTrees | None,
    settings: ServiceSettings,
) -> Keeping:
    """Return what keeps disks, and what begins as them."""
    keeper = SnapshotKeeper(ground, extensions, most_bytes=settings.admission.max_snapshot_gb * GIB)
    if trees is None:
        return Keeping(keeper)
    prebuilds = Prebuilds(ground, keeper, trees)
    return Keeping(keeper, prebuilds, Prebuilding(prebuilds, trees))
