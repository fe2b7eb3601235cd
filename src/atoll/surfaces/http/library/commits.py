"""Routes of commits: list the history of a sandbox's repository, and show one commit."""

from atoll.domain.errors import Invalid
from atoll.services.library.commits import MAX_SKIPPED
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.library import commits as api
from atoll.wire.api.library.commits import Commits
from atoll.wire.words.library import MAX_COMMITS

operations = Operations()


@operations.serves(Commits.list)
async def list_commits(
    context: RequestContext,
    sandbox: str,
    *,
    repo: int = 0,
    cursor: str = "",
    limit: int = MAX_COMMITS,
) -> api.CommitPage:
    skip = int(cursor or "0")
    if skip > MAX_SKIPPED:
        raise Invalid(f"at most {MAX_SKIPPED} commits are listed", field="cursor")
    found = await context.atoll.review.commits.history(
        context.caller, sandbox, repo=repo, skip=skip, limit=limit
    )
    end = skip + limit
    following = str(end) if found.more and end <= MAX_SKIPPED else None
    return answer_of(api.CommitPage, found, refs=found.refs, next=following)


@operations.serves(Commits.show)
async def show_commit(
    context: RequestContext, sandbox: str, commit: str, *, repo: int = 0
) -> api.ShownCommitView:
    commits = context.atoll.review.commits
    found = await commits.show(context.caller, sandbox, commit, repo=repo)
    return answer_of(api.ShownCommitView, found, files=found.files)
