"""The shell scripts that merge a sandbox's branch into another one, and push the result.

They run inside, as the agent. Hooks and editors of the agent's repository take no part, and no
working tree is touched: the merge is a commit on top of the newest commits of the other branch,
onto which the sandbox's own was rebased before (`services.library.sync_scripts`).
"""

from atoll.services.library.checkout_scripts import TELL_MOVED
from atoll.services.scripts import Script
from atoll.wire.git.trees import TREES

NO_BRANCH = 16
NO_BASE = 17
STOPPED = 18
NOT_THERE = 19
UNCOMMITTED = 20
NOTHING_NEW = 21
SAME_BRANCH = 22
BEHIND = 23

# $1 folder  $2 shared repository  $3 branch to merge into  $4 check, merge, squash or rebase
# $5 the commit of that branch outside, empty for a check  $6 the title of the commit, or nothing
# Prints, each ended by NUL: the branch, the new commit, how many commits it brings, and the ref
# that keeps what the other branch was inside, if that is no part of it. Ends with one of the codes
# above; UNCOMMITTED prints the number of files.
MERGE = Script(
    "merge the branch",
    r"""
cd "$1" 2> /dev/null && [ -d .git ] && [ ! -L .git ] || exit 13
git rev-parse --git-dir > /dev/null 2>&1 || exit 13
store=$2 into=$3 way=$4 outside=$5 title=$6
export GIT_EDITOR=true GIT_TERMINAL_PROMPT=0 LC_ALL=C
quiet() { git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false "$@"; }
for one in rebase-merge rebase-apply MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD; do
  [ ! -e ".git/$one" ] || exit 18
done
branch=$(git symbolic-ref -q --short HEAD) || exit 16
[ "$branch" != "$into" ] || exit 22
files=$(quiet status --porcelain=v1 -z --no-renames --untracked-files=all | tr -dc '\0' | wc -c)
if [ "$((files))" -gt 0 ]; then printf '%s\0' "$((files))"; exit 20; fi
head=$(git rev-parse -q --verify 'HEAD^{commit}') || exit 16
[ "$way" != check ] || exit 0
[ -z "$outside" ] || git --git-dir="$store" cat-file -e "$outside^{commit}" || exit 19
tip=$(git --git-dir="$store" rev-parse -q --verify "refs/heads/$into^{commit}") || exit 17
count=$(git rev-list --count "$tip..$head") || exit 14
[ "$count" != 0 ] || exit 21
[ "$(git merge-base "$tip" "$head")" = "$tip" ] || exit 23
record() { quiet commit-tree "$head^{tree}" -p "$tip" "$@"; }
case $way in
  rebase) new=$head ;;
  merge) new=$(printf '%s\n' "${title:-Merge branch $branch into $into}" | record -p "$head") ;;
  *)
    if [ -z "$title" ] && [ "$count" = 1 ]; then
      new=$(git log -1 --format=%B "$head" | record)
    else
      new=$({
        printf '%s\n\n' "${title:-$branch}"
        git log --reverse --no-show-signature --format='* %s' "$tip..$head" | head -n 100
      } | record)
    fi ;;
esac
[ -n "$new" ] || exit 14
before=$(git rev-parse -q --verify "refs/heads/$into^{commit}") kept=
if [ -n "$before" ] && ! git merge-base --is-ancestor "$before" "$new"; then
  kept=refs/atoll/before-merge/$before
  quiet update-ref "$kept" "$before" || exit 14
fi
quiet update-ref "refs/heads/$into" "$new" "$before" || exit 14
printf '%s\0%s\0%s\0%s\0' "$branch" "$new" "$count" "$kept"
""",
    300.0,
)

# $1 folder  $2 https address of the remote  $3 branch  $4 its commit. The sandbox's door decides
# whether it may leave. Prints `held` where the push is held for the sandbox's owner, `yes` where it
# left, `moved` where the remote's branch has commits that this one does not have.
PUSH_MERGED = Script(
    "push the branch",
    r"""
cd "$1" 2> /dev/null && [ -d .git ] && [ ! -L .git ] || exit 13
export GIT_TERMINAL_PROMPT=0 LC_ALL=C
said=$(git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c push.gpgSign=false \
  push -q "$2" "$4:refs/heads/$3" 2>&1)
code=$?
printf '%s\n' "$said" >&2
held=$(git --git-dir=.git/atoll/pushed.git rev-parse -q --verify "refs/heads/$3" 2> /dev/null)
if [ "$held" = "$4" ]; then printf held; elif [ "$code" = 0 ]; then printf yes; else
"""
    + TELL_MOVED
    + r"""
fi
exit 0
""",
    300.0,
)

# Prints what `wire.git.trees.read_trees` reads.
DESCRIBE = Script("describe the trees", TREES, 60.0, unrecorded=True)
