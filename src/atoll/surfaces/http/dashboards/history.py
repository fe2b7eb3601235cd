"""Routes of a dashboard's history: who did what, and the items as they were then."""

from typing import Any

from atoll.domain.dashboards.history import HistoryEntry
from atoll.domain.dashboards.item import Fields, RichText
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.dashboards import comments as api
from atoll.wire.api.dashboards.comments import DashboardHistory

operations = Operations()


@operations.serves(DashboardHistory.list)
async def list_dashboard_history(
    context: RequestContext, dashboard: str, *, before: int | None = None, limit: int = 100
) -> api.HistoryPage:
    found = await context.atoll.dashboards.boards.history(
        context.caller, dashboard, before=before, limit=limit + 1
    )
    page = found[:limit]
    following = page[-1].seq if len(found) > limit else None
    return api.HistoryPage(entries=[_entry_view(one) for one in page], next=following)


@operations.serves(DashboardHistory.read)
async def read_dashboard_history(
    context: RequestContext, dashboard: str, seq: int
) -> api.FormerItems:
    found = await context.atoll.dashboards.boards.items_at(context.caller, dashboard, seq)
    return api.FormerItems(items=[_item_view(*one) for one in found.items()])


def _entry_view(entry: HistoryEntry) -> api.HistoryEntryView:
    return answer_of(api.HistoryEntryView, entry, summary=answer_of(api.HistorySummary, entry))


def _item_view(item_id: str, fields: Fields) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, RichText):
            shown[name] = value.plain
            shown["delta"] = [{"insert": run, "attributes": more} for run, more in value.runs]
        else:
            shown[name] = value
    return {**shown, "id": item_id}
