"""Projects: what a repository's own file proposes, and a person's decisions on it.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Pairs, Transport, api_path, get, query_of

ProposalKind = Literal["setup", "server", "copy", "network", "host", "port", "env", "profile"]

ProjectDecision = Literal["approved", "declined"]


class Proposal(Shape):
    """A request of the file that a person decides on; `text` is exact."""

    kind: Field[ProposalKind] = fields.word()
    text = fields.text()


class ProjectChanges(Shape):
    """The proposals that came and went since the last decision."""

    added = fields.many(Proposal)
    removed = fields.many(Proposal)


class Project(Shape):
    """A repository's project file and the caller's decision on it. `file` is empty where there
    is none, `problem` says why one cannot be used. `agent` is a default, and so is an approved
    `profile`. `ignored` lists entries without effect. `undecided`: a person is to be asked."""

    repository = fields.text()
    commit = fields.text()
    file = fields.text()
    digest = fields.text()
    decision: Field[ProjectDecision] = fields.word()
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
    decision: Field[ProjectDecision] = fields.word()
    file = fields.text()
    proposals = fields.many(Proposal)
    decided_at = fields.text()


class ProjectList(Shape):
    """The caller's decisions, newest first."""

    projects = fields.many(Decided)
    next = fields.text()


class ProjectBody(TypedDict, total=False):
    """A repository as a sandbox would be made from it: `repo_url`, or the `key` of one uploaded
    before."""

    repo_url: str | None
    key: str | None
    branch: str | None
    from_branch: str | None


class DecisionBody(TypedDict, total=False):
    """A decision. `shown` is the `digest` of what the person saw."""

    repository: Required[ProjectBody]
    shown: Required[str]
    decision: Required[ProjectDecision]


class PlainProjects:
    """Project files of repositories, and decisions on them. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, query: Pairs = ()) -> ProjectList:
        """Return the decisions that the caller made."""
        return self._transport.read_all(ProjectList, get("projects", query=query))

    def forget(self, repository: str, query: Pairs = ()) -> None:
        """Drop the decisions on a repository: it is asked again."""
        self._transport.call(
            Call(
                "DELETE", api_path("projects", "decision"), query_of(repository=repository) + query
            )
        )
