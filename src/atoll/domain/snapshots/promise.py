"""The promise of a backend about its snapshots. Pure."""

from dataclasses import dataclass

from atoll.domain.errors import Conflict
from atoll.wire.words.sandboxes import DiskPromise, MemoryMode, SnapshotMode


@dataclass(frozen=True, slots=True)
class SnapshotPromise:
    """The promise of a backend, which its contract suite tests.

    - `disk`: the state that the files of a running sandbox are kept in.
    - `memory`: what runs can be kept. `running`: a sandbox need not stop for it.
    - `cross_host`, `cross_backend`: another host, or backend, can begin as it.
    - `incremental`: a second snapshot takes only the place of what changed.
    - `fork_max`: the sandboxes that begin as one at once.
    """

    disk: DiskPromise
    memory: bool = False
    running: bool = True
    cross_host: bool = False
    cross_backend: bool = False
    incremental: bool = False
    fork_max: int = 100


def check_promise(
    promise: SnapshotPromise | None,
    mode: SnapshotMode,
    memory: MemoryMode,
    *,
    backend: str,
    others: dict[str, SnapshotPromise],
) -> SnapshotPromise:
    """Return the promise of a backend that can keep what is asked for. Raises `Conflict` where it
    cannot, and names those of the `others` that could."""
    whole = mode is SnapshotMode.FULL or memory is MemoryMode.REQUIRED
    if promise is not None and (promise.memory or not whole):
        return promise
    able = sorted(name for name, other in others.items() if other.memory or not whole)
    what = "what runs in a sandbox" if whole else "the files of a sandbox"
    who = f"{' and '.join(able)} can" if able else "no backend of this installation can"
    raise Conflict(f"{backend} cannot keep {what} as a snapshot: {who}.", code="not_promised")
