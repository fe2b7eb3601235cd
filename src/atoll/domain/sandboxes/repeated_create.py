"""A create that is repeated, and the first field in which it differs from what stands."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from atoll.domain.agents.agent import plain_prompt
from atoll.domain.agents.registry import canonical_name
from atoll.domain.files.host_mount import HostMount
from atoll.domain.profile.route import extension_name
from atoll.domain.profile.schema import profile_id
from atoll.domain.routes.decision import RouteRequest
from atoll.domain.routes.policy import Constraints, RouteOptions
from atoll.domain.sandboxes.create import origin_of, place_of, read_cwd, repo_of_ref
from atoll.domain.sandboxes.sandbox import CreateSandbox, RepoRequest, Sandbox, SandboxRepo
from atoll.domain.sandboxes.task import TaskRequest, mode_of


def other_input(request: CreateSandbox, sandbox: Sandbox, placed: RouteRequest) -> str | None:
    """Return the first field that `request` names and in which it differs from what stands: from
    `sandbox`, which `placed` placed; None when nothing differs. What the request leaves out matches
    anything."""
    catalogue, admitted = request.agent_catalogue, sandbox.profile.agent_catalogue
    # An empty one is named, too: it admits no agent. None admits all.
    if catalogue is not None and (admitted is None or {*catalogue} != {*admitted}):
        return "agent_catalogue"
    for field, wanted, there in _each_field(request, sandbox):
        if wanted not in (None, (), there):
            return field
    if request.repos and not same_repositories(request.repos, sandbox.repos):
        return "repos"
    ref = request.inputs.repo_ref
    if ref is not None and not same_repositories((repo_of_ref(ref),), sandbox.repos):
        return "inputs.repo_ref"
    return _other_route(request.route, sandbox, placed)


def other_origin(request: CreateSandbox, sandbox: Sandbox) -> str | None:
    """Return what of a request's profile and consumer is not as a sandbox has it; None when both
    are."""
    if profile_id(request.profile) != sandbox.profile.id:
        return "profile"
    return None if request.consumer == sandbox.consumer else "consumer"


def same_repositories(
    wanted: Sequence[RepoRequest], there: Sequence[RepoRequest | SandboxRepo]
) -> bool:
    """Report whether these are the repositories that are there. A branch, a start or a place that
    is left out matches anything."""
    if tuple(map(origin_of, wanted)) != tuple(map(origin_of, there)):
        return False
    return all(
        one.branch in (None, other.branch)
        and one.from_branch in (None, other.from_branch)
        and (one.path in (None, other.path) or place_of(one, 0) == other.path)
        for one, other in zip(wanted, there, strict=True)
    )


def _each_field(request: CreateSandbox, sandbox: Sandbox) -> Iterator[tuple[str, object, object]]:
    """Yield each field of a request with what it says, and with what stands."""
    profile = sandbox.profile
    yield "profile_version", request.profile_version, profile.version
    yield "name", request.name, sandbox.name
    yield "scope", request.scope, sandbox.scope
    yield "agent", request.agent and _agent_as(request.agent, sandbox.agent), sandbox.agent
    yield "mounts", _without_grants(request.mounts), _without_grants(sandbox.mounts)
    yield "copies", _as_set(request.copies), _as_set(sandbox.copies)
    yield "ttl", request.ttl_seconds, sandbox.ttl_seconds
    yield "workspace.mode", request.workspace_mode, profile.workspace.mode
    yield "workspace.access", request.access, profile.workspace.access
    yield "cwd", request.cwd and read_cwd(request.cwd), sandbox.cwd
    yield "network_mode", request.network_mode, profile.network.mode
    yield "softlock", request.softlock, profile.softlock
    yield "host", request.host, sandbox.host
    yield "seed", request.seed and request.seed.snapshot, sandbox.seed
    for name in ("compose_bundle_ref", "compose_bundle"):
        yield f"inputs.{name}", getattr(request.inputs, name), getattr(sandbox.inputs, name)
    setup, setup_there = request.setup_metadata, sandbox.setup_metadata
    for name in ("instructions_ref", "instructions"):
        yield f"setup_metadata.{name}", getattr(setup, name), getattr(setup_there, name)
    secret_refs = _as_set(setup.secret_refs), _as_set(setup_there.secret_refs)
    yield "setup_metadata.secret_refs", *secret_refs
    hook, hook_there = request.lifecycle_webhook, sandbox.lifecycle_webhook
    yield "lifecycle_webhook.url", hook and hook.url, hook_there and hook_there.url
    secret = hook and hook.secret_ref, hook_there and hook_there.secret_ref
    yield "lifecycle_webhook.secret_ref", *secret
    env = dict(sandbox.env)
    yield "env", dict(request.env) or None, {name: env.get(name) for name, _ in request.env}
    if request.project is not None:
        project = sandbox.project
        yield "project", request.project.digest, project and project.digest
        yield "project.setup", request.project.later, project and project.later
    if request.task is not None:
        yield from _each_of_task(request.task, sandbox)


def _each_of_task(request: TaskRequest, sandbox: Sandbox) -> Iterator[tuple[str, object, object]]:
    """Yield each field of a requested task with what it says, and with what stands."""
    task = sandbox.task
    mode = request.mode and mode_of(request.mode, sandbox.agent or "")
    yield "prompt", plain_prompt(request.prompt), task and task.prompt
    yield "task.mode", mode, task and task.mode
    yield "task.permissions", request.asks, task and task.asks
    yield "task.group", request.group, task and task.group
    yield "task.issue", request.issue, task and task.issue
    yield "task.max_working", request.max_working, task and task.max_working


def _agent_as(wanted: str, there: str | None) -> str | None:
    """Return an agent as it stands where `wanted` names it: by an alias, or without the version."""
    name, _, version = wanted.partition("@")
    name_there, _, version_there = (there or "").partition("@")
    same = canonical_name(name) == canonical_name(name_there)
    return there if same and version in ("", version_there) else wanted


def _without_grants(mounts: Sequence[HostMount]) -> frozenset[object] | None:
    """Return mounts without their grants, of which each run of a command line makes its own."""
    return _as_set([replace(mount, grant="") for mount in mounts])


def _as_set(values: Sequence[object]) -> frozenset[object] | None:
    """Return the values as a set, since their order does not matter; None for no values."""
    return frozenset(values) or None


def _other_route(options: RouteOptions, sandbox: Sandbox, placed: RouteRequest) -> str | None:
    """Return the part of a choice of route that is not the one that placed a sandbox."""
    extension = options.extension
    if extension is not None and extension_name(extension) != sandbox.profile.extension:
        return "route.extension"
    if options.strategy not in (None, placed.strategy):
        return "route.strategy"
    if options.constraints not in (Constraints(), *placed.limits):
        return "route"
    if options.accept_open_network and not sandbox.accepts_open_network:
        return "route.accept_open_network"
    return None
