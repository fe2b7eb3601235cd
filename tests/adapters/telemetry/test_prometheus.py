"""Metrics by the official client."""

import logging
import shutil
import subprocess

import pytest
import structlog

from atoll.adapters.telemetry.prometheus import FAILURES, FailureHandler, PrometheusMetrics
from atoll.testing import FakeMetrics, MetricsContract
from atoll.testing.contracts.telemetry.metrics import COUNTED, READ, TIMED, figures


class TestPrometheusMetrics(MetricsContract):
    @pytest.fixture
    def metrics(self) -> PrometheusMetrics:
        return PrometheusMetrics()


class TestFakeMetrics(MetricsContract):
    @pytest.fixture
    def metrics(self) -> FakeMetrics:
        return FakeMetrics()


async def test_page_is_read_at_most_once_a_second() -> None:
    metrics, read = PrometheusMetrics(), 0

    async def reading() -> dict[tuple[str, ...], float]:
        nonlocal read
        read += 1
        return {("on",): read}

    metrics.watch(READ, reading)
    pages = [await figures(metrics) for _ in range(5)]
    assert read == 1 and pages[4]['atoll_contract_things{state="on"}'] == 1


def test_unexpected_error_in_the_log_is_counted_by_its_event() -> None:
    metrics = FakeMetrics()
    handler, root = FailureHandler(metrics), logging.getLogger("atoll.test")
    root.addHandler(handler)
    try:
        for told in ({"event": "work_broke"}, {"event": "sb_42 is /a path"}, "plain"):
            try:
                raise RuntimeError("a defect")
            except RuntimeError:
                root.exception(told)
        root.error({"event": "work_failed"})
        root.error({"event": "poll_broke", "exception": "Traceback …"})
    finally:
        root.removeHandler(handler)
    assert dict(metrics.counted) == {
        (FAILURES, ("work_broke",)): 1,
        (FAILURES, ("other",)): 2,
        (FAILURES, ("poll_broke",)): 1,
    }
    assert structlog.contextvars.get_contextvars() == {}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool (prometheus)")
async def test_promtool_finds_nothing_wrong_with_the_page() -> None:
    metrics = PrometheusMetrics()
    metrics.count(COUNTED, "a")
    metrics.observe(TIMED, 0.2)
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=await metrics.page(), capture_output=True
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", b"")
