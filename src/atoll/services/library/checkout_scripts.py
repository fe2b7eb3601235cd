"""The shell scripts that lay out a working tree inside a sandbox and bundle its commits.

They run inside, over files the agent may have written: git must never touch those on the
host. Each says what its positional arguments are and how it ends.
"""

from atoll.domain.repository.submodules import LEFT_OUT, MAX_DEPTH
from atoll.services.library.push_scripts import QUARANTINE
from atoll.services.scripts import Script
from atoll.wire.git.checkpoints import QUIET

NOT_A_REPOSITORY = 13
NO_SUCH_BRANCH = 11
NOTHING_NEW = 12
NOT_WHOLE = 15
OTHER_BRANCH = 16

# $1 folder  $2 shared repository  $3 branch  $4 commit ("" for an empty repository)
# $5 "yes" when the branch exists at the origin  $6 origin's address ("" for none)
# $7 the origin's own branch ("" when unknown)  $8 the sandbox's name  $9 the repository's number
# $10 branch or tag that the sandbox's branch is compared with  $11… folders to lay out (none: all)
#
# Prints what is not brought along: how many files are pointers of LFS, then the path of each
# submodule without a tree, each ended by NUL.
#
# The tree borrows every object of the shared repository. A mark stands in .git until all is
# done, so that a crash half-way is made good and a finished tree is never touched again.
PREPARE = Script(
    "lay out the working tree",
    r"""
set -eu
dir=$1 store=$2 branch=$3 commit=$4 tracked=$5 url=$6 head=$7 label=$8 number=$9
shift 9
from=$1
shift
"""
    + QUARANTINE
    + LEFT_OUT
    + r"""
mark=.git/atoll-unfinished
mkdir -p "$dir"
cd "$dir"
if [ -e .git ] && [ ! -e "$mark" ]; then
  # A tree of before there were held pushes gets their place, once. What the agent made of its
  # repository meanwhile must not keep the sandbox from starting.
  if [ -d .git ] && [ ! -L .git ] && [ ! -e .git/atoll ] && [ ! -L .git/atoll ]; then
    (quarantine) || rm -rf .git/atoll
  fi
  (left_out) || :
  exit 0
fi
mkdir -p .git/objects/info
: > "$mark"
rm -f .git/index.lock
git init -q --template= --initial-branch="$branch" .
printf '%s\n' "$store/objects" > .git/objects/info/alternates
git config remote.origin.url "${url:-$store}"
git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
git config remote.atoll.url "$store"
git config remote.atoll.fetch '+refs/heads/*:refs/remotes/atoll/*'
names() { git --git-dir="$store" for-each-ref --format="$1" "$2"; }
{
  echo '# pack-refs with: sorted '
  names '%(objectname) refs/remotes/origin/%(refname:lstrip=2)' refs/heads
  names '%(objectname) %(refname)' refs/tags
} > .git/packed-refs
if [ -n "$head" ]; then
  git symbolic-ref refs/remotes/origin/HEAD "refs/remotes/origin/$head"
fi
if [ -n "$commit" ]; then
  git update-ref "refs/heads/$branch" "$(git rev-parse --verify -q "$commit^{commit}")"
  git symbolic-ref HEAD "refs/heads/$branch"
  if [ $# -gt 0 ]; then printf '%s\n' "$@" | git sparse-checkout set --cone --stdin; fi
  git -c checkout.workers=0 -c advice.detachedHead=false checkout -f --progress "$branch" --
fi
git config atoll.from "$from"
if [ "$tracked" = yes ]; then
  git config "branch.$branch.remote" origin
  git config "branch.$branch.merge" "refs/heads/$branch"
fi
git config user.name > /dev/null || git config user.name 'Atoll agent'
git config user.email > /dev/null || git config user.email 'agent@atoll.invalid'
quarantine
(bring_submodules 0) || :
rm -f "$mark"
(left_out) || :
""",
)

# $1 folder  $2 a suffix that no file has
# Refreshes the index, so that later commands need not hash files again: git cannot mark a borrowed
# object as fresh and would write a copy of it instead. An agent may already work: the files are
# read beside git's lock, which is then held for two renames, and an index that was written
# meanwhile stays.
SETTLE = Script(
    "refresh the index",
    r"""
cd "$1" && index=$(git rev-parse --absolute-git-dir)/index || exit
[ -f "$index" ] || exit 0
work=$index.$2; mkdir "$work" || exit
trap 'rm -rf "$work"' EXIT
touch -r "$index" "$work/seen" && cp -p "$index" "$work/index" || exit
GIT_INDEX_FILE=$work/index git status --porcelain --untracked-files=no > /dev/null || exit
ln "$work/index" "$index.lock" 2> /dev/null || exit 0
if [ "$index" -nt "$work/seen" ]; then rm -f "$index.lock"; else mv -f "$index.lock" "$index"; fi
""",
)

