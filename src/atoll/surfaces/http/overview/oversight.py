"""Routes of oversight: every sandbox of an organization, and how administrators end one."""

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.store.overview.sandboxes import OverviewQuery
from atoll.services.overview.oversight import Overseen
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.reading import longest_wait
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.fields import NO_WAIT, Waiting
from atoll.wire.api.overview import DoorCountsView
from atoll.wire.api.sandboxes import oversight as api
from atoll.wire.api.sandboxes.oversight import (
    EVERY_SANDBOX,
    OverseenQuery,
    OverseenSandboxes,
    RunningSandboxes,
)
from atoll.wire.api.sandboxes.sandboxes import Unpulled

operations = Operations()


@operations.serves(OverseenSandboxes.list)
async def oversee_sandboxes(
    context: RequestContext, organization: str, *, filters: OverseenQuery = EVERY_SANDBOX
) -> api.OverseenPageView:
    query = OverviewQuery(
        OrgId(organization),
        tuple(filters.state),
        None if filters.owner is None else PrincipalId(filters.owner),
        filters.q.strip(),
        filters.sort,
        filters.descending,
        filters.offset,
        filters.limit,
    )
    found = await context.atoll.overview.oversight.page(context.caller, organization, query)
    following = filters.offset + len(found.sandboxes)
    return api.OverseenPageView(
        sandboxes=[_view(one) for one in found.sandboxes],
        total=found.total,
        tally=dict(found.tally),
        next=following if found.sandboxes and following < found.total else None,
    )


@operations.serves(OverseenSandboxes.stop)
async def stop_overseen(
    context: RequestContext, organization: str, sandbox: str, *, waiting: Waiting = NO_WAIT
) -> api.OverseenView:
    seconds = longest_wait(waiting)
    stopped = await context.atoll.overview.oversight.stop(
        context.caller, organization, sandbox, wait_seconds=seconds
    )
    return _view(stopped)


@operations.serves(OverseenSandboxes.destroy)
async def destroy_overseen(
    context: RequestContext, organization: str, sandbox: str, *, unpulled: Unpulled = None
) -> api.OverseenView:
    oversight = context.atoll.overview.oversight
    if unpulled == "refuse":
        await oversight.check_lost(context.caller, organization, sandbox)
    return _view(await oversight.destroy(context.caller, organization, sandbox))


@operations.serves(RunningSandboxes.list)
async def list_running(context: RequestContext) -> api.RunningList:
    found = await context.atoll.overview.oversight.list_running()
    return api.RunningList(sandboxes=[_running_view(one) for one in found])


@operations.serves(RunningSandboxes.stop)
async def stop_running(
    context: RequestContext, sandbox: str, *, waiting: Waiting = NO_WAIT
) -> api.RunningView:
    seconds = longest_wait(waiting)
    halted = await context.atoll.overview.oversight.halt(
        context.caller, sandbox, wait_seconds=seconds or 0
    )
    return _running_view(halted)


def _running_view(one: Sandbox) -> api.RunningView:
    return answer_of(api.RunningView, one, sandbox_id=one.id)


def _view(one: Overseen) -> api.OverseenView:
    statuses = [agent.status.status for agent in one.agents]
    return answer_of(
        api.OverseenView,
        one.sandbox,
        sandbox_id=one.sandbox.id,
        profile=one.sandbox.profile.id,
        agents=sum(status != "stopped" for status in statuses),
        working=statuses.count("working"),
        waiting=statuses.count("needs_you"),
        counts=answer_of(DoorCountsView, one.counts),
    )
