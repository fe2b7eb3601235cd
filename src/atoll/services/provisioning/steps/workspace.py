"""The workspace of a sandbox: its trees laid out, and the directory that processes start in.

A tree that is read-only afterwards is laid out behind a wall of its own, which may write; any other
one behind the sandbox's wall.
"""

from dataclasses import replace

from atoll.domain.errors import Failed
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import WorkspacePreparer
from atoll.services.provisioning.bring_up import BringUp
from atoll.services.provisioning.provisioning import Provisioning
from atoll.services.scripts import Script, run_inside
from atoll.wire.words.sandboxes import Access
from atoll.wire.words.walls import WORKSPACE

_ABSENT = 3

# $1 folder  $2 "yes" at the first start
_CHECK = Script(
    "look for the start folder",
    r"""
cd -- "$1" 2> /dev/null && exit 0
[ "$2" != yes ] || exit 3
mkdir -p -- "$1"
""",
    seconds=20.0,
)

# $1 folder
_LET_GO = Script(
    "let go of pushes that were held",
    r"""
cd -- "$1" && [ -d .git/atoll ] && [ ! -L .git/atoll ] || exit 0
if [ -d .git/atoll/pushed.git ]; then
  git -c core.hooksPath=/dev/null fetch -q --no-tags .git/atoll/pushed.git \
    '+refs/heads/*:refs/remotes/held/*' || exit
fi
rm -rf .git/atoll
""",
    seconds=60.0,
)

# $1 folder  $2 branch
_GO_ON = Script(
    "begin the branch of a copy",
    r"""
cd -- "$1" && [ -d .git ] || exit 0
[ "$(git symbolic-ref -q --short HEAD)" != "$2" ] || exit 0
if git rev-parse -q --verify HEAD > /dev/null; then
  git -c core.hooksPath=/dev/null switch -q -c "$2"
else
  git symbolic-ref HEAD "refs/heads/$2"
fi
""",
    seconds=60.0,
)


class ReadOnlyTrees:
    """The trees of a read-only workspace. Nothing of the agent's runs while they are written."""

    def __init__(self, provisioning: Provisioning, workspaces: WorkspacePreparer) -> None:
        self._provisioning = provisioning
        self._workspaces = workspaces

    async def run(self, up: BringUp) -> None:
        """Lay the trees out where they are still to be, and end that wall. Raises what raising a
        wall and laying trees out raise."""
        if not _to_be_filled(up.sandbox, fresh=up.fresh):
            return
        up.report("Laying out a workspace that is read-only afterwards.")
        request = up.request
        workspace = replace(request.profile.workspace, access=Access.READ_WRITE)
        writable = replace(request, profile=replace(request.profile, workspace=workspace))
        handle, reach = await self._provisioning.raise_wall(writable, up.sandbox)
        try:
            client = self._provisioning.client_at(reach)
            repos = await self._workspaces.prepare(up.sandbox, client, up.report)
        finally:
            await up.extension.teardown(handle, keep_state=True)
        up.request = replace(request, fresh=False)
        up.sandbox = replace(up.sandbox, repos=repos)


class WorkspaceTrees:
    """The trees of a workspace that its sandbox may write to."""

    def __init__(self, workspaces: WorkspacePreparer) -> None:
        self._workspaces = workspaces

    async def run(self, up: BringUp) -> None:
        """Lay the trees out. Does nothing where `ReadOnlyTrees` did. Raises what the port
        raises."""
        if up.sandbox.profile.workspace.access is not Access.READ_WRITE:
            return
        with up.phase("workspace"):
            repos = await self._workspaces.prepare(up.sandbox, up.client, up.report)
        up.sandbox = replace(up.sandbox, repos=repos)


class CopiedPushes:
    """Pushes that were held for the owner of the sandbox that a copy was: no owner of the copy is
    asked about them. Their commits stay, as those of a remote `held`."""

    async def run(self, up: BringUp) -> None:
        """Make place for those of the copy. Raises nothing."""
        if is_new_copy(up.sandbox):
            for repo in up.sandbox.repos:
                outcome = await run_inside(up.client, _LET_GO, (repo.path,))
                if outcome.code:
                    up.report(f"{repo.path} keeps pushes of its source: {outcome.said}")


class CopiedBranches:
    """The branches of a sandbox that begins as a snapshot: each repository goes on in its own."""

    async def run(self, up: BringUp) -> None:
        """Begin the branches at the commits that were checked out, with all that was changed since.
        Raises nothing: a tree in which git is in the middle of something stays as it is, and the
        log says so."""
        sandbox = up.sandbox
        if not is_new_copy(sandbox):
            return
        for repo in sandbox.repos:
            outcome = await run_inside(up.client, _GO_ON, (repo.path, repo.branch))
            if outcome.code:
                up.report(f"{repo.path} stays on its branch: {outcome.said}")
            else:
                up.report(f"{repo.path}: goes on in branch {repo.branch}")


class StartFolder:
    """The directory that terminals and commands start in, other than the workspace.

    A misspelled one fails the first start. One that was removed later is made again, so that the
    sandbox still opens terminals.
    """

    async def run(self, up: BringUp) -> None:
        """Make sure that processes can start there. Raises `Failed` naming the folder."""
        sandbox = up.sandbox
        if sandbox.cwd == WORKSPACE:
            return
        first = "yes" if sandbox.ready_at is None else "no"
        outcome = await run_inside(up.client, _CHECK, (sandbox.cwd, first))
        if outcome.code == _ABSENT:
            raise Failed(f"{sandbox.cwd} is no folder of this sandbox: nothing can start there.")
        if outcome.code:
            raise Failed(f"{sandbox.cwd} cannot be used as the start folder: {outcome.said}")


def is_new_copy(sandbox: Sandbox) -> bool:
    """Return whether a sandbox begins as a snapshot, and was never ready before."""
    return sandbox.seed is not None and sandbox.ready_at is None


def _to_be_filled(sandbox: Sandbox, *, fresh: bool) -> bool:
    """Return whether the trees of a read-only workspace are still to be laid out."""
    read_only = sandbox.profile.workspace.access is Access.READ_ONLY
    return read_only and bool(sandbox.repos) and (fresh or sandbox.ready_at is None)
