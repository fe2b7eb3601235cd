"""Reports on the working trees of a sandbox, which its runtime writes into its journal."""

from typing import Annotated, Final

import msgspec

from atoll.wire.words.library import ConflictKind

MAX_TREES: Final = 16
"""Working trees of one report."""

MAX_CONFLICTS: Final = 50
"""Files in conflict that a report names; the others are counted."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=999_999_999)]
_Name = Annotated[str, msgspec.Meta(max_length=300)]
_Path = Annotated[str, msgspec.Meta(max_length=4096)]


class TreeReport(msgspec.Struct, frozen=True):
    """A working tree as git inside last described it; an agent can falsify that.

    `commits`, `plus` and `minus` are what it gained since its branch began, `uncommitted` counts
    files that are not committed. `mark` is a digest of the change itself: it stays the same when
    that is committed or rebased, and is empty where nothing changed. A `conflict` waits, onto or
    with `onto`, in `files` and `more` others.
    """

    path: _Path
    branch: _Name = ""
    head: _Name = ""
    commits: _Count = 0
    plus: _Count = 0
    minus: _Count = 0
    uncommitted: _Count = 0
    mark: _Name = ""
    conflict: ConflictKind | None = None
    onto: _Name = ""
    files: Annotated[tuple[_Path, ...], msgspec.Meta(max_length=MAX_CONFLICTS)] = ()
    more: _Count = 0
