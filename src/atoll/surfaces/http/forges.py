"""Routes of issues and pull requests at forges, and of what a forge has."""

from atoll.services.forges.pull_requests import DiscussedPull, ForgePull, PullOffer
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import forges as api
from atoll.wire.api.forges import Issues, PullRequests

operations = Operations()


@operations.serves(PullRequests.list)
async def list_pull_requests(
    context: RequestContext, sandbox: str, *, repo: int = 0, branch: str | None = None
) -> api.PullRequestList:
    pulls = context.atoll.review.pull_requests
    found = await pulls.of(context.caller, sandbox, repo=repo, branch=branch)
    return api.PullRequestList(pull_requests=[_view(one) for one in found])


@operations.serves(PullRequests.create)
async def open_pull_request(
    context: RequestContext, sandbox: str, body: api.PullRequestBody
) -> api.PullRequestView:
    offer = PullOffer(body.title, body.text, body.repo, body.branch, body.base, body.draft)
    return _view(await context.atoll.review.pull_requests.open(context.caller, sandbox, offer))


@operations.serves(PullRequests.get)
async def get_pull_request(
    context: RequestContext, sandbox: str, number: int, *, repo: int = 0, branch: str | None = None
) -> api.DiscussedPullView:
    pulls = context.atoll.review.pull_requests
    found = await pulls.one(context.caller, sandbox, number, repo=repo, branch=branch)
    return _discussed_pull_view(found)


@operations.serves(PullRequests.branches)
async def list_forge_branches(
    context: RequestContext, sandbox: str, *, repo: int = 0
) -> api.ForgeNames:
    names = await context.atoll.review.pull_requests.branches(context.caller, sandbox, repo=repo)
    return api.ForgeNames(names=[*names])


@operations.serves(PullRequests.repositories)
async def list_forge_repositories(context: RequestContext, secret: str) -> api.ForgeNames:
    names = await context.atoll.review.pull_requests.repositories(context.caller, secret)
    return api.ForgeNames(names=[*names])


@operations.serves(Issues.get)
async def get_issue(context: RequestContext, *, address: str) -> api.IssueView:
    return answer_of(api.IssueView, await context.atoll.review.issues.find(context.caller, address))


def _view(found: ForgePull) -> api.PullRequestView:
    return answer_of(api.PullRequestView, found.pull, url=found.url, existed=found.existed)


def _discussed_pull_view(found: DiscussedPull) -> api.DiscussedPullView:
    shown = found.shown
    return answer_of(
        api.DiscussedPullView,
        shown.pull,
        url=shown.url,
        existed=shown.existed,
        checks=[answer_of(api.CheckView, one) for one in found.checks],
        comments=[answer_of(api.ForgeCommentView, one) for one in found.comments],
    )
