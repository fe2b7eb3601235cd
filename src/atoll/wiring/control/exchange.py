"""The bus that the settings choose, and what uses it beyond this process."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.bus.live_channels import InProcessChannels
from atoll.adapters.bus.settings import BusSettings
from atoll.adapters.documents.documents import YrsDocuments
from atoll.domain.errors import Failed
from atoll.ports import Bus
from atoll.ports.bus import LiveChannels
from atoll.ports.senders.event_sink import EventSink
from atoll.services.application import DashboardServices
from atoll.services.dashboards.comments import DashboardComments
from atoll.services.dashboards.dashboards import Dashboards
from atoll.services.dashboards.documents import DocumentStore
from atoll.services.dashboards.homes import DashboardHomes
from atoll.services.dashboards.mentions import DashboardMentions
from atoll.services.dashboards.panes import DashboardPanes
from atoll.services.dashboards.rooms import Rooms
from atoll.services.dashboards.shares import DashboardShares
from atoll.services.dashboards.sweep import DashboardSweep
from atoll.services.ground import Ground
from atoll.services.journals.log_watch import LogWatch, Wake
from atoll.services.journals.outbox import Outbox
from atoll.services.journals.replication import Replication
from atoll.services.people.dashboard_owners import DashboardOwners
from atoll.services.sandboxes.agent_checks import AgentChecks
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.task_runner import TaskRunner
from atoll.services.terminals.terminals import Terminals
from atoll.wiring.control.access import Access


@dataclass(frozen=True, slots=True)
class Exchange:
    """A bus with its live channels. Where other replicas take part, `sink` receives the events,
    `wake` wakes this process alone, and `unheard` says why the others are not heard."""

    bus: Bus
    live: LiveChannels
    sink: EventSink | None = None
    wake: Wake | None = None
    unheard: Callable[[], str | None] = lambda: None


async def open_exchange(settings: BusSettings, stack: AsyncExitStack) -> Exchange:
    """Return the bus of the settings, connected by itself as soon as that is possible. Raises
    `Failed` where its library is missing."""
    if settings.bus_url is None:
        return Exchange(InProcessBus(), InProcessChannels())
    try:
        from atoll.adapters.bus.jetstream import JetStreamSink
        from atoll.adapters.bus.nats_bus import NatsBus
        from atoll.adapters.bus.nats_link import NatsLink
    except ImportError as error:
        raise Failed("bus_url needs the library of NATS: pip install 'atoll[nats]'") from error
    link = NatsLink(settings)
    bus = NatsBus(link, settings.bus_prefix)
    tasks = await stack.enter_async_context(asyncio.TaskGroup())
    running = tasks.create_task(bus.run())
    stack.callback(running.cancel)
    return Exchange(
        bus,
        bus,
        JetStreamSink(link, settings),
        wake=bus.wake,
        unheard=lambda: bus.trouble,
    )


def build_replication(ground: Ground, exchange: Exchange | None) -> Replication:
    """Return what runs beside the use cases where there are other replicas."""
    own = exchange or Exchange(ground.bus, InProcessChannels())
    return Replication(
        own.live,
        LogWatch(
            ground.store,
            ground.clock,
            wake=own.wake,
            alone=lambda: own.unheard() is not None,
        ),
        Outbox(ground, own.sink),
        unheard=own.unheard,
    )


def build_panes(ground: Ground, access: Access) -> DashboardPanes:
    """Return what knows the terminals on dashboards."""
    documents = DocumentStore(ground, YrsDocuments())
    return DashboardPanes(ground, documents, memberships=access.memberships)


def build_dashboards(
    ground: Ground,
    access: Access,
    exchange: Exchange | None,
    sandboxes: Sandboxes,
    terminals: Terminals,
    *,
    checks: AgentChecks,
    runner: TaskRunner,
) -> DashboardServices:
    """Return the use cases on dashboards, whose edits replicas exchange. What each open one does is
    run by `runner`."""
    live = InProcessChannels() if exchange is None else exchange.live
    documents = DocumentStore(ground, YrsDocuments())
    members = access.memberships
    mentions = DashboardMentions(ground)
    rooms = Rooms(ground, live, documents, mentions=mentions, memberships=members, runner=runner)
    boards = Dashboards(ground, documents, rooms)
    homes = DashboardHomes(
        ground,
        boards,
        sandboxes,
        terminals,
        owners=access.owners,
        checks=checks,
    )
    comments = DashboardComments(ground, boards, mentions=mentions, owners=access.owners)
    owners = DashboardOwners(ground)
    sweep = DashboardSweep(ground, documents, owners=owners)
    shares = DashboardShares(ground, boards)
    return DashboardServices(boards, rooms, homes, comments, shares, owners, sweep)
