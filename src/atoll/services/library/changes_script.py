"""The shell script that compares a working tree with a commit, inside a sandbox.

Nothing the repository configures runs (`wire.git.checkpoints`). Marks that hide a file
(assume-unchanged, skip-worktree, ignores outside the tree) are not honoured, nor attributes that
call it binary.
"""

from atoll.services.scripts import Script
from atoll.wire.git.checkpoints import COUNT, MAX_SUBMODULES, POINTS, QUIET, QUIET_LOCATING

# $3 branch or tag of the shared repository to compare with  $4 base, uncommitted,
# turn, or turnN for checkpoint N
# $5 a text that ends each section  $6 list, or patch  $7 a digest to wait for a change of, or ""
# $8 seconds to wait for it  $9 lines of context  $10 whitespace: yes, or no  $11 the stamp of an
# index without marks that hide a file, or ""  $12… paths (none: all)
#
# Prints, ended by NUL, branch, HEAD, base, commits since, count of files, a digest and the stamp of
# an index without such marks; then the status, the changes or the patch, size, inode and change
# time of each file, and where one is binary the sizes of the objects that files are compared with.
CHANGES = Script(
    "compare the files",
    QUIET_LOCATING
    + POINTS
    + COUNT
    + r"""
from=$3 against=$4 mark=$5 mode=$6 since=$7 seconds=$8 context=$9
shift 9
space=$1 plain=$2
shift 2
compare_raw
digest= max=5000 blob=e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 tab=$(printf '\t')
# Names that end with NUL: without the status before them, the first ones, and each once.
bare() { sed -z 's/^...//'; }
first() { sed -z "${max}q"; }
each_once() { sort -zu; }
# The same where sed reads no NUL (busybox): a line end in a name is \1 meanwhile.
as_lines() { tr '\n\0' '\001\n'; }
as_names() { tr '\n\001' '\0\n'; }
without_nul() {
  bare() { as_lines | sed 's/^...//' | as_names; }
  first() { as_lines | head -n "$max" | as_names; }
  each_once() { as_lines | sort -u | as_names; }
}
state() {
  own status --porcelain=v1 -z --no-renames --untracked-files=all --ignore-submodules=dirty \
    -- "$@" > "$work/whole" || return
  : > "$work/links"
  [ ! -e "$top/.gitmodules" ] || links "$@" | head -n MAX_SUBMODULES > "$work/links"
  while read -r one path; do note_edits "$one" "$path" < /dev/null; done \
    < "$work/links" > "$work/dirty"
}
note_edits() {
  edits=$(within "$2" edits_inside)
  [ -n "$edits" ] || return 0
  echo "$1 $edits $2"
  [ -n "$(own status --porcelain=v1 --no-renames --ignore-submodules=dirty -- "$2" |
    head -c 1)" ] || printf ' M %s\0' "$2" >> "$work/whole"
}
# Prints a digest of what is not committed in a submodule and in those that lie in it; nothing where
# there is nothing.
edits_inside() {
  look_inside || return 0
  while read -r one path; do within "$path" edits_inside < /dev/null; done \
    < "$work/links" >> "$work/status"
  [ -s "$work/status" ] || return 0
  {
    cat "$work/status"
    own diff --no-color --no-ext-diff --no-textconv --ignore-submodules=dirty
  } | head -c 4000000 | own hash-object --stdin
}
# Counts, as git would, what submodules have gained since the base. Those that are as in a
# checkpoint are in `same_links`.
since_base() {
  : > "$work/gained"
  : > "$work/same_links"
  [ -n "$base" ] || return 0
  dirty=$(sed 's/^[^ ]* [^ ]* //' "$work/dirty")
  while read -r one path; do since_link "$path" "$one" < /dev/null; done < "$work/links"
}
since_link() {
  plus=0 minus=0
  then=$(own rev-parse -q --verify "$base:$1") || then=$2 plus=1
  case "
$dirty
" in *"
$1
"*) edited=yes ;; *) edited= ;; esac
  gained=$(within "$1" since_inside "$then" "$edited")
  case $gained in
    same) printf '%s\n' "$1" >> "$work/same_links" ;;
    ?*)
      for one in $gained; do plus=$((plus + ${one%,*})) minus=$((minus + ${one#*,})); done
      printf '%s\t%s\t%s\0' "$plus" "$minus" "$1" >> "$work/gained" ;;
  esac
}
since_inside() {
  glance || locate
  [ -n "$2" ] || [ "$head" != "$1" ] || return 0
  lines=$(count_inside "$1" | tr ' ' ,)
  if [ -z "$lines" ] && { [ "$head" = "$1" ] ||
    [ "$(own rev-parse -q --verify "$1^")" = "$head" ]; }; then lines=same; fi
  echo "${lines:-0,0}"
}
# `each_dirty DO` runs DO with commit, digest and path of each submodule with edits that git, which
# compares only commits, does not list.
each_dirty() {
  while read -r one edits path; do
    if own diff --quiet --ignore-submodules=dirty "${base:-$empty}" -- "$path"; then
      "$@" "$one" "$edits" "$path"
    fi
  done < "$work/dirty"
}
list_dirty() { printf ':160000 160000 %s %s M\0%s\0' "$1" "$2" "$3"; }
show_dirty() {
  printf 'diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n' "$3" "$3" "$3" "$3"
  printf '@@ -1 +1 @@\n-Subproject commit %s\n+Subproject commit %s-dirty\n' "$1" "$1"
}
# The stamps of the files and the digest, beside the comparison.
sum() {
  (cd "$top" && xargs -0 -r -n 5000 -s 1000000 stat -c '%s|%i|%z|%n' -- < "$work/names") \
    > "$work/times" 2> /dev/null
  own hash-object --no-filters "$work/state" "$work/whole" "$work/times" > "$work/digest"
}
summed() {
  wait "$summing"
  digest=
  while read -r one; do digest=$digest${one%????????????????????}; done < "$work/digest"
}
# Beside the status, which takes the longest, an index is searched for marked files once; then the
# status is read again.
look() {
  glance || locate
  if [ -f "$top/.git/index" ] && [ ! -L "$top/.git/index" ]; then index=$top/.git/index
  else copy; fi
  state "$@" &
  reading=$!
  : > "$work/hidden"
  stamp=$(stat -c '%i %s %y %z' "$index" 2> /dev/null)
  if [ -z "$stamp" ] || [ "$stamp" != "$plain" ]; then
    plain=$stamp
    find_hidden
  fi
  { echo "$head $branch"; theirs for-each-ref refs/atoll/checkpoints; } > "$work/state"
  wait "$reading" || exit 14
  if [ -s "$work/hidden" ]; then
    plain=
    copy
    reveal || exit 14
    state "$@" || exit 14
  fi
  if [ -s "$work/dirty" ]; then cat "$work/dirty" >> "$work/state"; fi
  # One process lists the names, and files git does not know as entries of an index, and counts.
  total=$(sed -zn -e '$=' -e "h;s/^...//;1,${max}w $work/names" \
    -e "x;/\/\$/d;/^?? /!d;s//100644 $blob\t/;w $work/new" "$work/whole" 2> /dev/null) || {
    without_nul
    as_lines < "$work/whole" > "$work/lines"
    total=$(sed -n '$=' "$work/lines")
    bare < "$work/whole" | first > "$work/names"
    sed -n -e '/\/$/d' -e "s/^?? /100644 $blob$tab/p" "$work/lines" | as_names > "$work/new"
  }
  sum &
  summing=$!
  if [ -n "$since" ]; then summed; fi
}
look "$@"
while [ -n "$since" ] && [ "$digest" = "$since" ] && [ "$seconds" -gt 0 ]; do
  sleep 1
  seconds=$((seconds - 1))
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
since_base
if [ "${base:-$empty}" = "${head:-$empty}" ]; then same=yes; else same=; fi
if [ -n "$same" ]; then
  paths=$work/names
  total=${total:-0}
else
  {
    own diff-tree -r -z --no-renames --name-only --ignore-submodules=dirty \
      "${base:-$empty}" "${head:-$empty}" -- "$@" | head -c 8000000
    head -c 8000000 "$work/whole" | bare
  } | each_once > "$work/all"
  if [ -s "$work/same_links" ]; then
    as_lines < "$work/all" | grep -vxF -f "$work/same_links" | as_names > "$work/others"
    mv "$work/others" "$work/all"
  fi
  total=$(tr -dc '\0' < "$work/all" | wc -c)
  total=${total##* }
  paths=$work/all
  if [ "$total" -gt "$max" ]; then
    paths=$work/paths
    first < "$work/all" > "$paths"
  fi
fi
if [ -s "$work/new" ]; then
  [ "$index" = "$work/index" ] || copy
  first < "$work/new" | own update-index -z --index-info || exit 14
fi
each() { (cd "$top" && xargs -0 -r -n 5000 -s 1000000 "$@" < "$paths"); }
export GIT_DIR="$work/g" GIT_WORK_TREE="$top" GIT_INDEX_FILE="$index"
export GIT_OBJECT_DIRECTORY="$top/.git/objects"
compare() {
  each git --literal-pathspecs -c core.preloadIndex=false diff --no-color --no-ext-diff \
    --no-textconv -M --ignore-submodules=dirty --src-prefix=a/ --dst-prefix=b/ \
    "$@" "${base:-$empty}" --
}
begin() {
  summed
  printf '%s\0' "$branch" "$head" "$base" "$commits" "$total" "$digest" "$plain"
  printf '\0%s\0' "$mark" > "$work/mark"
}
if [ "$mode" = list ]; then
  compare --raw --numstat -z --abbrev=40 > "$work/found"
  each_dirty list_dirty >> "$work/found"
  cat "$work/gained" >> "$work/found"
  begin
  if [ -z "$same" ]; then each stat -c '%s|%i|%z|%n' -- > "$work/times" 2> /dev/null; fi
  head -q -c 1500000 "$work/mark" "$work/whole" "$work/mark" "$work/found" "$work/mark" \
    "$work/times" "$work/mark"
  if tr '\0' '\n' < "$work/found" | grep -q '^-[[:space:]]-'; then
    tr '\0' '\n' < "$work/found" | sed -n 's/^:[0-9]* [0-9]* \([0-9a-f]*\) .*/\1/p' \
      | git cat-file --batch-check='%(objectname) %(objectsize)' | head -c 400000
  fi
else
  if [ "$space" = no ]; then set -- -w; else set --; fi
  begin
  head -q -c 1000000 "$work/mark" "$work/whole" "$work/mark"
  { each_dirty show_dirty; compare -p "-U$context" "$@"; } | head -c 4194304
  printf '\0%s\0' "$mark"
fi
""".replace("MAX_SUBMODULES", str(MAX_SUBMODULES)),
    seconds=120.0,
    unrecorded=True,
    programs=("xargs",),
)

# $1 folder  $2 ""  $3 commit, or "" for the working tree  $4 path  $5 most bytes. Prints the file.
FILE = Script(
    "read the file",
    QUIET
    + r"""
commit=$3 path=$4 most=$5
echo 'ref: refs/heads/none' > "$work/g/HEAD"
if [ -n "$commit" ]; then
  size=$(own cat-file -s "$commit:$path" 2> /dev/null) || exit 16
  [ "$size" -le "$most" ] || exit 21
  own cat-file blob "$commit:$path" || exit 16
else
  case $path in */*) folder=${path%/*} ;; *) folder=. ;; esac
  folder=$(cd -P -- "$top/$folder" 2> /dev/null && pwd -P) || exit 16
  case $folder/ in "$top"/*) ;; *) exit 16 ;; esac
  file=$folder/${path##*/}
  [ -f "$file" ] && [ ! -L "$file" ] || exit 16
  [ "$(stat -c %s -- "$file")" -le "$most" ] || exit 21
  head -c "$most" -- "$file"
fi
""",
    seconds=60.0,
    unrecorded=True,
)
