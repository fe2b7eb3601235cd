"""The shell scripts that lay out a working tree inside a sandbox and bundle its commits.

They run inside, over files the agent may have written: git must never touch those on the
host. Each says what its positional arguments are and how it ends.
"""

from atoll.domain.repository.submodules import LEFT_OUT
from atoll.services.library.push_scripts import QUARANTINE
from atoll.services.library.tree_scripts import FILTERS
from atoll.services.scripts import Script
from atoll.wire.git.checkpoints import MAX_DEPTH, QUIET

NOT_A_REPOSITORY = 13
NO_SUCH_BRANCH = 11
NOTHING_NEW = 12
NOT_WHOLE = 15
OTHER_BRANCH = 16
LAID_OUT_BEFORE = 20

MAX_BRANCHES = 256  # that an intake takes

# Refs that name no work: those of remotes, of ours, and stashes, which are counted by themselves.
SKIPPED = "refs/remotes/* | refs/prefetch/* | refs/atoll/* | refs/stash"
NAMED = " ".join(f"--exclude='{pattern}'" for pattern in SKIPPED.split(" | ")) + " --all"
HEADS = "--branches --exclude='refs/*' --all"

# Prints `moved` where a push failed, and said in `said` that the remote's branch has commits that
# the pushed one does not have.
TELL_MOVED = "case $said in *'(fetch first)'* | *'(non-fast-forward)'*) printf moved ;; esac"

# `origin_refs` writes the remote branches and tags of a tree as its shared repository has them, and
# remembers the origin's own branch. Uses $store and $head.
ORIGIN_REFS = r"""
names() { git --git-dir="$store" for-each-ref --format="$1" "$2"; }
origin_refs() {
  {
    echo '# pack-refs with: sorted '
    names '%(objectname) refs/remotes/origin/%(refname:lstrip=2)' refs/heads
    names '%(objectname) %(refname)' refs/tags
  } > .git/packed-refs
  if [ -n "$head" ]; then
    git symbolic-ref refs/remotes/origin/HEAD "refs/remotes/origin/$head"
  fi
}
"""

# $1 folder  $2 shared repository  $3 branch  $4 commit ("" for an empty repository)
# $5 "yes" when the branch exists at the origin  $6 origin's address ("" for none)
# $7 the origin's own branch ("" when unknown)  $8 the sandbox's name  $9 the repository's number
# $10 branch or tag that the sandbox's branch is compared with  $11… folders to lay out (none: all)
#
# Prints what is not brought along: how many files are pointers of LFS, then the path of each
# submodule without a tree, each ended by NUL. Ends with 20 where a finished tree was there.
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
    + ORIGIN_REFS
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
  exit 20
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
origin_refs
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
# Gives the index a later time than the files that it lists, so that later commands need not hash
# them again: git cannot mark a borrowed object as fresh and would write a copy of it instead. An
# agent may already work, so git's lock is not taken: the time is that of the index that was opened,
# also where git puts another in its place. A file of it that changed in the second in which it was
# written is told by that time alone, and then nothing is done.
SETTLE = Script(
    "give the index its time",
    r"""
cd "$1" && index=$(git rev-parse --absolute-git-dir)/index || exit
[ -f "$index" ] && [ ! -L "$index" ] || exit 0
work=$index.$2; mkdir "$work" || exit
trap 'rm -rf "$work"' EXIT
exec 3< "$index" || exit
open=/proc/self/fd/3
second=$(stat -L -c %Y "$open") && [ "$(date +%s)" -gt "$second" ] || exit
touch -r "$open" "$work/begin" && touch -d "@$((second + 1))" "$work/end" || exit
find . -path ./.git -prune -o ! -type d -cnewer "$work/begin" ! -cnewer "$work/end" \
  -exec git --literal-pathspecs ls-files -- {} + > "$work/late" || exit
[ ! -s "$work/late" ] || exit 0
touch -c "$open"
""",
)

# `outside` prints the commits of the shared repository, each after `^`.
_OUTSIDE = r"""
outside() {
  git --git-dir="$store" for-each-ref --format='^%(objectname)' refs/heads refs/tags
}
"""

# $1 folder  $2 shared repository  $3 file for the bundle  $4 full ref, or --branches
# $5 largest size in blocks of 512 bytes
# Ends with one of the codes above, or with git's own.
BUNDLE = Script(
    "bundle the commits",
    _OUTSIDE
    + r"""
cd "$1" 2> /dev/null && [ -d .git ] && [ ! -L .git ] || exit 13
git rev-parse --git-dir > /dev/null 2>&1 || exit 13
store=$2 out=$3 what=$4
if [ "$what" != --branches ]; then
  git show-ref --verify -q "$what" || exit 11
fi
new=$(outside | git rev-list --count --max-count=1 "$what" --stdin) || exit 14
[ "$new" != 0 ] || exit 12
ulimit -f "$5"
outside | git bundle create -q "$out" "$what" --stdin
""",
)

