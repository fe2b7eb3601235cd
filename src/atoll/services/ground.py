"""The ports that most services share, as one value."""

from dataclasses import dataclass, field

from atoll.ports import Bus, Clock, Store
from atoll.ports.leadership import Leadership
from atoll.services.identifiers import Identifiers
from atoll.services.sole_leader import SoleLeader
from atoll.services.telemetry import OFF, Telemetry


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
