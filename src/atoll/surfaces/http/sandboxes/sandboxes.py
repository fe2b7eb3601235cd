"""Routes of sandboxes: create, read, stop, start, recreate, destroy."""

from atoll.domain.errors import Invalid
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.surfaces.http.sandboxes.consumers import consumers_of
from atoll.surfaces.http.sandboxes.requests import sandbox_request
from atoll.surfaces.http.sandboxes.view import sandbox_view, sandbox_views, wait_and_view
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.reading import longest_wait
from atoll.surfaces.http.serving.serve import Operations, Reply, RequestContext
from atoll.wire.api.fields import NO_WAIT, Waiting
from atoll.wire.api.sandboxes import sandboxes as api
from atoll.wire.api.sandboxes.consumers import EVERY_CONSUMER, ConsumerQuery
from atoll.wire.api.sandboxes.requests import CreateBody
from atoll.wire.api.sandboxes.sandboxes import EVERY_STATE, Sandboxes
from atoll.wire.api.sandboxes.views import SandboxView
from atoll.wire.words.sandboxes import MAX_LOG_LINES, State

operations = Operations()


@operations.serves(Sandboxes.create)
async def create_sandbox(
    context: RequestContext,
    body: CreateBody,
    *,
    waiting: Waiting = NO_WAIT,
    idempotency_key: api.IdempotencyKey = None,
) -> Reply[SandboxView]:
    seconds, key = longest_wait(waiting), check_key(idempotency_key)
    made, status = await create(context, sandbox_request(context, body), seconds, key)
    view = await sandbox_view(context.atoll, made)
    return Reply(view, status, {"Location": f"/v1/sandboxes/{made.id}"})


def check_key(key: str | None) -> str | None:
    """Return an idempotency key. Raises `Invalid` for one that cannot be printed."""
    if key is not None and not (key.isascii() and key.isprintable()):
        raise Invalid("idempotency-key: must be printable ASCII", field="idempotency-key")
    return key


async def create(
    context: RequestContext, request: CreateSandbox, seconds: float | None, key: str | None
) -> tuple[Sandbox, int]:
    """Return a new sandbox, after the requested wait, and the status to answer with."""
    sandboxes, caller = context.atoll.sandboxes, context.caller
    made = await sandboxes.create(caller, request, idempotency_key=key)
    if seconds is None:
        return made, 202
    made = await sandboxes.wait(caller, made.id, timeout_seconds=seconds)
    return made, 202 if made.state in {State.REQUESTED, State.PROVISIONING} else 201


@operations.serves(Sandboxes.list)
async def list_sandboxes(
    context: RequestContext,
    *,
    state: api.States = EVERY_STATE,
    archived: bool | None = None,
    consumers: ConsumerQuery = EVERY_CONSUMER,
    cursor: str | None = None,
    limit: int = 50,
) -> api.SandboxPage:
    atoll = context.atoll
    page = await atoll.sandboxes.list(
        context.caller,
        states=tuple(state),
        archived=archived,
        consumers=consumers_of(consumers),
        cursor=cursor,
        limit=limit,
    )
    return api.SandboxPage(sandboxes=await sandbox_views(atoll, page.sandboxes), next=page.next)


@operations.serves(Sandboxes.get)
async def get_sandbox(
    context: RequestContext, sandbox: str, *, waiting: Waiting = NO_WAIT
) -> SandboxView:
    sandboxes, seconds = context.atoll.sandboxes, longest_wait(waiting)
    if seconds is None:
        found = await sandboxes.get(context.caller, sandbox)
    else:
        found = await sandboxes.wait(context.caller, sandbox, timeout_seconds=seconds)
    return await sandbox_view(context.atoll, found)


@operations.serves(Sandboxes.stop)
async def stop_sandbox(
    context: RequestContext, sandbox: str, *, waiting: Waiting = NO_WAIT
) -> SandboxView:
    seconds = longest_wait(waiting)
    return await wait_and_view(
        context, await context.atoll.sandboxes.stop(context.caller, sandbox), seconds
    )


