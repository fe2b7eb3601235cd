"""Git inside a sandbox without anything the repository configures, and checkpoints made with it.

Git gets a directory of its own with an empty configuration, and borrows objects, HEAD and a copy
of the index. So there is no hook, filter, fsmonitor, external diff, textconv or include, and the
agent's index stays as it is. A git that looks into a submodule reads what that one configures,
but for its fsmonitor. What `.gitattributes` calls binary, or gives a driver, is compared as
any other file. A checkpoint is a commit of the working tree at `refs/atoll/checkpoints/TERMINAL/N`,
whose parent is HEAD. The runtime takes one when an agent's turn begins, and the control plane
before it goes back to one.
"""

from typing import Final

MAX_CHECKPOINTS: Final = 50
"""Checkpoints kept in one repository, the newest."""

MAX_SUBMODULES: Final = 32
"""Submodules of one tree that are looked at."""

MAX_DEPTH: Final = 4
"""Submodules that lie in each other and are looked at."""

# $1 folder  $2 shared repository ("" for none)
# Leaves: `top`, `head` ("" before the first commit), `branch`, `work` (a scratch folder), and git
# set up for the tree.
_OPENED = r"""
set -u
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
case "$(export -p)" in
  *GIT_*)
    for name in $(env | sed -n 's/^\(GIT_[A-Z_0-9]*\)=.*/\1/p'); do unset "$name"; done ;;
esac
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_OPTIONAL_LOCKS=0
export GIT_TERMINAL_PROMPT=0 GIT_NO_LAZY_FETCH=1 GIT_NO_REPLACE_OBJECTS=1 GIT_ATTR_NOSYSTEM=1
cd "$1" 2> /dev/null && [ -d .git ] && [ ! -L .git ] || exit 13
top=$(pwd -P) store=$2
"""
_CHECKED = r"""
git --git-dir="$top/.git" rev-parse --git-dir > /dev/null 2>&1 || exit 13
"""
_LAID_OUT = r"""
number=0
until work=/tmp/atoll-$$-$number && mkdir -m 700 "$work" 2> /dev/null; do
  number=$((number + 1))
  [ "$number" -lt 100 ] || exit 14
done
trap 'rm -rf "$work"' EXIT
trap 'exit 143' HUP INT TERM
mkdir -p "$work/g/refs" "$work/g/info" || exit 14
printf '%s\n' '[core]' 'repositoryformatversion = 0' 'bare = false' 'bigFileThreshold = 16m' \
  'sparseCheckout = true' 'untrackedCache = false' 'fsmonitor = false' \
  'attributesFile = /dev/null' 'excludesFile = /dev/null' \
  '[diff]' 'renameLimit = 1000' '[gc]' 'auto = 0' > "$work/g/config"
# Attributes that would hide a change, or show another one, do not count. Where files are compared
# (`compare_raw`) that is any conversion but of line ends, which may be CRLF in a whole checkout.
attribute() { echo "* !diff $*" > "$work/g/info/attributes"; }
compare_raw() { attribute '!ident' '!working-tree-encoding'; }
attribute
empty=4b825dc642cb6eb9a060e54bf8d69288fbee4904 index=$work/index
# Another worktree has another $top and $gitdir; what is written may go to other $objects. A
# submodule is $deep in others.
gitdir=$top/.git objects=$top/.git/objects deep=0
theirs() { git --git-dir="$gitdir" "$@"; }
locate() {
  line=$(theirs rev-parse -q 'HEAD^{commit}' --symbolic-full-name HEAD 2> /dev/null) || line=
  head=${line%%"
"*} branch=${line#*"
"}
  case $branch in
    refs/heads/*) ;;
    *)
      theirs rev-parse --git-dir > /dev/null 2>&1 || exit 13
      head=$(theirs rev-parse -q --verify 'HEAD^{commit}' 2> /dev/null) || head=
      branch=$(theirs symbolic-ref -q HEAD 2> /dev/null) || branch= ;;
  esac
  branch=${branch#refs/heads/}
  enter
}
# HEAD by its files, which takes no process; git finds any that is not plain.
glance() {
  [ -f "$gitdir/HEAD" ] && read -r line < "$gitdir/HEAD" || return 1
  branch=${line#ref: refs/heads/}
  case $branch in
    "$line") head=$line branch= ;;
    *..* | *' '*) return 1 ;;
    *)
      [ -f "$gitdir/refs/heads/$branch" ] && read -r head < "$gitdir/refs/heads/$branch" \
        || return 1 ;;
  esac
  case $head in *[!0-9a-f]*) return 1 ;; esac
  [ "${#head}" = 40 ] && enter
}
enter() {
  if [ -n "$head" ]; then printf '%s\n' "$head"; else echo 'ref: refs/heads/none'; fi \
    > "$work/g/HEAD"
  for one in "$gitdir"/sharedindex.*; do
    if [ -f "$one" ]; then ln -sf "$one" "$work/g/"; fi
  done
}
# A copy keeps its time: git compares files that changed in the moment the index was written.
copy() {
  index=$work/index
  rm -f "$index" "$index.lock"
  if [ -f "$gitdir/index" ] && [ ! -L "$gitdir/index" ]; then
    cp -p "$gitdir/index" "$index" || exit 14
  elif [ -n "$head" ]; then own read-tree "$head" || exit 14; fi
}
settle() { locate; copy; }
# Files (of the given paths, if any) that are marked as unchanged, and as left out where the
# checkout leaves none out. Lines are used in place of NUL, which not every sed can read: git quotes
# the names that need it, and reads them so.
find_hidden() {
  absent=S
  if [ "$(theirs config --type=bool core.sparseCheckout 2> /dev/null)" = true ]; then absent=; fi
  own ls-files -v -- "$@" | sed -n "s/^[a-z$absent] //p" > "$work/hidden"
}
reveal() {
  [ -s "$work/hidden" ] || return 0
  own update-index --no-assume-unchanged --stdin < "$work/hidden" || return
  [ -z "$absent" ] || own update-index --no-skip-worktree --stdin < "$work/hidden"
}
unhide() { find_hidden "$@" && reveal; }
# A file may not have the encoding that attributes claim.
add_files() {
  own -c advice.addEmbeddedRepo=false add -A --sparse -- . 2> /dev/null && return
  attribute '!working-tree-encoding'
  own -c advice.addEmbeddedRepo=false add -A --sparse -- .
}
links() {
  own -c core.quotePath=false ls-files -s -- "$@" |
    sed -n 's/^160000 \([0-9a-f]*\) 0.\(.*\)/\1 \2/p'
}
# `within PATH DO` runs DO in the submodule at PATH, for which git is set up as for the tree, and
# nothing where none is laid out. A git that looks into one would run what that configures.
within() (
  [ "$deep" -lt MAX_DEPTH ] && [ ! -L "$1" ] && cd -P -- "$1" 2> /dev/null || exit 0
  case $PWD in "$top"/*) top=$PWD line= ;; *) exit 0 ;; esac
  if [ -L .git ]; then exit 0
  elif [ -d .git ]; then gitdir=$top/.git
  elif [ -f .git ]; then
    read -r line < .git || :
    gitdir=${line#gitdir: }
    case $gitdir in /*) ;; *) gitdir=$top/$gitdir ;; esac
  else exit 0; fi
  objects=$gitdir/objects deep=$((deep + 1))
  [ -d "$objects" ] || exit 0
  work=$work/s index=$work/s/index
  [ -d "$work/g" ] || { mkdir "$work" && cp -R "${work%/s}/g" "$work/g"; } || exit 0
  shift
  "$@"
)
# `each_link DO` runs DO with commit and path of each submodule of a tree that names some.
each_link() {
  [ "$deep" -gt 0 ] || [ -e "$top/.gitmodules" ] || return 0
  links | head -n MAX_SUBMODULES | while read -r one path; do
    "$@" "$one" "$path" < /dev/null
  done
}
# Leaves in a submodule, by three processes, `links` to those that lie in it, and the `status`.
look_inside() {
  glance || locate
  if [ -f "$gitdir/index" ] && [ ! -L "$gitdir/index" ]; then index=$gitdir/index; else copy; fi
  own -c core.quotePath=false ls-files -v -s |
    sed -n -e "/^[a-zS] /w $work/hidden" -e 's/^. 160000 \([0-9a-f]*\) 0.\(.*\)/\1 \2/p' \
    > "$work/links"
  if [ -s "$work/hidden" ]; then
    copy
    unhide || return
  fi
  own status --porcelain=v1 --no-renames --ignore-submodules=dirty > "$work/status"
}
is_plain() { look_inside && [ ! -s "$work/status" ] && [ ! -s "$work/links" ]; }
own() {
  GIT_DIR="$work/g" GIT_WORK_TREE="$top" GIT_INDEX_FILE="$index" \
    GIT_OBJECT_DIRECTORY="$objects" git --literal-pathspecs -c core.fsmonitor=false "$@"
}
""".replace("MAX_DEPTH", str(MAX_DEPTH)).replace("MAX_SUBMODULES", str(MAX_SUBMODULES))
QUIET: Final = _OPENED + _CHECKED + _LAID_OUT
QUIET_LOCATING: Final = _OPENED + _LAID_OUT

