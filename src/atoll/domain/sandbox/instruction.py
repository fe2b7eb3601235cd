"""What is to be done for a sandbox, as values, in the order they come: `services` performs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.domain.event import Json


@dataclass(frozen=True, slots=True)
class Append:
    """Append this event to the sandbox's stream, in the transaction that stores the state."""

    event_type: str
    reason: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Provision:
    """Bring it up and lay out its workspace. With `renew` the old workspace is first brought
    up, its commits saved, and dropped; then comes `Renewed`, at last `Reached` or `Broke`."""

    generation: int
    renew: bool = False


@dataclass(frozen=True, slots=True)
class Teardown:
    """End every process; then comes `TornDown` or `TeardownFailed`."""

    generation: int
    keep_state: bool


Instruction = Append | Provision | Teardown
