"""Where things lie below $ATOLL_HOME, as far as the zygote is concerned. No file is touched."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

ENGINE_MOUNTS = "lent"
FOLDERS_SUFFIX = ".folders"
"""Ends the names of places where the host's folders are lent: never part of an id."""

POOL_PREFIX = "spare-"
"""Of the names of sandboxes that are nobody's yet: never an id (`wire.zygote.messages.BoxId`)."""


TRAVERSABLE_MODE = 0o711
"""Of folders that each sandbox's uid passes through."""


def traversal_mode() -> int:
    """Return the mode of Atoll's own folders. As root, each sandbox's uid passes through them;
    elsewhere all have the caller's, and nobody else shall reach a file an agent made."""
    return TRAVERSABLE_MODE if os.geteuid() == 0 else 0o700


@dataclass(frozen=True, slots=True)
class BoxPlaces:
    """The files of one sandbox. `folder` holds what is kept, `run` what lives with a runtime."""

    folder: Path
    run: Path

    @property
    def record(self) -> Path:
        """What is known about the sandbox, for the next zygote."""
        return self.folder / "box.json"

    @property
    def image(self) -> Path:
        """The ext4 image (as root)."""
        return self.folder / "image"

    @property
    def mounted(self) -> Path:
        """Where the image is mounted, in the runtime's own mount namespace only; rootless,
        the plain directory that stands for it."""
        return self.folder / "mnt"

    @property
    def engine_mount(self) -> Path:
        """Where the image is mounted in the machine's sight, for as long as a container's engine
        needs to take it over."""
        return self.folder.parent / ENGINE_MOUNTS / self.folder.name

    @property
    def engine_folders(self) -> Path:
        """Where the host's folders are attached for as long as the image is, by number."""
        return self.engine_mount.with_name(self.folder.name + FOLDERS_SUFFIX)

    @property
    def hosts(self) -> Path:
        """/etc/hosts inside."""
        return self.folder / "hosts"

    @property
    def etc(self) -> Path:
        """Files of /etc for a sandbox whose wall somebody else builds."""
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
    def rendezvous(self) -> Path:
        """Where an init comes in whose wall somebody else builds; gone once it did."""
        return self.run / "init.sock"


@dataclass(frozen=True, slots=True)
class Home:
    """$ATOLL_HOME."""

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
        """Held by the one zygote of this home."""
        return self.boxes / "zygote.lock"

    @property
    def log(self) -> Path:
        """What the zygote and runtimes say on stderr."""
        return self.boxes / "zygote.log"

    @property
    def programs(self) -> Path:
        """bwrap, init and the filter, where foreign uids can reach them."""
        return self.run / "bin"

    @property
    def roots(self) -> Path:
        """Trees of /etc made from the host's, by digest."""
        return self.run / "root"

    @property
    def imports(self) -> Path:
        """Folders in which bundles are taken in."""
        return self.run / "import"

    @property
    def boxes(self) -> Path:
        """One folder per sandbox."""
        return self.root / "boxes"

    @property
    def engine_mounts(self) -> Path:
        """Images and folders of the host's that engines of containers are just taking over, by
        sandbox."""
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
    def images(self) -> Path:
        """Trees that are roots of sandboxes; the control plane's and the person's."""
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
        """A short name of this home, for cgroups and units."""
        return "atoll-" + hashlib.blake2b(bytes(self.root), digest_size=5).hexdigest()

    def box(self, sandbox_id: str) -> BoxPlaces:
        """The places of one sandbox (an id that passed `wire.zygote.messages`, never a raw one)."""
        return BoxPlaces(self.boxes / sandbox_id, self.run / "b" / sandbox_id)
