"""Requests for sandboxes, from their bodies."""

from collections.abc import Iterable, Set
from typing import TypeVar

from msgspec.structs import asdict

from atoll.domain.errors import Invalid
from atoll.domain.files.host_mount import HostMount
from atoll.domain.hosts.host import HourlyCost
from atoll.domain.routes.policy import Constraints, RouteOptions
from atoll.domain.sandboxes.project import ProjectRequest
from atoll.domain.sandboxes.sandbox import (
    Consumer,
    CreateSandbox,
    Inputs,
    LifecycleWebhook,
    RepoRequest,
    SeedRequest,
    SetupMetadata,
)
from atoll.domain.sandboxes.task import TaskRequest
from atoll.surfaces.http.serving.serve import RequestContext
from atoll.wire.api.hosts.routes import ConstraintsBody, InputsBody, MountBody, RouteOptionsBody
from atoll.wire.api.sandboxes import requests as api

T = TypeVar("T")


def sandbox_request(context: RequestContext, body: api.CreateBody) -> CreateSandbox:
    """Return the requested sandbox. Raises `Invalid` for parts that say nothing."""
    setup, hook = body.setup_metadata, body.lifecycle_webhook
    return CreateSandbox(
        profile=body.profile,
        profile_version=body.profile_version,
        name=body.name,
        agent=body.agent,
        agent_catalogue=body.agent_catalogue,
        scope=body.scope,
        workspace_mode=body.workspace.mode,
        access=body.workspace.access,
        repos=tuple(repo_request(one) for one in body.repos),
        mounts=mounts_of(body.mounts),
        copies=body.copies,
        cwd=body.cwd,
        inputs=inputs_of(body.inputs),
        ttl_seconds=None if body.ttl is None else int(body.ttl),
        network_mode=body.network_mode,
        softlock=body.softlock,
        env=tuple(body.env.items()),
        setup_metadata=SetupMetadata(setup.instructions_ref, setup.secret_refs, setup.instructions),
        consumer=Consumer(**asdict(body.consumer)),
        task=_task(context, body),
        project=None if body.project is None else _project(context, body.project),
        host=body.host,
        route=route_options_of(body.route),
        seed=None if body.seed is None else SeedRequest(**asdict(body.seed)),
        lifecycle_webhook=None if hook is None else LifecycleWebhook(**asdict(hook)),
    )


def mounts_of(bodies: Iterable[MountBody]) -> tuple[HostMount, ...]:
    """Return the requested directories of the host."""
    return tuple(
        HostMount(one.source, one.target, one.access == "rw", one.grant or "", one.private)
        for one in bodies
    )


def inputs_of(body: InputsBody) -> Inputs:
    """Return the references of the consumer."""
    return Inputs(**asdict(body))


def route_options_of(body: RouteOptionsBody) -> RouteOptions:
    """Return the narrower choice of a backend."""
    return RouteOptions(body.strategy, body.extension, limits_of(body), body.accept_open_network)


def limits_of(body: ConstraintsBody) -> Constraints:
    """Return the limits that a backend must keep."""
    cost = body.max_cost_per_hour
    return Constraints(
        max_cost_per_hour=None if cost is None else HourlyCost(cost.micros, cost.currency),
        require_isolation=body.require_isolation,
        region=body.region,
        gpu=body.gpu,
        max_ready_ms=body.max_ready_ms,
        min_success=body.min_success,
        execution_mode=body.execution_mode,
    )


def repo_request(body: api.RepoBody) -> RepoRequest:
    """Return a requested repository. Raises `Invalid` for one that nothing names."""
    if body.repo_url is None and body.key is None:
        raise Invalid("a repository needs `repo_url` or `key`", field="repos")
    return RepoRequest(
        body.repo_url or "", body.branch, body.from_branch, body.key, body.sparse, body.path
    )


def _project(context: RequestContext, body: api.ProjectUseBody) -> ProjectRequest:
    named = context.named("project")
    return ProjectRequest(body.digest, _if_named(named, "setup", body.setup == "later"))


def _task(context: RequestContext, body: api.CreateBody) -> TaskRequest | None:
    task = body.task
    if body.prompt is None:
        if task != api.TaskBody():
            raise Invalid("a task needs its words: send them as `prompt`", field="task")
        return None
    named = context.named("task")
    return TaskRequest(
        body.prompt,
        _if_named(named, "mode", task.mode),
        _if_named(named, "permissions", task.permissions == "ask"),
        task.group,
        task.max_working,
        task.issue,
    )


def _if_named(named: Set[str], field: str, value: T) -> T | None:
    """Return the value of a field that the caller named, None of one that was left out."""
    return value if field in named else None
