"""The shell script that compares a working tree with a commit, inside a sandbox.

Nothing the repository configures runs (`wire.git.checkpoints`). Marks that hide a file
(assume-unchanged, skip-worktree, ignores outside the tree) are not honoured.
"""

from atoll.services.scripts import Script
from atoll.wire.git.checkpoints import POINTS, QUIET

# $3 branch or tag of the shared repository to compare with  $4 base, uncommitted,
# turn, or turnN for checkpoint N
# $5 a text that ends each section  $6 list, or patch  $7 a digest to wait for a change of, or ""
# $8 seconds to wait for it  $9 lines of context  $10 whitespace: yes, or no  $11… paths (none: all)
#
# Prints, ended by NUL, branch, HEAD, base, commits since, count of files and a digest; then the
# status, the changes or the patch, and size, inode and change time of each file.
CHANGES = Script(
    "compare the files",
    QUIET
    + POINTS
    + r"""
from=$3 against=$4 mark=$5 mode=$6 since=$7 seconds=$8 context=$9
shift 9
space=$1
shift
max=5000 blob=e69de29bb2d1d6434b8b29ae775ad8c2e48c5391
state() {
  own status --porcelain=v1 -z --no-renames --untracked-files=all --ignore-submodules=dirty \
    -- "$@" > "$work/whole"
}
look() {
  settle
  # Marked files are rare: they are looked for beside the status, which is then read again.
  own ls-files -v -z | sed -zn 's/^[a-z] //p' > "$work/hidden" &
  state "$@" || exit 14
  wait
  if [ -s "$work/hidden" ]; then
    own update-index -z --no-assume-unchanged --stdin < "$work/hidden" || exit 14
    state "$@" || exit 14
  fi
  head -c 8000000 "$work/whole" > "$work/status"
  sed -z 's/^...//' "$work/status" | sed -z "${max}q" > "$work/names"
  (cd "$top" && xargs -0 -r -n 5000 -s 1000000 stat -c '%s|%i|%z|%n' -- < "$work/names") \
    > "$work/times" 2> /dev/null
  echo "$head $branch $(points | tail -n 1)" > "$work/state"
  digest=$(cat "$work/state" "$work/whole" "$work/times" | own hash-object --stdin)
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
  *)
    points > "$work/points"
    point=$(sed -n "s/^${against#turn} //p" "$work/points")
    if [ "$against" = turn ]; then point=$(sed -n '$s/.* //p' "$work/points"); fi
    base=$(theirs rev-parse -q --verify "$point^{commit}" 2> /dev/null) || exit 16 ;;
esac
commits=0
if [ "$base" = "$head" ]; then :
elif [ -n "$base" ] && [ -n "$head" ]; then
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
    unrecorded=True,
)
