"""Usage as it is read: series over time, for the administrators of an organization.

`services.lifecycle.usage_sampling` writes what is read here.
"""

from dataclasses import dataclass

from atoll.domain.overview.usage import (
    DoorCounts,
    Gauges,
    UsagePoint,
    UsageRange,
    range_of,
    series,
    total,
)
from atoll.domain.people.principal import Principal
from atoll.services.ground import Ground
from atoll.services.people.memberships import organization_for


@dataclass(frozen=True, slots=True)
class UsageSeries:
    """A series, its highest standing, and its sums; and the standing of now, which is sampled for
    the series only once a minute."""

    span: UsageRange
    points: list[UsagePoint]
    highest: Gauges
    counts: DoorCounts
    now: Gauges


class Usage:
    """The usage of an organization over time."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def series(self, caller: Principal, ref: str, *, hours: int, bucket: str) -> UsageSeries:
        """Return the usage of an organization in the last hours. Raises `NotFound` for one of
        others, and `Invalid` for a range that is not kept."""
        span = range_of(self._ground.clock.now(), hours=hours, bucket=bucket)
        async with self._ground.store.read() as rows:
            organization, _ = await organization_for(rows, caller, ref)
            points = series(await rows.usage.buckets(organization.id, span), span)
            now = await rows.usage.standing(organization.id)
        return UsageSeries(span, points, *total(points), now)
