"""A host: a machine that sandboxes are placed on, and what it may hold.

The nouns only. The machine of the control plane is the host `local`, which is always there.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NewType

from atoll.domain.ids import OrgId
from atoll.domain.wall.isolation import Isolation
from atoll.wire.words.hosts import HostKind, HostState

HostId = NewType("HostId", str)

LOCAL: Final = "local"
"""The name of the control plane's own machine."""

NOT_TRUSTED: Final = "host_not_trusted"
"""The code of an error of a backend that sent nothing, since the host shows another key."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """The room of a host for sandboxes that run; None is no limit."""

    sandboxes: int | None = None
    cpu: float | None = None
    memory_mb: int | None = None


@dataclass(frozen=True, slots=True)
class HourlyCost:
    """A declared price of a host, in millionths of `currency` an hour."""

    micros: int
    currency: str = "USD"


def amount(micros: int) -> str:
    """Return an amount of money as people write it: all its digits, and no zeros after them."""
    whole, rest = divmod(micros, 1_000_000)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class Host:
    """A host. Its name is unique and never changes: sandboxes are stored with it.

    - `address` is `ssh://user@host[:port]` and `host_key` the pinned public key, both empty for
      another kind.
    - `overcommit` multiplies the cores and the memory of `capacity`, not its sandboxes.
    - `organization` and `profile`: the host is dedicated to them.
    - `isolation` is the wall that a desktop reports; elsewhere its backend knows.
    """

    id: HostId
    name: str
    kind: HostKind
    created_at: datetime
    address: str = ""
    host_key: str = ""
    region: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    capacity: Capacity = Capacity()
    overcommit: float = 1.0
    cost_per_hour: HourlyCost | None = None
    organization: OrgId | None = None
    profile: str | None = None
    state: HostState = HostState.ACTIVE
    isolation: Isolation | None = None

    @property
    def dedicated(self) -> bool:
        """Report whether it is for one organization or profile alone."""
        return self.organization is not None or self.profile is not None


@dataclass(frozen=True, slots=True)
class HostCheck:
    """Result of a look at a host. `key_unchanged` is None where no key is compared; `wall` says
    whether sandboxes can be walled in there. `problems` prevent sandboxes, `lacks` are what they
    do without."""

    reachable: bool
    key_unchanged: bool | None
    wall: bool
    problems: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


LOCAL_HOST: Final = Host(
    HostId("ho_local"), LOCAL, HostKind.LOCAL, datetime.fromtimestamp(0, tz=UTC)
)
"""The control plane's own machine, as it is until somebody changes it."""
