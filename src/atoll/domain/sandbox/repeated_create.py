"""A create that is repeated, and the first field in which it differs from what stands."""

from collections.abc import Iterator, Sequence

from atoll.domain.agent.agent import plain_prompt
from atoll.domain.profile.route import extension_name
from atoll.domain.profile.schema import profile_id
from atoll.domain.route.decision import RouteRequest
from atoll.domain.route.policy import Constraints, RouteOptions
from atoll.domain.sandbox.create import origin_of, place_of, read_cwd
from atoll.domain.sandbox.sandbox import CreateSandbox, RepoRequest, Sandbox, SandboxRepo


def other_input(request: CreateSandbox, sandbox: Sandbox, placed: RouteRequest) -> str | None:
    """Return the first field that `request` names and in which it differs from what stands: from
    `sandbox`, which `placed` placed; None when nothing differs. What the request leaves out matches
    anything."""
    catalogue, there_catalogue = request.agent_catalogue, sandbox.profile.agent_catalogue
    # An empty one is named, too: it admits no agent.
    if catalogue is not None and tuple(dict.fromkeys(catalogue)) != there_catalogue:
        return "agent_catalogue"
    for field, wanted, there in _each_field(request, sandbox):
        if wanted not in (None, (), there):
            return field
    if request.repos and not same_repositories(request.repos, sandbox.repos):
        return "repos"
    ref = request.inputs.repo_ref
    if ref is not None and not same_repositories((RepoRequest(ref),), sandbox.repos):
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
    for field in ("name", "scope", "agent", "mounts", "copies", "ttl_seconds"):
        name = "ttl" if field == "ttl_seconds" else field
        yield name, getattr(request, field), getattr(sandbox, field)
    yield "workspace.mode", request.workspace_mode, profile.workspace.mode
    yield "workspace.access", request.access, profile.workspace.access
    yield "cwd", request.cwd and read_cwd(request.cwd), sandbox.cwd
    yield "network_mode", request.network_mode, profile.network.mode
    yield "softlock", request.softlock, profile.softlock
    yield "host", request.host, sandbox.host
    for name in ("compose_bundle_ref", "compose_bundle"):
        yield f"inputs.{name}", getattr(request.inputs, name), getattr(sandbox.inputs, name)
    for name in ("instructions_ref", "secret_refs", "instructions"):
        there = getattr(sandbox.setup_metadata, name)
        yield f"setup_metadata.{name}", getattr(request.setup_metadata, name), there
    env = dict(sandbox.env)
    yield "env", dict(request.env) or None, {name: env.get(name) for name, _ in request.env}
    if request.project is not None:
        digest = None if sandbox.project is None else sandbox.project.digest
        yield "project", request.project.digest, digest
    if request.task is not None:
        task = sandbox.task
        yield "prompt", plain_prompt(request.task.prompt), task and task.prompt
        yield "task.mode", request.task.mode, task and task.mode
        yield "task.permissions", request.task.asks, task and task.asks
        yield "task.group", request.task.group, task and task.group
        yield "task.max_working", request.task.max_working, task and task.max_working


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
