"""Changes: the files that differ in a sandbox, and their diff."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import RepoNumber, SandboxRef
from atoll.wire.api.operation import Answer, Area, Stream, operation
from atoll.wire.words.library import (
    MAX_CHANGE_SECONDS,
    MAX_CHECKPOINT,
    MAX_PATHS,
    Against,
    ChangeKind,
)

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")

TreePath = Annotated[str, Meta(min_length=1, max_length=4096)]
"""A path relative to a repository."""

Compared = Annotated[
    Against,
    Meta(
        description="`base` is the commit its branch began from, `turn` the files before the last "
        "turn of an agent, `uncommitted` HEAD."
    ),
]
CheckpointNumber = Annotated[
    Annotated[int, Meta(ge=1, le=MAX_CHECKPOINT)] | None,
    Meta(description="With `turn`, the turn that began at this checkpoint."),
]
Paths = Annotated[
    Annotated[list[TreePath], Meta(max_length=MAX_PATHS)] | None,
    Meta(description="Only this file or folder, relative to the repository; may be repeated."),
]
FAILURES = (404, 409, 429, 502)


class ChangedFile(Answer):
    """A file that differs. `uncommitted` and `untracked` tell how much of it git has; `digest`
    changes whenever the file does. A binary file has sizes in bytes instead of counts, where its
    sides are known."""

    path: str
    kind: ChangeKind
    old_path: str | None
    old_mode: str
    new_mode: str
    additions: int
    deletions: int
    binary: bool
    uncommitted: bool
    untracked: bool
    digest: str
    old_size: int | None
    new_size: int | None


class TreeChangesView(Answer):
    """Changes of a repository: the first files of `total`. `commits` counts what HEAD has beyond
    `base`."""

    branch: str | None
    head: str | None
    base: str | None
    commits: int
    additions: int
    deletions: int
    total: int
    digest: str
    files: list[ChangedFile]


class Hunk(Answer):
    """Consecutive lines; each begins with a space, `+`, `-` or a backslash, as in the diff."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    heading: str
    lines: list[str]


class FileDiff(Answer):
    """The diff of one file; `truncated` when lines are missing."""

    path: str
    old_path: str | None
    old_mode: str | None
    new_mode: str | None
    binary: bool
    truncated: bool
    hunks: list[Hunk]


class DiffView(Answer):
    """Changes line by line; `truncated` when some are missing."""

    truncated: bool
    files: list[FileDiff]


class TreeChanges(Area):
    """Changes of a sandbox's files."""

    tag = "review"
    needs = "file.read"

    @operation("GET /v1/sandboxes/{sandbox}/changes", name="list_changes", problems=FAILURES)
    def changes(
        self,
        sandbox: SandboxRef,
        *,
        repo: RepoNumber = 0,
        against: Compared = Against.BASE,
        path: Paths = None,
        checkpoint: CheckpointNumber = None,
        since: Annotated[
            str, Meta(description="The digest that is known.", pattern=r"^[0-9a-f]{0,64}\Z")
        ] = "",
        wait: Annotated[
            int,
            Meta(
                description="Seconds to wait while the digest is `since`.",
                ge=0,
                le=MAX_CHANGE_SECONDS,
            ),
        ] = 0,
    ) -> TreeChangesView:
        """Return the files that differ, at most 5,000 of them, as git inside the sandbox reports
        them.

        With `since` and `wait` the response comes once something changed, or after the wait.
        """

    @operation("GET /v1/sandboxes/{sandbox}/diff", name="get_diff", problems=FAILURES)
    def diff(
        self,
        sandbox: SandboxRef,
        *,
        repo: RepoNumber = 0,
        against: Compared = Against.BASE,
        path: Paths = None,
        checkpoint: CheckpointNumber = None,
        context: Annotated[int, Meta(description="Unchanged lines around.", ge=0, le=100_000)] = 3,
        whitespace: Annotated[
            bool, Meta(description="False leaves out changes of blanks alone.")
        ] = True,
    ) -> DiffView:
        """Return the changes line by line, at most 4 MiB of them, as git inside the sandbox
        computes them."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/changes/image",
        name="get_image",
        problems=FAILURES,
        stream=IMAGE_TYPES,
        about="The image.",
    )
    def image(
        self,
        sandbox: SandboxRef,
        *,
        path: Annotated[TreePath, Meta(description="The file.")],
        repo: RepoNumber = 0,
        commit: Annotated[
            str,
            Meta(
                description="The commit to take it from; the working tree by default.",
                pattern=r"^([0-9a-f]{40,64})?\Z",
            ),
        ] = "",
    ) -> Stream:
        """Return one side of a changed image: PNG, JPEG, GIF or WebP by its bytes, at most 4 MiB
        and 50 megapixels. Anything else, SVG among it, is `422`."""
