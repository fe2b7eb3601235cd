"""Routes of hooks: addresses to which other systems report, and where their reports arrive."""

from atoll.domain.hooks.hook import MAX_BODY, Hook
from atoll.surfaces.http.body.json_body import read_body
from atoll.surfaces.http.server.guard import source_of
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import hooks as api
from atoll.wire.api.hooks import Hooks

operations = Operations()


@operations.serves(Hooks.create)
async def create_hook(context: RequestContext, body: api.HookBody) -> api.MadeHookView:
    made = await context.atoll.hooks.create(context.caller, body.source, body.name)
    return answer_of(api.MadeHookView, made.hook, **_address_fields(made.hook), secret=made.secret)


@operations.serves(Hooks.list)
async def list_hooks(context: RequestContext) -> api.HookList:
    hooks = await context.atoll.hooks.list(context.caller)
    return api.HookList(hooks=[_view(hook) for hook in hooks])


@operations.serves(Hooks.remove)
async def remove_hook(context: RequestContext, hook: str) -> None:
    await context.atoll.hooks.remove(context.caller, hook)


@operations.serves(Hooks.test)
async def test_hook(context: RequestContext, hook: str) -> api.HookView:
    return _view(await context.atoll.hooks.test(context.caller, hook))


@operations.serves(Hooks.take)
async def take_report(context: RequestContext, source: str, hook: str) -> api.TakenView:
    request = context.request
    body = await read_body(request, MAX_BODY)
    taken = await context.atoll.hooks.take(
        (source, hook), request.headers, body, client=source_of(request.scope)
    )
    return api.TakenView(event_type=taken.kind, repeated=taken.repeated)


def _view(hook: Hook) -> api.HookView:
    return answer_of(api.HookView, hook, **_address_fields(hook))


def _address_fields(hook: Hook) -> dict[str, object]:
    return {"hook_id": hook.id, "address": f"/v1/ingest/{hook.source}/{hook.id}"}
