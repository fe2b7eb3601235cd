"""The ports that most services share, as one value."""

from dataclasses import dataclass, field

from atoll.ports import Bus, Clock, Store, Transaction
from atoll.ports.leadership import Act, Leadership
from atoll.services.identifiers import Identifiers
from atoll.services.telemetry import OFF, Telemetry


class SoleLeader:
    """The leadership of a control plane that shares its store with no other: it always leads."""

    shared = False
    leads = True

    async def run(self, act: Act) -> None:
        """See the port."""
        await act()

    async def check(self, rows: Transaction) -> None:
        """See the port."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The store, the bus, the clock, the ids, the telemetry, and the part in the election of a
    leader, given to a service as one value. `published_as` is the stream of the bus that the log is
    published to; empty is none."""

    store: Store
    bus: Bus
    clock: Clock
    ids: Identifiers
    telemetry: Telemetry = OFF
    leadership: Leadership = field(default_factory=SoleLeader)
    published_as: str = ""
