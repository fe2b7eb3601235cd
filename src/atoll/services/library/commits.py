"""Commits of a sandbox's repositories, listed and shown by git inside.

The answers are what a sandbox says of itself: an agent can falsify its own git.
"""

import asyncio
import secrets
from dataclasses import dataclass

from atoll.domain.errors import Failed, NotFound
from atoll.domain.people.principal import Principal
from atoll.domain.repository.commits import Commit, History, read_commit, read_history
from atoll.domain.repository.diff import MAX_LINES, FileDiff, read_diff
from atoll.services.library.changes import MAX_DIFF_BYTES, NO_SUCH_COMMIT, tree_of
from atoll.services.library.tree_edits import check
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.scripts import Script, run_inside
from atoll.wire.git.checkpoints import QUIET
from atoll.wire.words.library import MAX_COMMITS

MAX_SKIPPED = 100_000
_KEPT_BYTES = MAX_DIFF_BYTES + 200_000

_SHALLOW = r"""
if [ -f "$top/.git/shallow" ] && [ ! -L "$top/.git/shallow" ]; then
  head -c 1000000 "$top/.git/shallow" > "$work/g/shallow"
fi
"""

# $1 folder  $2 ""  $3 a text that ends each section  $4 commits to skip  $5 commits to print
#
# Prints branch, HEAD and a digest of all names; then object, peeled object and name of each ref;
# then id, parents, author, address, time and subject of each commit, all ended by NUL. Children
# come before their parents where the history is short enough to be ordered.
HISTORY = Script(
    "list the commits",
    QUIET
    + r"""
mark=$3 skip=$4 count=$5
locate
"""
    + _SHALLOW
    + r"""
refs() {
  theirs for-each-ref --sort=-creatordate --count=200 "$@" refs/heads refs/remotes refs/tags
}
refs --format='%(objectname)%00%(*objectname)%00%(refname)%00' | tr -d '\n' > "$work/refs"
{ if [ -n "$head" ]; then echo "$head"; fi; refs --format='%(objectname)'; } > "$work/tips"
{ cat "$work/refs"; echo "$head $branch"; } > "$work/names"
digest=$(own hash-object --no-filters "$work/names")
printf '%s\0%s\0%s\0%s\0' "$branch" "$head" "$digest" "$mark"
cat "$work/refs"
printf '\0%s\0' "$mark"
[ -s "$work/tips" ] || exit 0
order=
known=$(own rev-list --count -n 20001 --ignore-missing --stdin < "$work/tips") || known=20001
if [ "$known" -le 20000 ]; then order=--topo-order; fi
own log -z $order --no-show-signature --no-color --no-mailmap --no-notes --encoding=UTF-8 \
  "--skip=$skip" -n "$count" --ignore-missing --stdin \
  --format='%H%x00%P%x00%an%x00%ae%x00%at%x00%s' < "$work/tips" | head -c 2000000
printf '\0'
""",
    seconds=60.0,
    unrecorded=True,
)

# $1 folder  $2 ""  $3 a text that ends the first section  $4 the commit
# Prints id, parents, author, address, time and message, and then what it changes of its first
# parent.
COMMIT = Script(
    "show the commit",
    QUIET
    + r"""
mark=$3 commit=$4
echo 'ref: refs/heads/none' > "$work/g/HEAD"
"""
    + _SHALLOW
    + r"""
[ "$(own cat-file -t "$commit" 2> /dev/null)" = commit ] || exit 16
own log -1 --no-show-signature --no-color --no-mailmap --no-notes --encoding=UTF-8 \
  --format='%H%x00%P%x00%an%x00%ae%x00%at%x00%B' "$commit" | head -c 100000
printf '\0%s\0' "$mark"
parent=$(own rev-parse -q --verify "$commit^1" 2> /dev/null) || parent=$empty
own diff-tree -r -p -M --no-commit-id --no-color --no-ext-diff --no-textconv \
  --ignore-submodules=dirty --src-prefix=a/ --dst-prefix=b/ "$parent" "$commit" | head -c 4194304
""",
    seconds=60.0,
    unrecorded=True,
)


@dataclass(frozen=True, slots=True)
class ShownCommit:
    """A commit, its whole message, and what it changes of its first parent; `truncated` when that
    is longer than is sent."""

    commit: Commit
    message: str
    files: tuple[FileDiff, ...]
    truncated: bool


class Commits:
    """Use cases on commits. Methods raise the errors of a sandbox's runtime, `NotFound` without a
    repository, `Failed` when git inside does not answer."""

    def __init__(self, access: RuntimeAccess) -> None:
        self._access = access

    async def history(
        self, caller: Principal, ref: str, *, repo: int = 0, skip: int = 0, limit: int = MAX_COMMITS
    ) -> History:
        """Return the commits of all branches and tags, and of HEAD, without the first `skip`."""
        mark = secrets.token_hex(16)
        async with self._access.reading(caller, ref) as (sandbox, client):
            tree = tree_of(sandbox, repo)
            args = (tree.path, "", mark, str(skip), str(limit + 1))
            outcome = await run_inside(client, HISTORY, args, kept_bytes=_KEPT_BYTES)
        check(outcome, tree)
        history = await asyncio.to_thread(read_history, outcome.out, mark, limit)
        if history is None:
            raise Failed("The sandbox did not list its commits: its git or shell is broken.")
        return history

    async def show(self, caller: Principal, ref: str, commit: str, *, repo: int = 0) -> ShownCommit:
        """Return one commit. Raises `NotFound`."""
        mark = secrets.token_hex(16)
        async with self._access.reading(caller, ref) as (sandbox, client):
            tree = tree_of(sandbox, repo)
            args = (tree.path, "", mark, commit)
            outcome = await run_inside(client, COMMIT, args, kept_bytes=_KEPT_BYTES)
        if outcome.code == NO_SUCH_COMMIT:
            raise NotFound(f"{tree.path} has no commit {commit}.")
        check(outcome, tree)
        head, _, patch = outcome.out.partition(b"\0" + mark.encode() + b"\0")
        header = read_commit(head)
        if header is None:
            raise Failed("The sandbox did not show its commit: its git or shell is broken.")
        files = await asyncio.to_thread(read_diff, patch)
        cut = len(patch) >= MAX_DIFF_BYTES or patch.count(b"\n") >= MAX_LINES
        return ShownCommit(*header, files, cut or any(file.truncated for file in files))
