"""The ports that most services share, as one value."""

from dataclasses import dataclass

from atoll.ports import Bus, Clock, Store
from atoll.services.identifiers import Identifiers
from atoll.services.telemetry import OFF, Telemetry


@dataclass(frozen=True, slots=True)
class Ground:
    """The store, the bus, the clock, the ids and the telemetry, given to a service as one value."""

    store: Store
    bus: Bus
    clock: Clock
    ids: Identifiers
    telemetry: Telemetry = OFF
