"""Journals: what happened in runtimes, taken into the event log exactly once.

A runtime keeps a bounded journal on disk, also while no control plane is there. Entries
are numbered; the mark of the last one taken in is stored with the events themselves, so
a crash between storing and acknowledging repeats nothing.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec
import structlog

from atoll.domain.errors import Conflict, Failed, NotFound
from atoll.domain.event import KINDS, EventDraft, Json, Kind, sandbox_stream
from atoll.domain.ids import PrincipalId, SandboxId
from atoll.domain.people.principal import SYSTEM, ActorKind, Principal
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.ports import RuntimeClient, Transaction
from atoll.services.approvals.requests import Heard, Taken, Taker
from atoll.services.journals.agent_actors import acting_agent
from atoll.services.journals.agent_reports import read_word
from atoll.services.sandboxes.transitions import Transitions
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.contract.journal import JournalEntry, JournalPage, acknowledge, read_journal

PAGE = 500
"""Entries read at once."""

MAX_PAYLOAD_BYTES = 16384
"""An entry beyond this keeps only its id and number: the journal is written beside the wall,
but what it tells of happened inside."""

REMEMBERED_ACTORS = 10_000

_NOT_LOGGED = frozenset({"runtime.began", "runtime.stopped"})
"""What a runtime notes for whoever reads its journal: the sandbox's own transition tells it."""

_SEATED = ("terminal.input", "terminal.control")

_log = structlog.get_logger(__name__)


class Journals:
    """Reads journals into the log. Terminals and execs begun by a known person carry that
    person as actor for as long as this process remembers."""

    def __init__(
        self,
        transitions: Transitions,
        takers: Mapping[str, Taker] | None = None,
        *,
        away_seconds: int = 120,
    ) -> None:
        """`takers` take in the kinds that are more than an event. `away_seconds` is what each
        runtime is told: how long it waits for drivers while its journal has no reader."""
        self._transitions = transitions
        self._away_seconds = away_seconds
        self._takers = takers or {}
        self._actors: OrderedDict[tuple[str, str], Principal] = OrderedDict()
        self._stirred: dict[SandboxId, datetime] = {}

    def stir(self, sandbox_id: SandboxId) -> None:
        """Something goes on in it."""
        self._stirred[sandbox_id] = self._transitions.clock.now()

    def stirred(self, within: timedelta) -> list[SandboxId]:
        """Where something went on lately; forgets the others."""
        since = self._transitions.clock.now() - within
        self._stirred = {one: at for one, at in self._stirred.items() if at >= since}
        return [*self._stirred]

    def remember(self, sandbox: Sandbox, thing_id: str, actor: Principal) -> None:
        """`actor` began this terminal or exec. The oldest fall out beyond 10 000."""
        self._actors[(sandbox.id, thing_id)] = actor
        if len(self._actors) > REMEMBERED_ACTORS:
            self._actors.popitem(last=False)

    async def collect(self, sandbox: Sandbox, client: RuntimeClient) -> int:
        """Take in what is new; how many events that made. Raises `Unavailable`, `Failed`."""
        store = self._transitions.store
        async with store.read() as rows:
            after = await rows.logs.collected(sandbox.id, sandbox.generation)
        total = 0
        while True:
            page = await self._page(client, after)
            if page.dropped:
                _log.warning("journal_dropped", sandbox=sandbox.id, entries=page.dropped)
            if not page.entries:
                return total
            count, calls = await self._store(sandbox, page.entries)
            total += count
            after = page.entries[-1].n
            await client.call(acknowledge(after))
            for call in calls:
                with contextlib.suppress(NotFound, Conflict):  # nobody waits any more
                    await client.call(call)
            if len(page.entries) < PAGE:
                return total

    async def _page(
        self, client: RuntimeClient, after: int, *, wait: int = 0, limit: int = PAGE
    ) -> JournalPage:
        away = self._away_seconds
        call = read_journal(after, limit=limit, away_seconds=away, wait_seconds=wait)
        return await client.call(call)

    async def wait(self, sandbox: Sandbox, client: RuntimeClient, seconds: int) -> bool:
        """Whether something urgent stands in the journal; returns as soon as it does, and after
        `seconds` at the latest. Raises `Unavailable`, `Failed`."""
        async with self._transitions.store.read() as rows:
            after = await rows.logs.collected(sandbox.id, sandbox.generation)
        page = await self._page(client, after, wait=seconds, limit=1)
        return bool(page.entries)

    async def _store(
        self, sandbox: Sandbox, entries: list[JournalEntry]
    ) -> tuple[int, tuple[RuntimeCall[None], ...]]:
        """Store the entries beyond the mark, as it is inside this very transaction; how many
        events that made, and what the runtime is to be told."""
        calls: list[RuntimeCall[None]] = []
        async with self._transitions.store.begin() as rows:
            mark = await rows.logs.collected(sandbox.id, sandbox.generation)
            fresh = [entry for entry in entries if entry.n > mark]
            drafts: list[EventDraft] = []
            for entry in fresh:
                taken = await self._take(rows, sandbox, entry)
                drafts += taken.drafts
                calls += () if taken.call is None else (taken.call,)
            if drafts:
                await rows.events.append(drafts)
                self.stir(sandbox.id)
            if fresh:
                await rows.logs.set_collected(sandbox, fresh[-1].n)
        if drafts:
            self._transitions.bus.announce((sandbox_stream(sandbox.id),))
        return len(drafts), tuple(calls)

    async def _take(self, rows: Transaction, sandbox: Sandbox, entry: JournalEntry) -> Taken:
        taker = self._takers.get(entry.kind)
        if taker is not None:
            return await taker(rows, sandbox, Heard(entry.n, _instant(entry), entry.payload))
        word = read_word(entry.kind, entry.payload)
        if word is not None:
            await self._transitions.within(rows, sandbox, word)
        draft = self._draft(sandbox, entry)
        return Taken() if draft is None else Taken((draft,))

    def _draft(self, sandbox: Sandbox, entry: JournalEntry) -> EventDraft | None:
        if entry.kind in _NOT_LOGGED:
            return None
        other = "agent.reported" if entry.kind.startswith("agent.") else ""
        kind = KINDS.get(entry.kind) or KINDS.get(other)
        # What runtimes may tell has their journal's number; all else is ours alone to tell.
        if kind is None or "n" not in kind.fields:
            _log.warning("journal_kind_unknown", sandbox=sandbox.id, kind=entry.kind[:80])
            return None
        payload = _payload(sandbox, entry, kind)
        if not kind.fields <= payload.keys():
            _log.warning("journal_entry_incomplete", sandbox=sandbox.id, kind=kind.name)
            return None
        thing = payload.get("id")
        actor = (
            _typist(sandbox, kind, payload)
            or acting_agent(sandbox, kind.name, payload)
            or self._actors.get((sandbox.id, str(thing)), SYSTEM)
        )
        return EventDraft(
            id=self._transitions.identifiers.event(),
            stream=sandbox_stream(sandbox.id),
            event_type=kind.name,
            at=_instant(entry),
            org_id=sandbox.org_id,
            owner=sandbox.owner,
            actor=actor,
            reason=None,
            payload=payload,
        )


