"""The paths below $ATOLL_HOME that the zygote uses. Only for the home's name is a file read."""

import os
from dataclasses import dataclass
from pathlib import Path

from atoll.zygote.host.installation import read_installation

ENGINE_MOUNTS = "lent"
"""Name of a directory on disk, kept from earlier versions so that the cleanup finds theirs."""
FOLDERS_SUFFIX = ".folders"
"""Suffix of the mount points of host folders for engines: never part of an id."""

POOL_PREFIX = "spare-"
"""Prefix of the names of pooled sandboxes: never part of an id (`wire.zygote.names.BoxId`)."""


TRAVERSABLE_MODE = 0o711
"""Mode of directories that each sandbox's uid passes through."""


def traversal_mode() -> int:
    """Return the mode of Atoll's own directories. As root each sandbox's uid must pass through
    them; elsewhere all have the caller's uid, and no other user may reach an agent's files."""
    return TRAVERSABLE_MODE if os.geteuid() == 0 else 0o700


@dataclass(frozen=True, slots=True)
class BoxPlaces:
    """Paths of one sandbox. `folder` holds what is kept, `run` what exists only while a runtime
    does."""

    folder: Path
    run: Path

    @property
    def record(self) -> Path:
        """The sandbox's record, for the next zygote."""
        return self.folder / "box.json"

    @property
    def image(self) -> Path:
        """The ext4 image (as root)."""
        return self.folder / "image"

    @property
    def mounted(self) -> Path:
        """The image's mount point, in the runtime's own mount namespace only; rootless, the plain
        directory in its place."""
        return self.folder / "mnt"

    @property
    def engine_mount(self) -> Path:
        """The image's mount point in the machine's mounts, until the container engine has bound
        it."""
        return self.folder.parent / ENGINE_MOUNTS / self.folder.name

    @property
    def engine_folders(self) -> Path:
        """The mount points of host folders for the engine, by number."""
        return self.engine_mount.with_name(self.folder.name + FOLDERS_SUFFIX)

    @property
    def hosts(self) -> Path:
        """/etc/hosts inside."""
        return self.folder / "hosts"

    @property
    def machine_id(self) -> Path:
        """/etc/machine-id inside."""
        return self.folder / "machine-id"

    @property
    def own_run(self) -> Path:
        """The folder of Atoll's at /run/atoll inside."""
        return self.folder / "own-run"

    @property
    def etc(self) -> Path:
        """Files of /etc for a sandbox whose wall a container engine builds."""
        return self.folder / "etc"

    @property
    def journal(self) -> Path:
        """The runtime's journal."""
        return self.folder / "journal"

    @property
    def socket(self) -> Path:
        """The runtime's unix socket."""
        return self.run / "rt.sock"

    @property
    def link(self) -> Path:
        """The socket for streams to a sandbox of another machine."""
        return self.run / "link.sock"

    @property
    def rendezvous(self) -> Path:
        """The socket that the init of a container connects to; removed once it did."""
        return self.run / "init.sock"


@dataclass(frozen=True, slots=True)
class SnapshotPlaces:
    """Paths of one snapshot."""

    folder: Path

    @property
    def image(self) -> Path:
        """The disk as it was."""
        return self.folder / "image"

    @property
    def tree(self) -> Path:
        """The files as they were, where sandboxes have no images."""
        return self.folder / "tree"

    @property
    def record(self) -> Path:
        """The record of it: whose files, and how large."""
        return self.folder / "snapshot.json"


@dataclass(frozen=True, slots=True)
class Home:
    """Directory of one Atoll, $ATOLL_HOME."""

    root: Path

    @property
    def run(self) -> Path:
        """Sockets and programs of a running Atoll."""
        return self.root / "run"

    @property
    def socket(self) -> Path:
        """The zygote's socket."""
        return self.run / "zygote.sock"

    @property
    def lock(self) -> Path:
        """The lock file of the home's zygote."""
        return self.boxes / "zygote.lock"

    @property
    def log(self) -> Path:
        """The log of the zygote and of runtimes, their stderr."""
        return self.boxes / "zygote.log"

    @property
    def programs(self) -> Path:
        """The copies of bwrap, init and the filters, where foreign uids can reach them."""
        return self.run / "bin"

    @property
    def roots(self) -> Path:
        """Trees of /etc made from the host's, by digest."""
        return self.run / "root"

    @property
    def imports(self) -> Path:
        """The directories that bundles are imported in."""
        return self.run / "import"

    @property
    def boxes(self) -> Path:
        """The directory with one folder per sandbox."""
        return self.root / "boxes"

    @property
    def snapshots(self) -> Path:
        """The directory with one folder per snapshot, on the disk of the images."""
        return self.boxes / "snapshots"

    @property
    def loans(self) -> Path:
        """The directory of copies of snapshots that the control plane may read, on that disk."""
        return self.boxes / "loans"

    @property
    def engine_mounts(self) -> Path:
        """The mount points for container engines, by sandbox."""
        return self.boxes / ENGINE_MOUNTS

    @property
    def repositories(self) -> Path:
        """Shared bare repositories."""
        return self.root / "repos"

    @property
    def safety(self) -> Path:
        """Shims of the safety layers, written by the control plane."""
        return self.root / "safety"

    @property
    def agents(self) -> Path:
        """Read-only layers of agent programs."""
        return self.root / "agents"

    @property
    def installed(self) -> Path:
        """The same, installed from the page by the control plane."""
        return self.root / "installed"

    @property
    def images(self) -> Path:
        """The trees that serve as roots of sandboxes, written by the control plane and the
        person."""
        return self.root / "images"

    @property
    def grants(self) -> Path:
        """A person's consents to mounts of the host's folders."""
        return self.root / "grants"

    @property
    def keys(self) -> Path:
        """The broker's keys."""
        return self.root / "keys.toml"

    @property
    def tag(self) -> str:
        """A short name of this home's installation, for cgroups and units."""
        return read_installation(self.root).tag

    def snapshot(self, name: str) -> SnapshotPlaces:
        """Return the paths of one snapshot. The name must have passed `wire.zygote.messages`."""
        return SnapshotPlaces(self.snapshots / name)

    def box(self, sandbox_id: str) -> BoxPlaces:
        """Return the paths of one sandbox. The id must have passed `wire.zygote.messages`."""
        return BoxPlaces(self.boxes / sandbox_id, self.run / "b" / sandbox_id)
