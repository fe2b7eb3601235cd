"""The use cases of workers, over the sandboxes that their agents live in."""

from atoll.adapters.workers.dialled import DialledHost
from atoll.services.agents.agents import Agents
from atoll.services.application import WorkerServices
from atoll.services.ground import Ground
from atoll.services.journals.events import Events
from atoll.services.workers.admission import WorkerAdmission
from atoll.services.workers.desktop_deltas import DesktopDeltas
from atoll.services.workers.desktops import Desktops
from atoll.services.workers.driving import WorkerDriver
from atoll.services.workers.fallback import WorkerFallback
from atoll.services.workers.handing_over import Handovers
from atoll.services.workers.heartbeats import Heartbeats
from atoll.services.workers.intake import HostIntake
from atoll.services.workers.live import LiveDeltas
from atoll.services.workers.reports import WorkerReports
from atoll.services.workers.retention import WorkerRetention
from atoll.services.workers.runtime_host import RuntimeHost
from atoll.services.workers.settings import WorkerSettings
from atoll.services.workers.streams import WorkerStreams
from atoll.services.workers.summaries import WorkerSummaries
from atoll.services.workers.transitions import WorkerTransitions
from atoll.services.workers.worker_places import WorkerPlaces
from atoll.services.workers.workers import Workers
from atoll.wiring.control.library import Library
from atoll.wiring.control.lifecycle.ports import SandboxPorts
from atoll.wiring.control.lifecycle.sandboxes import SandboxServices


def build_workers(
    ground: Ground,
    within: SandboxServices,
    agents: Agents,
    ports: SandboxPorts,
    library: Library,
    *,
    events: Events,
    settings: WorkerSettings,
) -> WorkerServices:
    """Return the use cases of workers, and what the leader does for them."""
    exchange = library.ports.exchange
    deltas = DesktopDeltas(None if exchange is None else exchange.live)
    desktop = DialledHost(ground.store, ground.bus, ports.vault, clock=ground.clock)
    host = WorkerPlaces(
        ground,
        within.admission,
        runtime=RuntimeHost(
            ground,
            within.sandboxes,
            agents,
            library.preparation.saver,
            access=within.access,
        ),
        desktop=desktop,
        deltas=deltas,
    )
    transitions = WorkerTransitions(ground)
    heartbeats = Heartbeats(ground, transitions)
    driver = WorkerDriver(
        ground,
        transitions,
        host=host,
        fallback=WorkerFallback(ground, host),
        heartbeats=heartbeats,
        tasks=within.background.runners.lead,
    )
    admission = WorkerAdmission(
        within.admission, within.sandboxes, ports.agents, access=within.access, checks=within.checks
    )
    workers = Workers(ground, transitions, driver, host=host, admission=admission)
    handovers = Handovers(ground, transitions, workers, host=host, agents=agents, desktops=desktop)
    streams = WorkerStreams(ground, LiveDeltas(ground, host, tasks=within.background.runners.own))
    retention = WorkerRetention(ground, settings.retention)
    reports = WorkerReports(ground, events)
    summaries = WorkerSummaries(ground)
    return WorkerServices(
        workers,
        streams,
        retention,
        reports,
        handovers,
        driver,
        heartbeats,
        summaries,
        Desktops(ground, ports.vault),
        HostIntake(ground, deltas),
    )
