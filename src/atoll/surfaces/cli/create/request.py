"""The request that `atoll new` sends, made from its plan."""

from pathlib import Path
from typing import cast

from atoll.client.made.hosts.routes import InputsBody
from atoll.client.made.sandboxes.requests import (
    Access,
    ConsumerBody,
    CreateBody,
    LifecycleWebhookBody,
    NetworkMode,
    ProjectUseBody,
    Scope,
    SetupBody,
    Strictness,
    TaskBody,
    WorkspaceBody,
)
from atoll.client.transport import omit_empty
from atoll.domain.errors import Invalid
from atoll.domain.repository.branch import branch_for_agent, branch_of_task
from atoll.domain.sandboxes.instructions import REPO
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.surfaces.cli.create.job import Job
from atoll.surfaces.cli.create.route_options import options_of
from atoll.surfaces.cli.transfer.origin import RepositoryOrigin


def create_body(job: Job, origins: list[RepositoryOrigin], env: dict[str, str]) -> CreateBody:
    """Return the request for one sandbox. Raises `Invalid` for instructions that cannot be read."""
    plan = job.plan
    consumer: ConsumerBody = {
        "actor": "adm",
        "harness": "atoll-cli",
        "session_id": _consumer_key(job, origins),
    }
    # A kept plan may hold a word of another version: the server checks it.
    workspace: WorkspaceBody = {
        "mode": "mirror" if plan.mirror else None,
        "access": cast("Access | None", plan.access),
    }
    task: TaskBody = {"group": job.group, "max_working": job.max_working, **_work(plan)}
    task["issue"] = job.issue
    request: CreateBody = {
        "profile": plan.profile or "shell",
        "consumer": omit_empty(consumer),
        "agent": plan.agent,
        "agent_catalogue": list(plan.may_run) or None,
        "softlock": cast("Strictness | None", plan.softlock),
        "network_mode": cast("NetworkMode | None", plan.network),
        "name": job.name,
        "ttl": plan.ttl,
        "cwd": plan.wd,
        "scope": cast("Scope | None", plan.scope),
        "workspace": omit_empty(workspace),
        "copies": list(plan.copy),
        "setup_metadata": _setup(plan.instructions, plan.secret),
        "inputs": _inputs(plan.compose) if plan.compose else {},
        "env": env,
        "repos": [origin.request for origin in origins],
        "prompt": None if job.prompts_later else job.prompt,
        "task": {} if job.prompts_later or job.prompt is None else omit_empty(task),
        "project": _project(job),
        "host": plan.host,
        "route": options_of(plan),
        "lifecycle_webhook": _webhook(job),
    }
    return omit_empty(request)


def _project(job: Job) -> ProjectUseBody | None:
    if job.project is None:
        return None
    return {"digest": job.project.digest, "setup": "later" if job.sends else "now"}


def _webhook(job: Job) -> LifecycleWebhookBody | None:
    if job.webhook is None:
        return None
    url, secret = job.webhook
    return {"url": url, "secret_ref": secret}


def _work(plan: SandboxPlan) -> TaskBody:
    """Return the way in which the agent works at its task."""
    if not plan.machine:
        return {"permissions": "ask"} if plan.ask_first else {}
    return {"mode": "machine", "permissions": "ask" if plan.ask_first else "allow"}


def _setup(instructions: str | None, secrets: tuple[str, ...]) -> SetupBody:
    """Return the secrets, and where the instructions are or the text of a local file. Raises
    `Invalid`."""
    body: SetupBody = {"secret_refs": list(secrets)} if secrets else {}
    if instructions is None:
        return body
    if instructions.startswith(REPO):
        return {**body, "instructions_ref": instructions}
    return {**body, "instructions": _text_of("--instructions", instructions)}


def _inputs(compose: str) -> InputsBody:
    """Return where the compose file is, or the text of a local one. Raises `Invalid`."""
    if compose.startswith(REPO):
        return {"compose_bundle_ref": compose}
    return {"compose_bundle": _text_of("--compose", compose)}


def _text_of(option: str, file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{option} {file} cannot be read: {error}") from error


def _consumer_key(job: Job, origins: list[RepositoryOrigin]) -> str | None:
    """Return the consumer, for profiles with one sandbox each: a repository and its branch, which
    a prompt names where the plan does not."""
    plan = job.plan
    if not origins:
        return plan.mirror
    first = origins[0].request
    proposed = None if job.prompt is None else branch_of_task(job.prompt)
    if proposed and job.group and plan.agent:
        proposed = branch_for_agent(proposed, plan.agent)
    branch = plan.branch or proposed or first.get("from_branch") or ""
    return f"{first.get('key') or first['repo_url']}@{branch}"
