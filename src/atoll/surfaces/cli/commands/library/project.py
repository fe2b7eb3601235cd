"""`atoll project`: what a repository's own file proposes, and the person's decisions on it."""

import sys

import click

from atoll.client.client import Client
from atoll.client.made.sandboxes.requests import RepoBody
from atoll.client.projects import Projects
from atoll.domain.errors import Conflict, Forbidden, Invalid
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.surfaces.cli.console.waiting import name_of
from atoll.surfaces.cli.create.project_proposals import show_project
from atoll.surfaces.cli.dispatch.remote_names import branches
from atoll.surfaces.cli.dispatch.verbs import Verbs
from atoll.surfaces.cli.transfer.origin import origins

SHOWN_DIGITS = 8
"""The digits of a digest that a person repeats to approve what they were shown."""

_repo = click.argument("repo", default=".")
_branch = click.argument("branch", required=False, shell_complete=branches)


@click.group("project", cls=Verbs)
def command() -> None:
    """Show and decide what a repository's .atoll.yaml proposes."""


@needs("repository.read")
@command.command("show")
@_repo
@_branch
@json_option()
@pass_invocation
def show(invocation: Invocation, repo: str, branch: str | None, *, as_json: bool) -> None:
    """Show what the file of REPO proposes at BRANCH, and what you decided."""
    api = invocation.api()
    project = Projects(api.transport).read(_repository(api, repo, branch))
    if as_json:
        show_json(project.value)
        return
    show_project(project)
    if project.proposals:
        note(f"decision: {project.decision or 'none yet: `atoll project approve`'}")


@needs("approval.decide")
@command.command("approve")
@_repo
@_branch
@json_option()
@pass_invocation
def approve(invocation: Invocation, repo: str, branch: str | None, *, as_json: bool) -> None:
    """Approve what the file of REPO proposes at BRANCH."""
    if not sys.stdin.isatty():
        raise Forbidden("approving needs a person at a terminal: run it in one, or use the page")
    api = invocation.api()
    repository = _repository(api, repo, branch)
    project = Projects(api.transport).read(repository)
    show_project(project)
    if project.problem or not project.proposals:
        raise Conflict("there is nothing to approve")
    shown = project.digest[:SHOWN_DIGITS]
    note(f"To approve all of this, type: {shown}")
    words = click.prompt("Digits", default="", show_default=False, err=True)
    if words.strip().lower() != shown:
        raise Invalid("those are not the digits: nothing was approved")
    decided = Projects(api.transport).decide(repository, shown=project.digest, decision="approved")
    if as_json:
        show_json(decided.value)
    else:
        say(f"approved {decided.file} of {decided.repository}")


@needs("approval.decide")
@command.command("forget")
@_repo
@pass_invocation
def forget(invocation: Invocation, repo: str) -> None:
    """Forget your decisions on REPO: it is asked again."""
    api = invocation.api()
    key = Projects(api.transport).read(_repository(api, repo, None)).repository
    Projects(api.transport).forget(key)
    say(f"forgot the decisions on {key}")


@needs("repository.read")
@command.command("list")
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List your decisions."""
    listing = Projects(invocation.api().transport).list()
    if as_json:
        show_json(listing.value)
        return
    rows = [
        (project.repository, project.file, project.decision, project.digest[:SHOWN_DIGITS])
        for project in listing.projects
    ]
    if rows:
        show_table(("REPOSITORY", "FILE", "DECISION", "DIGEST"), rows)
    else:
        note("no decisions yet")


@needs("sandbox.manage")
@command.command("setup")
@sandbox_argument()
@json_option()
@pass_invocation
def setup(invocation: Invocation, name: str, *, as_json: bool) -> None:
    """Run the approved set-up of the sandbox NAME again."""
    api = invocation.api()
    started = Projects(api.transport).run_setup(name)
    if as_json:
        show_json(started.value)
    else:
        say(f"the set-up runs: `atoll attach {name_of(started)} setup`")


@needs("file.write")
@command.command("copy")
@sandbox_argument()
@click.argument("checkout", default=".")
@pass_invocation
def copy(invocation: Invocation, name: str, checkout: str) -> None:
    """Send the files that the project of NAME names from CHECKOUT."""
    from atoll.surfaces.cli.create.project import copy_files

    api = invocation.api()
    origin = origins(api, SandboxPlan(repo=checkout).anchor())[0]
    count = copy_files(api, api.sandboxes.get(name), origin)
    say(f"sent {count} files" if count else "nothing was sent")


def _repository(api: Client, repo: str, branch: str | None) -> RepoBody:
    return origins(api, SandboxPlan(repo=repo, branch=branch).anchor())[0].request
