"""Intake of one bundle: stored in a scratch directory, then checked in isolation.

The shelf makes and removes the scratch directory. Nothing here trusts the bundle: `wire.git.bundle`
reads its header, and only an `Importer` reads its objects.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from atoll.adapters.repos.git import Git, GitCall
from atoll.adapters.repos.pack_files import PackFiles, check_pack_files
from atoll.adapters.turns import Turns
from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.repository.branch import branch_of_ref
from atoll.domain.repository.repository import HARMLESS_FLAWS
from atoll.ports.repositories import Importer, ImportJob, Ref, StoredRepository
from atoll.wire.git.bundle import MAX_HEADER_BYTES, BundleHeader, MalformedBundle, read_header

MAX_BRANCHES = 256
READ_BYTES = 256 * 1024
_CONFIG = (
    "".join(f'[fetch "fsck"]\n\t{flaw} = ignore\n' for flaw in HARMLESS_FLAWS)
    # An importer's memory is bounded: do not map whole packs of the borrowed repository.
    + "[core]\n\tpackedGitWindowSize = 32m\n\tpackedGitLimit = 256m\n"
)
KEPT_FREE_BYTES = 512 * 2**20
"""The free space that an upload leaves on the disk."""


@dataclass(frozen=True, slots=True)
class IntakeSettings:
    """The bounds of one bundle: its size in bytes, and the seconds its check may take."""

    max_bytes: int
    seconds: int


class BundleIntake:
    """An intake that implements `ports.repositories.Intake`; a context manager that owns the open
    file."""

    def __init__(
        self,
        scratch: Path,
        settings: IntakeSettings,
        git: Git,
        importer: Importer,
        *,
        turns: Turns,
    ) -> None:
        self._turns = turns
        self._scratch = scratch
        self._settings = settings
        self._git = git
        self._importer = importer
        self._written = 0
        self._header: BundleHeader | None = None
        self._pack: PackFiles | None = None
        self._file = -1

    def __enter__(self) -> "BundleIntake":
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._file = os.open(self.bundle, flags, 0o644)
        os.fchmod(self._file, 0o644)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)

    @property
    def bundle(self) -> Path:
        """The file written so far."""
        return self._scratch / "in.bundle"

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._written

    def write(self, chunk: bytes) -> None:
        """Append bytes. Raises `LimitReached` past the size cap or when the disk is nearly full."""
        self._written += len(chunk)
        if self._written > self._settings.max_bytes:
            raise LimitReached(
                f"The bundle is larger than {self._settings.max_bytes // 2**20} MiB, "
                "the limit for one upload.",
                code="too_large",
            )
        if shutil.disk_usage(self._scratch).free < KEPT_FREE_BYTES:
            raise LimitReached("The disk is nearly full: free some space, then try again.")
        rest = memoryview(chunk)
        while rest:
            rest = rest[os.write(self._file, rest) :]

    async def read(self) -> AsyncIterator[bytes]:
        """Yield the bundle's bytes from the start."""
        source = os.open(self.bundle, os.O_RDONLY | os.O_CLOEXEC)
        try:
            while piece := await asyncio.to_thread(os.read, source, READ_BYTES):
                yield piece
        finally:
            os.close(source)

    async def verify(self, into: StoredRepository | None) -> tuple[Ref, ...]:
        """Return the bundle's branches, after an `Importer` checked every object against `into`.
        It waits its turn."""
        header = self._read_header()
        refs = tuple(
            Ref(name, commit) for name, commit in header.refs if branch_of_ref(name) is not None
        )
        if not 0 < len(refs) <= MAX_BRANCHES:
            raise Invalid(f"The bundle holds {len(refs)} branches; 1 to {MAX_BRANCHES} are taken.")
        job = ImportJob(
            repo_dir=await self._fresh_repository("repo.git", into),
            bundle=self.bundle,
            refspecs=tuple(f"+{ref.name}:{ref.name}" for ref in refs),
            alternates=(into.path,) if into is not None else (),
            seconds=self._settings.seconds,
            max_bytes=self._settings.max_bytes,
        )
        async with self._turns.turn():
            await self._importer.run(job)
            await self._index(job, await self._fresh_repository("checked.git", into), header.size)
        return refs

    async def _index(self, job: ImportJob, repo: Path, offset: int) -> None:
        # Up to version 2.45, git does not fsck what it fetches from a bundle. Hostile objects that
        # took over the first importer could have made its index. So another importer checks and
        # indexes the pack once more; all its links must resolve. No git of this process's uid reads
        # it.
        await self._importer.run(replace(job, repo_dir=repo, refspecs=(), pack_at=offset))
        folder = repo / "objects" / "pack"
        self._pack = await asyncio.to_thread(check_pack_files, folder, self.bundle, offset)

    def hand_over(self, objects: Path) -> None:
        """Move the checked pack into another repository's objects.

        The index moves last, since a pack exists once its index does. Does nothing without
        `verify`, or when called twice.
        """
        if self._pack is None:
            return
        for file in (self._pack.pack, self._pack.index):
            file.chmod(0o444)
            file.replace(objects / "pack" / file.name)
        self._pack = None

    async def _fresh_repository(self, name: str, into: StoredRepository | None) -> Path:
        repo = self._scratch / name
        await self._git.ask(GitCall(("init", "--bare", "--quiet", "--template=", str(repo))))
        with (repo / "config").open("a") as config:
            config.write(_CONFIG)
        if into is not None:
            borrowed = repo / "objects" / "info" / "alternates"
            borrowed.parent.mkdir(exist_ok=True)
            borrowed.write_text(f"{into.path / 'objects'}\n")
        return repo

    def _read_header(self) -> BundleHeader:
        if self._header is None:
            with self.bundle.open("rb") as file:
                start = file.read(MAX_HEADER_BYTES)
            try:
                self._header = read_header(start)
            except MalformedBundle as error:
                raise Invalid(f"This is not a git bundle that can be taken in: {error}.") from error
        return self._header