# Prints number and commit of each checkpoint, oldest first.
POINTS: Final = r"""
points() {
  theirs for-each-ref --format='%(objectname) %(refname)' refs/atoll/checkpoints \
    | sed -n 's,^\([0-9a-f]*\) refs/atoll/checkpoints/[A-Za-z0-9_-]*/\([0-9]\{1\,9\}\)$,\2 \1,p' \
    | sort -n
}
"""

# `take TERMINAL SUBJECT` commits the working tree as the next checkpoint, unless the newest one is
# the same; `number` and `one` are then that one's. Leaves the index of the commit in `$work/index`.
# A submodule with edits has a checkpoint of its own, which the tree names as its commit. A person's
# has one in any case: its branch may be moved next.
TAKE: Final = (
    POINTS
    + rf"""
export GIT_AUTHOR_NAME=Atoll GIT_AUTHOR_EMAIL=atoll@atoll.invalid
export GIT_COMMITTER_NAME=Atoll GIT_COMMITTER_EMAIL=atoll@atoll.invalid
record() {{ theirs -c core.hooksPath=/dev/null update-ref "$@"; }}
copy_excludes() {{
  if [ -f "$gitdir/info/exclude" ]; then cp "$gitdir/info/exclude" "$work/g/info/"
  else : > "$work/g/info/exclude"; fi
}}
take() {{ add_all "$@" && commit_tree "$@"; }}
add_all() {{
  settle
  copy_excludes
  unhide || return 14
  add_files 2> /dev/null || own add -u --sparse -- . || return 15
  each_link take_link "$1" "$2" > "$work/taken"
  [ ! -s "$work/taken" ] || own update-index --index-info < "$work/taken" || return 14
  tree=$(own write-tree) || return 15
}}
take_link() {{
  taken=$(within "$4" take_inside "$1" "$2")
  [ -z "$taken" ] || printf '160000 %s 0\t%s\n' "$taken" "$4"
}}
take_inside() {{
  if [ "$1" != person ] && is_plain; then exit 0; fi
  add_all "$@" > /dev/null && [ -n "$head" ] || exit 0
  if [ "$1" = person ] || [ "$tree" != "$(own rev-parse "$head^{{tree}}")" ]; then
    commit_tree "$@" > /dev/null && echo "$one"
  fi
}}
commit_tree() {{
  points > "$work/points"
  number=$(sed -n '$s/ .*//p' "$work/points")
  last=$(sed -n '$s/.* //p' "$work/points") one=$last
  if [ -n "$last" ] && [ "$(own rev-parse "$last^{{tree}}")" = "$tree" ] \
    && [ "$(own rev-parse -q --verify "$last^")" = "$head" ]; then return 0; fi
  number=$((${{number:-0}} + 1))
  one=$(own commit-tree ${{head:+-p "$head"}} -m "$2" "$tree") || return 14
  record "refs/atoll/checkpoints/$1/$number" "$one" || return 14
  theirs for-each-ref --format='%(refname)' refs/atoll/checkpoints | while read -r ref; do
    old=${{ref##*/}}
    case $old in '' | *[!0-9]*) old=0 ;; esac
    if [ "$old" -le $((number - {MAX_CHECKPOINTS})) ]; then record -d "$ref"; fi
  done
}}
"""
)

