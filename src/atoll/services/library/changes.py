"""Changes of a sandbox's working trees, and their diff, computed by git inside.

The answers are what a sandbox says of itself: an agent can falsify its own git. What counts are
the commits that `pull` brings and checks.
"""

import asyncio
import secrets
from dataclasses import dataclass

from atoll.domain.errors import Failed, Invalid, LimitReached, NotFound
from atoll.domain.people.principal import Principal
from atoll.domain.repository.changes import Changes, read_changes
from atoll.domain.repository.diff import MAX_LINES, FileDiff, read_diff
from atoll.domain.repository.raster import Raster, read_raster
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.runtime import RuntimeClient
from atoll.services.library.changes_script import CHANGES, FILE
from atoll.services.library.checkout_scripts import NOT_A_REPOSITORY
from atoll.services.library.workspaces import inside_path
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.scripts import Outcome, run_inside
from atoll.wire.words.library import MAX_CHANGE_SECONDS, Against
from atoll.wire.words.walls import WORKSPACE

MAX_DIFF_BYTES = 4 * 1024 * 1024
MAX_IMAGE_BYTES = 4 * 1024 * 1024
NO_SUCH_COMMIT = 16
TOO_LARGE = 21
_KEPT_BYTES = MAX_DIFF_BYTES + 1_100_000
_STAMPS = 500


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of repository number `repo`; with `paths` only of these files or folders. A turn
    is the one that began at `checkpoint`, the last one by default."""

    repo: int = 0
    against: Against = Against.BASE
    paths: tuple[str, ...] = ()
    checkpoint: int | None = None

    def __post_init__(self) -> None:
        for path in self.paths:
            if path.startswith("/") or ".." in path.split("/") or "\0" in path or not path:
                raise Invalid("A path is relative to the repository and stays in it.", field="path")
        if self.checkpoint is not None and self.against is not Against.TURN:
            raise Invalid(
                "A checkpoint is where a turn began: compare with the turn, or leave it out.",
                field="checkpoint",
            )


@dataclass(frozen=True, slots=True)
class DiffStyle:
    """The form of a diff: lines of context, and whether a change of blanks alone is one."""

    context: int = 3
    whitespace: bool = True


@dataclass(frozen=True, slots=True)
class Diff:
    """A diff; `truncated` when it is longer than is sent."""

    files: tuple[FileDiff, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Tree:
    """A working tree of a sandbox: where it lies, the shared repository it borrows from, and the
    branch it began from."""

    path: str
    store: str = ""
    began: str = ""


class WorkingTrees:
    """Use cases on changes. Methods raise the errors of reading a sandbox; `NotFound` without a
    repository, `Failed` when git inside does not answer."""

    def __init__(self, access: RuntimeAccess) -> None:
        self._access = access
        # Stamps of indexes in which no file is marked as hidden, by sandbox and path.
        self._plain: dict[tuple[str, str], str] = {}

    async def changes(
        self,
        caller: Principal,
        ref: str,
        wanted: Comparison,
        *,
        since: str = "",
        wait_seconds: int = 0,
    ) -> Changes:
        """Return the changes; those with the digest `since` only after `wait_seconds`."""
        asked = ("list", since, str(min(wait_seconds, MAX_CHANGE_SECONDS)), "3", "yes")
        async with self._access.reading(caller, ref) as (sandbox, client):
            mark, outcome = await self._run(client, sandbox, wanted, asked)
        # Megabytes that an agent may have written: the loop serves others meanwhile.
        changes = await asyncio.to_thread(read_changes, outcome.out, mark)
        if changes is None:
            raise Failed("The sandbox did not list its changes: its git or shell is broken.")
        return changes

    async def diff(self, caller: Principal, ref: str, wanted: Comparison, style: DiffStyle) -> Diff:
        """Return the changes line by line."""
        blanks = "yes" if style.whitespace else "no"
        asked = ("patch", "", "0", str(style.context), blanks)
        async with self._access.reading(caller, ref) as (sandbox, client):
            mark, outcome = await self._run(client, sandbox, wanted, asked)
        sections = outcome.out.split(b"\0" + mark.encode() + b"\0")
        if len(sections) < 4:
            raise Failed("The sandbox did not send its diff: its git or shell is broken.")
        files = await asyncio.to_thread(read_diff, sections[2])
        cut = len(sections[2]) >= MAX_DIFF_BYTES or sections[2].count(b"\n") >= MAX_LINES
        return Diff(files, cut or any(file.truncated for file in files))

    async def image(
        self, caller: Principal, ref: str, wanted: Comparison, commit: str
    ) -> tuple[Raster, bytes]:
        """Return the raster image that `wanted` names, as it is in a commit, or with "" in the
        working tree. Raises `NotFound`, `LimitReached`, and `Invalid` for any other file."""
        (path,) = wanted.paths
        async with self._access.reading(caller, ref) as (sandbox, client):
            tree = tree_of(sandbox, wanted.repo)
            args = (tree.path, "", commit, path, str(MAX_IMAGE_BYTES))
            outcome = await run_inside(client, FILE, args, kept_bytes=MAX_IMAGE_BYTES)
        if outcome.code == NO_SUCH_COMMIT:
            raise NotFound(f"{path} is not there.")
        if outcome.code == TOO_LARGE:
            raise LimitReached(f"{path} has more than {MAX_IMAGE_BYTES} bytes: it is not shown.")
        _check(outcome, tree, wanted)
        raster = read_raster(outcome.out)
        if raster is None:
            raise Invalid(f"{path} is no PNG, JPEG, GIF or WebP image that is shown.", field="path")
        return raster, outcome.out

    async def _run(
        self, client: RuntimeClient, sandbox: Sandbox, wanted: Comparison, asked: tuple[str, ...]
    ) -> tuple[str, Outcome]:
        tree, mark = tree_of(sandbox, wanted.repo), secrets.token_hex(16)
        against = wanted.against.value
        if wanted.against is Against.TURN and wanted.checkpoint is not None:
            against = f"{against}{wanted.checkpoint}"
        args = (tree.path, tree.store, tree.began, against, mark, *asked)
        index = sandbox.id, tree.path
        plain = self._plain.pop(index, "")
        outcome = await run_inside(
            client, CHANGES, (*args, plain, *wanted.paths), kept_bytes=_KEPT_BYTES
        )
        _check(outcome, tree, wanted)
        stamp = outcome.out.split(b"\0", 7)[6:7]
        self._plain[index] = stamp[0][:200].decode("ascii", "replace") if stamp else ""
        if len(self._plain) > _STAMPS:
            del self._plain[next(iter(self._plain))]
        return mark, outcome


def tree_of(sandbox: Sandbox, number: int) -> Tree:
    """Return repository `number` of a sandbox. Raises `Invalid`. A sandbox without one may hold a
    repository that was made inside."""
    if not sandbox.repos and number == 0:
        return Tree(WORKSPACE)
    if not 0 <= number < len(sandbox.repos):
        raise Invalid(f"{sandbox.name} has no repository number {number}.", field="repo")
    repo = sandbox.repos[number]
    began = repo.from_branch or repo.began_from or repo.branch
    return Tree(repo.path, inside_path(number), began)


def _check(outcome: Outcome, tree: Tree, wanted: Comparison) -> None:
    """Raise the error that the end of the script stands for."""
    if outcome.code == NOT_A_REPOSITORY:
        raise NotFound(f"{tree.path} in the sandbox is no git repository.")
    if outcome.code == NO_SUCH_COMMIT:
        missing = "" if wanted.checkpoint is None else f" {wanted.checkpoint}"
        raise NotFound(
            f"{tree.path} has no checkpoint{missing}: one is taken when an agent's turn begins.",
            code="no_checkpoint",
        )
    if outcome.code != 0:
        raise Failed(f"The changes in {tree.path} cannot be read: {outcome.said}")
