"""Routes of unpulled work: work that would be lost with a sandbox, branches pushed inside that its
policy does not let out, and commits a person has outside.

Each held push is an entry of `/v1/kept` as well, whose bundle brings it and whose deletion drops
it.
"""

from collections.abc import Sequence

from atoll.ports.kept import HeldPush, KeptWorktree
from atoll.services.library.pushes import held_ref
from atoll.surfaces.http.body.answers import instant
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.library import unpulled as api
from atoll.wire.api.library.unpulled import UnpulledWork

operations = Operations()


@operations.serves(UnpulledWork.pushes)
async def list_pushes(context: RequestContext, sandbox: str) -> api.PushList:
    return api.PushList(pushes=_pushes(await context.atoll.home.pushes.of(context.caller, sandbox)))


@operations.serves(UnpulledWork.unpulled)
async def unpulled_work(context: RequestContext, sandbox: str) -> api.UnpulledView:
    home = context.atoll.home
    held = _pushes(await home.pushes.shown(context.caller, sandbox))
    places = await home.unpulled.of(context.caller, sandbox)
    return api.UnpulledView(
        places=[answer_of(api.UnpulledPlace, place) for place in places], pushes=held
    )


@operations.serves(UnpulledWork.mark)
async def mark_pulled(context: RequestContext, sandbox: str, body: api.PulledBody) -> None:
    unpulled = context.atoll.home.unpulled
    await unpulled.pulled(context.caller, sandbox, repo=body.repo, commit=body.commit)


def _pushes(held: Sequence[KeptWorktree]) -> list[api.PushView]:
    return [_push(one, one.pushed) for one in held if one.pushed is not None]


def _push(kept: KeptWorktree, push: HeldPush) -> api.PushView:
    return answer_of(
        api.PushView,
        push,
        kept_id=kept.id,
        repo=kept.bundles[0],
        ref=held_ref(kept.sandbox_name, push.branch),
        bytes=kept.bytes,
        pushed_at=instant(kept.kept_at),
        kept_until=instant(kept.kept_until),
    )
