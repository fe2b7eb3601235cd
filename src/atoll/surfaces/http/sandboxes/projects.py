"""Routes of projects: what a repository's own file proposes, and a person's decisions on it.

A person is shown `proposals`, and `digest` stands for them: a decision must return it, so that
nobody approves what they did not see. All texts are spelled out: no control, bidi or escape
character of a repository gets here.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from atoll.domain.approvals.approval import spelled_out
from atoll.domain.people.capability import Capability
from atoll.domain.repository.project import (
    DecidedProject,
    Project,
    ProjectChanges,
    ProjectDecision,
    Proposal,
    ProposalKind,
    proposals,
)
from atoll.domain.repository.project_schema import project_schema
from atoll.domain.sandbox.sandbox import RepoRequest
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Address, Body, ResponseModel, Word
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/projects", tags=["projects"], route_class=JsonRoute)

SCHEMA = "application/schema+json"

Text = Annotated[str | None, Query(max_length=2000)]


class ProjectBody(Body):
    """A repository as a sandbox would be made from it: `repo_url`, or the `key` of one uploaded
    before."""

    repo_url: Address | None = None
    key: Word | None = None
    branch: Word | None = None
    from_branch: Word | None = None

    def to_domain(self) -> RepoRequest:
        """Return the domain's value."""
        return RepoRequest(self.repo_url or "", self.branch, self.from_branch, self.key)


class DecisionBody(Body):
    """A decision. `shown` is the `digest` of what the person saw."""

    repository: ProjectBody
    shown: Annotated[str, Field(min_length=64, max_length=64, strict=True)]
    decision: ProjectDecision


class ProposalView(ResponseModel):
    """A request of the file that a person decides on; `text` is exact."""

    kind: ProposalKind
    text: str


class ProjectChangesView(ResponseModel):
    """The proposals that came and went since the last decision."""

    added: list[ProposalView]
    removed: list[ProposalView]


class ProjectView(ResponseModel):
    """A repository's project file and the caller's decision on it.

    `file` is empty where there is none, `problem` says why one cannot be used. `agent` is a
    default, and so is an approved `profile`. `ignored` lists entries without effect. `undecided`: a
    person is to be asked.
    """

    repository: str
    commit: str
    file: str
    digest: str
    decision: ProjectDecision | None
    undecided: bool
    proposals: list[ProposalView]
    changes: ProjectChangesView
    agent: str | None
    profile: str | None
    ignored: list[str]
    problem: str | None


class DecidedView(ResponseModel):
    """A decision that is remembered."""

    repository: str
    digest: str
    decision: ProjectDecision
    file: str
    proposals: list[ProposalView]
    decided_at: str


class ProjectList(PageModel):
    """The caller's decisions, newest first."""

    projects: list[DecidedView]


@router.get("", response_model=ProjectList, responses=problems())
@needs(Capability.REPOSITORY_READ)
async def list_projects(atoll: Atoll, caller: Caller, *, page: Paged) -> Response:
    """Return the decisions that the caller made."""
    found = await atoll.projects.list(caller, page.rows())
    return Json(page.of_rows(found, name="projects", view=_decided))


@router.get(
    "/schema.json",
    response_model=None,
    responses={
        200: {"description": "A JSON Schema.", "content": {SCHEMA: {"schema": {"type": "object"}}}},
        **problems(),
    },
)
@needs(Capability.REPOSITORY_READ)
async def get_schema(_caller: Caller) -> Response:
    """Return the JSON Schema of `.atoll.yaml`."""
    return Json(project_schema(), media_type=SCHEMA)


@router.get("/file", response_model=ProjectView, responses=problems(404, 502))
@needs(Capability.REPOSITORY_READ)
async def read_project_file(
    atoll: Atoll,
    caller: Caller,
    *,
    repo_url: Text = None,
    key: Text = None,
    branch: Text = None,
    from_branch: Text = None,
) -> Response:
    """Return the project file of the commit that a sandbox would start from."""
    request = RepoRequest(repo_url or "", branch, from_branch, key)
    return Json(_view(await atoll.projects.read(caller, request)))


@router.post("/decision", response_model=ProjectView, responses=problems(404, 409, 502))
@needs(Capability.APPROVAL_DECIDE)
async def decide_project(atoll: Atoll, caller: Caller, *, body: DecisionBody) -> Response:
    """Approve or decline exactly what was shown."""
    decided = await atoll.projects.decide(
        caller, body.repository.to_domain(), digest=body.shown, decision=body.decision
    )
    return Json(_view(decided))


@router.delete("/decision", status_code=204, response_model=None, responses=problems())
@needs(Capability.APPROVAL_DECIDE)
async def forget_project(
    atoll: Atoll,
    caller: Caller,
    *,
    repository: Annotated[str, Query(description="Its key.", max_length=2000)],
) -> Response:
    """Drop the decisions on a repository: it is asked again."""
    await atoll.projects.forget(caller, repository)
    return no_content()


def _view(found: Project) -> dict[str, Any]:
    content = found.content
    proposed = proposals(content)
    return ProjectView.of(
        found,
        file=content.source,
        undecided=bool(proposed) and found.decision is None,
        proposals=[_proposal(one) for one in proposed],
        changes=_changes(found.changes),
        agent=content.agent,
        profile=content.profile,
        ignored=[*content.ignored],
    )


def _changes(changes: ProjectChanges) -> dict[str, Any]:
    return {
        "added": [_proposal(one) for one in changes.added],
        "removed": [_proposal(one) for one in changes.removed],
    }


def _decided(one: DecidedProject) -> dict[str, Any]:
    return DecidedView.of(
        one,
        file=one.content.source,
        repository=spelled_out(one.repository),
        proposals=[_proposal(each) for each in proposals(one.content)],
    )


def _proposal(one: Proposal) -> dict[str, Any]:
    return ProposalView.of(one)
