"""Metrics by Prometheus' own client library, in a registry that nothing else writes to."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import generate_latest

from atoll.domain.errors import AtollError
from atoll.ports.telemetry.metrics import MAX_SERIES, OTHER, Metric, Metrics, Readings

FRESH_SECONDS: Final = 1.0
READ_SECONDS: Final = 5.0

READINGS_FAILED: Final = Metric(
    "atoll_metric_readings_failed_total", "Gauges that could not be read.", ("metric",)
)
FAILURES: Final = Metric(
    "atoll_task_failures_total",
    "Unexpected errors that ended a background task or a request, by the event in the log.",
    ("event",),
)

_EVENT = re.compile(r"[a-z][a-z_]{0,63}").fullmatch
_log = structlog.get_logger(__name__)


class PrometheusMetrics:
    """The `ports.telemetry.metrics.Metrics` on the official client."""

    def __init__(self) -> None:
        # Of the whole process: a time of creation beside each series doubles the page.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry(auto_describe=True)
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        self._gauges: dict[str, Gauge] = {}
        self._readings: dict[str, tuple[Metric, Callable[[], Awaitable[Readings]]]] = {}
        self._series: dict[str, set[tuple[str, ...]]] = {}
        self._read_at = float("-inf")
        ProcessCollector(registry=self._registry)

    def count(self, metric: Metric, *labels: str, by: float = 1) -> None:
        """See the port."""
        counter = self._counters.get(metric.name)
        if counter is None:
            counter = Counter(metric.name, metric.about, metric.labels, registry=self._registry)
            self._counters[metric.name] = counter
        bounded = self._limit_labels(metric, labels)
        (counter.labels(*bounded) if bounded else counter).inc(by)

    def observe(self, metric: Metric, seconds: float, *labels: str) -> None:
        """See the port."""
        histogram = self._histograms.get(metric.name)
        if histogram is None:
            histogram = Histogram(
                metric.name,
                metric.about,
                metric.labels,
                buckets=metric.buckets or Histogram.DEFAULT_BUCKETS,
                registry=self._registry,
            )
            self._histograms[metric.name] = histogram
        bounded = self._limit_labels(metric, labels)
        (histogram.labels(*bounded) if bounded else histogram).observe(seconds)

    def watch(self, metric: Metric, read: Callable[[], Awaitable[Readings]]) -> None:
        """See the port."""
        if metric.name not in self._gauges:
            gauge = Gauge(metric.name, metric.about, metric.labels, registry=self._registry)
            self._gauges[metric.name] = gauge
        self._readings[metric.name] = (metric, read)

    async def page(self) -> bytes:
        """See the port."""
        now = time.monotonic()
        if now - self._read_at >= FRESH_SECONDS:
            # Set first: of scrapers that come together one reads.
            self._read_at = now
            for metric, read in list(self._readings.values()):
                await self._read(metric, read)
        page: bytes = generate_latest(self._registry)
        return page

    async def _read(self, metric: Metric, read: Callable[[], Awaitable[Readings]]) -> None:
        gauge = self._gauges[metric.name]
        try:
            async with asyncio.timeout(READ_SECONDS):
                found = await read()
        except (AtollError, TimeoutError) as error:
            gauge.clear()
            self.count(READINGS_FAILED, metric.name)
            _log.info("metric_not_read", metric=metric.name, reason=str(error))
            return
        except Exception:  # noqa: BLE001 - a feature's mistake must not take the page away
            gauge.clear()
            self.count(READINGS_FAILED, metric.name)
            _log.exception("metric_reading_broke", metric=metric.name)
            return
        gauge.clear()
        for labels, value in list(found.items())[:MAX_SERIES]:
            (gauge.labels(*labels) if labels else gauge).set(value)

    def _limit_labels(self, metric: Metric, labels: tuple[str, ...]) -> tuple[str, ...]:
        """Return the labels, or `OTHER` for each once the metric has too many combinations."""
        known = self._series.setdefault(metric.name, set())
        if labels in known:
            return labels
        if len(known) >= MAX_SERIES:
            return (OTHER,) * len(labels)
        known.add(labels)
        return labels


class FailureHandler(logging.Handler):
    """Counter of unexpected errors: every task's root logs them as an event with an exception."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(logging.ERROR)
        self._metrics = metrics

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record that has an exception."""
        told = record.msg if isinstance(record.msg, dict) else {}
        if "exception" in told or record.exc_info:
            event = str(told.get("event", ""))
            self._metrics.count(FAILURES, event if _EVENT(event) else OTHER)
