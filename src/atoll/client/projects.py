"""Projects over the API: what a repository's own file proposes, and decisions on it."""

from typing import Final, cast

from atoll.client.made.library.projects import (
    DecisionBody,
    PlainProjects,
    Project,
    ProjectBody,
    ProjectDecision,
)
from atoll.client.made.sandboxes.requests import RepoBody
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.transport import get, post

FETCH_SECONDS: Final = 1800.0
"""A remote that is not here yet is fetched first."""

_NAMES: Final = ("repo_url", "key", "branch", "from_branch")


class Projects(PlainProjects):
    """Project files of repositories, and decisions on them."""

    def read(self, repository: RepoBody) -> Project:
        """Return the project file that a sandbox of this repository would start with."""
        query = tuple((name, str(text)) for name, text in project_of(repository).items())
        call = get("projects", "file", query=query)
        return self._transport.read(Project, call._replace(timeout=FETCH_SECONDS))

    def decide(self, repository: RepoBody, *, shown: str, decision: ProjectDecision) -> Project:
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


def project_of(repository: RepoBody) -> ProjectBody:
    """Return the part of a sandbox's repository that names its project."""
    named = {name: text for name, text in repository.items() if name in _NAMES and text}
    return cast("ProjectBody", named)