def _instant(entry: JournalEntry) -> datetime:
    try:
        return datetime.fromisoformat(entry.at)
    except ValueError as err:
        raise Failed(f"The journal's entry {entry.n} bears no time.") from err


def _typist(sandbox: Sandbox, kind: Kind, payload: Mapping[str, Json]) -> Principal | None:
    """Who sat at the terminal the entry tells of: the runtime has that from us. Entries of other
    kinds hold what was said inside, and are believed nothing of the sort."""
    principal = payload.get("principal")
    if kind.name not in _SEATED or not isinstance(principal, str):
        return None
    by = payload.get("by")
    who = by if isinstance(by, str) else principal
    return Principal(sandbox.org_id, PrincipalId(who), ActorKind.PERSON)


def _payload(sandbox: Sandbox, entry: JournalEntry, kind: Kind) -> dict[str, Json]:
    """The entry's own fields as far as the kind knows them, under ours."""
    told: dict[str, Json] = entry.payload  # type: ignore[assignment]
    if len(msgspec.json.encode(told)) > MAX_PAYLOAD_BYTES:
        told = {"id": told.get("id")}
    if entry.kind != kind.name:
        told = {**told, "kind": entry.kind}
    allowed = kind.fields | kind.optional
    known = {key: told[key] for key in told if key in allowed or "*" in kind.optional}
    return {
        **known,
        "sandbox_id": sandbox.id,
        "generation": sandbox.generation,
        "n": entry.n,
    }
