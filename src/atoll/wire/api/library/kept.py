"""Kept worktrees: files and commits that outlived their sandbox."""

from atoll.wire.api.fields import FIRST_PAGE, ItemId, Paging, RepoNumber
from atoll.wire.api.operation import Answer, Area, Stream, operation

TAR = "application/x-tar"
BUNDLE = "application/x-git-bundle"


class KeptView(Answer):
    """A worktree that outlived its sandbox. `path` is its directory on the server; `bundles` are
    the numbers of the repositories whose new commits are there. `generation` is set for work that a
    recreate saved; without `tree` there is no archive. `pushed` is the branch of a held push, whose
    sandbox may still be there."""

    kept_id: str
    sandbox_id: str
    sandbox_name: str
    path: str
    bytes: int
    bundles: list[int]
    kept_at: str
    kept_until: str
    generation: int | None
    tree: bool
    pushed: str | None


class KeptList(Answer):
    """The caller's kept worktrees, newest first."""

    kept: list[KeptView]
    next: str | None


class KeptFiles(Area):
    """Files the server keeps of sandboxes that were destroyed or recreated."""

    tag = "kept"
    needs = "sandbox.read"

    @operation("GET /v1/kept", name="list_kept")
    def list(self, *, page: Paging = FIRST_PAGE) -> KeptList:
        """Return the worktrees and work kept from sandboxes that were destroyed or recreated."""

    @operation("GET /v1/kept/{kept}", name="get_kept", problems=(404,))
    def get(self, kept: ItemId) -> KeptView:
        """Return one kept worktree."""

    @operation(
        "GET /v1/kept/{kept}/archive",
        name="kept_archive",
        needs="file.read",
        problems=(404,),
        stream=TAR,
        about="The files as tar.",
    )
    def archive(self, kept: ItemId) -> Stream:
        """Return the kept files as a tar archive."""

    @operation(
        "GET /v1/kept/{kept}/bundle",
        name="kept_bundle",
        needs="repository.read",
        problems=(404,),
        stream=BUNDLE,
        about="The new commits as a git bundle.",
    )
    def bundle(self, kept: ItemId, *, repo: RepoNumber = 0) -> Stream:
        """Return the new commits of one of its repositories."""

    @operation(
        "DELETE /v1/kept/{kept}",
        name="delete_kept",
        status=204,
        needs="sandbox.manage",
        problems=(404,),
    )
    def delete(self, kept: ItemId) -> None:
        """Delete the kept worktree permanently."""
