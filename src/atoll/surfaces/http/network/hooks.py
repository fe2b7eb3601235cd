"""Routes of hooks: addresses to which other systems report, and where their reports arrive."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.hook.hook import MAX_BODY, MAX_HOOKS, Hook, HookSource
from atoll.domain.people.capability import Capability
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute, read_body
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.guard import source_of
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/hooks", tags=["hooks"], route_class=JsonRoute)
ingest = APIRouter(prefix="/v1/ingest", tags=["hooks"])


class HookBody(Body):
    """A hook for the reports of one system."""

    source: HookSource
    name: Annotated[str, Field(min_length=1, max_length=100, strict=True)]


class HookView(ResponseModel):
    """A hook. `address` is the path at which its reports arrive."""

    hook_id: str
    source: HookSource
    name: str
    address: str
    created_at: str


class MadeHookView(HookView):
    """A hook with its new secret, which no other answer has."""

    secret: str


class HookList(ResponseModel):
    """The caller's hooks."""

    hooks: list[HookView]


class TakenView(ResponseModel):
    """The outcome of a report: the kind of its event, null where it tells of none; `repeated` where
    it was taken before."""

    event_type: str | None
    repeated: bool


@router.post("", status_code=201, response_model=MadeHookView, responses=problems())
@needs(Capability.WEBHOOK_MANAGE)
async def create_hook(atoll: Atoll, caller: Caller, *, body: HookBody) -> Response:
    """Make a hook; only this answer has its secret."""
    made = await atoll.hooks.create(caller, body.source, body.name)
    return Json({**_view(made.hook), "secret": made.secret}, 201)


@router.get("", response_model=HookList, responses=problems(), openapi_extra=at_most(MAX_HOOKS))
@needs(Capability.WEBHOOK_MANAGE)
async def list_hooks(atoll: Atoll, caller: Caller) -> Response:
    """Return the caller's hooks, without their secrets."""
    return Json({"hooks": [_view(one) for one in await atoll.hooks.list(caller)]})


@router.delete("/{hook}", status_code=204, responses=problems(404))
@needs(Capability.WEBHOOK_MANAGE)
async def remove_hook(atoll: Atoll, caller: Caller, *, hook: ItemId) -> Response:
    """Remove a hook: its reports are refused from now on."""
    await atoll.hooks.remove(caller, hook)
    return no_content()


@router.post("/{hook}/test", response_model=HookView, responses=problems(404))
@needs(Capability.WEBHOOK_MANAGE)
async def test_hook(atoll: Atoll, caller: Caller, *, hook: ItemId) -> Response:
    """Append the event `hook.tested`, so that whoever watches the hook's events learns of it."""
    return Json(_view(await atoll.hooks.test(caller, hook)))


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


def _view(hook: Hook) -> dict[str, object]:
    return HookView.of(hook, hook_id=hook.id, address=f"/v1/ingest/{hook.source}/{hook.id}")
