"""Shared bare repositories of this host, in directories below `repos/`.

Implements `ports.repositories.RepositoryShelf` and `LocalShelf` with git. Objects are only ever
added: living sandboxes read them. Bundles go through `adapters.repos.intake`.
"""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from atoll.adapters.repos import record
from atoll.adapters.repos.git import Git, GitCall
from atoll.adapters.repos.intake import BundleIntake, IntakeSettings
from atoll.adapters.repos.line import DialledRemote, FetchLimits
from atoll.adapters.repos.netguard import dial
from atoll.adapters.repos.single_flight import SingleFlight
from atoll.adapters.settled import remove_tree
from atoll.adapters.turns import Turns
from atoll.domain.errors import Invalid, NotFound
from atoll.domain.ids import PERSONAL_ORG, OrgId
from atoll.domain.repository.branch import conflicting_branches
from atoll.domain.repository.repository import LOCAL_FOLDER, LocalSource, Remote, is_local_key
from atoll.ports.repositories import Importer, Intake, Ref, Report, StoredRepository

UNFINISHED = ".unfinished-"
CHECKS_AT_ONCE = 4
"""Bundles that are checked at once, as many as a zygote imports."""

MAX_WAITING = 64
"""Bundles that wait for their check: each lies on the disk meanwhile."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings.

    `repos` and `imports` are directories of Atoll; `max_bytes` bounds one fetched pack, one bundle
    and one imported object; `allow_loopback` is for development and tests only.
    """

    repos: Path
    imports: Path
    max_bytes: int = 8 * 2**30
    fetch_seconds: float = 1800.0
    import_seconds: int = 600
    allow_loopback: bool = False


async def _nobody(_: Path) -> None:
    return