# $1 folder  $2 shared repository  $3 file for the bundle  $4 full ref, or --branches
# $5 largest size in blocks of 512 bytes
# Ends with one of the codes above, or with git's own.
BUNDLE = Script(
    "bundle the commits",
    r"""
cd "$1" 2> /dev/null && [ -d .git ] && [ ! -L .git ] || exit 13
git rev-parse --git-dir > /dev/null 2>&1 || exit 13
store=$2 out=$3 what=$4
if [ "$what" != --branches ]; then
  git show-ref --verify -q "$what" || exit 11
fi
here() { git --git-dir="$store" for-each-ref --format='^%(objectname)' refs/heads refs/tags; }
new=$(here | git rev-list --count --max-count=1 "$what" --stdin) || exit 14
[ "$new" != 0 ] || exit 12
ulimit -f "$5"
here | git bundle create -q "$out" "$what" --stdin
""",
)

# Arguments as for BUNDLE. Makes $tree of the files as they are, by an index of its own, and
# `commit` and `keep` for commits in the scratch repository $work: nothing of the agent's own
# repository changes. Ends with NOT_WHOLE when git would leave files out: another repository lies
# in the tree, or git cannot add it.
_SNAPSHOT = r"""
cd "$1" 2> /dev/null && [ -d .git ] && [ ! -L .git ] || exit 13
top=$PWD store=$2 out=$3 work=$3.d
export LC_ALL=C GIT_AUTHOR_NAME=Atoll GIT_AUTHOR_EMAIL=atoll@atoll.invalid
export GIT_COMMITTER_NAME=Atoll GIT_COMMITTER_EMAIL=atoll@atoll.invalid
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
quiet() { git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c log.showSignature=false "$@"; }
own() {
  GIT_DIR="$top/.git" GIT_WORK_TREE="$top" GIT_INDEX_FILE="$work/index" \
    GIT_OBJECT_DIRECTORY="$work/objects" quiet "$@"
}
new() { quiet --git-dir="$work" "$@"; }
quiet --git-dir="$top/.git" rev-parse --git-dir > /dev/null 2>&1 || exit 13
# A submodule as it was laid out is in the commit already, of the repository it lies in.
plain() {
  up=${1%/*}
  while [ "$up" != . ] && [ ! -e "$up/.git" ]; do up=${up%/*}; done
  [ "$(quiet -C "$up" --git-dir=.git rev-parse -q --verify "HEAD:${1#"$up"/}" 2> /dev/null)" = \
    "$(quiet -C "$1" rev-parse -q --verify HEAD 2> /dev/null)" ] &&
    [ -z "$(quiet -C "$1" status --porcelain --ignored 2>&1 | head -c 1)" ]
}
other=$(find . -path ./.git -prune -o -name .git -print 2> /dev/null |
  while read -r one; do plain "${one%/.git}" || { echo "$one"; break; }; done)
if [ -n "$other" ]; then
  echo "${other%/.git} is a repository of its own, whose files git leaves out" >&2
  exit 15
fi
trap 'rm -rf "$work"' EXIT
quiet init -q --bare --template= "$work" || exit 14
mkdir -p "$work/objects/info" || exit 14
printf '%s\n' "$top/.git/objects" > "$work/objects/info/alternates" || exit 14
head=$(own rev-parse -q --verify 'HEAD^{commit}') || head=
if [ -n "$head" ]; then base=$(own rev-parse "$head^{tree}") || exit 14
else base=$(own mktree < /dev/null) || exit 14; fi
if [ -f .git/index ]; then cp .git/index "$work/index" || exit 14
elif [ -n "$head" ]; then own read-tree "$head" || exit 14; fi
# An index with unmerged entries is no tree; the files of the conflict are in the working tree.
staged=$(own write-tree 2> /dev/null) || staged=
own ls-files -v | sed -n 's/^[a-z] //p' | own update-index --no-assume-unchanged --stdin
own -c advice.addIgnoredFile=false add -A --sparse -- . || exit 15
tree=$(own write-tree) || exit 15
keep() { new update-ref "refs/heads/$1" "$2" || exit 14; }
commit() { own commit-tree ${head:+-p "$head"} -m "$2" "$1"; }
"""

# Arguments as for BUNDLE; $4 is not read.
# Commits what is nowhere committed and bundles it with every branch, as refs/heads/branch/NAME
# (other-N for a name that is long or not plain), worktree, index, detached and stash-N.
SAVE = Script(
    "save the work",
    _SNAPSHOT
    + r"""
if [ "$tree" != "$base" ]; then
  one=$(commit "$tree" 'Work that was not committed') || exit 14
  keep worktree "$one"
fi
if [ -n "$staged" ] && [ "$staged" != "$base" ] && [ "$staged" != "$tree" ]; then
  one=$(commit "$staged" 'What was staged') || exit 14
  keep index "$one"
fi
if [ -n "$head" ] && ! own symbolic-ref -q HEAD > /dev/null; then keep detached "$head"; fi
number=0
for one in $(own log -g --format=%H refs/stash -- 2> /dev/null); do
  keep "stash-$number" "$one"
  number=$((number + 1))
done
own for-each-ref --format='%(objectname) %(refname:lstrip=2)' refs/heads > "$work/names" || exit 14
number=0
while read -r one name; do
  case $name in
    *[!A-Za-z0-9._/-]*) plain= ;;
    *) plain=$name ;;
  esac
  if [ -z "$plain" ] || [ "${#name}" -gt 150 ]; then
    keep "other-$number" "$one"
    number=$((number + 1))
  else keep "branch/$name" "$one"; fi
done < "$work/names"
here() { git --git-dir="$store" for-each-ref --format='^%(objectname)' refs/heads refs/tags; }
count=$(here | new rev-list --count --max-count=1 --branches --stdin) || exit 14
[ "$count" != 0 ] || exit 12
ulimit -f "$5"
here | new bundle create -q "$out" --branches --stdin
""",
)

