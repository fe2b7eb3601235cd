"""The shell scripts that change a working tree for a person: go back, discard, commit.

Git runs as in `wire.git.checkpoints`, without anything the repository configures. The agent's
index is replaced under its own lock, `.git/index.lock`, as git itself does.
"""

from atoll.services.scripts import Script
from atoll.wire.git.checkpoints import QUIET, TAKE

NO_SUCH_CHECKPOINT = 16
LOCKED = 17
NOTHING_TO_COMMIT = 18
MERGING = 19
NO_SUCH_HUNK = 20
NO_SUCH_FILE = 22
FILTERED = 23

# `keep_marks` lets files that are there keep the mark of those that a checkout left out
# (skip-worktree): git would take it off.
_LOCK = r"""
locked=
trap 'rm -rf "$work"; if [ -n "$locked" ]; then rm -f "$gitdir/index.lock"; fi' EXIT
keep_marks() {
  [ "$(theirs config --type=bool core.sparseCheckout 2> /dev/null)" = true ] ||
    printf '%s\n' '[sparse]' 'expectFilesOutsideOfPatterns = true' >> "$work/g/config"
}
lock() { (set -C; : > "$gitdir/index.lock") 2> /dev/null || exit 17; locked=yes; }
publish() {
  if [ ! -f "$work/index" ]; then return; fi
  own update-index -q --refresh > /dev/null
  cp "$work/index" "$gitdir/index.lock" || exit 14
  mv -f "$gitdir/index.lock" "$gitdir/index" || exit 14
  locked=
}
"""

# `filtered` reads paths, each ended by NUL, and prints those that have a filter, a line each. The
# files of the tree say which; nothing that the repository configures is read or run for that.
# `filtered_changes` prints those of the files in which the index differs from HEAD.
# `refuse` ends with FILTERED and the first of them: without its filter git would store another
# content than it shows, or write what it stores in place of it.
FILTERS = r"""
filtered() {
  own check-attr -z --stdin filter | tr '\n\0' '\001\n' |
    while IFS= read -r path && read -r value && IFS= read -r value; do
      case $value in unspecified | unset | set) ;; *) printf '%s\n' "$path" ;; esac
    done
}
filtered_changes() {
  own diff-index --cached -z --name-only --no-renames --diff-filter=d "${head:-$empty}" | filtered
}
refuse() {
  if IFS= read -r path; then printf '%s' "$path" | tr '\001' '\n'; exit 23; fi
}
"""

# $1 folder  $2 ""  $3 number. Prints the number of the checkpoint that saves the present files, or
# with FILTERED a path.
RESTORE = Script(
    "go back to a checkpoint",
    QUIET
    + TAKE
    + FILTERS
    + _LOCK
    + r"""
# $1 check, or go  $2 commit whose files the tree gets  $3 commit that its branch gets, or "" for
# none  $4 path of the tree. The index is that of the present files. A check ends where a file has a
# filter or git is at work in a submodule, before anything changes.
back() {
  own -c core.quotePath=false diff-index --cached --no-renames "$2" |
    sed -n 's/^:160000 160000 \([0-9a-f]*\) [0-9a-f]* M.\(.*\)/\1 \2/p' > "$work/moved"
  if [ "$1" = check ]; then check_back "$@" || exit
  else go_back "$@"; fi
  [ -e "$top/.gitmodules" ] || [ "$deep" -gt 0 ] || return 0
  while read -r one path; do
    within "$path" back_inside "$1" "$one" "$4$path/" < /dev/null || exit
  done < "$work/moved"
}
# What differs from the commit is in the checkpoint as it was in the file.
check_back() {
  own diff-index --cached -z --name-only --no-renames --diff-filter=a "$2" | filtered |
    while IFS= read -r name; do
      path=$(printf '%s.' "$name" | tr '\001' '\n')
      path=${path%.}
      one=$(own rev-parse -q --verify "$3:$path") || continue
      [ "$one" != "$(own rev-parse -q --verify "$2:$path")" ] || printf '%s%s\n' "$4" "$name"
    done | refuse
}
go_back() {
  own read-tree --reset -u "$2" || exit 14
  if [ -n "$3" ] && [ "$3" != "$head" ]; then
    record -m 'atoll: back to a checkpoint' HEAD "$3" || exit 14
  fi
  own read-tree "${3:-$empty}" || exit 14
  publish
}
# The commit of a submodule is one of its checkpoints, or of its branch.
back_inside() {
  target=$(theirs rev-parse -q --verify "$2^{commit}") || return 0
  add_all person '' || exit
  parent=$target
  if points | grep -q " $target\$"; then parent=$(theirs rev-parse -q --verify "$target^"); fi
  trap 'if [ -n "$locked" ]; then rm -f "$gitdir/index.lock"; fi' EXIT
  locked=
  lock
  back "$1" "$target" "$parent" "$3"
}
lock
points > "$work/points"
target=$(sed -n "s/^$3 //p" "$work/points")
target=$(theirs rev-parse -q --verify "$target^{commit}") || exit 16
take person "Before going back to checkpoint $3" || exit $?
parent=$(theirs rev-parse -q --verify "$target^") || parent=
back check "$target" "$parent" ''
back go "$target" "$parent" ''
printf '%s' "$number"
""",
    seconds=300.0,
)

