"""Settings of forges."""

from dataclasses import dataclass

from atoll.domain.network.egress import check_private


@dataclass(frozen=True, slots=True)
class ForgeSettings:
    """Settings of forges. Raises `Invalid` for a range that is not private.

    `forge_ranges`: private networks (CIDR) that forges may be in.
    """

    forge_ranges: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_private(self.forge_ranges, field="forge_ranges")
