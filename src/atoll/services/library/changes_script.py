"""The shell script that compares a working tree with a commit, inside a sandbox.

Nothing the repository configures runs: git gets a directory of its own with an empty
configuration, and borrows objects, HEAD and a copy of the index. So there is no hook, filter,
fsmonitor, external diff, textconv or include, and the agent's index stays as it is. Marks that
hide a file (assume-unchanged, skip-worktree, ignores outside the tree) are not honoured.
"""

from atoll.services.scripts import Script

# $1 folder  $2 shared repository ("" for none)
# Leaves: `top`, `head` ("" before the first commit), `branch`, `work` (a scratch folder), and git
# set up for the tree. A function in common with the other scripts of reviews.
QUIET = r"""
set -u
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
for name in $(env | sed -n 's/^\(GIT_[A-Z_0-9]*\)=.*/\1/p'); do unset "$name"; done
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_OPTIONAL_LOCKS=0
export GIT_TERMINAL_PROMPT=0 GIT_NO_LAZY_FETCH=1 GIT_NO_REPLACE_OBJECTS=1 GIT_ATTR_NOSYSTEM=1
cd "$1" 2> /dev/null && [ -d .git ] && [ ! -L .git ] || exit 13
top=$(pwd -P) store=$2
git --git-dir="$top/.git" rev-parse --git-dir > /dev/null 2>&1 || exit 13
work=$(mktemp -d "${TMPDIR:-/tmp}/atoll-XXXXXX") || exit 14
trap 'rm -rf "$work"' EXIT
trap 'exit 143' HUP INT TERM
mkdir -p "$work/g/refs" || exit 14
cat > "$work/g/config" << 'END'
[core]
repositoryformatversion = 0
bare = false
bigFileThreshold = 16m
sparseCheckout = true
[diff]
renameLimit = 1000
[gc]
auto = 0
END
empty=4b825dc642cb6eb9a060e54bf8d69288fbee4904
theirs() { git --git-dir="$top/.git" "$@"; }
settle() {
  head=$(theirs rev-parse -q --verify 'HEAD^{commit}' 2> /dev/null) || head=
  branch=$(theirs symbolic-ref -q HEAD 2> /dev/null) || branch=
  branch=${branch#refs/heads/}
  if [ -n "$head" ]; then printf '%s\n' "$head"; else echo 'ref: refs/heads/none'; fi \
    > "$work/g/HEAD"
  rm -f "$work/index" "$work/index.lock"
  if [ -f "$top/.git/index" ] && [ ! -L "$top/.git/index" ]; then
    cp "$top/.git/index" "$work/index" || exit 14
  elif [ -n "$head" ]; then own read-tree "$head" || exit 14; fi
  for one in "$top"/.git/sharedindex.*; do
    if [ -f "$one" ]; then ln -sf "$one" "$work/g/"; fi
  done
}
own() {
  GIT_DIR="$work/g" GIT_WORK_TREE="$top" GIT_INDEX_FILE="$work/index" \
    GIT_OBJECT_DIRECTORY="$top/.git/objects" git --literal-pathspecs "$@"
}
"""

