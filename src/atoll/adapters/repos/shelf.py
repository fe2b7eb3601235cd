"""Every shared bare repository of this host, in folders below `repos/`.

Implements `ports.repositories.RepositoryShelf` and `LocalShelf` with git. Objects are only
ever added: sandboxes read them while they live. Bundles go through `adapters.repos.intake`.
"""

import asyncio
import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from atoll.adapters.repos import record
from atoll.adapters.repos.flights import Flights
from atoll.adapters.repos.git import Git, GitCall, GitReply
from atoll.adapters.repos.intake import BundleIntake, IntakeSettings
from atoll.adapters.repos.netguard import dial
from atoll.domain.errors import Failed, Forbidden, NotFound, Unavailable
from atoll.domain.ids import OrgId
from atoll.domain.repository import LOCAL_FOLDER, LocalSource, Remote, is_local_key
from atoll.ports.repositories import Importer, Intake, Ref, Report, Stored

BRANCHES_AND_TAGS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
UNFINISHED = ".unfinished-"
LISTING_SECONDS = 60.0

_ABSENT = re.compile(r"authentication|username|not found|redirect|error: (30\d|40[134])")
"""How git's words begin when a remote is private, gone or elsewhere."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`repos` and `imports` are folders of ours; `max_bytes` bounds one fetched pack, one bundle
    and one imported object; `allow_loopback` is for development and tests only."""

    repos: Path
    imports: Path
    max_bytes: int = 8 * 2**30
    fetch_seconds: float = 1800.0
    import_seconds: int = 600
    allow_loopback: bool = False


class Shelf:
    """The shelf. One per control plane; needs no other to be absent."""

    def __init__(self, settings: Settings, importer: Importer) -> None:
        self._settings = settings
        self._importer = importer
        self._git = Git()
        self._fetches: Flights[Stored] = Flights()

    def sweep(self) -> None:
        """Make the folders, and remove what a crash left half done. Call once, before use."""
        for folder in (self._settings.repos, self._settings.imports):
            folder.parent.mkdir(parents=True, exist_ok=True)
            _folder(folder)
        for left in self._settings.repos.glob(f"{UNFINISHED}*"):
            shutil.rmtree(left, ignore_errors=True)
        for left in self._settings.imports.iterdir():
            shutil.rmtree(left, ignore_errors=True)

    async def list(self) -> tuple[Stored, ...]:
        """All of them, by key."""
        found = await asyncio.to_thread(lambda: list(record.all_below(self._settings.repos)))
        return tuple(sorted(found, key=lambda stored: stored.key))

    async def find(self, key: str) -> Stored:
        """One by its key. Raises `NotFound`."""
        stored = await asyncio.to_thread(self._load, key)
        if stored is None:
            raise NotFound(f"No repository {key[:120]!r} is kept here: fetch or upload it first.")
        return stored

    def _load(self, key: str) -> Stored | None:
        if is_local_key(key):
            folders = (self._settings.repos / LOCAL_FOLDER).glob(f"*-{key}.git")
            return next(filter(None, map(record.load, folders)), None)
        # Compared with what the record says, so a crafted key leads nowhere else.
        stored = record.load(self._settings.repos / f"{key}.git") if ".." not in key else None
        return stored if stored is not None and stored.key == key else None

    async def fetch(self, remote: Remote, report: Report) -> Stored:
        """Bring what is new; makes the repository at first. Concurrent calls share one fetch."""
        return await self._fetches.join(remote.key, lambda: self._fetch(remote, report))

    async def _fetch(self, remote: Remote, report: Report) -> Stored:
        where = await dial(remote, allow_loopback=self._settings.allow_loopback)
        config = (f"http.curloptResolve={where}",)
        there = await asyncio.to_thread(self._load, remote.key)
        if there is not None:
            await self._bring(remote, there.path, config, report)
            return await self._freshened(there)
        target = self._settings.repos / remote.folder
        stored = Stored(remote.key, remote.name, remote.repo_url, target, 0, datetime.now(UTC))
        async with self._made(stored) as unfinished:
            await self._bring(remote, unfinished, config, report)
        return await self._freshened(stored)

    async def _bring(
        self, remote: Remote, repo: Path, config: tuple[str, ...], report: Report
    ) -> None:
        url, listing = await self._listed(remote, config)
        head = _head_of(listing)
        if head is not None:
            await self._git.ask(GitCall(("symbolic-ref", "HEAD", head), repo))
        fetching = GitCall(
            ("fetch", "--progress", "--prune", "--no-tags", "--no-write-fetch-head",
             "--no-auto-gc", "--", url, *BRANCHES_AND_TAGS),
            repo,
            config=config,
            protocols=_protocols(remote),
            seconds=self._settings.fetch_seconds,
            max_file_bytes=self._settings.max_bytes,
            progress=report,
        )  # fmt: skip
        _answered(await self._git.run(fetching), remote)

    async def _listed(self, remote: Remote, config: tuple[str, ...]) -> tuple[str, bytes]:
        # Some hosts answer only under `.git` (and redirect, which is not followed), some only
        # without it.
        for url in (f"{remote.repo_url}.git", remote.repo_url):
            call = GitCall(
                ("ls-remote", "--symref", "--", url, "HEAD"),
                config=config,
                protocols=_protocols(remote),
                seconds=min(LISTING_SECONDS, self._settings.fetch_seconds),
            )
            reply = await self._git.run(call)
            if reply.status == 0:
                return url, reply.out
            with contextlib.suppress(NotFound):
                _answered(reply, remote)
        raise _not_there(remote)

    @contextlib.asynccontextmanager
    async def _made(self, stored: Stored) -> AsyncIterator[Path]:
        """A new bare repository, put in its place only when the body succeeds."""
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
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def _freshened(self, stored: Stored) -> Stored:
        size = await asyncio.to_thread(record.object_bytes, stored.path)
        fresh = replace(stored, bytes=size, fetched_at=datetime.now(UTC))
        await asyncio.to_thread(record.save, fresh)
        return fresh

    async def refs(self, stored: Stored) -> tuple[Ref, ...]:
        """Its branches and tags; the branch HEAD stands for comes first."""
        listing = await self._git.ask(
            GitCall(
                ("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"),
                stored.path,
            )
        )
        lines = (line.split(" ", 1) for line in listing.decode("utf-8", "replace").splitlines())
        found = [Ref(name, commit) for commit, name in lines]
        head = (await self._git.run(GitCall(("symbolic-ref", "-q", "HEAD"), stored.path))).out
        first = head.decode("utf-8", "replace").strip()
        return tuple(sorted(found, key=lambda ref: ref.name != first))

    async def have(self, stored: Stored, commits: tuple[str, ...]) -> tuple[str, ...]:
        """Those of `commits` that are here with everything they stand on."""
        asked = "".join(f"{commit}\n" for commit in commits).encode()
        answer = await self._git.ask(
            GitCall(
                ("cat-file", "--batch-check=%(objectname) %(objecttype)"),
                stored.path,
                stdin=asked,
            )
        )
        lines = (line.split() for line in answer.decode().splitlines())
        return tuple(words[0] for words in lines if words[1:] == ["commit"])

    @contextlib.asynccontextmanager
    async def intake(self) -> AsyncIterator[BundleIntake]:
        """A place for one incoming bundle."""
        settings = IntakeSettings(self._settings.max_bytes, self._settings.import_seconds)
        scratch = Path(tempfile.mkdtemp(dir=self._settings.imports))
        os.chmod(scratch, 0o711)  # noqa: PTH101 (the importer's uid has to reach what is inside)
        try:
            with BundleIntake(scratch, settings, self._git, self._importer) as intake:
                yield intake
        finally:
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def take(self, intake: Intake | None, into: Stored, refs: tuple[Ref, ...]) -> None:
        """Add a verified bundle's objects to `into`, then set `refs`, all or none."""
        if isinstance(intake, BundleIntake):
            await self._git.ask(
                GitCall(
                    ("index-pack", "--stdin", "--fix-thin", "--strict"),
                    into.path,
                    stdin=(intake.bundle, intake.pack_offset),
                    seconds=self._settings.import_seconds,
                    max_file_bytes=self._settings.max_bytes,
                )
            )
        orders = "".join(f"update {ref.name} {ref.commit}\n" for ref in refs)
        if orders:
            await self._git.ask(
                GitCall(("update-ref", "--stdin"), into.path, stdin=orders.encode())
            )

    async def place(self, source: LocalSource, org_id: OrgId) -> Stored:
        """The repository of a checkout, made empty at first. Raises `Forbidden`."""
        there = await asyncio.to_thread(self._load, source.key)
        if there is None:
            target = self._settings.repos / source.folder
            now = datetime.now(UTC)
            fresh = Stored(source.key, source.name, source.repo_url, target, 0, now, org_id)
            async with self._made(fresh):
                return fresh
        if there.org_id != org_id:
            raise Forbidden(f"Repository {source.key} is not yours: upload under another key.")
        return replace(there, repo_url=source.repo_url or there.repo_url)

    async def settle(self, stored: Stored, head: str | None) -> Stored:
        """After an upload: HEAD becomes branch `head`; size and time are anew."""
        if head is not None:
            target = f"refs/heads/{head}"
            await self._git.ask(GitCall(("symbolic-ref", "HEAD", target), stored.path))
        return await self._freshened(stored)


