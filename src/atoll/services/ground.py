"""The ports that most services share, as one value."""

from dataclasses import dataclass

from atoll.ports import Bus, Clock, Store
from atoll.services.identifiers import Identifiers


@dataclass(frozen=True, slots=True)
class Ground:
    """The store, the bus, the clock and the ids, given to a service as one value."""

    store: Store
    bus: Bus
    clock: Clock
    ids: Identifiers
