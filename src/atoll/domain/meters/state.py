"""The state that the meters of one sandbox are derived from: its open interval."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from atoll.domain.event import Json
from atoll.domain.meters.meter import Subject
from atoll.domain.meters.pricing import AppliedRate, Remainder
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.wall.resources import NO_LIMITS, Resources
from atoll.wire.words.hosts import MAX_CORES, MAX_MEMORY_MB
from atoll.wire.words.meters import MeterKind


@dataclass(frozen=True, slots=True)
class Reservation:
    """The room that is reserved for a sandbox: thousandths of a core, and MiB; None is unknown."""

    cpu_milli: int | None = None
    memory_mb: int | None = None
    workspace_mb: int | None = None


UNKNOWN: Final = Reservation()


@dataclass(frozen=True, slots=True)
class Count:
    """The use that the doors counted since the last cut, of one kind, agent and price. `micros` is
    the money that they counted with it, None for none."""

    kind: MeterKind
    agent: str
    price_id: str
    quantity: int
    micros: int | None = None


@dataclass(frozen=True, slots=True)
class MeterState:
    """The open interval of one sandbox, after the event at `position` of the log.

    - `moment`: all time before it is in meters, none after it.
    - `phase`: the kind that its seconds have, None where nothing of it stands.
    - `was_ready`: it has files, which a failure leaves.
    - `made`: the generation whose environment was counted as made.
    - `rates`: the prices since `moment`.
    - `snapshots`: the bytes of each, by its id.
    - `ended`: it is destroyed.
    """

    subject: Subject
    moment: datetime
    position: int = 0
    phase: MeterKind | None = None
    reserved: Reservation = UNKNOWN
    was_ready: bool = False
    made: int = 0
    ended: bool = False
    rates: tuple[AppliedRate, ...] = ()
    snapshots: tuple[tuple[str, int], ...] = ()
    counts: tuple[Count, ...] = ()
    remainders: tuple[Remainder, ...] = ()

    @property
    def over(self) -> bool:
        """Report whether nothing of it can cost anything any more."""
        return self.ended and not self.snapshots and not self.counts

    def rate(self, kind: MeterKind) -> AppliedRate | None:
        """Return the price of a kind in the open interval."""
        return next((rate for rate in self.rates if rate.kind is kind), None)


def request_facts(sandbox: Sandbox, defaults: Resources) -> dict[str, Json]:
    """Return what the log says of a requested sandbox, so that its meters follow from the log
    alone: whose it is, where, and what is reserved for it. On a host a limit that it lacks is the
    default's; what has none is left out."""
    own = sandbox.profile.resources
    defaults = defaults if sandbox.host else NO_LIMITS
    reserved: dict[str, Json] = {}
    for name in ("cpu", "memory_mb", "workspace_mb"):
        limit = getattr(own, name)
        limit = getattr(defaults, name) if limit is None else limit
        if limit is not None:
            reserved[name] = limit
    facts: dict[str, Json] = {"owner": sandbox.owner, "resources": reserved}
    named = {"agent": sandbox.agent, "region": sandbox.region}
    return facts | {name: text for name, text in named.items() if text}


def read_reserved(facts: Json) -> Reservation:
    """Return the resources that `request_facts` wrote. Anything else in it is unknown."""
    if not isinstance(facts, Mapping):
        return UNKNOWN
    memory, workspace = _whole(facts.get("memory_mb")), _whole(facts.get("workspace_mb"))
    return Reservation(_milli(facts.get("cpu")), memory, workspace)


def _milli(cores: Json) -> int | None:
    if isinstance(cores, bool) or not isinstance(cores, int | float):
        return None
    return round(cores * 1000) if 0 <= cores <= MAX_CORES else None


def _whole(value: Json) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_MEMORY_MB:
        return None
    return value
