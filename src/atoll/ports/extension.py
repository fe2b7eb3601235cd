"""The Extension port: a backend that provisions sandboxes (control-plane side).

An extension provisions an environment with a runtime standing beside it, and takes it
away again. What happens inside is the runtime's business, the same for all backends.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias, runtime_checkable

from atoll.domain.agents.agent import Agent
from atoll.domain.files.host_mount import HostMount
from atoll.domain.hosts.host import LOCAL, Host, HourlyCost
from atoll.domain.ids import SandboxId, SnapshotId
from atoll.domain.profile.profile import Profile
from atoll.domain.routes.candidate import ImageKind
from atoll.domain.snapshots.promise import SnapshotPromise
from atoll.domain.wall.isolation import Isolation
from atoll.domain.wall.resources import NO_LIMITS, Resources
from atoll.wire.words.hosts import HostKind
from atoll.wire.words.walls import WORKSPACE, IsolationLevel
from atoll.wire.zygote.messages import Agent as RuntimeAgent

SELF_HOSTED: Final = "self-hosted"

RELOCATE: Final = "Relocates"
"""The ability of `Relocates`."""

KEEP_SNAPSHOTS: Final = "KeepsSnapshots"
"""The ability of `KeepsSnapshots`."""

KEEP_POOLS: Final = "KeepsPools"
"""The ability of `KeepsPools`."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The abilities of a backend. Optional abilities are listed by the name of their protocol.

    - `host_kind` is the kind of hosts that it places sandboxes on; None: the vendor's machines, in
      one of its `regions`.
    - `gpus`: the kinds of GPU that a sandbox can have. `images`: the kinds of image it shows.
    - `closes_network`: it keeps a sandbox from every place that no door leads to.
    - `spare_layers`: its sandboxes show spare mounts, which cost it nothing once they are there.
    - `doors`: its runtimes serve the broker and the egress proxy.
    - `needs_key`: its vendor is paid by a secret of the kind `extension`.
    - `limits`: the most that one sandbox may have; None is no limit.
    - `compose`: it brings up the services of a compose file; with `needs_compose` nothing else.
    - `ignores`: the fields of a create and of a profile, of those in `domain.profile.demands`, that
      it cannot act on, each with why: a sandbox that names one is not placed there.
    - `fetches_images`: this server's own daemon fetches the image that a profile names.
    - `snapshots`: what it promises of snapshots; None where it keeps none.
    - `pools`: it builds environments for sandboxes to come.
    - `pricing`: `self-hosted`, else how a vendor counts; `cost_per_hour` is a declared price.
    """

    isolation: IsolationLevel
    regions: tuple[str, ...] = ("local",)
    gpus: frozenset[str] = frozenset()
    persistence: bool = True
    pricing: str = SELF_HOSTED
    abilities: frozenset[str] = frozenset()
    host_kind: HostKind | None = HostKind.LOCAL
    images: frozenset[ImageKind] = frozenset(ImageKind)
    closes_network: bool = True
    limits: Resources = NO_LIMITS
    cost_per_hour: HourlyCost | None = None
    latency_class: str = "standard"
    needs_key: bool = False
    compose: bool = False
    doors: bool = True
    needs_compose: bool = False
    ignores: tuple[tuple[str, str], ...] = ()
    spare_layers: bool = True
    fetches_images: bool = False
    snapshots: SnapshotPromise | None = None
    pools: bool = False


@dataclass(frozen=True, slots=True)
class Mount:
    """A read-only view of a host directory inside (agent layers, and `live` shared repositories,
    which receive objects while they are mounted). A sandbox does without a `spare` one where its
    backend cannot show it, or its root lacks what the program needs."""

    source: str
    target: str
    live: bool = False
    spare: bool = False


def _discard_line(_line: str) -> None:
    """Discard a line of progress."""
    return


@dataclass(frozen=True, slots=True)
class Provision:
    """A request to bring an environment up. `(sandbox_id, generation)` is its identity:
    repeating it re-attaches to what is there. `fresh` first drops the kept workspace. Where none is
    kept it begins as the snapshot `seed`, None: empty. `cwd` is
    where processes start unless they say otherwise; it may come to be only later. `host_mounts`
    are folders of the host that were allowed: the backend checks them again. `region` is the one of
    a vendor's that was chosen, empty on a host. `compose_file` is the text of a file that somebody
    wrote: nothing of it was judged. `agents` are the names its runtime starts agents by, None all
    that the backend knows, and `added` further agents that it knows. `report` receives what takes
    long (an image fetched, built), a line at a time. With `maintenance_seconds` the environment is
    brought up only to read what it keeps: its runtime gets no key and no agent, ends by itself
    after so long without a request, and that end is reported by nobody. Any other provision ends
    such an environment first and never attaches to it."""

    sandbox_id: SandboxId
    generation: int
    name: str
    profile: Profile
    mounts: tuple[Mount, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    fresh: bool = False
    seed: SnapshotId | None = None
    cwd: str = WORKSPACE
    host_mounts: tuple[HostMount, ...] = ()
    agents: frozenset[str] | None = None
    added: tuple[Agent, ...] = ()
    maintenance_seconds: int | None = None
    host: str = LOCAL
    region: str = ""
    compose_file: str | None = field(default=None, repr=False)
    report: Callable[[str], None] = field(default=_discard_line, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Handle:
    """A backend's own name for a provisioned environment; `data` is opaque to the caller,
    JSON-serialisable, and enough to find it again after a restart. `host` is the name of the host
    that the caller placed it on."""

    sandbox_id: SandboxId
    generation: int
    extension: str
    data: tuple[tuple[str, str], ...] = ()
    host: str = field(default=LOCAL, compare=False)


@dataclass(frozen=True, slots=True)
class Reachability:
    """Address of a runtime: `unix:/path` or `http(s)://host:port`."""

    address: str
    isolation: Isolation
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class CleanupReport:
    """The things a teardown removed, and those it could not (each a sentence)."""

    removed: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of an environment by itself: its runtime or its init ended. `generation` is 0 for one
    that `build_pooled` made and no `provision` took: the sandbox of that id may have begun since.
    """

    sandbox_id: SandboxId
    generation: int
    reason: str