class Shelf:
    """The shelf of one control plane; it works beside another on the same directories. `changed` is
    awaited with the directory of a repository that may have new objects."""

    def __init__(
        self,
        settings: Settings,
        importer: Importer,
        changed: Callable[[Path], Awaitable[None]] = _nobody,
    ) -> None:
        self.changed = changed
        self._settings = settings
        self._importer = importer
        self._git = Git()
        self._caps = FetchLimits(settings.fetch_seconds, settings.max_bytes)
        self._checks = Turns("uploads", at_once=CHECKS_AT_ONCE, waiting=MAX_WAITING)
        self._fetches: SingleFlight[StoredRepository] = SingleFlight()

    def sweep(self) -> None:
        """Make the directories, and remove the remains of a crash. Call once, before use."""
        for folder in (self._settings.repos, self._settings.imports):
            folder.parent.mkdir(parents=True, exist_ok=True)
            _make_folder(folder)
        for unfinished in self._settings.repos.glob(f"{UNFINISHED}*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        for unfinished in self._settings.imports.iterdir():
            shutil.rmtree(unfinished, ignore_errors=True)

    async def list(self) -> tuple[StoredRepository, ...]:
        """Return all repositories, by key."""
        repositories = await asyncio.to_thread(lambda: list(record.all_below(self._settings.repos)))
        return tuple(sorted(repositories, key=lambda stored: stored.key))

    async def find(self, key: str, org_id: OrgId) -> StoredRepository:
        """Return a repository by its key, of an upload that of this organization. Raises
        `NotFound`."""
        stored = await asyncio.to_thread(self._load, key, org_id)
        if stored is None:
            raise NotFound(f"No repository {key[:120]!r} is kept here: fetch or upload it first.")
        return stored

    def _load(self, key: str, org_id: OrgId | None = None) -> StoredRepository | None:
        if is_local_key(key):
            uploads = self._settings.repos / LOCAL_FOLDER
            # Uploads of before lie in one folder, whosever they are.
            places = (uploads, uploads / org_id) if org_id else (uploads,)
            folders = (folder for place in places for folder in place.glob(f"*-{key}.git"))
            records = (record.load(folder) for folder in folders)
            return next((one for one in records if one is not None and one.org_id == org_id), None)
        # The key must equal the record's, so a crafted key leads nowhere else.
        if ".." in key or "\0" in key:
            return None
        stored = record.load(self._settings.repos / f"{key}.git")
        return stored if stored is not None and stored.key == key else None

    async def fetch(self, remote: Remote, report: Report) -> StoredRepository:
        """Fetch new objects; the first fetch makes the repository. Concurrent calls share one
        fetch."""
        return await self._fetches.join(remote.key, lambda: self._fetch(remote, report))

    async def _fetch(self, remote: Remote, report: Report) -> StoredRepository:
        where = await dial(remote, allow_loopback=self._settings.allow_loopback)
        line = DialledRemote(self._git, remote, where)
        there = await asyncio.to_thread(self._load, remote.key)
        if there is not None:
            await line.bring(there.path, self._caps, report)
            fresh = await self._with_size_and_time(there)
            await self.changed(there.path)
            return fresh
        target = self._settings.repos / remote.folder
        stored = StoredRepository(
            remote.key, remote.name, remote.repo_url, target, 0, datetime.now(UTC)
        )
        async with self._make(stored) as unfinished:
            await line.bring(unfinished, self._caps, report)
        return await self._with_size_and_time(stored)

    @contextlib.asynccontextmanager
    async def _make(self, stored: StoredRepository) -> AsyncIterator[Path]:
        """Make a bare repository, which is moved to its place only when the body succeeds."""
        scratch = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=self._settings.repos))
        try:
            bare = scratch / "bare.git"
            await self._git.ask(
                GitCall(("init", "--bare", "--quiet", "--shared=0644", "--template=", str(bare)))
            )
            await self._git.ask(GitCall(("config", "gc.pruneExpire", "never"), bare))
            yield bare
            await asyncio.to_thread(_put_in_place, bare, stored, self._settings.repos)
        finally:
            await remove_tree(scratch)

    async def _with_size_and_time(self, stored: StoredRepository) -> StoredRepository:
        size = await asyncio.to_thread(record.object_bytes, stored.path)
        fresh = replace(stored, bytes=size, fetched_at=datetime.now(UTC))
        await asyncio.to_thread(record.save, fresh)
        return fresh

    async def refs(self, stored: StoredRepository) -> tuple[Ref, ...]:
        """Return the repository's branches and tags; the branch that HEAD names comes first."""
        listing = await self._git.ask(
            GitCall(
                ("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"),
                stored.path,
            )
        )
        lines = (line.split(" ", 1) for line in listing.decode("utf-8", "replace").splitlines())
        refs = [Ref(name, commit) for commit, name in lines]
        head = (await self._git.run(GitCall(("symbolic-ref", "-q", "HEAD"), stored.path))).out
        first = head.decode("utf-8", "replace").strip()
        return tuple(sorted(refs, key=lambda ref: ref.name != first))

    async def have(self, stored: StoredRepository, commits: tuple[str, ...]) -> tuple[str, ...]:
        """Return the commits that the repository has with everything they depend on."""
        lines = "".join(f"{commit}\n" for commit in commits).encode()
        answer = await self._git.ask(
            GitCall(
                ("cat-file", "--batch-check=%(objectname) %(objecttype)"),
                stored.path,
                stdin=lines,
            )
        )
        fields = (line.split() for line in answer.decode().splitlines())
        return tuple(words[0] for words in fields if words[1:] == ["commit"])

    async def has_file(self, stored: StoredRepository, commit: str, path: str) -> bool:
        """Report whether the tree of a commit has a file at `path`; links within it are
        followed."""
        answer = await self._git.ask(
            GitCall(
                ("cat-file", "--batch-check=%(objecttype)", "--follow-symlinks"),
                stored.path,
                stdin=f"{commit}:{path}\n".encode("utf-8", "surrogateescape"),
            )
        )
        # git prints `tree`, `… missing`, `dangling N`, `loop N` or `notdir N` for what is no file.
        return answer.split(None, 1)[:1] in ([b"blob"], [b"symlink"])

    async def file_ids(
        self, stored: StoredRepository, commit: str, paths: Sequence[str]
    ) -> dict[str, str]:
        """Return the object ids of those paths that are files, or links, in the tree of a
        commit."""
        # Git takes no relative path where there is no working tree.
        plain = [path for path in paths if not {".", ".."} & {*path.split("/")}]
        names = "".join(f"{commit}:{path}\n" for path in plain)
        answer = await self._git.ask(
            GitCall(
                ("cat-file", "--batch-check=%(objectname) %(objecttype)"),
                stored.path,
                stdin=names.encode("utf-8", "surrogateescape"),
            )
        )
        # git prints a line for each, `… missing` for what is not there.
        fields = (line.split(b" ") for line in answer.splitlines())
        return {
            path: words[0].decode()
            for path, words in zip(plain, fields, strict=True)
            if words[1:] == [b"blob"]
        }

    async def read_file(
        self, stored: StoredRepository, commit: str, path: str, *, max_bytes: int
    ) -> bytes | None:
        """Return a file of the tree of a commit, None when there is none. Raises `Invalid`."""
        place = f":(top,literal){path}"
        listed = await self._git.ask(
            GitCall(("ls-tree", "-z", "--full-tree", "--long", commit, "--", place), stored.path)
        )
        head, _, name = listed.partition(b"\0")[0].partition(b"\t")
        if not name:
            return None
        mode, _, blob, size = head.split()
        if mode not in (b"100644", b"100755"):
            raise Invalid(f"{path} is no regular file in the repository: links are not followed.")
        if int(size) > max_bytes:
            raise Invalid(f"{path} is larger than {max_bytes} bytes.")
        return await self._git.ask(GitCall(("cat-file", "blob", blob.decode()), stored.path))

    @property
    def max_bundle_bytes(self) -> int:
        """The size cap of one bundle."""
        return self._settings.max_bytes

    @contextlib.asynccontextmanager
    async def intake(self) -> AsyncIterator[BundleIntake]:
        """Open an intake for one bundle."""
        settings = IntakeSettings(self._settings.max_bytes, self._settings.import_seconds)
        scratch = Path(tempfile.mkdtemp(dir=self._settings.imports))
        _open_to_importer(scratch)
        try:
            with BundleIntake(
                scratch, settings, self._git, self._importer, turns=self._checks
            ) as intake:
                yield intake
        finally:
            await remove_tree(scratch)

    async def take(
        self, intake: Intake | None, into: StoredRepository, refs: tuple[Ref, ...]
    ) -> None:
        """Add a verified bundle's objects to `into`, then set `refs`, all or none. What was sent
        last counts: a branch of before that leaves no room for one of them is forgotten."""
        if isinstance(intake, BundleIntake):
            await asyncio.to_thread(intake.hand_over, into.path / "objects")
        if refs:
            there = [ref.name for ref in await self.refs(into)]
            rivals_there = conflicting_branches({ref.name for ref in refs}, there)
            # In two steps: git checks for room before it deletes.
            await self._set_refs(into, [f"delete {name}" for name in rivals_there])
            await self._set_refs(into, [f"update {ref.name} {ref.commit}" for ref in refs])
        await self.changed(into.path)

    async def _set_refs(self, into: StoredRepository, orders: Sequence[str]) -> None:
        if orders:
            lines = "".join(f"{order}\n" for order in orders).encode()
            await self._git.ask(GitCall(("update-ref", "--stdin"), into.path, stdin=lines))

    async def place(self, source: LocalSource, org_id: OrgId) -> StoredRepository:
        """Return the repository of a checkout, made empty at first."""
        there = await asyncio.to_thread(self._load, source.key, org_id)
        if there is None:
            folder = Path(source.folder)
            own = folder if org_id == PERSONAL_ORG else folder.parent / org_id / folder.name
            target = self._settings.repos / own
            now = datetime.now(UTC)
            fresh = StoredRepository(
                source.key, source.name, source.repo_url, target, 0, now, org_id
            )
            async with self._make(fresh):
                return fresh
        return replace(there, repo_url=source.repo_url or there.repo_url)

    async def settle(self, stored: StoredRepository, head: str | None) -> StoredRepository:
        """End an upload: HEAD becomes branch `head`; size and time are updated."""
        if head is not None:
            target = f"refs/heads/{head}"
            await self._git.ask(GitCall(("symbolic-ref", "HEAD", target), stored.path))
        return await self._with_size_and_time(stored)


def _put_in_place(bare: Path, stored: StoredRepository, root: Path) -> None:
    record.save(replace(stored, path=bare))
    for folder in reversed(stored.path.relative_to(root).parents):
        _make_folder(root / folder)
    for top, folders, _ in os.walk(bare):
        Path(top).chmod(0o755)
        folders[:] = [name for name in folders if name != "objects"]
    for top, _, _ in os.walk(bare / "objects"):
        Path(top).chmod(0o755)
    with contextlib.suppress(OSError):  # another process was first: its repository is as good
        bare.rename(stored.path)


def _open_to_importer(scratch: Path) -> None:
    # Its uid may pass through, not list the directory.
    scratch.chmod(0o711)


def _make_folder(path: Path) -> None:
    # Others may pass through on the way to a repository, not list the directory; whatever the
    # umask.
    if not path.is_dir():
        path.mkdir(exist_ok=True)
        path.chmod(0o711)
