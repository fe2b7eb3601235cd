"""Panes of terminals on dashboards: who sees a dashboard may watch the terminals on it.

Only those of sandboxes that the dashboard shows count, which its editors may use anyway. No other
right on a sandbox comes of it.
"""

import asyncio
from dataclasses import dataclass
from functools import partial

from atoll.domain.dashboards.dashboard import Dashboard, shows_sandbox, watches_panes
from atoll.domain.errors import Invalid
from atoll.domain.ids import DashboardId, SandboxId
from atoll.domain.people.principal import Principal
from atoll.ports.documents import Document
from atoll.services.dashboards.documents import DocumentStore
from atoll.services.ground import Ground
from atoll.services.people.memberships import Memberships
from atoll.services.people.shares import is_link_over
from atoll.wire.words.events import ActorKind

FRESH_SECONDS = 2.0
"""The time for which a pane that was seen counts as there."""

READ_SECONDS = 0.5
"""The time between two readings of one document, whoever asks and for whatever."""

MAX_KNOWN = 500

Pane = tuple[str, str]
"""The ids of a sandbox and a terminal."""


@dataclass(slots=True)
class _Known:
    """The panes of a document as of update `seq`, which was read at `at` of a steady clock."""

    at: float
    seq: int
    panes: frozenset[Pane]


class DashboardPanes:
    """The panes of terminals on all dashboards, as the store has them."""

    def __init__(
        self, ground: Ground, documents: DocumentStore, *, memberships: Memberships
    ) -> None:
        self._store, self._clock = ground.store, ground.clock
        self._documents = documents
        self._memberships = memberships
        self._known: dict[DashboardId, _Known] = {}

    async def host_of(self, caller: Principal, ref: str, terminal_id: str) -> Principal | None:
        """Return the owner of a sandbox, by its id, when a dashboard that the caller sees has a
        pane of this terminal; None for anybody else, and for a token of one sandbox."""
        current = await self._memberships.current(caller)
        if current is None or (current.token is not None and current.token.sandbox_id is not None):
            return None
        sandbox_id = SandboxId(ref)
        async with self._store.read() as rows:
            over = await is_link_over(rows, current, self._clock.now())
            sandbox = None if over else await rows.sandboxes.get(sandbox_id)
            showing = [] if sandbox is None else await rows.dashboards.showing(sandbox_id)
        if sandbox is None:
            return None
        for dashboard in showing:
            shows = dashboard.org_id == sandbox.org_id and shows_sandbox(dashboard, sandbox_id)
            if (
                shows
                and watches_panes(current, dashboard)
                and await self._has_pane(dashboard, (ref, terminal_id))
            ):
                return Principal(sandbox.org_id, sandbox.owner, ActorKind.PERSON)
        return None

    async def _has_pane(self, dashboard: Dashboard, pane: Pane) -> bool:
        """Report whether a dashboard has a pane. A document is read at most once in a while, so
        some who ask wait a little."""
        clock = asyncio.get_running_loop()
        while True:
            known = self._known.get(dashboard.id)
            if known is None:
                break
            age = clock.time() - known.at
            if pane in known.panes and age < FRESH_SECONDS:
                return True
            async with self._store.read() as rows:
                head = await rows.documents.head(dashboard.id)
            if known.seq == head:
                return pane in known.panes
            if age >= READ_SECONDS:
                break
            await asyncio.sleep(READ_SECONDS - age)
        return pane in await self._read(dashboard.id)

    async def _read(self, dashboard_id: DashboardId) -> frozenset[Pane]:
        before = self._known.pop(dashboard_id, None)
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        begun = asyncio.get_running_loop().time()
        if before is not None:
            # Who asks meanwhile waits instead of reading it, too.
            self._known[dashboard_id] = _Known(begun, before.seq, before.panes)
        loaded = await self._documents.load(dashboard_id)
        panes = await self._documents.beside(partial(_panes, loaded.document))
        self._known[dashboard_id] = _Known(begun, loaded.seq, panes)
        return panes


def _panes(document: Document) -> frozenset[Pane]:
    """Return the terminals that a document shows."""
    panes = set()
    for item_id in document.ids():
        try:
            fields = document.item(item_id) or {}
        except Invalid:
            continue
        sandbox_id, terminal_id = fields.get("sandbox_id"), fields.get("terminal_id")
        if isinstance(sandbox_id, str) and isinstance(terminal_id, str):
            panes.add((sandbox_id, terminal_id))
    return frozenset(panes)