# $1 folder  $2 ""  $3 commit to go back to, or "" for HEAD  $4 "" for whole files, or the first
# line of a hunk without its heading  $5 lines of context  $6… paths
# Prints the number of the checkpoint that saves the present files, or with FILTERED a path.
DISCARD = Script(
    "discard changes",
    QUIET
    + TAKE
    + FILTERS
    + _LOCK
    + r"""
target=$3 hunk=$4 context=$5
shift 5
lock
take person 'Before discarding changes' || exit $?
[ -n "$target" ] || target=${head:-$empty}
own ls-tree -r -z --name-only "$target" -- "$@" | filtered | refuse || exit
if [ -n "$hunk" ]; then
  compare_raw
  own diff --no-color --no-ext-diff --no-textconv --no-renames --full-index "-U$context" \
    --src-prefix=a/ --dst-prefix=b/ "$target" -- "$@" > "$work/whole" || exit 14
  # Its mode stays: the head says nothing of it.
  sed -n -e '1,/^@@ /{/^@@ /!{/^old mode /!{/^new mode /!p;};};}' \
    -e "/^$hunk/,/^@@ /{/^@@ /{/^$hunk/!d;};p;}" "$work/whole" > "$work/patch"
  grep -q "^$hunk" "$work/patch" || exit 20
  if [ "$context" = 0 ]; then set -- --unidiff-zero; else set --; fi
  own apply -R --whitespace=nowarn "$@" "$work/patch" || exit 20
  attribute
else
  for path; do
    if [ -n "$(own ls-tree "$target" -- "$path")" ]; then
      own checkout -q "$target" -- "$path" || exit 14
    else
      [ -e "$top/$path" ] || [ -L "$top/$path" ] || exit 22
      rm -f -- "$top/$path" || exit 14
    fi
  done
fi
settle
keep_marks
if [ -n "$head" ] && [ -z "$hunk" ]; then own reset -q "$head" -- "$@" > /dev/null; fi
publish
printf '%s' "$number"
""",
    seconds=300.0,
)

# $1 folder  $2 ""  $3 message  $4… paths (none: all). Prints the commit, with NO_SUCH_FILE the path
# that is nowhere, or with FILTERED one that has a filter. With paths the commit is of an index of
# its own, which has of these what the agent's gets, and of all others what HEAD has: what else was
# staged stays so.
COMMIT = Script(
    "commit the changes",
    QUIET
    + TAKE
    + FILTERS
    + _LOCK
    + r"""
message=$3
shift 3
chosen=$#
[ $# -gt 0 ] || set -- .
for one in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD rebase-merge rebase-apply; do
  [ ! -e "$top/.git/$one" ] || exit 19
done
lock
settle
keep_marks
unhide "$@" || exit 14
whole=$index
if [ "$chosen" -gt 0 ]; then
  index=$work/chosen
  own read-tree "${head:-$empty}" || exit 14
  own ls-files -z -- "$@" > "$work/before" || exit 14
  own update-index -z --force-remove --stdin < "$work/before" || exit 14
  index=$whole
fi
for path; do
  shift
  if [ -e "$top/$path" ] || [ -L "$top/$path" ] || [ -n "$(own ls-files -- "$path")" ]; then
    set -- "$@" "$path"
  elif [ -z "$head" ] || [ -z "$(own ls-tree "$head" -- "$path")" ]; then
    printf '%s' "$path"
    exit 22
  fi # else its removal is in the index already
done
if [ -f "$top/.git/info/exclude" ]; then cp "$top/.git/info/exclude" "$work/g/info/"; fi
if [ $# -gt 0 ]; then
  own -c advice.addEmbeddedRepo=false add -A --sparse -- "$@" || exit 14
fi
if [ "$chosen" -gt 0 ]; then
  : > "$work/added"
  if [ $# -gt 0 ]; then own ls-files -s -z -- "$@" > "$work/added" || exit 14; fi
  index=$work/chosen
  own update-index --replace -z --index-info < "$work/added" || exit 14
fi
filtered_changes | refuse || exit
tree=$(own write-tree) || exit 14
index=$whole
[ "$tree" != "$(own rev-parse "${head:-$empty}^{tree}")" ] || exit 18
name=$(theirs config user.name) && export GIT_AUTHOR_NAME="$name" GIT_COMMITTER_NAME="$name"
mail=$(theirs config user.email) && export GIT_AUTHOR_EMAIL="$mail" GIT_COMMITTER_EMAIL="$mail"
one=$(printf '%s\n' "$message" | own commit-tree ${head:+-p "$head"} "$tree") || exit 14
record -m 'commit: by a person' HEAD "$one" "${head:-0000000000000000000000000000000000000000}" \
  || exit 14
publish
printf '%s' "$one"
""",
    seconds=300.0,
)
