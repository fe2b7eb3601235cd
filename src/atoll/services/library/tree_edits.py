"""Changes that a person makes to a sandbox's working tree: discard a file or hunk, and commit.

Git runs inside, as the sandbox's user, and no hook of the repository runs. What is discarded is
saved as a checkpoint first.
"""

from dataclasses import dataclass

from atoll.domain.errors import Conflict, Failed, Invalid, NotFound
from atoll.domain.people.principal import Principal
from atoll.services.library.changes import Comparison, Tree, WorkingTrees, tree_of
from atoll.services.library.checkout_scripts import NOT_A_REPOSITORY
from atoll.services.library.tree_scripts import (
    COMMIT,
    DISCARD,
    FILTERED,
    LOCKED,
    MERGING,
    NO_SUCH_FILE,
    NO_SUCH_HUNK,
    NOTHING_TO_COMMIT,
)
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.scripts import Outcome, read_count, run_inside
from atoll.wire.words.library import Against

GITLINK = "160000"
"""The mode of a submodule in git's trees."""


@dataclass(frozen=True, slots=True)
class HunkRange:
    """Lines of a hunk on the old and the new side, as its first line names them; `context` is that
    of the diff it was seen in."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    context: int = 3

    def heading(self) -> str:
        """Return the start of the hunk's first line, as git writes it."""
        old = f"{self.old_start}" + (f",{self.old_lines}" if self.old_lines != 1 else "")
        new = f"{self.new_start}" + (f",{self.new_lines}" if self.new_lines != 1 else "")
        return f"@@ -{old} +{new} @@"


class TreeEdits:
    """Use cases that change a working tree. Methods raise the errors of a sandbox's runtime,
    `Conflict` while git is at work inside or for a file with a filter, `NotFound` without a
    repository, and `Failed`."""

    def __init__(self, access: RuntimeAccess, trees: WorkingTrees) -> None:
        self._access = access
        self._trees = trees

    async def discard(
        self,
        caller: Principal,
        ref: str,
        compared: Comparison,
        *,
        digest: str,
        hunk: HunkRange | None = None,
    ) -> int:
        """Undo the changes of the one file that `compared` names, or of one hunk of it. Returns the
        number of the checkpoint that saves it. Raises `Conflict` when the file is no longer as it
        was with `digest`."""
        (path,) = compared.paths
        whole = Comparison(compared.repo, compared.against, (), compared.checkpoint)
        changes = await self._trees.changes(caller, ref, whole)
        file = next((change for change in changes.files if change.path == path), None)
        if file is None or file.digest != digest:
            raise Conflict(f"{path} has changed meanwhile: look at it again.", code="changed")
        if path.endswith("/") or file.new_mode == GITLINK:
            raise Invalid("A repository inside the repository is not discarded.", field="path")
        sandbox, client = await self._access.runtime(caller, ref, activity=True)
        tree = tree_of(sandbox, compared.repo)
        target = "" if compared.against is Against.UNCOMMITTED else changes.base or ""
        heading, context = ("", "3") if hunk is None else (hunk.heading(), str(hunk.context))
        paths = (path,) if file.old_path is None or hunk else (path, file.old_path)
        args = (tree.path, "", target, heading, context, *paths)
        outcome = await run_inside(client, DISCARD, args)
        if outcome.code in (NO_SUCH_FILE, NO_SUCH_HUNK) and "\ufffd" in path:
            raise Invalid(f"{path} has a name that is not UTF-8: discard it inside.", field="path")
        if outcome.code in (NO_SUCH_FILE, NO_SUCH_HUNK):
            raise Conflict(f"{path} has no such change any more: look again.", code="changed")
        check(outcome, tree)
        return printed_number(outcome)

    async def commit(
        self,
        caller: Principal,
        ref: str,
        message: str,
        *,
        repo: int = 0,
        paths: tuple[str, ...] = (),
    ) -> str:
        """Commit the uncommitted changes, with `paths` only of these files. Returns the commit.
        Raises `Conflict` when there are none, or in the middle of a merge or rebase, `NotFound` for
        a file that is nowhere."""
        wanted = Comparison(repo, Against.UNCOMMITTED, paths)
        sandbox, client = await self._access.runtime(caller, ref, activity=True)
        tree = tree_of(sandbox, wanted.repo)
        outcome = await run_inside(client, COMMIT, (tree.path, "", message, *wanted.paths))
        if outcome.code == NO_SUCH_FILE:
            path = outcome.out.decode("utf-8", "replace")
            raise NotFound(f"{tree.path} has no file {path!r}: nothing was committed.")
        if outcome.code == NOTHING_TO_COMMIT:
            raise Conflict(f"{tree.path} has nothing to commit.", code="nothing_new")
        if outcome.code == MERGING:
            raise Conflict(
                f"A merge or rebase is under way in {tree.path}: end it inside first.",
                code="merging",
            )
        check(outcome, tree)
        return outcome.out.decode("ascii", "replace")[:64]


def check(outcome: Outcome, tree: Tree) -> None:
    """Raise the error that the end of a script stands for."""
    if outcome.code == NOT_A_REPOSITORY:
        raise NotFound(f"{tree.path} in the sandbox is no git repository.")
    if outcome.code == LOCKED:
        raise Conflict(
            f"Git is at work in {tree.path} (.git/index.lock): try again when it is done.",
            code="git_locked",
        )
    if outcome.code == FILTERED:
        path = outcome.out.decode("utf-8", "replace")
        raise Conflict(
            f"{path!r} has a filter in .gitattributes, such as that of LFS or git-crypt, and "
            "filters run inside alone: use git there, as by `atoll exec NAME -- git commit`.",
            code="filtered",
        )
    if outcome.code != 0:
        raise Failed(f"Git in {tree.path} failed: {outcome.said}")


def printed_number(outcome: Outcome) -> int:
    """Return the number that a script printed."""
    return read_count(outcome.out.decode("ascii", "replace")) or 0
