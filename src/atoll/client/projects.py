"""Projects over the API: what a repository's own file proposes, and decisions on it."""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.sandboxes.requests import RepoBody
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.transport import Call, Transport, at, get, post

DecisionWord = Literal["approved", "declined"]


FETCH_SECONDS = 1800.0
"""A remote that is not here yet is fetched first."""


class ProjectBody(TypedDict, total=False):
    """A repository as a sandbox would be made from it."""

    repo_url: str | None
    key: str | None
    branch: str | None
    from_branch: str | None


class DecisionBody(TypedDict, total=False):
    """A decision on what was shown."""

    repository: Required[ProjectBody]
    shown: Required[str]
    decision: Required[DecisionWord]


class Proposal(Shape):
    """A request of a project file that a person decides on."""

    kind: Field[Literal["setup", "copy", "network", "host", "port", "env", "profile"]] = (
        fields.word()
    )
    text = fields.text()


class ProjectChanges(Shape):
    """The proposals that came and went since the last decision."""

    added = fields.many(Proposal)
    removed = fields.many(Proposal)


class Project(Shape):
    """A repository's project file and the caller's decision on it."""

    repository = fields.text()
    file = fields.text()
    digest = fields.text()
    decision: Field[DecisionWord] = fields.word()
    undecided = fields.flag()
    proposals = fields.many(Proposal)
    changes = fields.one(ProjectChanges)
    agent = fields.text()
    profile = fields.text()
    ignored = fields.texts()
    problem = fields.text()


class Decided(Shape):
    """A decision that is remembered."""

    repository = fields.text()
    digest = fields.text()
    decision: Field[DecisionWord] = fields.word()
    file = fields.text()
    decided_at = fields.text()


class ProjectList(Shape):
    """The caller's decisions."""

    projects = fields.many(Decided)


class Projects:
    """Project files of repositories, and decisions on them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> ProjectList:
        """Return the decisions that the caller made."""
        return self._transport.read_all(ProjectList, get("projects"))

    def read(self, repository: RepoBody) -> Project:
        """Return the project file that a sandbox of this repository would start with."""
        named = project_of(repository)
        query = tuple((name, str(text)) for name, text in named.items() if text)
        path = at("projects", "file")
        return self._transport.read(Project, Call("GET", path, query, timeout=FETCH_SECONDS))

    def decide(self, repository: RepoBody, *, shown: str, decision: DecisionWord) -> Project:
        """Approve or decline exactly what was shown."""
        body: DecisionBody = {
            "repository": project_of(repository),
            "shown": shown,
            "decision": decision,
        }
        return self._transport.read(Project, post("projects", "decision", value=body))

    def run_setup(self, sandbox: str) -> Sandbox:
        """Run the set-up of a sandbox's project, in a new terminal."""
        return self._transport.read(Sandbox, post("sandboxes", sandbox, "setup"))

    def begin_task(self, sandbox: str) -> Sandbox:
        """Begin a task that waits for the set-up."""
        return self._transport.read(Sandbox, post("sandboxes", sandbox, "task", "begin"))

    def forget(self, repository: str) -> None:
        """Drop the decisions on a repository, named by its key."""
        query = (("repository", repository),)
        self._transport.call(Call("DELETE", at("projects", "decision"), query))


def project_of(repository: RepoBody) -> ProjectBody:
    """Return the part of a sandbox's repository that names its project."""
    body: ProjectBody = {}
    if url := repository.get("repo_url"):
        body["repo_url"] = url
    if key := repository.get("key"):
        body["key"] = key
    if branch := repository.get("branch"):
        body["branch"] = branch
    if start := repository.get("from_branch"):
        body["from_branch"] = start
    return body
