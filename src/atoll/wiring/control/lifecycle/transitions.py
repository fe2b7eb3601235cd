"""The transitions of sandboxes, and what ends with them."""

from functools import partial

from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import GONE, Sandbox
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.lifecycle.directory import Directory
from atoll.services.lifecycle.host_room import HostRoom
from atoll.services.lifecycle.projections import Projections
from atoll.services.lifecycle.room import SandboxRoom
from atoll.services.lifecycle.transitions import Transitions
from atoll.services.people.ownership import settle_remnants
from atoll.services.previews.previews import remove_previews
from atoll.services.sandboxes.metadata import Metadata


def build_transitions(
    ground: Ground,
    directory: Directory,
    *,
    room: SandboxRoom,
    hosts: HostRoom,
    projections: Projections,
    metadata: Metadata,
) -> Transitions:
    """Return what applies stimuli to stored sandboxes, and ends what goes with them."""
    return Transitions(
        ground,
        directory,
        room=room,
        hosts=hosts,
        projections=projections,
        changed=metadata.note,
        settle=partial(_settle, ground),
    )


async def _settle(
    ground: Ground, rows: Transaction, before: Sandbox, after: Sandbox, actor: Principal
) -> None:
    """End what a transition of a sandbox leaves without a subject."""
    if before.asleep_since is not None and after.asleep_since is None:
        await rows.screens.remove(after.id)
    await settle_remnants(ground, rows, before, after, actor)
    if after.state in GONE and before.state not in GONE:
        await remove_previews(ground, rows, after, actor=actor)
        await rows.review_threads.remove_of(after.id)