def _put_in_place(bare: Path, stored: Stored, root: Path) -> None:
    record.save(replace(stored, path=bare))
    for folder in reversed(stored.path.relative_to(root).parents):
        _folder(root / folder)
    for top, folders, _ in os.walk(bare):
        Path(top).chmod(0o755)
        folders[:] = [name for name in folders if name != "objects"]
    for top, _, _ in os.walk(bare / "objects"):
        Path(top).chmod(0o755)
    with contextlib.suppress(OSError):  # somebody else was first: theirs is as good
        bare.rename(stored.path)


def _folder(path: Path) -> None:
    # Others may pass through on the way to a repository, not look around; whatever the umask.
    if not path.is_dir():
        path.mkdir(exist_ok=True)
        path.chmod(0o711)


def _protocols(remote: Remote) -> tuple[str, ...]:
    return (remote.repo_url.split(":", 1)[0],)


def _answered(reply: GitReply, remote: Remote) -> None:
    """Turn what git said about the other side into an error a person can act on."""
    if reply.status == 0:
        return
    said = reply.why.lower()
    if _ABSENT.search(said):
        raise _not_there(remote)
    kind = Failed if "index-pack" in said or "fsck" in said else Unavailable
    raise kind(f"{remote.repo_url} could not be fetched: {reply.why or 'no reason given'}")


def _not_there(remote: Remote) -> NotFound:
    return NotFound(
        f"{remote.repo_url} is not there, has moved, or is private: clone it yourself and give "
        "the path of your checkout instead."
    )


def _head_of(listing: bytes) -> str | None:
    """The branch in `ref: refs/heads/main\\tHEAD`; None for a detached or empty remote."""
    for line in listing.decode("utf-8", "replace").splitlines():
        if line.startswith("ref: refs/heads/") and line.endswith("\tHEAD"):
            return line.removeprefix("ref: ").removesuffix("\tHEAD")
    return None