# `each_linked DO` runs DO for each linked worktree, with $number, its $gitdir, and the $place where
# it lies, "" for one that is not in the tree. What git knows of these was written by an agent; it
# fails for more than 64 in the tree, and for more than 1000.
# `inner_work` prints the paths of submodules with commits that are nowhere else, each ended by NUL;
# with an argument only of those whose commit is that of the index.
_ELSEWHERE = (
    _OUTSIDE
    + r"""
each_linked() {
  number=0 placed=0
  for linked in "$top"/.git/worktrees/*; do
    [ -d "$linked" ] && [ ! -L "$linked" ] && [ -f "$linked/gitdir" ] || continue
    number=$((number + 1))
    [ "$number" -le 1000 ] || return 1
    place=$(head -c 4096 -- "$linked/gitdir" | sed 1q)
    [ -n "$place" ] && place=$({ cd -P -- "$linked" && cd -P -- "${place%/.git}" && pwd -P; } \
      2> /dev/null) || place=
    case $place in
      *'
'*) place= ;;
      "$top"/*) placed=$((placed + 1)) ;;
      *) place= ;;
    esac
    [ "$placed" -le 64 ] || return 1
    (gitdir=$linked; "$@") || return
  done
}
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
inner_work() {
  links | while IFS= read -r path; do
    path=${path#* }
    case $path in '"'*) ;; *) [ -e "$path/.git" ] || continue ;; esac
    [ -z "${1-}" ] || own diff-files --quiet --ignore-submodules=none -- "$path" || continue
    printf '%s\n' "$path"
    [ -L "$path" ] || nested "$path" 1
  done | while IFS= read -r path; do
    count=$(known_of "$path" | git -C "$path" rev-list --count --ignore-missing --stdin \
      HEAD --branches --not --remotes 2> /dev/null) || count=unknown
    [ "$count" = 0 ] || printf '%s\0' "$path"
  done
}
""".replace("MAX_DEPTH", str(MAX_DEPTH))
)

# Arguments as for BUNDLE. `snapshot` makes $tree of the files at $top as they are, by an index of
# its own, with HEAD's as $base and the index as $staged. `commit` and `keep` are for commits in the
# scratch repository $made: nothing of the agent's own repository changes. The tree has every file
# that UNPULLED names. Ends with NOT_WHOLE when git would leave files out: another repository lies
# in the tree, or git cannot add it. Linked worktrees are none of its files.
_SNAPSHOT = (
    QUIET
    + _ELSEWHERE
    + r"""
out=$3 ref=$4 blocks=$5 made=$3.d
export GIT_AUTHOR_NAME=Atoll GIT_AUTHOR_EMAIL=atoll@atoll.invalid
export GIT_COMMITTER_NAME=Atoll GIT_COMMITTER_EMAIL=atoll@atoll.invalid
new() { git --git-dir="$made" "$@"; }
# Whether the repository at $1 is a submodule without changes: HEAD of the one it lies in names its
# commit, and git hides none of its files.
plain() {
  marks=a-zS
  if [ "$(git -C "$1" config --type=bool core.sparseCheckout 2> /dev/null)" = true ]; then
    marks=a-z
  fi
  up=${1%/*}
  while [ "$up" != . ] && [ ! -e "$up/.git" ]; do up=${up%/*}; done
  [ "$(git -C "$up" --git-dir=.git rev-parse -q --verify "HEAD:${1#"$up"/}" 2> /dev/null)" = \
    "$(git -C "$1" rev-parse -q --verify HEAD 2> /dev/null)" ] &&
    [ -z "$(git -C "$1" -c core.fsmonitor=false ls-files -v 2>&1 |
      sed -n "/^[$marks] /p" | head -c 1)" ] &&
    [ -z "$(git -C "$1" -c core.fsmonitor=false status --porcelain --ignored 2>&1 |
      head -c 1)" ]
}
list_place() { [ -z "$place" ] || printf '%s\n' "$place" >> "$work/linked"; }
: > "$work/linked"
each_linked list_place || { echo 'More than 64 linked worktrees are too many' >&2; exit 15; }
other=$(find . -path ./.git -prune -o -name .git -print 2> /dev/null |
  while read -r one; do
    one=${one%/.git}
    if [ -f "$one/.git" ] && grep -qxF -- "$top/${one#./}" "$work/linked"; then continue; fi
    plain "$one" || { echo "$one"; break; }
  done)
if [ -n "$other" ]; then
  echo "$other is a repository of its own, whose files git leaves out" >&2
  exit 15
fi
trap 'rm -rf "$work" "$made"' EXIT
git init -q --bare --template= "$made" && mkdir -p "$made/objects/info" || exit 14
printf '%s\n' "$top/.git/objects" > "$made/objects/info/alternates" || exit 14
objects=$made/objects
keep() { new update-ref "refs/heads/$1" "$2" || exit 14; }
commit() { own commit-tree ${head:+-p "$head"} -m "$2" "$1"; }
snapshot() {
  settle
  base=$(own rev-parse "${head:-$empty}^{tree}") || exit 14
  # An index with unmerged entries is no tree; the files of the conflict are in the working tree.
  staged=$(own write-tree 2> /dev/null) || staged=
  unhide && add_files || exit 15
  while IFS= read -r one; do
    case $one in "$top"/*) printf '%s\0' "${one#"$top"/}" ;; esac
  done < "$work/linked" | own update-index -z --force-remove --stdin || exit 14
  tree=$(own write-tree) || exit 15
}
"""
)

