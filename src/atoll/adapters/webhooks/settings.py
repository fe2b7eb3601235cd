"""Settings of webhooks."""

from dataclasses import dataclass
from ipaddress import ip_network

from atoll.domain.errors import Invalid
from atoll.domain.network.egress import PRIVATE


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Settings of webhooks. Raises `Invalid` for a range that is not private.

    `allow_loopback_webhooks`: endpoints on this machine may be used.
    `webhook_ranges`: private networks (CIDR) that endpoints may be in.
    Endpoints in either may use plain http.
    """

    allow_loopback_webhooks: bool = False
    webhook_ranges: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for text in self.webhook_ranges:
            try:
                found = ip_network(text)
            except ValueError:
                found = None
            if found is None or not any(
                found.version == one.version and found.subnet_of(one)  # type: ignore[arg-type]
                for one in PRIVATE
            ):
                raise Invalid(
                    f"webhook_ranges lists private networks such as 10.1.0.0/16, not {text[:60]!r}",
                    field="webhook_ranges",
                )
