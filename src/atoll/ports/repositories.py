"""The Repositories port: shared bare repositories, and the checked import of git bundles.

One bare repository per remote or uploaded checkout, owned by the host, read by every
sandbox that works on it. Nothing an agent wrote is parsed outside an `Importer`.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from atoll.domain.ids import OrgId
from atoll.domain.repository.repository import LocalSource, Remote

Report = Callable[[str], None]
"""Takes one line of progress, already free of anything a server wrote."""


@dataclass(frozen=True, slots=True)
class StoredRepository:
    """A shared bare repository. `path` is its folder on the host, `bytes` what its objects take,
    `org_id` set for uploaded checkouts only: what came from a remote belongs to nobody."""

    key: str
    name: str
    repo_url: str
    path: Path
    bytes: int
    fetched_at: datetime
    org_id: OrgId | None = None


@dataclass(frozen=True, slots=True)
class Ref:
    """A full ref name and the commit it names."""

    name: str
    commit: str


@dataclass(frozen=True, slots=True)
class ImportJob:
    """Fetch `refspecs` of `bundle` into the fresh bare repository `repo_dir`, which may borrow
    objects from the bare repositories `alternates`. With `pack_at`, the offset of the bundle's pack
    in bytes, judge and index that pack instead, and set no ref. All paths are absolute."""

    repo_dir: Path
    bundle: Path
    refspecs: tuple[str, ...] = ()
    pack_at: int | None = None
    alternates: tuple[Path, ...] = ()
    seconds: int = 300
    max_bytes: int = 2 * 2**30


class Importer(Protocol):
    """Reader of bundles that somebody else made, by a git that can do no harm: without network and,
    as root, as a uid that owns nothing. Each call has another uid."""

    async def run(self, job: ImportJob) -> None:
        """Import the bundle; on return every object was checked and is present. Raises `Invalid`
        with the reason for a bundle that is broken or lacks its base, `LimitReached` past a cap,
        `Unavailable`."""
        ...


class Intake(Protocol):
    """Incoming bundle in a scratch directory of its own, removed when its context ends."""

    @property
    def bundle(self) -> Path:
        """The file written so far."""
        ...

    @property
    def size(self) -> int:
        """Length so far, in bytes."""
        ...

    def write(self, chunk: bytes) -> None:
        """Append bytes. Raises `LimitReached` past the size cap."""
        ...

    def read(self) -> AsyncIterator[bytes]:
        """Return the bytes of the bundle from the start."""
        ...

    async def verify(self, into: StoredRepository | None) -> tuple[Ref, ...]:
        """Return the bundle's branches, after an `Importer` checked every object against what
        `into` already has. Raises as `Importer.run`; `Invalid` when it holds no branch."""
        ...


class RepositoryShelf(Protocol):
    """Every shared bare repository of this host. Objects are only ever added.

    Raises `Invalid`, `NotFound`, `LimitReached` (size or time), `Unavailable` (the remote does not
    answer), `Failed`."""

    async def list(self) -> tuple[StoredRepository, ...]:
        """Return all repositories, by key."""
        ...

    async def find(self, key: str, org_id: OrgId) -> StoredRepository:
        """Return a repository by its key: `github.com/owner/repo`, or the local key of an upload of
        this organization, which has keys of its own. Raises `NotFound`."""
        ...

    async def fetch(self, remote: Remote, report: Report) -> StoredRepository:
        """Fetch new objects; the first fetch makes the repository. Concurrent calls share one
        fetch."""
        ...

    async def refs(self, stored: StoredRepository) -> tuple[Ref, ...]:
        """Return branches and tags; the branch HEAD names comes first."""
        ...

    async def have(self, stored: StoredRepository, commits: tuple[str, ...]) -> tuple[str, ...]:
        """Return the subset of `commits` that the server has with all their ancestors."""
        ...

    async def has_file(self, stored: StoredRepository, commit: str, path: str) -> bool:
        """Report whether the tree of a commit has a file at `path`; links within the tree are
        followed. A link that leads out of it counts as a file."""
        ...

    async def file_ids(
        self, stored: StoredRepository, commit: str, paths: Sequence[str]
    ) -> Mapping[str, str]:
        """Return the object ids of those paths that are files, or links, in the tree of a commit;
        equal ids are equal content. Paths have no line ends."""
        ...

    async def read_file(
        self, stored: StoredRepository, commit: str, path: str, *, max_bytes: int
    ) -> bytes | None:
        """Return the file at `path` in the tree of a commit, byte for byte; None when there is
        none. No link is followed. Raises `Invalid` for a link or directory, and for a file larger
        than `max_bytes`."""
        ...

    @property
    def max_bundle_bytes(self) -> int:
        """The size cap of one bundle."""
        ...

    def intake(self) -> AbstractAsyncContextManager[Intake]:
        """Open an intake for one bundle."""
        ...

    async def take(
        self, intake: Intake | None, into: StoredRepository, refs: tuple[Ref, ...]
    ) -> None:
        """Add a verified bundle's objects to `into` (None: they are all there already), then
        set `refs`, all or none."""
        ...


class LocalShelf(Protocol):
    """The part of a shelf that keeps uploaded checkouts."""

    async def place(self, source: LocalSource, org_id: OrgId) -> StoredRepository:
        """Return the repository of an organization's checkout, made empty at first."""
        ...

    async def settle(self, stored: StoredRepository, head: str | None) -> StoredRepository:
        """Update the repository after an upload: HEAD becomes branch `head` (None keeps it); size
        and time are read again."""
        ...
