"""Instructions for a sandbox, as values, in the order they come: `services` performs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.domain.event import Json


@dataclass(frozen=True, slots=True)
class Append:
    """An event to append to the sandbox's stream, in the transaction that stores the state."""

    event_type: str
    reason: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Provision:
    """The start of the sandbox and the layout of its workspace.

    With `renew` the old workspace is started first, its commits are saved, and it is dropped; then
    `Renewed` is reported. At last `Reached` or `Broke` is reported.
    """

    generation: int
    renew: bool = False


@dataclass(frozen=True, slots=True)
class Teardown:
    """The end of every process; then `TornDown` or `TeardownFailed` is reported."""

    generation: int
    keep_state: bool


@dataclass(frozen=True, slots=True)
class Relocate:
    """The relocation that the sandbox holds, from its phase on; then `Relocated`,
    `RelocationEnded` or `RelocationFailed` is reported."""


Instruction = Append | Provision | Teardown | Relocate
