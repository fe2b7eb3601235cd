"""Showing what a repository's project file proposes, and asking the person about it.

Every text comes from the repository: the server spells out what shows nothing, and `note` cleans
it again.
"""

import sys
from collections.abc import Mapping
from types import MappingProxyType

import click

from atoll.client.client import Client
from atoll.client.made.library.projects import Project, Proposal
from atoll.client.made.sandboxes.requests import RepoBody
from atoll.client.projects import Projects
from atoll.surfaces.cli.console.output import note

_WORDS = {
    "setup": "run in the sandbox",
    "server": "keep running in the sandbox",
    "copy": "copy from your checkout",
    "network": "reach the registry",
    "host": "reach the host",
    "port": "offer the port",
    "env": "set the variable",
    "profile": "use the profile",
}
_NOTHING: Mapping[str, str] = MappingProxyType({})


def show_project(project: Project, remarks: Mapping[str, str] = _NOTHING) -> None:
    """Print to stderr what the file proposes, what changed, and what has no effect. `remarks` are
    added to the paths to copy."""
    if project.problem:
        note(project.problem)
        return
    if not project.file:
        note(f"{project.repository} has no .atoll.yaml and no devcontainer.json")
        return
    if project.proposals:
        note(f"{project.file} of {project.repository} asks to:")
        _show(project.proposals, " ", remarks)
    else:
        note(f"{project.file} of {project.repository} asks for nothing that needs approval")
    if project.changes.added or project.changes.removed:
        note("Since your last decision:")
        _show(project.changes.added, "+", remarks)
        _show(project.changes.removed, "-", _NOTHING)
    for line in project.ignored:
        note(f"  ignored: {line}")


def _show(proposals: list[Proposal], mark: str, remarks: Mapping[str, str]) -> None:
    for proposal in proposals:
        remark = remarks.get(proposal.text, "") if proposal.kind == "copy" else ""
        act = _WORDS.get(proposal.kind, proposal.kind)
        note(f"  {mark} {act}: {proposal.text}{remark and f' ({remark})'}")


def approved_digest(
    api: Client,
    repository: RepoBody,
    project: Project,
    *,
    ask: bool,
    remarks: Mapping[str, str] = _NOTHING,
) -> str | None:
    """Return the digest to create a sandbox with: that of an approved project, after asking the
    person about an undecided one where `ask` allows it; None for nothing."""
    if project.problem:
        note(f"{project.problem} Nothing of it is used.")
        return None
    if project.decision == "approved":
        return project.digest
    if not project.undecided:
        return None
    show_project(project, remarks)
    if not (ask and sys.stdin.isatty()):
        note("Nothing of it is used: approve it with `atoll project approve`.")
        return None
    projects = Projects(api.transport)
    if not click.confirm("Approve all of this for this repository?", default=False, err=True):
        projects.decide(repository, shown=project.digest, decision="declined")
        note("Nothing of it is used; `atoll project approve` asks again.")
        return None
    return projects.decide(repository, shown=project.digest, decision="approved").digest
