"""The script that describes the working trees of a sandbox, and how its output is read.

It runs inside, without anything the repositories configure (`wire.git.checkpoints`). An agent can
falsify what it prints.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from atoll.wire.contract.trees import MAX_CONFLICTS, MAX_TREES, TreeReport
from atoll.wire.git.checkpoints import BEGUN, COUNT, QUIET
from atoll.wire.words.library import ConflictKind

_MAX_COUNT: Final = 999_999_999
_MAX_NAME: Final = 300
_MAX_PATH: Final = 4096
_FIELDS: Final = 11

# `digest FROM` prints the digest of the change since the commit FROM, after `count FROM`: of its
# lines, without their places and without objects. So it stays the same when the change is committed
# or rebased, and where it is empty nothing is printed.
DIGEST: Final = r"""
digest() {
  own diff -U0 --no-color --no-ext-diff --no-textconv --no-renames --binary \
    --ignore-submodules=dirty "$1" | sed -e '/^index [0-9a-f]/d' -e 's/^@@ .*/@@/' > "$work/change"
  [ ! -s "$work/change" ] || own hash-object --no-filters "$work/change"
}
"""

# `stopped` leaves `kind` and `onto` of a git command that waits to be continued, and the `branch`
# it was begun on.
_STOPPED: Final = r"""
name_of() {
  named=$(theirs for-each-ref --count=1 --points-at="$1" --format='%(refname:lstrip=3)' \
    refs/remotes/atoll 2> /dev/null)
  [ -n "$named" ] || named=$(theirs for-each-ref --count=1 --points-at="$1" \
    --format='%(refname:lstrip=2)' refs/heads 2> /dev/null)
  [ -n "$named" ] || named=${1%"${1#????????????}"}
  printf '%s' "$named"
}
first_line() { [ -f "$1" ] && [ ! -L "$1" ] && head -c 400 "$1" | sed -n '1p'; }
stopped() {
  kind= onto=
  for one in rebase-merge rebase-apply; do
    state=$top/.git/$one
    [ -d "$state" ] && [ ! -L "$state" ] || continue
    if [ ! -s "$work/unmerged" ]; then
      [ "$one" = rebase-apply ] || [ -f "$state/stopped-sha" ] || continue
      [ ! -f "$state/amend" ] || continue
    fi
    kind=rebase onto=$(first_line "$state/onto")
    begun_on=$(first_line "$state/head-name")
    branch=${begun_on#refs/heads/}
  done
  for one in MERGE_HEAD:merge CHERRY_PICK_HEAD:cherry_pick REVERT_HEAD:revert; do
    [ -z "$kind" ] && [ -f "$top/.git/${one%%:*}" ] || continue
    kind=${one#*:} onto=$(first_line "$top/.git/${one%%:*}")
  done
  case $onto in *[!0-9a-f]*) onto= ;; ?*) onto=$(name_of "$onto") ;; esac
}
"""

# Prints of each repository in the current directory, each ended by NUL: its path, branch, HEAD,
# commits, lines added and removed since the branch began, files that are not committed, the digest
# of the change, what stopped and onto what, how many files are in conflict, and the first of these.
# A tree whose beginning is not known is compared with its HEAD.
TREES: Final = (
    r"""
if [ -d .git ]; then set -- .; else set -- */.git */*/.git; fi
number=0
for folder; do
  [ -d "$folder" ] || continue
  number=$((number + 1))
  [ "$number" -le MAX_TREES ] || break
  (
    set -- "${folder%/.git}" ''
""".replace("MAX_TREES", str(MAX_TREES))
    + QUIET
    + BEGUN
    + COUNT
    + DIGEST
    + _STOPPED
    + r"""
    compare_raw
    settle
    unhide || exit 14
    own diff --name-only --diff-filter=U -z > "$work/unmerged"
    waiting=$(own status --porcelain=v1 -z --no-renames --untracked-files=all \
      --ignore-submodules=dirty | tr -dc '\0' | wc -c)
    stopped
    first=$(begun)
    [ -n "$first" ] || first=${head:-$empty}
    commits=0
    [ -z "$head" ] || commits=$(own rev-list --count "$head" "^$first" 2> /dev/null) || commits=0
    set -- $(count "$first" | {
      plus=0 minus=0
      while read -r more less; do plus=$((plus + more)) minus=$((minus + less)); done
      echo "$plus" "$minus"
    })
    files=$(tr -dc '\0' < "$work/unmerged" | wc -c)
    printf '%s\0' "$top" "$branch" "$head" "$commits" "$1" "$2" "$((waiting))" \
      "$(digest "$first")" "$kind" "$onto" "$((files))"
    head -c 12000 "$work/unmerged" | tr '\n\0' '\001\n' | sed -n '1,MAX_FILESp' |
      tr '\n\001' '\0\n'
    printf '\0'
  )
done
""".replace("MAX_FILES", str(MAX_CONFLICTS))
)


def read_trees(printed: bytes) -> tuple[TreeReport, ...]:
    """Return the trees that the script printed; those that cannot be read are left out."""
    texts = iter(part.decode("utf-8", "replace") for part in printed.split(b"\0"))
    return tuple(_each(texts))[:MAX_TREES]


def _each(texts: Iterator[str]) -> Iterator[TreeReport]:
    while True:
        fields = list(islice(texts, _FIELDS))
        if len(fields) < _FIELDS:
            return
        files: list[str] = []
        for name in texts:
            if not name:
                break
            files.append(name[:_MAX_PATH])
        tree = _tree(fields, tuple(files[:MAX_CONFLICTS]))
        if tree is not None:
            yield tree


def _tree(fields: list[str], files: tuple[str, ...]) -> TreeReport | None:
    path, branch, head, *counts, mark, kind, onto, conflicts = fields
    numbers = [_count(text) for text in (*counts, conflicts)]
    if not path or len(numbers) != 5 or None in numbers:
        return None
    commits, plus, minus, uncommitted, many = (number or 0 for number in numbers)
    try:
        conflict = ConflictKind(kind) if kind else None
    except ValueError:
        return None
    return TreeReport(
        path[:_MAX_PATH],
        branch[:_MAX_NAME],
        head[:64],
        commits,
        plus,
        minus,
        uncommitted,
        mark[:64],
        conflict,
        onto[:_MAX_NAME] if conflict else "",
        files if conflict else (),
        max(0, many - len(files)) if conflict else 0,
    )


def _count(text: str) -> int | None:
    plain = text.isascii() and text.isdecimal() and len(text) <= 15
    return min(int(text), _MAX_COUNT) if plain else None
