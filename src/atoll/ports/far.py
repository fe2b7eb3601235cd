"""The FarBackend port: machines that are not ours, reached by a link (control-plane side).

A backend rents or prepares a machine, starts the link's far end beside init there, and carries
bytes to it. Everything else is `adapters.linked`, the same for all: the runtime stays here.
"""

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from atoll.domain.errors import Failed
from atoll.domain.hosts.host import LOCAL
from atoll.domain.ids import SandboxId
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import Capabilities, CleanupReport, Provision


@dataclass(frozen=True, slots=True)
class LinkTerms:
    """The parameters of one link. The far end proves itself with `key`, and ends every process
    after `grace_seconds` without a proven near end."""

    key: bytes = field(repr=False)
    grace_seconds: int


@dataclass(frozen=True, slots=True)
class FarBox:
    """A sandbox on a machine of a backend. `data` is opaque to the caller, JSON-serialisable, and
    enough to find it again after a restart. `host` is the host that it was placed on, also where
    its start was interrupted before there was any `data`."""

    sandbox_id: SandboxId
    generation: int
    data: tuple[tuple[str, str], ...] = ()
    host: str = LOCAL


@dataclass(frozen=True, slots=True)
class FarPlace:
    """The facts of a far sandbox that its runtime must know: init's argv inside, and the path of
    the workspace there. `isolation` is what was probed, not what is promised. `reached` are names
    that programs inside reach without a door. Without `own_etc` the /etc inside is the image's, and
    agents get their hooks as arguments."""

    box: FarBox
    isolation: Isolation
    init: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    reached: tuple[str, ...] = ()
    own_etc: bool = True


@runtime_checkable
class FarRelocates(Protocol):
    """Optional ability: as `ports.extension.Relocates`, of far sandboxes."""

    async def copy_kept(self, box: FarBox, target: str) -> None:
        """Have what is kept at `box.host` at the host `target`, too."""
        ...

    async def drop_kept(self, box: FarBox, host: str) -> CleanupReport:
        """Remove what is kept at `host`, with parts of a copy."""
        ...


@runtime_checkable
class FarMirrors(Protocol):
    """Optional ability: as `ports.extension.Mirrors`, of far sandboxes."""

    async def refresh(self, boxes: Sequence[FarBox], source: str) -> None:
        """Bring what a folder of ours has by now to the copies of these sandboxes, which run."""
        ...


@runtime_checkable
class FarCauses(Protocol):
    """Optional ability: it knows what befell a far end whose programs ended."""

    async def cause(self, box: FarBox) -> str | None:
        """Return why nothing of a sandbox runs; None where that is not known."""
        ...


class MachineLost(Failed):
    """A machine that is not there any more, with everything that ran on it."""


class FarBackend(Protocol):
    """A kind of foreign machine. Raises `Unavailable` (try later), `Failed`, `Invalid`."""

    @property
    def name(self) -> str:
        """`ext.<name>`."""
        ...

    def capabilities(self) -> Capabilities:
        """Return what this backend can do here and now."""
        ...

    async def provision(self, request: Provision, terms: LinkTerms) -> FarPlace:
        """Start a far end for `(sandbox_id, generation)`; one that still runs for it is ended
        first, since it holds another key."""
        ...

    async def attach(self, request: Provision) -> FarPlace | None:
        """Return the far end that runs for `(sandbox_id, generation)`; None when none does."""
        ...

    async def carry(self, box: FarBox, near: socket.socket) -> None:
        """Carry bytes between `near` and the far end until either is closed. Raises when the
        machine cannot be reached, and `MachineLost` when it never will be. The
        stream may outlive this process, and its caller."""
        ...

    async def teardown(self, box: FarBox, *, keep_state: bool) -> CleanupReport:
        """End every process. With `keep_state` the files stay for the next `provision`; without,
        nothing stays. Idempotent. `box.data` may be empty."""
        ...

    async def close(self) -> None:
        """Close every connection of our own; idempotent."""
        ...
