"""Routes of projects: what a repository's own file proposes, and a person's decisions on it."""

from starlette.responses import Response

from atoll.domain.approvals.approval import spelled_out
from atoll.domain.repository.project import DecidedProject, Project, proposals
from atoll.domain.repository.project_schema import project_schema
from atoll.domain.sandboxes.sandbox import RepoRequest
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.library import projects as api
from atoll.wire.api.library.projects import Projects

operations = Operations()


@operations.serves(Projects.list)
async def list_projects(context: RequestContext, *, page: Paging = FIRST_PAGE) -> api.ProjectList:
    asked = context.page(page)
    rows = await context.atoll.projects.list(context.caller, asked.rows())
    decided, following = asked.rows_and_next(rows, _decided_view)
    return api.ProjectList(projects=decided, next=following)


@operations.streams(Projects.schema)
async def get_schema(_context: RequestContext) -> Response:
    return Json(project_schema(), media_type=api.SCHEMA)


@operations.serves(Projects.read)
async def read_project_file(
    context: RequestContext,
    *,
    repo_url: str | None = None,
    key: str | None = None,
    branch: str | None = None,
    from_branch: str | None = None,
) -> api.ProjectView:
    request = RepoRequest(repo_url or "", branch, from_branch, key)
    return _view(await context.atoll.projects.read(context.caller, request))


@operations.serves(Projects.decide)
async def decide_project(context: RequestContext, body: api.DecisionBody) -> api.ProjectView:
    asked = body.repository
    repository = RepoRequest(asked.repo_url or "", asked.branch, asked.from_branch, asked.key)
    decided = await context.atoll.projects.decide(
        context.caller, repository, digest=body.shown, decision=body.decision
    )
    return _view(decided)


@operations.serves(Projects.forget)
async def forget_project(context: RequestContext, *, repository: str) -> None:
    await context.atoll.projects.forget(context.caller, repository)


def _view(found: Project) -> api.ProjectView:
    content = found.content
    proposed = proposals(content)
    return answer_of(
        api.ProjectView,
        found,
        file=content.source,
        undecided=bool(proposed) and found.decision is None,
        proposals=[answer_of(api.ProposalView, one) for one in proposed],
        agent=content.agent,
        profile=content.profile,
        ignored=[*content.ignored],
    )


def _decided_view(one: DecidedProject) -> api.DecidedView:
    return answer_of(
        api.DecidedView,
        one,
        file=one.content.source,
        repository=spelled_out(one.repository),
        proposals=[answer_of(api.ProposalView, each) for each in proposals(one.content)],
    )
