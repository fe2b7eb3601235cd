"""The shell scripts of trees that are kept after a set-up, and of those that begin as one.

They run inside, as an agent's programs do. A mark in `.git` says what a tree is: `atoll-kept`, with
the id of the sandbox that it was kept of, or `atoll-begun`, with the snapshot that it began as. So
a start that broke off is never taken for another one.
"""

from atoll.domain.sandboxes.project import SETUP_MARK
from atoll.services.library.checkout_scripts import ORIGIN_REFS
from atoll.services.scripts import Script

NOT_KEPT = 21
NOT_FIT = 22
CLEARED = 23

# What a package manager can do without: `find` looks at nothing below these folders of the home.
_CACHES = (
    ".cache",
    ".npm/_*",
    ".yarn",
    ".config/configstore",
    ".local/state",
    ".local/share/pnpm/store",
    ".bundle/cache",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.*",
    "go/pkg",
    ".gradle/*",
    ".m2/repository",
    ".composer/cache",
    ".pub-cache",
    ".*history",
)
_PRUNE = " -o ".join(f'-path "$HOME/{path}"' for path in _CACHES)

# `wipe_states` empties the folders of agents, whose names below the home are its arguments.
_WIPE_STATES = r"""
wipe_states() {
  for state do
    [ -d "$HOME/$state" ] || continue
    find "$HOME/$state" -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +
  done
}
"""

# $1 folder  $2 shared repository  $3 branch  $4 the sandbox's id
# Marks a tree as kept, or says why it cannot be kept and ends with 22: what a set-up left beside
# the workspace is not on the disk, and what it changed of the repository would be lost.
MARK = Script(
    "look at what the set-up left",
    rf"""
dir=$1 store=$2 branch=$3 id=$4 began={SETUP_MARK}
no() {{ echo "$1" >&2; exit {NOT_FIT}; }}
cd -- "$dir" && [ -d .git ] && [ ! -L .git ] || no "the set-up left no repository there"
[ -f "$began" ] && [ ! -L "$began" ] || no "it is not known when the set-up began"
[ ! -e .gitmodules ] || no "the repository has submodules"
[ ! -e .git/worktrees ] || no "the set-up made worktrees"
[ "$(git symbolic-ref -q HEAD)" = "refs/heads/$branch" ] || no "the set-up changed the branch"
head=$(git rev-parse --verify -q 'HEAD^{{commit}}') || no "there is no commit"
git --git-dir="$store" cat-file -e "$head" 2> /dev/null || no "the set-up made commits"
changed=$(git -c core.fsmonitor=false status --porcelain -uno) || no "git cannot say what changed"
[ -z "$changed" ] || no "the set-up changed files of the repository"
left=$(find "$HOME" -mindepth 1 \( {_PRUNE} \) -prune -o ! -type d -cnewer "$began" -print |
  head -n 1)
[ -z "$left" ] || no "the set-up, or somebody else, wrote to $left, which is beside the workspace"
rm -rf .git/atoll-kept .git/atoll-begun && printf %s "$id" > .git/atoll-kept ||
  no "nothing can be written there"
""",
    seconds=60.0,
    unrecorded=True,
    programs=("git", "find"),
)

# $1 folder  $2 shared repository  $3 branch  $4 commit  $5 "yes" when the branch exists at the
# origin  $6 the origin's own branch  $7 branch or tag that the branch is compared with
# $8 the snapshot  $9… folders of agents below the home
# Ends with 21 for a tree that was not kept. Everything of the former sandbox's git goes but its
# objects, its configuration and what the set-up made of both.
ADVANCE = Script(
    "bring a kept tree to its branch",
    rf"""
set -eu
dir=$1 store=$2 branch=$3 commit=$4 tracked=$5 head=$6 from=$7 snapshot=$8
shift 8
{_WIPE_STATES}{ORIGIN_REFS}
"""
    + r"""
cd -- "$dir"
[ -d .git ] && [ ! -L .git ] || exit 21
kept=.git/atoll-kept begun=.git/atoll-begun
if [ ! -f "$kept" ] || [ -L "$kept" ]; then
  [ -f "$begun" ] && [ ! -L "$begun" ] && [ "$(head -c 200 "$begun")" = "$snapshot" ] || exit 21
  exit 0
fi
wipe_states "$@"
bare() { git -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@"; }
rm -rf .git/index.lock .git/HEAD.lock .git/packed-refs.lock
new=$(git --git-dir="$store" rev-parse --verify -q "$commit^{commit}")
old=$(bare rev-parse --verify -q 'HEAD^{commit}')
bare update-ref --no-deref HEAD "$old"
rm -rf .git/atoll .git/logs .git/refs .git/FETCH_HEAD .git/ORIG_HEAD
mkdir -p .git/refs/heads .git/refs/tags
origin_refs
git config --name-only --get-regexp '^branch\..*\.(remote|merge)$' | sort -u |
  while IFS= read -r name; do git config --unset-all "$name" || :; done
bare update-ref "refs/heads/$branch" "$new"
bare -c checkout.workers=0 checkout -q -f "$branch" --
git config atoll.from "$from"
if [ "$tracked" = yes ]; then
  git config "branch.$branch.remote" origin
  git config "branch.$branch.merge" "refs/heads/$branch"
fi
rm -rf "$begun"
printf %s "$snapshot" > "$begun"
rm -f "$kept"
""",
)

# $1 folder  $2 the workspace  $3 the sandbox's id  $4… folders of agents below the home
# Empties a workspace that began as a kept one and was not brought to its branch. Ends with 23 then.
CLEAR = Script(
    "empty a workspace that was kept of another sandbox",
    rf"""
dir=$1 workspace=$2 id=$3
shift 3
{_WIPE_STATES}
kept=$dir/.git/atoll-kept
[ -f "$kept" ] && [ ! -L "$kept" ] && [ "$(head -c 200 "$kept")" != "$id" ] || exit 0
wipe_states "$@"
chmod -R u+rwX "$workspace" 2> /dev/null
find "$workspace" -mindepth 1 -maxdepth 1 -exec rm -rf -- {{}} + || exit 1
exit {CLEARED}
""",
    unrecorded=True,
)
