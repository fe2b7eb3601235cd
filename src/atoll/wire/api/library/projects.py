"""Projects: what a repository's own file proposes, and a person's decisions on it.

A person is shown `proposals`, and `digest` stands for them: a decision must return it, so that
nobody approves what they did not see. All texts are spelled out: no control, bidi or escape
character of a repository gets here.
"""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import FIRST_PAGE, Address, Paging, Word
from atoll.wire.api.operation import Answer, Area, Request, Stream, operation
from atoll.wire.words.library import ProjectDecision, ProposalKind

SCHEMA = "application/schema+json"

Text = Annotated[str, Meta(max_length=2000)]


class ProjectBody(Request):
    """A repository as a sandbox would be made from it: `repo_url`, or the `key` of one uploaded
    before."""

    repo_url: Address | None = None
    key: Word | None = None
    branch: Word | None = None
    from_branch: Word | None = None


class DecisionBody(Request):
    """A decision. `shown` is the `digest` of what the person saw."""

    repository: ProjectBody
    shown: Annotated[str, Meta(min_length=64, max_length=64)]
    decision: ProjectDecision


class ProposalView(Answer):
    """A request of the file that a person decides on; `text` is exact."""

    kind: ProposalKind
    text: str


class ProjectChangesView(Answer):
    """The proposals that came and went since the last decision."""

    added: list[ProposalView]
    removed: list[ProposalView]


class ProjectView(Answer):
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


class DecidedView(Answer):
    """A decision that is remembered."""

    repository: str
    digest: str
    decision: ProjectDecision
    file: str
    proposals: list[ProposalView]
    decided_at: str


class ProjectList(Answer):
    """The caller's decisions, newest first."""

    projects: list[DecidedView]
    next: str | None


class Projects(Area):
    """Project files of repositories, and decisions on them."""

    tag = "projects"
    needs = "repository.read"

    @operation("GET /v1/projects", name="list_projects")
    def list(self, *, page: Paging = FIRST_PAGE) -> ProjectList:
        """Return the decisions that the caller made."""

    @operation(
        "GET /v1/projects/schema.json", name="get_schema", stream=SCHEMA, about="A JSON Schema."
    )
    def schema(self) -> Stream:
        """Return the JSON Schema of `.atoll.yaml`."""

    @operation("GET /v1/projects/file", name="read_project_file", problems=(404, 502))
    def read(
        self,
        *,
        repo_url: Text | None = None,
        key: Text | None = None,
        branch: Text | None = None,
        from_branch: Text | None = None,
    ) -> ProjectView:
        """Return the project file of the commit that a sandbox would start from."""

    @operation(
        "POST /v1/projects/decision",
        name="decide_project",
        needs="approval.decide",
        problems=(404, 409, 502),
    )
    def decide(self, body: DecisionBody) -> ProjectView:
        """Approve or decline exactly what was shown."""

    @operation(
        "DELETE /v1/projects/decision", name="forget_project", status=204, needs="approval.decide"
    )
    def forget(
        self, *, repository: Annotated[str, Meta(description="Its key.", max_length=2000)]
    ) -> None:
        """Drop the decisions on a repository: it is asked again."""