# Arguments as for BUNDLE; $4 is the full ref that HEAD must be on, else it ends with OTHER_BRANCH.
# Bundles that branch with one commit more, which holds what is not committed.
BUNDLE_UNCOMMITTED = Script(
    "bundle the commits and what is not committed",
    _SNAPSHOT
    + r"""
[ "$(own symbolic-ref -q HEAD)" = "$4" ] || exit 16
one=$head
if [ "$tree" != "$base" ]; then
  one=$(commit "$tree" 'Work that was not committed') || exit 14
fi
[ -n "$one" ] || exit 12
new update-ref "$4" "$one" || exit 14
here() { git --git-dir="$store" for-each-ref --format='^%(objectname)' refs/heads refs/tags; }
count=$(here | new rev-list --count --max-count=1 "$4" --stdin) || exit 14
[ "$count" != 0 ] || exit 12
ulimit -f "$5"
here | new bundle create -q "$out" "$4" --stdin
""",
)

# $1 folder  $2 shared repository  $3… commits that a person has outside
# Prints, each ended by NUL: how many commits are nowhere outside, the newest of them, its
# subject, how many stashes there are, how many files `git status` names, and then those files
# as `XY path`, cut after MAX_STATUS_BYTES. A submodule with commits of its own counts as changed:
# commits that name it are fetched without them. Nothing is written, not even the index.
UNPULLED = Script(
    "look for work that is not outside",
    QUIET
    + r"""
shift 2
settle
outside() {
  git --git-dir="$store" for-each-ref --format='^%(objectname)' refs/heads refs/tags
  for one; do theirs cat-file -e "$one^{commit}" 2> /dev/null && echo "^$one"; done
}
count=$(outside "$@" | theirs rev-list --count --branches $head --stdin) || exit 14
printf '%s\0' "$count"
if [ "$count" = 0 ]; then printf '\0\0'; else
  outside "$@" | theirs log -1 --topo-order --no-show-signature --no-color --encoding=UTF-8 \
    --format='%H%x00%s' --branches $head --stdin | tr '\n' '\0'
fi
theirs log -g --no-show-signature --format=%H refs/stash -- 2> /dev/null | wc -l | tr -d ' ' \
  | tr '\n' '\0'
unhide || exit 14
own status --porcelain=v1 -z --no-renames --untracked-files=normal --ignore-submodules=none \
  > "$work/status" || exit 14
known_of() {
  for one in /.atoll/repos/*.git; do
    git --git-dir="$one" for-each-ref --format='^%(objectname)' refs/heads refs/tags
  done
  git --git-dir="$store" for-each-ref --format="%(objectname):$1" refs/heads |
    theirs cat-file --batch-check='^%(objectname)' | sed -n '/^^[0-9a-f]*$/p'
} 2> /dev/null
# Those that lie in the submodule $1, which is $2 deep.
nested() {
  git -C "$1" -c core.quotePath=false -c core.fsmonitor=false ls-files -s 2> /dev/null |
    sed -n 's/^160000 [0-9a-f]* 0.\(.*\)/\1/p' | while IFS= read -r inner; do
      [ -e "$1/$inner/.git" ] && [ ! -L "$1/$inner" ] || continue
      printf '%s\n' "$1/$inner"
      [ "$2" -ge MAX_DEPTH ] || nested "$1/$inner" $(($2 + 1))
    done
}
links | while IFS= read -r path; do
  path=${path#* }
  case $path in '"'*) ;; *) [ -e "$path/.git" ] || continue ;; esac
  own diff-files --quiet --ignore-submodules=none -- "$path" || continue
  printf '%s\n' "$path"
  [ -L "$path" ] || nested "$path" 1
done | while IFS= read -r path; do
  count=$(known_of "$path" | git -C "$path" rev-list --count --ignore-missing --stdin \
    HEAD --branches --not --remotes 2> /dev/null) || count=unknown
  [ "$count" = 0 ] || printf ' M %s\0' "$path" >> "$work/status"
done
tr -dc '\0' < "$work/status" | wc -c | tr -d ' ' | tr '\n' '\0'
head -c 40000 "$work/status"
""".replace("MAX_DEPTH", str(MAX_DEPTH)),
    unrecorded=True,
)