ListHosts: TypeAlias = Callable[[], Awaitable[Sequence[Host]]]
"""The hosts of the installation, as they are now. Raises `Unavailable`."""


async def _no_hosts() -> Sequence[Host]:
    return ()


@dataclass(frozen=True, slots=True)
class VendorKey:
    """A key that a vendor's machines are rented with. `id` is its secret's, and may be kept; the
    value is opened for one call, and stands in no handle, event or log."""

    id: str
    value: str = field(repr=False)


FindKeys: TypeAlias = Callable[[str, SandboxId | None], Awaitable[Sequence[VendorKey]]]
"""The keys of the extension of this name that may pay for a sandbox, the narrowest scope first;
without a sandbox, all there are. Raises `Unavailable`."""


async def _no_keys(_extension: str, _sandbox_id: SandboxId | None) -> Sequence[VendorKey]:
    return ()


@dataclass(frozen=True, slots=True)
class ExtensionSetup:
    """The place and settings that an extension is made with. `home` is Atoll's directory, `tag`
    the beginning of its names in places that several homes share (containers, other machines),
    `installation` the id that labels carry there: what has another one is never ended. `agents`
    are those that a runtime may start, under every name they answer to; `upstreams` are base
    URLs of model providers that differ from the usual ones, by provider; `options` are the
    settings of backends by name. `hosts` are those that sandboxes are placed on, `keys` those of
    vendors.

    `folder` is a directory of the extension's own, which no sandbox can reach (None: it comes with
    Atoll and has its places). `uid` is the user that its code runs as: not root where Atoll was
    started by root, and without a way back to it. `zygote` is the socket where sandboxes with our
    own wall are asked for, where there is one. `contents_shared` says that other servers have the
    contents of this one. A process that writes 0 to `machines_fd` counts no more to the memory of
    the control plane; None where nothing bounds that."""

    home: Path
    tag: str
    installation: str = ""
    agents: tuple[RuntimeAgent, ...] = ()
    upstreams: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    hosts: ListHosts = _no_hosts
    keys: FindKeys = _no_keys
    folder: Path | None = None
    uid: int = field(default_factory=os.geteuid)
    machines_fd: int | None = None
    contents_shared: bool = False

    @property
    def zygote(self) -> Path | None:
        """The zygote's socket, while there is one."""
        socket = self.home / "run" / "zygote.sock"
        return socket if socket.exists() else None


