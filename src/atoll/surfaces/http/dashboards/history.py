"""Routes of a dashboard's history: who did what, and the items as they were then."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from atoll.domain.dashboard.history import HistoryEntry
from atoll.domain.dashboard.item import Fields, RichText
from atoll.domain.people.capability import Capability
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(
    prefix="/v1/dashboards/{dashboard}/history", tags=["dashboards"], route_class=JsonRoute
)

MAX_SEQ = 2**53
Seq = Annotated[int, Path(ge=0, le=MAX_SEQ)]


class HistorySummary(ResponseModel):
    """The counts of items by their kind."""

    added: dict[str, int]
    changed: dict[str, int]
    removed: dict[str, int]


class HistoryEntryView(ResponseModel):
    """Changes of one person (`actor` is an id) within a minute, up to update `seq`."""

    seq: int
    at: str
    actor: str
    summary: HistorySummary


class HistoryPage(ResponseModel):
    """A page, newest first; `next` is the following `before`, null on the last."""

    entries: list[HistoryEntryView]
    next: int | None


class FormerItems(ResponseModel):
    """The items as they were. A text with attributes is `text`, and `delta` with them: runs of
    `insert` and `attributes`."""

    items: list[dict[str, Any]]


@router.get("", response_model=HistoryPage, responses=problems(404))
@needs(Capability.DASHBOARD_READ)
async def list_dashboard_history(
    atoll: Atoll,
    caller: Caller,
    *,
    dashboard: ItemId,
    before: Annotated[int | None, Query(ge=0, le=MAX_SEQ)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> Response:
    """Return what was done on a dashboard, newest first."""
    found = await atoll.dashboards.boards.history(caller, dashboard, before=before, limit=limit + 1)
    page = found[:limit]
    following = page[-1].seq if len(found) > limit else None
    return Json({"entries": [_entry_view(one) for one in page], "next": following})


@router.get("/{seq}", response_model=FormerItems, responses=problems(404))
@needs(Capability.DASHBOARD_READ)
async def read_dashboard_history(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, seq: Seq
) -> Response:
    """Return the items as they were after an entry."""
    found = await atoll.dashboards.boards.items_at(caller, dashboard, seq)
    return Json({"items": [_item_view(item_id, fields) for item_id, fields in found.items()]})


def _entry_view(entry: HistoryEntry) -> dict[str, Any]:
    summary = {"added": entry.added, "changed": entry.changed, "removed": entry.removed}
    return HistoryEntryView.of(entry, summary=summary)


def _item_view(item_id: str, fields: Fields) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, RichText):
            shown[name] = value.plain
            shown["delta"] = [{"insert": run, "attributes": more} for run, more in value.runs]
        else:
            shown[name] = value
    return {**shown, "id": item_id}
