"""The project file of a repository in `atoll new`: asked about, applied, and its files sent.

The agent is a default that widens nothing. Everything else is used only when its person approved
exactly that content.
"""

import sys
from dataclasses import dataclass, replace

from atoll.client.client import Client
from atoll.client.made.library.profiles import Profile
from atoll.client.made.library.projects import Project
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.projects import Projects
from atoll.client.transport import get
from atoll.domain.errors import AtollError, Conflict, Forbidden, NotFound, Unavailable
from atoll.domain.files.secret_look import secret_variables
from atoll.surfaces.cli.console.output import confirm, note
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.surfaces.cli.create.project_proposals import approved_digest
from atoll.surfaces.cli.transfer.origin import RepositoryOrigin
from atoll.surfaces.cli.transfer.project_copies import CopySelection, ProjectCopy, find_copies


@dataclass(frozen=True, slots=True)
class ProjectUse:
    """The use of a project for one sandbox: its digest when it is approved, the files to send
    before its set-up, and whether it has one."""

    digest: str
    copies: tuple[ProjectCopy, ...] = ()
    sets_up: bool = False


def apply_project(
    api: Client, plan: SandboxPlan, origins: list[RepositoryOrigin], *, ask: bool, sends: bool
) -> tuple[SandboxPlan, ProjectUse | None]:
    """Return the plan with the defaults of the first repository's project file, and the project as
    it may be used. `ask`: the person may be asked. `sends`: files can be sent once it is ready."""
    if not origins:
        return plan, None
    origin = origins[0]
    try:
        project = Projects(api.transport).read(origin.request)
    except NotFound:
        return plan, None
    except Unavailable as error:
        note(f"The project file was not read, nothing of it is used: {error.message}")
        return plan, None
    copies = _find_copies(origin, project)
    digest = approved_digest(
        api, origin.request, project, ask=ask, remarks=_remarks(origin, copies)
    )
    plan = _with_agent(plan, project)
    if digest is None:
        return plan, None
    plan = _with_profile(api, plan, project)
    sets_up = any(proposal.kind == "setup" for proposal in project.proposals)
    return plan, ProjectUse(digest, _files_to_send(api, copies, ask=ask, sends=sends), sets_up)


def _find_copies(origin: RepositoryOrigin, project: Project) -> CopySelection:
    paths = [proposal.text for proposal in project.proposals if proposal.kind == "copy"]
    if origin.folder is not None:
        return find_copies(origin.folder, paths)
    why = "it is copied from a checkout of yours only: `atoll new .`"
    return CopySelection(refused=tuple((path, why) for path in paths))


def _remarks(origin: RepositoryOrigin, copies: CopySelection) -> dict[str, str]:
    """Return what is said beside each path."""
    return {
        **{file.path: f"{len(file.data)} bytes" for file in copies.sent},
        **{file.path: f"not copied: {why}" for file, why in copies.secret},
        **{path: f"not copied: {why}" for path, why in copies.refused},
    }


def _files_to_send(
    api: Client, copies: CopySelection, *, ask: bool, sends: bool
) -> tuple[ProjectCopy, ...]:
    for path, why in copies.refused:
        note(f"{path} is not copied: {why}")
    for file, why in copies.secret:
        note(f"{file.path} is not copied: {why}. `--copy {file.path}:{file.path}` sends it anyway.")
        if ask and sys.stdin.isatty():
            _offer_vault(api, file)
    if copies.sent and not sends:
        note("The files of the project are not copied: they are sent once the sandbox is ready.")
        return ()
    return copies.sent


def _offer_vault(api: Client, file: ProjectCopy) -> None:
    """Offer to store each secret variable of a file: inside there is a placeholder, and requests
    receive the value on their way out, to hosts that the person approves."""
    known = {secret.env for secret in api.secrets.list().secrets}
    for name, value in secret_variables(file.data):
        if name in known:
            note(f"{name} is in the vault already")
        elif confirm(f"Keep {name} in the vault instead, with a placeholder inside?", yes=False):
            _store(api, name, value)


def _store(api: Client, name: str, value: str) -> None:
    named = name.lower().replace("_", "-")
    try:
        api.secrets.set(named, {"value": value, "kind": "custom", "env": name})
    except AtollError as error:
        note(f"{name} was not stored: {error.message}")
    else:
        note(f"stored {named}: inside, {name} is a placeholder")


def _with_profile(api: Client, plan: SandboxPlan, project: Project) -> SandboxPlan:
    """Return the plan with the approved profile, where it names none itself."""
    if not project.profile or plan.profile:
        return plan
    try:
        api.transport.read(Profile, get("profiles", project.profile))
    except AtollError:
        note(f"{project.file} names {project.profile}, which you do not have: not used")
        return plan
    note(f"profile {project.profile}, as {project.file} says")
    return replace(plan, profile=project.profile)


def _with_agent(plan: SandboxPlan, project: Project) -> SandboxPlan:
    """Return the plan with the file's agent, where it names none itself."""
    if project.problem or not project.agent or plan.agent:
        return plan
    note(f"agent {project.agent}, as {project.file} says")
    return replace(plan, agent=project.agent)


def fill(api: Client, sandbox: str, folder: str, use: ProjectUse) -> None:
    """Send the files of a project into the repository at `folder`, and start its set-up, which
    waits for them."""
    _send(api, sandbox, folder, use.copies)
    if use.sets_up:
        Projects(api.transport).run_setup(sandbox)


def copy_files(api: Client, made: Sandbox, origin: RepositoryOrigin) -> int:
    """Send the files of a sandbox's project from the person's checkout, after they saw each with
    its size. Returns how many were sent. Raises `Conflict` for a checkout of another repository,
    `Forbidden` without a person at a terminal."""
    project = made.project
    if not project.copies:
        raise Conflict(f"the project of {made.name} names no files")
    if origin.folder is None or _key(api, origin) != project.repository:
        raise Conflict(
            f"this is no checkout of {project.repository}: run it in the one that has the files"
        )
    copies = find_copies(origin.folder, project.copies)
    sent = _files_to_send(api, copies, ask=True, sends=True)
    for file in sent:
        note(f"  {file.path} ({len(file.data)} bytes)")
    if not sent:
        return 0
    if not sys.stdin.isatty():
        raise Forbidden("sending files needs a person at a terminal")
    if not confirm(f"Send them into {made.name}?", yes=False):
        return 0
    _send(api, made.sandbox_id, made.repos[0].path, sent)
    return len(sent)


def _key(api: Client, origin: RepositoryOrigin) -> str:
    return Projects(api.transport).read(origin.request).repository


def _send(api: Client, sandbox: str, folder: str, files: tuple[ProjectCopy, ...]) -> None:
    for file in files:
        place = f"{folder}/{file.path}"
        if "/" in file.path:
            api.files.make_directory(sandbox, place.rpartition("/")[0])
        api.files.write(sandbox, place, iter((file.data,)), mode=file.mode)
        note(f"copied {file.path} ({len(file.data)} bytes)")