@dataclass(frozen=True, slots=True)
class MissingExtension:
    """An extension that is not there. `package` is the one that brings it, with its version."""

    name: str
    package: str
    reason: str


class Extension(Protocol):
    """A backend. Raises `Unavailable` (try later), `Failed` (reason), `Invalid` (bad profile)."""

    @property
    def name(self) -> str:
        """`ext.<name>`."""
        ...

    def capabilities(self) -> Capabilities:
        """Return what this backend can do here and now."""
        ...

    async def provision(self, request: Provision) -> Handle:
        """Start an environment, or attach to it again when `(sandbox_id, generation)` already
        exists. Raises `Conflict` while another generation runs."""
        ...

    async def wait_ready(self, handle: Handle) -> Reachability:
        """Wait until the runtime answers its health probe. Raises `Failed` when it never will."""
        ...

    async def teardown(self, handle: Handle, *, keep_state: bool) -> CleanupReport:
        """End every process. With `keep_state` the workspace and agent state stay for the next
        `provision`; without, nothing stays. Idempotent: a second call reports nothing removed. The
        handle's `data` may be empty, after a start whose handle was never returned."""
        ...

    async def survey(self) -> list[Handle]:
        """Return every environment of this home that runs. A restarted control plane adopts or
        removes them."""
        ...

    def ended(self) -> AsyncIterator[Ended]:
        """Yield environments that end by themselves, within 2 s. One may be missed only if `survey`
        shows it."""
        ...


MakeExtension: TypeAlias = Callable[[ExtensionSetup], Extension]
"""Type of what an entry point of the group `atoll.extensions` names. It opens nothing that must be
closed unless the extension is `Closable`. It raises `Invalid` or `Failed` with what is missing."""


@runtime_checkable
class Closable(Protocol):
    """Optional ability: close connections when the control plane ends. Sandboxes keep running."""

    async def close(self) -> None:
        """Close every connection of the extension's own; idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class RentedPlace:
    """A machine that a vendor rents to us. `key` is the id of the secret that pays for it, and
    `ends_at` its deadline as the vendor spells it."""

    id: str
    sandbox_id: SandboxId
    key: str
    ends_at: str = ""


@runtime_checkable
class Rents(Protocol):
    """Optional ability: machines of a vendor, which may be left behind."""

    @property
    def name(self) -> str:
        """The extension's name."""
        ...

    async def rented(self) -> list[RentedPlace]:
        """Return every machine that is rented for this home. Raises `Unavailable`, `Failed`."""
        ...

    async def end_rented(self, place: RentedPlace) -> bool:
        """End a machine; returns whether it was there."""
        ...


@runtime_checkable
class Examines(Protocol):
    """Optional ability: what it can act on depends on its machine."""

    async def examine(self) -> None:
        """Find out what the machine gives, which `capabilities` says from then on. Called before
        each placing: cheap once it is known. Raises `Unavailable`, `Failed`."""
        ...


@runtime_checkable
class JudgesProfiles(Protocol):
    """Optional ability: it knows of a profile's image and limits whether it can give them."""

    def lacks(self, profile: Profile) -> Sequence[str]:
        """Return a sentence for each thing that it cannot give, and what to do. What only a start
        shows has none. Called while a transaction is open: it never waits."""
        ...


@runtime_checkable
class Watched(Protocol):
    """Ability of what surrounds another project's extension: it knows how its calls go."""

    @property
    def trouble(self) -> str | None:
        """Return what is wrong with it now, None while it works."""
        ...


