"""Settings of webhooks."""

from dataclasses import dataclass

from atoll.domain.network.egress import check_private


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
        check_private(self.webhook_ranges, field="webhook_ranges")
