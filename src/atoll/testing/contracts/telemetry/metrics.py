"""The contract of Metrics. Subclass `MetricsContract` and give it the fixture `metrics`, which is
empty."""

import pytest

from atoll.domain.errors import Unavailable
from atoll.ports.telemetry.metrics import MAX_SERIES, OTHER, Metric, Metrics, Readings

COUNTED = Metric("atoll_contract_acts_total", "Acts of the contract.", ("kind",))
TIMED = Metric("atoll_contract_seconds", "Times of the contract.", (), (0.1, 1.0))
READ = Metric("atoll_contract_things", "Things of the contract.", ("state",))
OTHERS = Metric("atoll_contract_others", "Other things of the contract.")


async def figures(metrics: Metrics) -> dict[str, float]:
    """Return the samples of a page, by name and labels as they are spelled there."""
    lines = (await metrics.page()).decode().splitlines()
    samples = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}


class MetricsContract:
    """Contract of metrics: what was counted, timed and read is on the page."""

    async def test_counter_adds_up_by_label(self, metrics: Metrics) -> None:
        metrics.count(COUNTED, "a")
        metrics.count(COUNTED, "a", by=2)
        metrics.count(COUNTED, "b")
        samples = await figures(metrics)
        assert samples['atoll_contract_acts_total{kind="a"}'] == 3
        assert samples['atoll_contract_acts_total{kind="b"}'] == 1

    async def test_histogram_counts_by_upper_bound(self, metrics: Metrics) -> None:
        for seconds in (0.05, 0.5, 5):
            metrics.observe(TIMED, seconds)
        samples = await figures(metrics)
        assert samples['atoll_contract_seconds_bucket{le="0.1"}'] == 1
        assert samples['atoll_contract_seconds_bucket{le="1.0"}'] == 2
        assert samples['atoll_contract_seconds_bucket{le="+Inf"}'] == 3
        assert samples["atoll_contract_seconds_count"] == 3
        assert samples["atoll_contract_seconds_sum"] == pytest.approx(5.55)

    async def test_gauge_is_read_when_the_page_is_made(self, metrics: Metrics) -> None:
        async def read() -> Readings:
            return {("on",): 2, ("off",): 0}

        metrics.watch(READ, read)
        samples = await figures(metrics)
        assert samples['atoll_contract_things{state="on"}'] == 2
        assert samples['atoll_contract_things{state="off"}'] == 0

    @pytest.mark.parametrize("error", [Unavailable("away"), RuntimeError("a defect")])
    async def test_reading_that_fails_leaves_the_others(
        self, metrics: Metrics, error: Exception
    ) -> None:
        async def fail() -> Readings:
            raise error

        async def read() -> Readings:
            return {(): 1}

        metrics.watch(READ, fail)
        metrics.watch(OTHERS, read)
        samples = await figures(metrics)
        assert samples["atoll_contract_others"] == 1
        assert not [name for name in samples if name.startswith("atoll_contract_things")]

    async def test_watching_again_replaces_the_reading(self, metrics: Metrics) -> None:
        for value in (1, 2):

            async def read(value: int = value) -> Readings:
                return {(): value}

            metrics.watch(OTHERS, read)
        assert (await figures(metrics))["atoll_contract_others"] == 2

    async def test_labels_without_end_are_bounded(self, metrics: Metrics) -> None:
        for n in range(MAX_SERIES + 10):
            metrics.count(COUNTED, f"kind{n}")
        samples = await figures(metrics)
        assert samples[f'atoll_contract_acts_total{{kind="{OTHER}"}}'] == 10

    async def test_hostile_label_stays_on_its_line(self, metrics: Metrics) -> None:
        metrics.count(COUNTED, 'a"} 1\nevil 2\\')
        assert "evil" not in await figures(metrics)
