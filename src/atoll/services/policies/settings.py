"""Settings of policies: what the broker of each sandbox may do, and its network may open."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from atoll.domain.broker.price import PRICES
from atoll.domain.broker.provider import PROVIDERS
from atoll.domain.errors import Invalid
from atoll.domain.network.bounds import NetworkBounds, read_bounds
from atoll.wire.contract.policy import DoorLimits

Bound = Annotated[int, msgspec.Meta(ge=1)]


class DoorLimitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of each sandbox's broker; None takes the runtime's own. Raises `Invalid` for a
    provider that is not known, or whose prices are not."""

    requests_per_minute: Bound | None = None
    concurrent: Bound | None = None
    bytes_per_hour: Bound | None = None
    spend_micros: dict[str, Bound] = {}
    no_fetch: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_caps(self.spend_micros)
        _check_no_fetch(self.no_fetch)


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """Settings of all policies.

    `door_limits`: bounds of each sandbox's broker: `requests_per_minute`, `concurrent`,
    `bytes_per_hour`, `spend_micros`, millionths of a US dollar by provider, and `no_fetch`,
    providers that may be asked to fetch and call nothing.
    `network_bounds`: the most that any sandbox's network may open: `full`, `host_ports`, `ranges`,
    `ports` and `egress`. Without it the person who runs the installation opens anything, everybody
    else public names alone, and guests without an account what their profile names.
    `allow_loopback_remotes`: plain http to loopback may carry a secret (development).
    """

    door_limits: DoorLimitSettings = field(default_factory=DoorLimitSettings)
    allow_loopback_remotes: bool = False
    network_bounds: dict[str, bool | list[int | str]] | None = None

    def __post_init__(self) -> None:
        _ = self.bounds

    @property
    def bounds(self) -> NetworkBounds | None:
        """Return `network_bounds` as a value. Raises `Invalid`."""
        given = self.network_bounds
        return None if given is None else read_bounds(given, field="network_bounds")

    def limits(self, share: int = 1) -> DoorLimits:
        """Return the bounds of a broker as a policy holds them. One that has a `share` may spend
        that part of the money, and a millionth of a dollar at least."""
        given = DoorLimits(**msgspec.structs.asdict(self.door_limits))
        parts = {name: max(1, most // share) for name, most in given.spend_micros.items()}
        return msgspec.structs.replace(given, spend_micros=parts)


def _check_caps(caps: Mapping[str, int]) -> None:
    for name in caps.keys() - PRICES.keys():
        raise Invalid(
            f"door_limits.spend_micros.{name}: what {name} costs is not known here, so a cap would "
            f"hold nothing; known are {', '.join(sorted(PRICES))}",
            field="door_limits",
        )


def _check_no_fetch(names: tuple[str, ...]) -> None:
    for name in names:
        if name not in PROVIDERS:
            raise Invalid(
                f"door_limits.no_fetch: there is no provider {name!r}; there are "
                f"{', '.join(sorted(PROVIDERS))}",
                field="door_limits",
            )
