"""The resources that all starts of a host share. This module only defines data."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from atoll.domain.errors import Failed
from atoll.ports.runtime_boot import Stand
from atoll.wire.zygote.messages import Wall as WallKind
from atoll.zygote.disk.storage import Storage
from atoll.zygote.host.growth import GrowthTeller
from atoll.zygote.host.home import Home
from atoll.zygote.host.own_settings import OwnSettings
from atoll.zygote.host.shared_memory import SharedMemory
from atoll.zygote.wall import runtime_group
from atoll.zygote.wall.bwrap_argv import Programs
from atoll.zygote.wall.cgroups import Groups
from atoll.zygote.wall.confinement import Confinement
from atoll.zygote.wall.subordinate_uids import Subordinates

ALL_SHARED = "uid: rootless, all sandboxes share the caller's uid"
SHARED = (
    "uid: rootless, a sandbox with a folder of the host's or a root to write to shares the "
    "caller's uid"
)
SUBORDINATE = (
    "uid: rootless, it has a subordinate uid, but its inotify watchers, pending signals and "
    "processes are also counted for the caller"
)

ServeRuntime = Callable[[Stand], None]
"""The run of a runtime: prepares itself, calls `Stand`, serves."""


@dataclass(frozen=True, slots=True)
class HostResources:
    """Resources that all starts on this host share. `control_uid` is the uid that connects to
    runtimes."""

    home: Home
    programs: Programs
    groups: Groups
    storage: Storage
    control_uid: int
    serve_runtime: ServeRuntime
    confinement: Confinement
    growth: GrowthTeller
    shared_memory: SharedMemory = field(default_factory=SharedMemory)
    settings: OwnSettings = field(default_factory=OwnSettings)
    root: bool = field(default_factory=lambda: os.geteuid() == 0)
    """True when sandboxes get uids of their own: a fact of the zygote, settled before any privilege
    is dropped. A child without privilege must still know that it has one to give up."""

    subordinates: Subordinates | None = None
    """The source of sandboxes' uids without root; None where there are none."""

    @property
    def namespaces(self) -> set[int]:
        """Descriptors that a child must keep to act as root of the subordinate uids."""
        return set() if self.subordinates is None else {self.subordinates.namespace}

    def is_shared(self, uid: int) -> bool:
        """Return whether this uid is the caller's, which sandboxes without a uid of their own
        share."""
        return not self.root and uid == os.geteuid()

    def root_of(self, uid: int) -> Callable[[], None]:
        """Return what has a child act as root of this uid, where it is a subordinate one; call it
        in a process without threads. Raises `Failed` where that uid cannot be had now."""
        if self.root or self.is_shared(uid):
            return lambda: None
        if self.subordinates is None:
            raise Failed(
                f"its files belong to the subordinate uid {uid}, which cannot be had now: "
                "`atoll doctor` says why"
            )
        self.subordinates.inside(uid)
        return self.subordinates.enter

    def degraded(self, wall: WallKind = "bubblewrap", *, shared: bool = False) -> tuple[str, ...]:
        """Return the protections that no sandbox here gets; with `shared`, those that no sandbox
        with the caller's uid gets. A container engine is responsible for a container's groups and
        mounts."""
        if self.root:
            uids: tuple[str, ...] = ()
        elif self.subordinates is None or wall == "container":
            uids = (ALL_SHARED,)
        else:
            uids = (SHARED if shared else SUBORDINATE,)
        unbound = () if self.groups.has("memory") else (runtime_group.UNBOUND,)
        runtime = (*unbound, *self.confinement.lacking)
        if wall == "container":
            return (*self.storage.degraded(), *runtime, *uids)
        return (*self.groups.degraded(), *self.storage.degraded(), *runtime, *uids)
