"""Settings of metrics and traces."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from atoll.domain.errors import Invalid

METRICS = ("off", "on", "token")


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """Settings of metrics and traces. Raises `Invalid` for what cannot be meant.

    `metrics`: `off`, `on` (`GET /metrics` for programs of this machine) or `token` (for whoever has
    the token in `metrics.token`).
    `otlp_endpoint`: the base URL of an OTLP/HTTP collector; none exports no traces.
    `trace_share`: the share of traces that are recorded, from 0 to 1.
    """

    metrics: str = "off"
    otlp_endpoint: str | None = None
    trace_share: float = 1.0

    def __post_init__(self) -> None:
        if self.metrics not in METRICS:
            raise Invalid(f"metrics is one of {', '.join(METRICS)}", field="metrics")
        if not 0 <= self.trace_share <= 1:
            raise Invalid("trace_share must lie between 0 and 1", field="trace_share")
        if self.otlp_endpoint is not None:
            parts = urlsplit(self.otlp_endpoint)
            if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
                raise Invalid(
                    "otlp_endpoint must be an http or https URL without credentials: headers for "
                    "the collector come from OTEL_EXPORTER_OTLP_HEADERS",
                    field="otlp_endpoint",
                )
