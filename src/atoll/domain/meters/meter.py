"""A meter: a record of what was used from one moment to another, and what that costs.

Amounts of money are whole micros, millionths of a currency. What a division leaves is carried on in
the state that meters are derived from, so the sums of any partition of a time are the same.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NewType

from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.wire.words.meters import Basis, MeterKind, Source, Unit

MeterId = NewType("MeterId", str)

UNITS: Final[Mapping[MeterKind, Unit]] = {
    MeterKind.RUNNING: Unit.SECOND,
    MeterKind.PAUSED: Unit.SECOND,
    MeterKind.STOPPED: Unit.SECOND,
    MeterKind.HOST: Unit.SECOND,
    MeterKind.POOL: Unit.SECOND,
    MeterKind.GPU: Unit.SECOND,
    MeterKind.CPU: Unit.CORE_SECOND,
    MeterKind.MEMORY: Unit.GIB_SECOND,
    MeterKind.DISK: Unit.GIB_SECOND,
    MeterKind.SNAPSHOTS: Unit.GIB_SECOND,
    MeterKind.CREATION: Unit.COUNT,
    MeterKind.BYTES_IN: Unit.BYTE,
    MeterKind.BYTES_OUT: Unit.BYTE,
    MeterKind.TOKENS_READ: Unit.TOKEN,
    MeterKind.TOKENS_WRITTEN: Unit.TOKEN,
    MeterKind.TOKENS_CACHED: Unit.TOKEN,
}
"""The unit of each kind's quantity."""

DECLARED: Final = frozenset({MeterKind.CPU, MeterKind.MEMORY, MeterKind.DISK, MeterKind.GPU})
"""The kinds whose quantity is what was asked for, times the time."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The one who used something, and where. `sandbox_id` is None for a host's idle time.
    `consumer` is a harness, or `harness/id` of its session, run or job; empty texts are unknown, or
    do not apply."""

    sandbox_id: SandboxId | None
    org_id: OrgId
    owner: PrincipalId
    generation: int = 1
    agent: str = ""
    consumer: str = ""
    extension: str = ""
    host: str = ""
    region: str = ""


@dataclass(frozen=True, slots=True)
class Charge:
    """The cost of a quantity by one price. None in place of it: no price is known."""

    price_id: str
    micros: int
    currency: str


@dataclass(frozen=True, slots=True)
class Meter:
    """A record of use from `begin` to `end`. `quantity` counts whole units of `UNITS`."""

    id: MeterId
    subject: Subject
    kind: MeterKind
    quantity: int
    begin: datetime
    end: datetime
    charge: Charge | None
    source: Source
    basis: Basis = Basis.ALLOCATED

    @property
    def unit(self) -> Unit:
        """The unit of its quantity."""
        return UNITS[self.kind]


@dataclass(frozen=True, slots=True)
class MeterFilter:
    """The meters of these, of one owner, and in a time; None matches any. A meter lies in a time
    where it begins at or after `begin` and before `end`. `consumer` is a harness, or all of
    `harness/id`."""

    org_id: OrgId
    owner: PrincipalId | None = None
    sandbox_id: SandboxId | None = None
    kind: MeterKind | None = None
    agent: str | None = None
    consumer: str | None = None
    begin: datetime | None = None
    end: datetime | None = None


def meter_id(*parts: object) -> MeterId:
    """Return the id of the meter that these name: the same ones give the same id."""
    text = "\0".join(map(str, parts))
    return MeterId("mt_" + hashlib.blake2b(text.encode(), digest_size=12).hexdigest())
