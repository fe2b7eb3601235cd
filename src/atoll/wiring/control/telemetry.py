"""Metrics and traces of a control plane, loaded and opened only where a setting asks for them."""

import logging
import platform
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import atoll
from atoll.adapters.auth.token_file import load_or_make_token
from atoll.adapters.storage.store import SqlStore
from atoll.adapters.telemetry.metered_store import MeteredStore
from atoll.adapters.telemetry.settings import TelemetrySettings
from atoll.domain.errors import Failed
from atoll.domain.sandboxes.reported import ORDER
from atoll.ports import Store
from atoll.ports.telemetry.metrics import Metric, Metrics, Readings
from atoll.ports.telemetry.tracer import Tracer
from atoll.services.application import Application
from atoll.services.telemetry import OFF, Telemetry
from atoll.surfaces.http.site.metrics import MetricsAccess
from atoll.wire.words.sandboxes import State
from atoll.wire.words.workers import WorkerStatus

TOKEN_FILE: Final = "metrics.token"  # noqa: S105 - a file's name

BUILD: Final = Metric("atoll_build_info", "The running version: always 1.", ("version", "python"))
SANDBOXES: Final = Metric(
    "atoll_sandboxes", "Sandboxes of the installation that are not destroyed.", ("state",)
)
AGENTS: Final = Metric("atoll_agents", "Agents in running sandboxes.", ("status",))
APPROVALS: Final = Metric("atoll_approvals_waiting", "Requests that wait for a person's decision.")
POSITION: Final = Metric("atoll_event_log_position", "Position of the newest event in the log.")
TERMINALS: Final = Metric("atoll_terminals_open", "Open terminals, as the runtimes last told.")
WORKERS: Final = Metric(
    "atoll_workers", "Workers that have a sandbox, or will have one.", ("status",)
)
SUMMARIES_BEHIND: Final = Metric(
    "atoll_worker_summaries_behind_events",
    "Events of workers that their summaries do not have yet.",
)
LAG: Final = Metric(
    "atoll_journal_lag_seconds",
    "Time since the journal of a running sandbox was read that was not read for longest.",
)
BEHIND: Final = Metric(
    "atoll_journal_behind_entries", "Journal entries that are known and not in the log yet."
)


def open_telemetry(settings: TelemetrySettings) -> Telemetry:
    """Return what the settings ask for. Raises `Failed` where a library for it is missing."""
    if settings.metrics == "off" and settings.otlp_endpoint is None:
        return OFF
    metered, traced = settings.metrics != "off", settings.otlp_endpoint is not None
    return Telemetry(
        _metrics() if metered else OFF.metrics,
        OFF.tracer
        if settings.otlp_endpoint is None
        else _tracer(settings.otlp_endpoint, settings.trace_share),
        metered,
        traced,
    )


def metrics_access(settings: TelemetrySettings, home: Path) -> MetricsAccess | None:
    """Return who may read the metrics. The token is made at the first start that needs it."""
    match settings.metrics:
        case "on":
            return MetricsAccess()
        case "token":
            return MetricsAccess(load_or_make_token(home / TOKEN_FILE))
        case _:
            return None


def meter_store(store: SqlStore, telemetry: Telemetry) -> Store:
    """Return the store as it measures itself, where somebody reads that."""
    if not telemetry.metered:
        return store
    return MeteredStore(store, telemetry.metrics, store.engines.in_use)


@contextmanager
def watch_installation(
    application: Application, store: Store, telemetry: Telemetry
) -> Iterator[None]:
    """Have the state of the installation read at each scrape, and count unexpected errors, while
    the context lasts."""
    metrics = telemetry.metrics
    if not telemetry.metered:
        yield
        return
    from atoll.adapters.telemetry.prometheus import FailureHandler

    _watch_store(metrics, store)
    _watch_journals(metrics, application)
    handler, root = FailureHandler(metrics), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def _watch_store(metrics: Metrics, store: Store) -> None:
    async def build() -> Readings:
        return {(atoll.__version__, platform.python_version()): 1}

    async def sandboxes() -> Readings:
        async with store.read() as rows:
            found = await rows.tallies.sandboxes()
        return {(one,): found.get(one, 0) for one in State if one is not State.DESTROYED}

    async def agents() -> Readings:
        async with store.read() as rows:
            found = await rows.tallies.agents()
        return {(one,): found.get(one, 0) for one in ORDER}

    async def approvals() -> Readings:
        async with store.read() as rows:
            return {(): await rows.tallies.approvals()}

    async def position() -> Readings:
        async with store.read() as rows:
            return {(): await rows.events.last_position()}

    async def workers() -> Readings:
        async with store.read() as rows:
            found = Counter(one.worker.status for one in await rows.workers.unsettled())
        return {(one,): found[one] for one in WorkerStatus}

    async def summaries() -> Readings:
        async with store.read() as rows:
            total = await rows.worker_summaries.total()
        return {(): max(0, total.newest - total.derived)}

    metrics.watch(WORKERS, workers)
    metrics.watch(SUMMARIES_BEHIND, summaries)
    metrics.watch(BUILD, build)
    metrics.watch(SANDBOXES, sandboxes)
    metrics.watch(AGENTS, agents)
    metrics.watch(APPROVALS, approvals)
    metrics.watch(POSITION, position)


def _watch_journals(metrics: Metrics, application: Application) -> None:
    standings = application.background.backend_watch.standings

    async def terminals() -> Readings:
        return {(): standings.terminals}

    async def lag() -> Readings:
        return {(): standings.lag_seconds}

    async def behind() -> Readings:
        return {(): standings.behind}

    metrics.watch(TERMINALS, terminals)
    metrics.watch(LAG, lag)
    metrics.watch(BEHIND, behind)


def _metrics() -> Metrics:
    from atoll.adapters.telemetry.prometheus import PrometheusMetrics

    return PrometheusMetrics()


def _tracer(endpoint: str, share: float) -> Tracer:
    try:
        from atoll.adapters.telemetry.otlp import OtlpTracer
    except ImportError as err:
        raise Failed(
            "otlp_endpoint is set, and the library for traces is not installed: "
            "pip install 'atoll[telemetry]'"
        ) from err
    return OtlpTracer(endpoint, share=share)
