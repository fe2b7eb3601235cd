"""Routes of hooks: addresses to which other systems report, and where their reports arrive."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from atoll.domain.hook.hook import MAX_BODY, Hook
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.json_body import read_body
from atoll.surfaces.http.server.context import Atoll
from atoll.surfaces.http.server.guard import source_of
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import hooks as api
from atoll.wire.api.hooks import Hooks

operations = Operations()
ingest = APIRouter(prefix="/v1/ingest", tags=["hooks"])


class TakenView(ResponseModel):
    """The outcome of a report: the kind of its event, null where it tells of none; `repeated` where
    it was taken before."""

    event_type: str | None
    repeated: bool


@operations.serves(Hooks.create)
async def create_hook(context: RequestContext, body: api.HookBody) -> api.MadeHookView:
    made = await context.atoll.hooks.create(context.caller, body.source, body.name)
    return answer_of(api.MadeHookView, made.hook, **_named(made.hook), secret=made.secret)


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


@ingest.post(
    "/{source}/{hook}",
    status_code=202,
    response_model=TakenView,
    responses=problems(413),
    openapi_extra={
        "requestBody": {
            "content": {"application/json": {"schema": {"type": "object"}}},
            "required": True,
        }
    },
)
async def take_report(
    atoll: Atoll,
    request: Request,
    *,
    source: Annotated[str, Path(max_length=20)],
    hook: Annotated[str, Path(max_length=64)],
) -> Response:
    """Take a report of another system. Its signature is the credential."""
    body = await read_body(request, MAX_BODY)
    taken = await atoll.hooks.take(
        (source, hook), request.headers, body, client=source_of(request.scope)
    )
    return Json({"event_type": taken.kind, "repeated": taken.repeated}, 202)


def _view(hook: Hook) -> api.HookView:
    return answer_of(api.HookView, hook, **_named(hook))


def _named(hook: Hook) -> dict[str, object]:
    return {"hook_id": hook.id, "address": f"/v1/ingest/{hook.source}/{hook.id}"}
