"""Repositories: fetch a remote, receive an upload, return a sandbox's commits."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.annotations import QueryKey
from atoll.wire.api.fields import FIRST_PAGE, Address, CommitId, Paging, RepoNumber, SandboxRef
from atoll.wire.api.operation import Answer, Area, Request, Stream, operation

BUNDLE = "application/x-git-bundle"

LocalKey = Annotated[
    str, Meta(description="16 to 64 hex digits the uploader chose.", min_length=1, max_length=64)
]


class RepositoryView(Answer):
    """A shared repository. `repo_url` is empty for an uploaded checkout without an origin."""

    key: str
    name: str
    repo_url: str
    bytes: int
    fetched_at: str


class Ref(Answer):
    """A full ref name and the commit it names."""

    name: str
    commit: str


class RepositoryWithRefs(RepositoryView):
    """A shared repository and its refs; the branch HEAD stands for comes first."""

    refs: list[Ref]


class RepositoryList(Answer):
    """The shared repositories, by key."""

    repositories: list[RepositoryView]
    next: str | None


class FetchBody(Request):
    """The remote: `owner/repo`, or an https or ssh address."""

    repo_url: Address


class HaveBody(Request):
    """Commits the uploader has."""

    tips: Annotated[list[CommitId], Meta(max_length=512)]


class HaveView(Answer):
    """The commits among them that the server already has."""

    have: list[str]


class Repositories(Area):
    """Repositories that the server shares among sandboxes."""

    tag = "repositories"
    needs = "repository.read"

    @operation("GET /v1/repositories", name="list_repositories")
    def list(self, *, page: Paging = FIRST_PAGE) -> RepositoryList:
        """Return every shared repository."""

    @operation(
        "POST /v1/repositories/fetch",
        name="fetch_repository",
        needs="repository.write",
        problems=(404, 502),
    )
    def fetch(self, body: FetchBody) -> RepositoryWithRefs:
        """Make or update the shared repository of a remote."""

    @operation("GET /v1/repositories/local/{key}", name="get_uploaded_repository", problems=(404,))
    def uploaded(self, key: LocalKey) -> RepositoryWithRefs:
        """Return an uploaded checkout with its branches and tags."""

    @operation("POST /v1/repositories/local/{key}/have", name="have_commits")
    def have(self, key: LocalKey, body: HaveBody) -> HaveView:
        """Return the commits that an upload may leave out."""

    @operation(
        "PUT /v1/repositories/local/{key}",
        name="upload_repository",
        needs="repository.write",
        problems=(409, 413, 502),
        takes=BUNDLE,
    )
    def upload(
        self,
        key: LocalKey,
        *,
        name: Annotated[str, Meta(description="The folder's name.", max_length=64)],
        head: Annotated[str, Meta(description="The branch HEAD is on.", max_length=200)],
        tip: Annotated[
            str, Meta(description="Its commit; needed when the body is empty.", max_length=40)
        ] = "",
        repo_url: Annotated[
            str, Meta(description="The checkout's own origin, as https.", max_length=500)
        ] = "",
        default: Annotated[
            bool, Meta(description="Sandboxes that name no branch begin from `head` from now on.")
        ] = True,
    ) -> RepositoryWithRefs:
        """Receive a checkout: a git bundle, or no body when the server already has `tip`."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/bundle",
        name="bundle_commits",
        problems=(404, 409, 413, 502),
        stream=BUNDLE,
        about="A git bundle of one branch.",
    )
    def bundle(
        self,
        sandbox: SandboxRef,
        *,
        repo: RepoNumber = 0,
        branch: Annotated[
            Annotated[str, Meta(max_length=200)] | None,
            Meta(description="The sandbox's own when left out."),
        ] = None,
        every: Annotated[
            bool, QueryKey("all"), Meta(description="Every branch with new commits.")
        ] = False,
        uncommitted: Annotated[
            bool, Meta(description="With a commit of what is not committed on top.")
        ] = False,
    ) -> Stream:
        """Return the commits of one branch, or with `all` of every one, that its shared repository
        lacks, checked.

        `409` with code `nothing_new` when there are none.
        """
