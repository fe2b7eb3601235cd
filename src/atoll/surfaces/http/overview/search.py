"""The route of the search over names and texts."""

from collections.abc import Sequence

from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import overview as api
from atoll.wire.api.overview import Search
from atoll.wire.words.overview import HitKind

operations = Operations()


@operations.serves(Search.find)
async def search(
    context: RequestContext, *, q: str, kind: Sequence[HitKind] = (), limit: int = 20
) -> api.HitList:
    hits, complete = await context.atoll.overview.search.find(
        context.caller, q, kinds=frozenset(kind), limit=limit
    )
    return api.HitList(hits=[answer_of(api.HitView, one) for one in hits], complete=complete)
