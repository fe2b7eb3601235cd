"""Changes: the files that differ in a sandbox, and their diff.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape

ChangeKind = Literal["added", "modified", "deleted", "renamed", "copied", "retyped", "unmerged"]


class ChangedFile(Shape):
    """A file that differs. `uncommitted` and `untracked` tell how much of it git has; `digest`
    changes whenever the file does. A binary file has sizes in bytes instead of counts, where its
    sides are known."""

    path = fields.text()
    kind: Field[ChangeKind] = fields.word()
    old_path = fields.text()
    old_mode = fields.text()
    new_mode = fields.text()
    additions = fields.number()
    deletions = fields.number()
    binary = fields.flag()
    uncommitted = fields.flag()
    untracked = fields.flag()
    digest = fields.text()
    old_size = fields.number(-1)
    new_size = fields.number(-1)


class TreeChanges(Shape):
    """Changes of a repository: the first files of `total`. `commits` counts what HEAD has beyond
    `base`."""

    branch = fields.text()
    head = fields.text()
    base = fields.text()
    commits = fields.number()
    additions = fields.number()
    deletions = fields.number()
    total = fields.number()
    digest = fields.text()
    files = fields.many(ChangedFile)


class Hunk(Shape):
    """Consecutive lines; each begins with a space, `+`, `-` or a backslash, as in the diff."""

    old_start = fields.number()
    old_lines = fields.number()
    new_start = fields.number()
    new_lines = fields.number()
    heading = fields.text()
    lines = fields.texts()


class FileDiff(Shape):
    """The diff of one file; `truncated` when lines are missing."""

    path = fields.text()
    old_path = fields.text()
    old_mode = fields.text()
    new_mode = fields.text()
    binary = fields.flag()
    truncated = fields.flag()
    hunks = fields.many(Hunk)


class Diff(Shape):
    """Changes line by line; `truncated` when some are missing."""

    truncated = fields.flag()
    files = fields.many(FileDiff)
