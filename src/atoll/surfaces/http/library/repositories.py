"""Routes of repositories: fetch a remote, receive an upload, return a sandbox's commits."""

from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.repository.repository import read_local
from atoll.ports.repositories import Ref, StoredRepository
from atoll.services.library.workspaces import ALL_BRANCHES
from atoll.surfaces.http.body.json_body import stream_body
from atoll.surfaces.http.body.streams import ForwardedStream
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.library import repositories as api
from atoll.wire.api.library.repositories import Repositories

MAX_UPLOAD_BYTES = 16 * 1024 * 1024 * 1024
"""The bound on one request; the shelf's own cap is usually lower."""

operations = Operations()


@operations.serves(Repositories.list)
async def list_repositories(
    context: RequestContext, *, page: Paging = FIRST_PAGE
) -> api.RepositoryList:
    found = await context.atoll.repositories.list(context.caller)
    shown, following = context.page(page).items_and_next(
        found, key=lambda one: one.key, view=lambda one: answer_of(api.RepositoryView, one)
    )
    return api.RepositoryList(repositories=shown, next=following)


@operations.serves(Repositories.fetch)
async def fetch_repository(context: RequestContext, body: api.FetchBody) -> api.RepositoryWithRefs:
    return _with_refs(*await context.atoll.repositories.fetch(context.caller, body.repo_url))


@operations.serves(Repositories.uploaded)
async def get_uploaded_repository(context: RequestContext, key: str) -> api.RepositoryWithRefs:
    return _with_refs(*await context.atoll.repositories.get_uploaded(context.caller, key))


@operations.serves(Repositories.have)
async def have_commits(context: RequestContext, key: str, body: api.HaveBody) -> api.HaveView:
    have = await context.atoll.repositories.have(context.caller, key, tuple(body.tips))
    return api.HaveView(have=list(have))


@operations.serves(Repositories.upload)
async def upload_repository(
    context: RequestContext,
    key: str,
    *,
    name: str,
    head: str,
    tip: str = "",
    repo_url: str = "",
    default: bool = True,
) -> api.RepositoryWithRefs:
    source = read_local(key, name, repo_url)
    stored, refs = await context.atoll.repositories.receive(
        context.caller,
        source,
        head=Ref(head, tip),
        body=stream_body(context.request, MAX_UPLOAD_BYTES),
        default=default,
    )
    return _with_refs(stored, refs)


@operations.streams(Repositories.bundle)
async def bundle_commits(
    context: RequestContext,
    sandbox: str,
    *,
    repo: int = 0,
    branch: str | None = None,
    every: bool = False,
    uncommitted: bool = False,
) -> Response:
    if every and branch is not None:
        raise Invalid("name one branch or take all, not both", field="branch")
    opened = context.atoll.repositories.bundle(
        context.caller,
        sandbox,
        number=repo,
        branch=ALL_BRANCHES if every else branch,
        uncommitted=uncommitted,
    )
    saved = {"Content-Disposition": 'attachment; filename="commits.bundle"'}
    return ForwardedStream(opened, media_type=api.BUNDLE, headers=saved)


def _with_refs(stored: StoredRepository, refs: tuple[Ref, ...]) -> api.RepositoryWithRefs:
    shown = [answer_of(api.Ref, one) for one in refs]
    return answer_of(api.RepositoryWithRefs, stored, refs=shown)