# $3 branch or tag of the shared repository to compare with  $4 base, uncommitted or a commit
# $5 a text that ends each section  $6 list, or patch  $7 a digest to wait for a change of, or ""
# $8 seconds to wait for it  $9 lines of context  $10 whitespace: yes, or no  $11… paths (none: all)
#
# Prints, ended by NUL, branch, HEAD, base, commits since, count of files and a digest; then the
# status, the changes or the patch, and size, inode and change time of each file.
CHANGES = Script(
    "compare the files",
    QUIET
    + r"""
from=$3 against=$4 mark=$5 mode=$6 since=$7 seconds=$8 context=$9
shift 9
space=$1
shift
max=5000 blob=e69de29bb2d1d6434b8b29ae775ad8c2e48c5391
look() {
  settle
  own ls-files -v -z | sed -zn 's/^[a-z] //p' > "$work/hidden"
  if [ -s "$work/hidden" ]; then
    own update-index -z --no-assume-unchanged --stdin < "$work/hidden" || exit 14
  fi
  own status --porcelain=v1 -z --no-renames --untracked-files=all --ignore-submodules=dirty \
    -- "$@" > "$work/whole" || exit 14
  head -c 8000000 "$work/whole" > "$work/status"
  sed -z 's/^...//' "$work/status" | sed -z "${max}q" > "$work/names"
  (cd "$top" && xargs -0 -r -n 5000 -s 1000000 stat -c '%s|%i|%z|%n' -- < "$work/names") \
    > "$work/times" 2> /dev/null
  digest=$({ echo "$head $branch"; cat "$work/whole" "$work/times"; } | own hash-object --stdin)
}
look "$@"
while [ "$digest" = "$since" ] && [ "$seconds" -gt 0 ]; do
  sleep 2
  seconds=$((seconds - 2))
  look "$@"
done
case $against in
  uncommitted) base=$head ;;
  base)
    base=
    if [ -n "$store" ] && [ -n "$head" ]; then
      for one in "refs/heads/$from" "refs/tags/$from" HEAD; do
        tip=$(git --git-dir="$store" rev-parse -q --verify "$one^{commit}") || continue
        base=$(own merge-base "$tip" "$head" 2> /dev/null) || base=$tip
        break
      done
    elif [ -z "$store" ]; then base=$head; fi ;;
  *) base=$(theirs rev-parse -q --verify "$against^{commit}" 2> /dev/null) || exit 16 ;;
esac
commits=0
if [ -n "$base" ] && [ -n "$head" ]; then
  commits=$(own rev-list --count "$base..$head" 2> /dev/null) || commits=0
elif [ -n "$head" ]; then commits=$(own rev-list --count "$head" 2> /dev/null) || commits=0; fi
{
  if [ "${base:-$empty}" != "${head:-$empty}" ]; then
    own diff-tree -r -z --no-renames --name-only --ignore-submodules=dirty \
      "${base:-$empty}" "${head:-$empty}" -- "$@" | head -c 8000000
  fi
  sed -z 's/^...//' "$work/status"
} | sort -zu > "$work/all"
total=$(tr -dc '\0' < "$work/all" | wc -c | tr -d ' ')
sed -z "${max}q" "$work/all" > "$work/paths"
sed -zn "s/^?? /100644 $blob\t/p" "$work/status" | grep -zv '/$' | sed -z "${max}q" \
  > "$work/new"
if [ -s "$work/new" ]; then own update-index -z --index-info < "$work/new" || exit 14; fi
each() { (cd "$top" && xargs -0 -r -n 5000 -s 1000000 "$@" < "$work/paths"); }
export GIT_DIR="$work/g" GIT_WORK_TREE="$top" GIT_INDEX_FILE="$work/index"
export GIT_OBJECT_DIRECTORY="$top/.git/objects"
compare() {
  each git --literal-pathspecs diff --no-color --no-ext-diff --no-textconv -M \
    --ignore-submodules=dirty --src-prefix=a/ --dst-prefix=b/ "$@" "${base:-$empty}" --
}
printf '%s\0' "$branch" "$head" "$base" "$commits" "$total" "$digest"
printf '\0%s\0' "$mark"
head -c 1000000 "$work/status"
printf '\0%s\0' "$mark"
if [ "$mode" = list ]; then
  compare --raw --numstat -z --abbrev=40 | head -c 2500000
  printf '\0%s\0' "$mark"
  each stat -c '%s|%i|%z|%n' -- 2> /dev/null | head -c 1000000
else
  if [ "$space" = no ]; then set -- -w; else set --; fi
  compare -p "-U$context" "$@" | head -c 4194304
  printf '\0%s\0' "$mark"
fi
""",
    seconds=120.0,
)
