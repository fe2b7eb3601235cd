"""Projects: what a repository's own file proposes, and a person's decisions on it.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import projects
from atoll.client.aio.nouns import AsyncNoun, Awaited


class AsyncProjects(AsyncNoun[projects.Projects]):
    """Project files of repositories, and decisions on them."""

    blocking = projects.Projects
    list = Awaited(projects.Projects.list)
    forget = Awaited(projects.Projects.forget)
    read = Awaited(projects.Projects.read)
    decide = Awaited(projects.Projects.decide)
    run_setup = Awaited(projects.Projects.run_setup)
    begin_task = Awaited(projects.Projects.begin_task)
