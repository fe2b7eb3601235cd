"""The ports that most services share, as one value."""

from dataclasses import dataclass

from atoll.ports import Bus, Clock, Store
from atoll.services.identifiers import Identifiers


@dataclass(frozen=True, slots=True)
class Ground:
    """State, announcements, time and fresh ids; handed to a service whole."""

    store: Store
    bus: Bus
    clock: Clock
    ids: Identifiers