# Arguments as for BUNDLE; $4 is not read.
# Commits what is nowhere committed and bundles it with every branch, as refs/heads/branch/NAME,
# tag/NAME for a tag that names a commit of no branch, also of remotes (other-N for a name that is
# long or not plain, and for any other ref), worktree, index, detached and stash-N. Those of a
# linked worktree end with its number.
SAVE = Script(
    "save the work",
    _SNAPSHOT
    + r"""
keep_tree() {
  snapshot
  if [ "$tree" != "$base" ]; then
    one=$(commit "$tree" 'Work that was not committed') || exit 14
    keep "worktree$1" "$one"
  fi
  if [ -n "$staged" ] && [ "$staged" != "$base" ] && [ "$staged" != "$tree" ]; then
    one=$(commit "$staged" 'What was staged') || exit 14
    keep "index$1" "$one"
  fi
  inner_work > "$work/inner"
  if [ -s "$work/inner" ]; then
    one=$(tr '\0' '\n' < "$work/inner" | head -n 1)
    echo "$one has commits that are in no other repository" >&2
    exit 15
  fi
}
keep_detached() {
  head=$(theirs rev-parse -q --verify 'HEAD^{commit}' 2> /dev/null) || head=
  if [ -n "$head" ] && ! theirs symbolic-ref -q HEAD > /dev/null; then keep "detached$1" "$head"; fi
}
keep_linked() {
  if [ -n "$place" ]; then (cd "$place" && top=$place && keep_tree "-$number") || exit; fi
  keep_detached "-$number"
}
each_linked keep_linked || exit
keep_tree ''
keep_detached ''
number=0
for one in $(theirs log -g --no-show-signature --format=%H refs/stash -- 2> /dev/null); do
  keep "stash-$number" "$one"
  number=$((number + 1))
done
{ outside; theirs for-each-ref --format='^%(objectname)' refs/heads; } > "$work/known"
theirs rev-list --stdin NAMED --not --remotes < "$work/known" > "$work/alone" || exit 15
theirs for-each-ref --format='%(objectname) %(refname)' refs/heads > "$work/names" || exit 14
lone=
if [ -s "$work/alone" ]; then
  theirs for-each-ref --format='%(objectname)^{commit} %(refname)' |
    theirs cat-file --batch-check='%(objectname) %(rest)' | sort - "$work/alone" |
    while read -r one name; do
      case $name in
        '') lone=$one ;;
        refs/heads/* | SKIPPED) ;;
        refs/*) if [ "$one" = "$lone" ]; then echo "$one $name"; fi ;;
      esac
    done >> "$work/names"
fi
if [ "$({ cat "$work/names"; new for-each-ref; } | wc -l)" -gt MAX_BRANCHES ]; then
  echo 'More than MAX_BRANCHES branches, tags and stashes are too many for one bundle' >&2
  exit 15
fi
number=0
while read -r one name; do
  case $name in
    *[!A-Za-z0-9._/-]*) plain= ;;
    refs/heads/*) plain=branch/${name#refs/heads/} ;;
    refs/tags/*) plain=tag/${name#refs/tags/} ;;
    *) plain= ;;
  esac
  if [ -z "$plain" ] || [ "${#name}" -gt 161 ]; then
    keep "other-$number" "$one"
    number=$((number + 1))
  else keep "$plain" "$one"; fi
done < "$work/names"
# It fails where history ends early: of a commit that was fetched without its parents.
count=$(outside | new rev-list --count --max-count=1 --branches --stdin) || exit 15
[ "$count" != 0 ] || exit 12
ulimit -f "$blocks"
outside | new bundle create -q "$out" --branches --stdin
""".replace("NAMED", NAMED)
    .replace("SKIPPED", SKIPPED)
    .replace("MAX_BRANCHES", str(MAX_BRANCHES)),
    programs=("find",),
)