# $1 terminal  $2 subject. Takes a checkpoint of each repository in the current directory.
CHECKPOINT: Final = (
    r"""
if [ -d .git ]; then set -- "$1" "$2" .; else set -- "$1" "$2" */.git */*/.git; fi
terminal=$1 subject=$2
shift 2
for folder; do
  [ -d "$folder" ] || continue
  (
    set -- "${folder%/.git}" ''
"""
    + QUIET
    + TAKE
    + r"""
    take "$terminal" "$subject"
  )
done
"""
)

# `begun` prints the commit at which the branch left the one that it is compared with, in the shared
# repository whose objects the tree borrows; nothing where there is none.
BEGUN: Final = r"""
begun() {
  store=$(sed -n '1s,/objects$,,p' "$top/.git/objects/info/alternates" 2> /dev/null)
  [ -d "$store" ] && [ -n "$head" ] || return 0
  from=$(theirs config --get atoll.from) || from=
  for one in "refs/heads/$from" "refs/tags/$from" HEAD; do
    tip=$(git --git-dir="$store" rev-parse -q --verify "$one^{commit}" 2> /dev/null) || continue
    own merge-base "$tip" "$head" 2> /dev/null || echo "$tip"
    return 0
  done
}
"""

# `count FROM` prints, as `PLUS MINUS` lines, what the files have gained since the commit FROM, of
# the tree and of its submodules; nothing where they are the same. The index is a copy.
COUNT: Final = r"""
count() {
  [ -e "$top/.gitmodules" ] || [ "$deep" -gt 0 ] && links=all || links=dirty
  own ls-files -o --exclude-standard | head -n 5000 | sed -e '/\/"*$/d' \
    -e "s/^/100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391$(printf '\t')/" |
    own update-index --index-info
  own diff --shortstat --no-color --no-ext-diff --no-textconv -M --ignore-submodules=$links "$1" |
    sed -n -e 's/ file.* \([0-9]*\) ins[^ ]* \([0-9]*\) del.*/ \1 \2/' \
      -e 's/ file.* \([0-9]*\) ins.*/ \1 0/' -e 's/ file.* \([0-9]*\) del.*/ 0 \1/' \
      -e 's/ file.*/ 0 0/' -e 's/^ *[0-9]* //p'
  each_link count_link "$1"
}
count_link() {
  then=$(own rev-parse -q --verify "$1:$3") || { then=$2 && echo '1 0'; }
  if [ -e "$3/.git" ]; then within "$3" count_inside "$then"
  elif [ "$then" != "$2" ]; then echo '1 1'; fi
}
count_inside() {
  if is_plain && [ "$head" = "$1" ]; then exit 0; fi
  copy
  unhide || exit 0
  if own cat-file -e "$1^{commit}" 2> /dev/null; then count "$1"; else echo '1 1'; fi
}
"""

# $1 terminal. Prints of each repository in the current directory, as `COMMITS PLUS MINUS`, what
# its files and commits gained since the branch began; where that is not known, since the first
# checkpoint of this terminal.
TALLY: Final = (
    r"""
if [ -d .git ]; then set -- "$1" .; else set -- "$1" */.git */*/.git; fi
terminal=$1
shift
for folder; do
  [ -d "$folder" ] || continue
  (
    set -- "${folder%/.git}" ''
"""
    + QUIET
    + POINTS
    + BEGUN
    + COUNT
    + r"""
    compare_raw
    settle
    unhide || exit 14
    first=$(begun)
    [ -n "$first" ] || first=$(theirs for-each-ref \
      --format='%(refname:lstrip=4) %(objectname)' "refs/atoll/checkpoints/$terminal/" \
      | sort -n | sed -n '1s/.* //p')
    [ -n "$first" ] || first=$(points | sed -n '1s/.* //p')
    [ -n "$first" ] || exit 0
    commits=$(own rev-list --count "$first..${head:-$first}") || exit 14
    count "$first" | {
      plus=0 minus=0
      while read -r more less; do plus=$((plus + more)) minus=$((minus + less)); done
      echo "$commits $plus $minus"
    }
  )
done
"""
)