@operations.serves(Sandboxes.sleep)
async def sleep_sandbox(
    context: RequestContext, sandbox: str, *, waiting: Waiting = NO_WAIT
) -> SandboxView:
    seconds = longest_wait(waiting)
    return await wait_and_view(
        context, await context.atoll.sandboxes.sleep(context.caller, sandbox), seconds
    )


@operations.serves(Sandboxes.start)
async def start_sandbox(
    context: RequestContext,
    sandbox: str,
    *,
    waiting: Waiting = NO_WAIT,
    resume_agents: bool | None = None,
) -> SandboxView:
    seconds = longest_wait(waiting)
    changed = await context.atoll.sandboxes.start(
        context.caller, sandbox, resume_agents=resume_agents
    )
    return await wait_and_view(context, changed, seconds)


@operations.serves(Sandboxes.archive)
async def archive_sandbox(
    context: RequestContext, sandbox: str, *, waiting: Waiting = NO_WAIT
) -> SandboxView:
    seconds = longest_wait(waiting)
    return await wait_and_view(
        context, await context.atoll.sandboxes.archive(context.caller, sandbox), seconds
    )


@operations.serves(Sandboxes.revive)
async def revive_sandbox(
    context: RequestContext, sandbox: str, *, waiting: Waiting = NO_WAIT
) -> SandboxView:
    seconds = longest_wait(waiting)
    return await wait_and_view(
        context, await context.atoll.sandboxes.revive(context.caller, sandbox), seconds
    )


@operations.serves(Sandboxes.run_setup)
async def run_setup(context: RequestContext, sandbox: str) -> SandboxView:
    changed = await context.atoll.sandboxes.run_setup(context.caller, sandbox)
    return await sandbox_view(context.atoll, changed)


@operations.serves(Sandboxes.begin_task)
async def begin_task(context: RequestContext, sandbox: str) -> SandboxView:
    changed = await context.atoll.sandboxes.begin_task(context.caller, sandbox)
    return await sandbox_view(context.atoll, changed)


@operations.serves(Sandboxes.recreate)
async def recreate_sandbox(
    context: RequestContext, sandbox: str, *, waiting: Waiting = NO_WAIT
) -> SandboxView:
    seconds = longest_wait(waiting)
    return await wait_and_view(
        context, await context.atoll.sandboxes.recreate(context.caller, sandbox), seconds
    )


@operations.serves(Sandboxes.delete)
@operations.serves(Sandboxes.destroy)
async def destroy_sandbox(
    context: RequestContext,
    sandbox: str,
    *,
    waiting: Waiting = NO_WAIT,
    keep_worktree: bool = False,
    secrets: api.KeptSecrets = None,
    unpulled: api.Unpulled = None,
) -> SandboxView:
    seconds = longest_wait(waiting)
    if secrets is not None and not keep_worktree:
        raise Invalid(
            "secrets are about files that are kept: keep_worktree keeps them", field="secrets"
        )
    if unpulled is not None and keep_worktree:
        raise Invalid("keep_worktree keeps all work: leave out unpulled", field="unpulled")
    atoll, caller = context.atoll, context.caller
    if unpulled == "refuse":
        await atoll.home.unpulled.check_lost(caller, sandbox)
    if keep_worktree:
        allowed = secrets == "allow"
        changed = await atoll.home.kept.destroy(caller, sandbox, with_secrets=allowed)
    else:
        changed = await atoll.sandboxes.destroy(caller, sandbox)
    return await wait_and_view(context, changed, seconds)


@operations.serves(Sandboxes.extend_ttl)
async def extend_ttl(context: RequestContext, sandbox: str, body: api.ExtendBody) -> SandboxView:
    changed = await context.atoll.sandboxes.extend_ttl(context.caller, sandbox, int(body.ttl))
    return await sandbox_view(context.atoll, changed)


@operations.serves(Sandboxes.log)
async def sandbox_logs(context: RequestContext, sandbox: str) -> api.LogView:
    lines = (await context.atoll.sandboxes.logs(context.caller, sandbox))[-MAX_LOG_LINES:]
    return api.LogView(lines=[answer_of(api.LogLineView, line) for line in lines])
