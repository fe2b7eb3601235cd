"""Unpulled work: commits and files that exist only in a sandbox and are lost with it.

Git runs inside the sandbox and its answer is read here as text an agent may have written.
Commits count as outside when the shared repository has them or a person pulled them. Files beside
the repositories are listed by the runtime, so an image without any program has them listed, too.
"""

import base64
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

from atoll.domain.errors import AtollError, Conflict, Failed, Forbidden, Invalid, NotFound
from atoll.domain.people.principal import Principal
from atoll.domain.repository.repository import read_commit
from atoll.domain.sandboxes.sandbox import Sandbox, SandboxRepo
from atoll.ports.runtime import RuntimeClient
from atoll.services.library.checkout_scripts import NOT_A_REPOSITORY, UNPULLED
from atoll.services.library.workspaces import inside_path
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.scripts import read_count, run_inside
from atoll.wire.contract.call import Query
from atoll.wire.contract.files import FileEntry, list_files, total_files
from atoll.wire.words.sandboxes import Access, State
from atoll.wire.words.walls import WORKSPACE

MAX_FILES = 100
"""Files named of one place; the others are counted."""

MAX_FOLDERS = 500
"""Directories that are listed beside the repositories; files of the others are counted."""

UNTRACKED = "??"
_AGREE = "agree to lose it with `unpulled: lose`"


@dataclass(frozen=True, slots=True)
class UnpulledPlace:
    """Unpulled work of repository number `repo`, or with `repo` None the files beside all of them.

    `tip` is the newest of `commits` new commits, `subject` its first line; `more` counts the files
    that `changed` and `untracked` leave out."""

    path: str
    repo: int | None
    branch: str | None = None
    commits: int = 0
    tip: str | None = None
    subject: str = ""
    stashes: int = 0
    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    more: int = 0

    def __bool__(self) -> bool:
        """Return whether any of this work would be lost."""
        return bool(self.commits or self.stashes or self.changed or self.untracked or self.more)


class UnpulledWork:
    """Use cases on unpulled work. Methods raise the errors of reading a sandbox, and `Failed`."""

    def __init__(self, sandboxes: Sandboxes, access: RuntimeAccess) -> None:
        self._sandboxes = sandboxes
        self._access = access

    async def of(self, caller: Principal, ref: str) -> tuple[UnpulledPlace, ...]:
        """Return the places of a sandbox with unpulled work."""
        sandbox = await self._sandboxes.get(caller, ref)
        if sandbox.profile.workspace.access is Access.READ_ONLY:
            return ()
        async with self._access.reading(caller, ref) as (sandbox, client):
            places = [
                place
                for number in range(len(sandbox.repos))
                if (place := await _repository(sandbox, client, number)) is not None
            ]
            repositories = tuple(place.path for place in places)
            if WORKSPACE not in repositories:
                places.append(await files_beside(client, repositories))
        return tuple(filter(None, places))

    async def check_lost(self, caller: Principal, ref: str) -> None:
        """Check that nothing is lost with a sandbox. Raises `Conflict` where it holds unpulled work
        (code `unpulled_work`) or that cannot be listed (`unpulled_unknown`). The words are none of
        those that were written inside."""
        sandbox = await self._sandboxes.get(caller, ref)
        if sandbox.ready_at is None or sandbox.state in (State.DESTROYING, State.DESTROYED):
            return
        try:
            places = await self.of(caller, sandbox.id)
        except AtollError as error:
            raise Conflict(
                f"The work in {sandbox.name} cannot be listed, so nobody knows what would be lost: "
                f"try again, or {_AGREE}",
                code="unpulled_unknown",
                field="unpulled",
            ) from error
        if places:
            held = "; ".join(map(_words_of, places))
            raise Conflict(
                f"{sandbox.name} holds work that nobody has outside: {held}: pull it or keep its "
                f"files first, or {_AGREE}",
                code="unpulled_work",
                field="unpulled",
            )

    async def pulled(self, caller: Principal, ref: str, *, repo: int, commit: str) -> None:
        """Record that the caller pulled `commit` of repository number `repo`. Raises `Invalid`."""
        sandbox = await self._sandboxes.get(caller, ref)
        if not 0 <= repo < len(sandbox.repos):
            raise Invalid(f"{sandbox.name} has no repository number {repo}.", field="repo")
        await self._sandboxes.pulled(caller, sandbox.id, repo=repo, commit=read_commit(commit))


def _words_of(place: UnpulledPlace) -> str:
    """Return what a place holds, as `/workspace: 2 commits up to 9b1f0c3d2a4e, 3 files`."""
    files = len(place.changed) + len(place.untracked) + place.more
    words = [
        f"{number} {noun if number == 1 else several}"
        for number, noun, several in (
            (place.commits, "commit", "commits"),
            (place.stashes, "stash", "stashes"),
            (files, "file", "files"),
        )
        if number
    ]
    if place.commits and place.tip:
        words[0] += f" up to {place.tip[:12]}"
    return f"{place.path}: {', '.join(words)}"


