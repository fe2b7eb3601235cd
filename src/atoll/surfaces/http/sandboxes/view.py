"""A sandbox as the API shows it, everywhere the same."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from atoll.domain.errors import AWAY
from atoll.domain.sandboxes.lifetime import ends_soon
from atoll.domain.sandboxes.metadata import metadata_of
from atoll.domain.sandboxes.project import SandboxProject
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox, SandboxRepo
from atoll.domain.sandboxes.task import Task
from atoll.ports.extension import ReachTroubles
from atoll.services.application import Application
from atoll.services.work.states import SandboxWork
from atoll.surfaces.http.sandboxes.reachability import reachability_views, sandbox_url
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import RequestContext
from atoll.surfaces.http.work.view import work_view
from atoll.wire.api.sandboxes import views as api
from atoll.wire.api.sandboxes.reachability import ReachabilityView


async def sandbox_view(atoll: Application, sandbox: Sandbox) -> api.SandboxView:
    """Return a sandbox as answers show it, with what its agents do."""
    works = await atoll.work.states.of((sandbox,))
    reached = await reachability_views(atoll, (sandbox,))
    return _view(_with_trouble(atoll, sandbox), works[sandbox.id], reached[sandbox.id])


async def sandbox_views(atoll: Application, sandboxes: Sequence[Sandbox]) -> list[api.SandboxView]:
    """Return the same for several sandboxes, without the compose files that came with them."""
    works = await atoll.work.states.of(sandboxes)
    reached = await reachability_views(atoll, sandboxes)
    return [
        _view(_with_trouble(atoll, _omit_bundle(one)), works[one.id], reached[one.id])
        for one in sandboxes
    ]


def _with_trouble(atoll: Application, sandbox: Sandbox) -> Sandbox:
    """Return a sandbox that runs with the reason why its machine is not reached now."""
    extension = atoll.backends.extensions.get(sandbox.profile.extension)
    if sandbox.state not in RUNNING or not isinstance(extension, ReachTroubles):
        return sandbox
    trouble = extension.trouble_of(sandbox.id)
    return sandbox if trouble is None else replace(sandbox, reason=f"{AWAY}{trouble}")


def _omit_bundle(sandbox: Sandbox) -> Sandbox:
    """Return the sandbox without its Compose files, which a list does not show."""
    if sandbox.inputs.compose_bundle is None:
        return sandbox
    return replace(sandbox, inputs=replace(sandbox.inputs, compose_bundle=None))


def _view(sandbox: Sandbox, done: SandboxWork, reachability: ReachabilityView) -> api.SandboxView:
    profile, attachment = sandbox.profile, sandbox.attachment
    isolation, inside = attachment.isolation, attachment.agents
    catalogue = profile.agent_catalogue
    return answer_of(
        api.SandboxView,
        sandbox,
        sandbox_id=sandbox.id,
        extension=profile.extension,
        agent_catalogue=None if catalogue is None else [*catalogue],
        agents_inside=None if inside is None else [*inside],
        workspace=answer_of(api.WorkspaceView, profile.workspace),
        network_mode=profile.network.mode,
        softlock=profile.softlock,
        setup_metadata=_setup(sandbox),
        task=None if sandbox.task is None else _task(sandbox.task),
        project=None if sandbox.project is None else _project(sandbox.project),
        isolation=None if isolation is None else answer_of(api.IsolationView, isolation),
        reachability=reachability,
        metadata=msgspec.convert(metadata_of(sandbox), api.MetadataView),
        repos=[_repo(repo) for repo in sandbox.repos],
        ends_soon=ends_soon(sandbox),
        idle_stop_seconds=profile.ttl.idle_stop_seconds,
        idle_reap_seconds=profile.ttl.idle_reap_seconds,
        idle_action=profile.idle_action,
        wake=profile.wake,
        poll_url=sandbox_url(sandbox),
        agents=[answer_of(api.SandboxAgentView, one) for one in done.agents],
        work=work_view(done.work),
    )


def _setup(sandbox: Sandbox) -> api.SetupView:
    return answer_of(
        api.SetupView,
        sandbox.setup_metadata,
        instructions=sandbox.instructions or None,
        instructed=sandbox.instructed,
    )


def _repo(repo: SandboxRepo) -> api.RepoView:
    return answer_of(api.RepoView, repo, from_branch=repo.from_branch or repo.began_from)


def _task(task: Task) -> api.TaskView:
    return answer_of(api.TaskView, task, permissions="ask" if task.asks else "allow")


def _project(project: SandboxProject) -> api.SandboxProjectView:
    content = project.content
    return answer_of(
        api.SandboxProjectView,
        project,
        setup=[*content.setup],
        servers=dict(content.servers),
        ports=[*content.ports],
        copies=[*content.copies],
        prebuilt_at=None if project.prebuilt is None else project.prebuilt.taken_at.isoformat(),
    )


async def wait_and_view(
    context: RequestContext, sandbox: Sandbox, seconds: float | None
) -> api.SandboxView:
    """Return the sandbox's view; with `seconds`, once it is settled."""
    if seconds is not None:
        # By id: a destroyed sandbox gives its name away.
        sandbox = await context.atoll.sandboxes.wait(
            context.caller, sandbox.id, settled=True, timeout_seconds=seconds
        )
    return await sandbox_view(context.atoll, sandbox)