@runtime_checkable
class EndReasons(Protocol):
    """Optional ability: the reason of an end that happened while no control plane ran."""

    async def why_ended(self, sandbox_id: SandboxId) -> str | None:
        """Return why a sandbox last ended by itself; None when it runs, or when the reason is
        unknown."""
        ...


@runtime_checkable
class ReachTroubles(Protocol):
    """Optional ability: it knows why a sandbox that runs elsewhere is not reached now."""

    def trouble_of(self, sandbox_id: SandboxId) -> str | None:
        """Return what keeps this control plane from a sandbox, None while it is reached. It may be
        out of date by some seconds. Never waits."""
        ...


@runtime_checkable
class Relocates(Protocol):
    """Optional ability: the files of a sandbox that does not run go to another host."""

    async def copy_kept(self, handle: Handle, target: str) -> None:
        """Have all that is kept at the handle's host at the host `target`, too: whole, compared,
        and in its place there when this returns. The source is not changed. What an earlier copy
        left at the target is replaced. Raises `Failed`, `Unavailable`: the target has no part of it
        then, or `drop_kept` removes it."""
        ...

    async def drop_kept(self, handle: Handle, host: str) -> CleanupReport:
        """Remove what is kept at a host that is not the files' place, with parts of a copy.
        Idempotent; the sandbox may run elsewhere meanwhile."""
        ...


@dataclass(frozen=True, slots=True)
class KeptDisk:
    """A disk that was kept: the bytes that it takes, and for how many milliseconds whoever wrote
    inside had to wait."""

    size: int
    still_ms: int = 0


@runtime_checkable
class KeepsSnapshots(Protocol):
    """Optional ability: disks of sandboxes are kept, and others begin as they were. What it
    promises is in `Capabilities.snapshots`."""

    async def keep_snapshot(
        self, handle: Handle, snapshot: SnapshotId, *, still_ms: int | None = None
    ) -> KeptDisk:
        """Keep the disk of a sandbox as it is now, whole when this returns. A snapshot of that name
        that is there already is left as it is. Whoever writes inside waits for as long as the
        backend allows at most. With `still_ms` they wait for so long at most, and the disk is kept
        only while the sandbox runs: no start and no stop ever waits for it. Raises `Conflict` for a
        sandbox that must not run for it, `LimitReached`, `Unavailable` (also where it would take
        longer than they may wait, or does not run), `Failed`: nothing is kept then."""
        ...

    async def drop_snapshot(self, snapshot: SnapshotId, host: str) -> bool:
        """Remove what is kept at a host; sandboxes that began as it keep their files. Returns
        whether it was there."""
        ...


@runtime_checkable
class KeepsPools(Protocol):
    """Optional ability: environments are built before anybody asks for one. `Capabilities.pools`
    says whether they are here and now."""

    async def build_pooled(self, request: Provision) -> Handle:
        """Build the environment of a sandbox to come: all that does not depend on who will ask for
        it, looked at and found good when this returns. Nobody's programs run in it, and no key is
        there. `provision` of the same sandbox and generation makes the sandbox of it, with the
        name, variables, agents and mounts of that request; where the request needs another wall it
        is built as ever. One that is there already is left, unless its wall would be another
        one now. `teardown`, `survey` and `ended` are as for any environment. Raises `Invalid` for
        what cannot be built before, `Conflict` where files are kept, `Unavailable`, `Failed`:
        nothing is left then."""
        ...


@runtime_checkable
class Mirrors(Protocol):
    """Optional ability: sandboxes have copies of what is mounted, where they run."""

    @property
    def name(self) -> str:
        """The extension's name."""
        ...

    async def refresh(self, source: str) -> None:
        """Bring what a `live` mount's source has by now to every sandbox that runs with a copy of
        it, whole when this returns. Idempotent. Raises `Unavailable`, `Failed` when one of them
        did not take it; the others did."""
        ...


ABILITIES: Final[Mapping[str, type]] = MappingProxyType(
    {"Relocates": Relocates, "KeepsSnapshots": KeepsSnapshots, "KeepsPools": KeepsPools}
)
"""Optional protocols, by their name in `Capabilities.abilities`."""