async def _repository(sandbox: Sandbox, client: RuntimeClient, number: int) -> UnpulledPlace | None:
    """Return the unpulled work of a repository; None when it is no repository any more, and its
    files count as plain files."""
    repo = sandbox.repos[number]
    known = [tip.commit for tip in sandbox.pulled if tip.repo == number]
    outcome = await run_inside(client, UNPULLED, (repo.path, inside_path(number), *known))
    if outcome.code == NOT_A_REPOSITORY:
        return None
    if outcome.code != 0:
        raise Failed(f"The work in {repo.path} cannot be told: {outcome.said}")
    return _read(repo, number, outcome.out)


async def files_beside(client: RuntimeClient, repositories: tuple[str, ...]) -> UnpulledPlace:
    """Return the files of the workspace outside the repositories at these paths, those next to the
    top first. A directory that cannot be listed is named itself. Raises what the runtime does."""
    left_out = {path.removeprefix(f"{WORKSPACE}/").encode() for path in repositories}
    named: list[str] = []
    folders, listed = deque([b""]), 0
    whole = True
    while folders and whole:
        folder = folders.popleft()
        listed += 1
        async for entry in _entries(client, folder):
            path = _join_path(folder, entry)
            if entry.type != "dir":
                named.append(entry.path)
            elif path not in left_out:
                folders.append(path)
            whole = len(named) <= MAX_FILES and listed < MAX_FOLDERS
            if not whole:
                break
    shown = tuple(named[:MAX_FILES])
    more = 0 if whole else await _count(client, left_out) - len(shown)
    return UnpulledPlace(WORKSPACE, None, untracked=shown, more=max(more, len(named) - len(shown)))


async def _entries(client: RuntimeClient, folder: bytes) -> AsyncIterator[FileEntry]:
    """Yield the entries of a directory of the workspace, or one for the directory itself where it
    cannot be listed; nothing for one that is gone. Raises for the workspace as the runtime does."""
    cursor: str | None = ""
    try:
        while cursor is not None:
            more = (("cursor", cursor),) if cursor else ()
            page = await client.call(list_files((*_path_query(folder), *more)))
            for entry in page.entries:
                yield entry
            cursor = page.next
    except (NotFound, Forbidden, Invalid) as error:
        if not folder:
            raise  # nothing would be known
        if not isinstance(error, NotFound):
            path = f"{folder.decode('utf-8', 'replace')}/"
            yield FileEntry("", path, "other", 0, "", "")


async def _count(client: RuntimeClient, left_out: set[bytes]) -> int:
    """Return how many regular files lie beside the repositories."""
    count = (await client.call(total_files(_path_query(b"")))).files
    for folder in left_out:
        try:
            count -= (await client.call(total_files(_path_query(folder)))).files
        except (NotFound, Invalid):
            continue  # no directory any more
    return count


def _path_query(path: bytes) -> Query:
    return (("path_b64", base64.b64encode(path).decode()),) if path else (("path", ""),)


def _join_path(folder: bytes, entry: FileEntry) -> bytes:
    """Return the exact path of an entry in a directory."""
    exact = entry.name_b64
    name = entry.name.encode() if exact is None else base64.b64decode(exact)
    return b"%s/%s" % (folder, name) if folder else name


def _read(repo: SandboxRepo, number: int, out: bytes) -> UnpulledPlace:
    commits, tip, subject, stashes, count, *entries = _texts(out, least=5)
    named = [entry for entry in entries if len(entry) > 3][:MAX_FILES]
    return UnpulledPlace(
        repo.path,
        number,
        branch=repo.branch,
        commits=_parse_count(commits),
        tip=_commit(tip) if tip else None,
        subject=subject[:200],
        stashes=_parse_count(stashes),
        changed=tuple(entry[3:] for entry in named if entry[:2] != UNTRACKED),
        untracked=tuple(entry[3:] for entry in named if entry[:2] == UNTRACKED),
        more=max(0, _parse_count(count) - len(named)),
    )


def _texts(out: bytes, *, least: int) -> list[str]:
    """Return the texts that end with NUL, without a truncated last one. Raises `Failed`."""
    texts = [part.decode("utf-8", "replace") for part in out.split(b"\0")[:-1]]
    if len(texts) < least:
        raise Failed("The sandbox did not say what work is in it: its git or shell is broken.")
    return texts


def _commit(text: str) -> str:
    try:
        return read_commit(text)
    except Invalid:
        raise Failed(
            f"The sandbox named {text[:20]!r} as its newest commit: its git or shell is broken."
        ) from None


def _parse_count(text: str) -> int:
    """Return a count that git printed. Raises `Failed` for any other text."""
    count = read_count(text)
    if count is None:
        raise Failed(f"The sandbox counted its work as {text[:20]!r}: its git or shell is broken.")
    return count