# Arguments as for BUNDLE; $4 is the full ref that HEAD must be on, else it ends with OTHER_BRANCH.
# Bundles that branch with one commit more, which holds what is not committed. Ends with NOT_WHOLE
# for a file with a filter of the repository: filters do not run, so the commit would hold what they
# were to change.
BUNDLE_UNCOMMITTED = Script(
    "bundle the commits and what is not committed",
    _SNAPSHOT
    + FILTERS
    + r"""
[ "$(theirs symbolic-ref -q HEAD)" = "$ref" ] || exit 16
snapshot
filtered_changes > "$work/filtered"
if IFS= read -r one < "$work/filtered"; then
  echo "$one has a filter (LFS, git-crypt): commit it inside" >&2
  exit 15
fi
one=$head
if [ "$tree" != "$base" ]; then
  one=$(commit "$tree" 'Work that was not committed') || exit 14
fi
[ -n "$one" ] || exit 12
new update-ref "$ref" "$one" || exit 14
count=$(outside | new rev-list --count --max-count=1 "$ref" --stdin) || exit 14
[ "$count" != 0 ] || exit 12
ulimit -f "$blocks"
outside | new bundle create -q "$out" "$ref" --stdin
""",
    programs=("find",),
)

# $1 folder  $2 shared repository  $3… commits that a person has outside
# Prints, each ended by NUL: how many commits are nowhere outside, the newest of them, its
# subject, how many stashes there are, how many files `git status` names, and then those files
# as `XY path`, cut after MAX_STATUS_BYTES. A submodule with commits of its own counts as changed:
# commits that name it are fetched without them. So does a linked worktree with changes that lies
# where files are ignored. Nothing is written, not even the index.
UNPULLED = Script(
    "look for work that is not outside",
    QUIET
    + _ELSEWHERE
    + r"""
shift 2
settle
{
  outside
  for one; do theirs cat-file -e "$one^{commit}" 2> /dev/null && echo "^$one"; done
} > "$work/known"
of_heads() { theirs "$@" --stdin HEADS < "$work/known"; }
of_others() { theirs "$@" --stdin NAMED --not HEADS --remotes < "$work/known"; }
count=$(of_heads rev-list --count) || exit 14
others=$(of_others rev-list --count) || exit 14
printf '%s\0' $((count + others))
if [ "$count" != 0 ]; then newest=of_heads; else newest=of_others; fi
if [ $((count + others)) = 0 ]; then printf '\0\0'; else
  "$newest" log -1 --topo-order --no-show-signature --no-color --encoding=UTF-8 \
    --format='%H%x00%s' | tr '\n' '\0'
fi
theirs log -g --no-show-signature --format=%H refs/stash -- 2> /dev/null | wc -l | tr -d ' ' \
  | tr '\n' '\0'
unhide || exit 14
changed() {
  own status --porcelain=v1 -z --no-renames --untracked-files=normal --ignore-submodules=none
}
changed > "$work/status" || exit 14
inner_work committed > "$work/inner"
name_linked() {
  [ -n "$place" ] || return 0
  path=${place#"$top"/}
  case $path in
    .git/*) ;;
    *) own --no-literal-pathspecs check-ignore -q -- "./$path" || [ $? != 1 ] || return 0 ;;
  esac
  inner=$work/inner work=$work/$number top=$place
  mkdir "$work" && cp -R "${work%/*}/g" "$work/g" && cd "$top" && settle && unhide
  if ! changed > "$work/status" 2> /dev/null || [ -s "$work/status" ] ||
    [ -n "$(inner_work committed | head -c 1)" ]; then
    printf '%s\0' "$path" >> "$inner"
  fi
}
each_linked name_linked || printf '.git/worktrees\0' >> "$work/inner"
tr '\n\0' '\001\n' < "$work/inner" | sed 's/^/ M /' | tr '\n\001' '\0\n' >> "$work/status"
tr -dc '\0' < "$work/status" | wc -c | tr -d ' ' | tr '\n' '\0'
head -c 40000 "$work/status"
""".replace("NAMED", NAMED).replace("HEADS", HEADS),
    unrecorded=True,
)
