"""Every sandbox of an organization, as its administrators look over them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.overview.usage import DoorCounts
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.wire.words.overview import SortKey
from atoll.wire.words.sandboxes import State


@dataclass(frozen=True, slots=True)
class OverviewQuery:
    """At most `limit` sandboxes after the first `offset`, in the order of a column. `text` is a
    part of the name, letters of both cases alike; no `states` means all but `destroyed`."""

    org_id: OrgId
    states: tuple[State, ...] = ()
    owner: PrincipalId | None = None
    text: str = ""
    sort: SortKey = SortKey.CREATED
    descending: bool = True
    offset: int = 0
    limit: int = 50


@dataclass(frozen=True, slots=True)
class OverviewRow:
    """A sandbox and what passed its doors, in all."""

    sandbox: Sandbox
    counts: DoorCounts


class OverviewSandboxRows(Protocol):
    """The sandboxes of an organization, whoever owns them: for its administrators alone."""

    async def page(self, query: OverviewQuery) -> list[OverviewRow]:
        """Return one page."""
        ...

    async def tally(self, query: OverviewQuery) -> Mapping[State, int]:
        """Return how many sandboxes fit the query by state, whatever states it names. A state of
        none is missing."""
        ...

    async def get(self, org_id: OrgId, sandbox_id: SandboxId) -> OverviewRow | None:
        """Return one sandbox of the organization, None where it is none of it."""
        ...
