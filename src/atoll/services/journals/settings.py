"""Settings of journals, of the event log and of the audit log."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import msgspec

from atoll.domain.errors import Invalid
from atoll.domain.event_retention import EventRetention

MAX_AWAY_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class JournalSettings:
    """Settings of journals. Raises `Invalid` for a time out of bounds.

    `away_seconds`: how long terminals wait for their drivers while their journal has no reader.
    Each runtime receives it.
    """

    away_seconds: int = 120

    def __post_init__(self) -> None:
        if not 0 <= self.away_seconds <= MAX_AWAY_SECONDS:
            raise Invalid(
                f"away_seconds {self.away_seconds} lies outside 0 to {MAX_AWAY_SECONDS}",
                field="away_seconds",
            )


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """Settings of the audit log.

    `audit_days`: how long entries are kept; 0 keeps all.
    """

    audit_days: Annotated[int, msgspec.Meta(ge=0, le=36500)] = 730

    @property
    def retention(self) -> timedelta | None:
        """Return how long entries are kept, None for good."""
        return timedelta(days=self.audit_days) if self.audit_days else None


@dataclass(frozen=True, slots=True)
class EventSettings:
    """Settings of the event log.

    `event_days`, `events_per_sandbox`: how long, and how many, events are kept; 0 keeps all.
    """

    event_days: Annotated[int, msgspec.Meta(ge=0, le=36500)] = 90
    events_per_sandbox: Annotated[int, msgspec.Meta(ge=0)] = 500_000

    @property
    def retention(self) -> EventRetention:
        """Return the retention of events."""
        age = timedelta(days=self.event_days) if self.event_days else None
        return EventRetention(age, self.events_per_sandbox or None)
