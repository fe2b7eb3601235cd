"""Showing what a repository's project file proposes, and asking the person about it.

Every text comes from the repository: the server spells out what shows nothing, and `note` cleans
it again.
"""

import sys

import click

from atoll.client.bodies import RepoBody
from atoll.client.client import Client
from atoll.client.projects import Project, Projects, Proposal
from atoll.surfaces.cli.console.output import note

_WORDS = {
    "setup": "run in the sandbox",
    "copy": "copy from your checkout",
    "network": "reach the registry",
    "port": "offer the port",
    "env": "set the variable",
}


def show_project(project: Project) -> None:
    """Print to stderr what the file proposes, what changed, and what has no effect."""
    if project.problem:
        note(project.problem)
        return
    if not project.file:
        note(f"{project.repository} has no .atoll.yaml and no devcontainer.json")
        return
    if project.proposals:
        note(f"{project.file} of {project.repository} asks to:")
        _show(project.proposals, " ")
    else:
        note(f"{project.file} of {project.repository} asks for nothing that needs approval")
    if project.changes.added or project.changes.removed:
        note("Since your last decision:")
        _show(project.changes.added, "+")
        _show(project.changes.removed, "-")
    for line in project.ignored:
        note(f"  ignored: {line}")


def _show(proposals: list[Proposal], mark: str) -> None:
    for one in proposals:
        note(f"  {mark} {_WORDS.get(one.kind, one.kind)}: {one.text}")


def approved_project(
    api: Client, repository: RepoBody, project: Project, *, ask: bool
) -> str | None:
    """Return the digest to create a sandbox with: that of an approved project, asking the person
    about an undecided one where `ask` allows it."""
    if project.problem:
        note(f"{project.problem} Nothing of it is used.")
        return None
    if project.decision == "approved":
        return project.digest
    if not project.undecided:
        return None
    show_project(project)
    if not (ask and sys.stdin.isatty()):
        note("Nothing of it is used: approve it with `atoll project approve`.")
        return None
    if not click.confirm("Approve all of this for this repository?", default=False, err=True):
        Projects(api.transport).decide(repository, shown=project.digest, decision="declined")
        note("Nothing of it is used; `atoll project approve` asks again.")
        return None
    decided = Projects(api.transport).decide(repository, shown=project.digest, decision="approved")
    return decided.digest
