"""Collection of runtimes' journals into the event log, each entry exactly once.

A runtime keeps a bounded journal on disk, also while no control plane runs. Entries are
numbered. The number of the last copied one is stored with the events themselves, so a crash
between storing and acknowledging repeats nothing.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec
import structlog

from atoll.domain.errors import Conflict, Failed, NotFound, Unavailable
from atoll.domain.event import EventDraft, Json, sandbox_stream
from atoll.domain.event_kind import KINDS
from atoll.domain.event_kinds.kind import EventKind
from atoll.domain.ids import PrincipalId, SandboxId
from atoll.domain.people.principal import SYSTEM, Principal, read_actor
from atoll.domain.sandboxes.reported import AGENTS
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.ports import RuntimeClient, StoreUnavailable, Transaction
from atoll.services.ground import Ground
from atoll.services.journals.agent_actors import acting_agent
from atoll.services.journals.agent_reports import read_report
from atoll.services.journals.entries import EntryHandler, JournalOutcome, ReportedEntry
from atoll.services.journals.settings import JournalSettings
from atoll.services.journals.standings import Standings
from atoll.services.lifecycle.projections import Projections
from atoll.services.lifecycle.transitions import Transitions
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.contract.correlation import take_spans
from atoll.wire.contract.journal import JournalEntry, JournalPage, acknowledge, read_journal
from atoll.wire.words.events import ActorKind

PAGE = 500
"""Entries read at once."""

MAX_PAYLOAD_BYTES = 16384
"""An entry beyond this keeps only its id and number: the journal is written beside the wall,
but what it tells of happened inside."""

REMEMBERED_ACTORS = 10_000

ANSWER_SECONDS = 5.0
"""The time in which a runtime has to answer; the store may take longer."""

_NOT_LOGGED = frozenset({"runtime.began", "runtime.stopped"})
"""Kinds that are not logged, because the sandbox's own transition reports them."""

_SESSION_ENDS = ("terminal.closed", "terminal.exited", "agent.ended")

_BY_PERSON = ("terminal.input", "terminal.control")

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Journals:
    """A reader of journals. It names the person who started a terminal or agent as the actor of its
    events, as long as this process remembers them; a command's is told by its entry."""

    def __init__(
        self,
        ground: Ground,
        transitions: Transitions,
        handlers: Mapping[str, EntryHandler] | None = None,
        *,
        further: Mapping[str, EntryHandler] | None = None,
        projections: Projections,
        settings: JournalSettings,
    ) -> None:
        """Take `handlers` for the kinds of entries that need more than an event, and `further` for
        those that are logged as they are, too."""
        self._further = further or {}
        self._ground = ground
        self._transitions = transitions
        self._projections = projections
        self._away_seconds = settings.away_seconds
        self._handlers = handlers or {}
        self._actors: OrderedDict[tuple[str, str], Principal] = OrderedDict()
        self._active_since: dict[SandboxId, datetime] = {}
        self._standings = Standings(ground.clock)

    @property
    def standings(self) -> Standings:
        """Progress of the collection."""
        return self._standings

    def note_activity(self, sandbox_id: SandboxId) -> None:
        """Record activity in a sandbox now."""
        self._active_since[sandbox_id] = self._ground.clock.now()

    def active_within(self, within: timedelta) -> list[SandboxId]:
        """Return the sandboxes with activity within that time, and forget the others."""
        since = self._ground.clock.now() - within
        self._active_since = {
            sandbox_id: at for sandbox_id, at in self._active_since.items() if at >= since
        }
        return [*self._active_since]

    async def remember(self, sandbox: Sandbox, thing_id: str, actor: Principal) -> None:
        """Remember that `actor` started this terminal or agent. Keeps the newest 10 000, and stores
        it where another replica may collect the journal. Where that cannot be stored, its entries
        may have the actor `system`: what began is not undone."""
        self._actors[(sandbox.id, thing_id)] = actor
        if len(self._actors) > REMEMBERED_ACTORS:
            self._actors.popitem(last=False)
        if not self._ground.leadership.leads:
            try:
                async with self._ground.store.begin() as rows:
                    await rows.logs.remember_actor(sandbox.id, thing_id, actor)
            except StoreUnavailable as err:
                _log.warning("actor_not_stored", sandbox=sandbox.id, reason=err.message)

    async def collect(self, sandbox: Sandbox, client: RuntimeClient) -> int:
        """Copy new entries into the log, and take the runtime's spans where traces are on. Returns
        the number of new events. Raises `Unavailable`, `Failed`."""
        total = await self._collect(sandbox, client)
        if self._ground.telemetry.traced:
            with contextlib.suppress(NotFound):  # a runtime of an earlier version
                taken = await client.call(take_spans())
                self._ground.telemetry.tracer.record(taken.spans)
        return total

    async def _collect(self, sandbox: Sandbox, client: RuntimeClient) -> int:
        store = self._ground.store
        async with store.read() as rows:
            after = await rows.logs.collected(sandbox.id, sandbox.generation)
        total = 0
        while True:
            page = await self._page(client, after)
            self._standings.read(sandbox.id, page, collected=after)
            if page.last < after:
                # Its numbers began anew, as its disk was lost: what was collected is no measure.
                _log.warning("journal_set_back", sandbox=sandbox.id, collected=after, to=page.last)
                async with store.begin() as rows:
                    await rows.logs.set_collected(sandbox, 0)
                after = 0
                continue
            if page.dropped:
                _log.warning("journal_dropped", sandbox=sandbox.id, entries=page.dropped)
            if not page.entries:
                return total
            count, calls = await self._store(sandbox, page.entries)
            total += count
            after = page.entries[-1].n
            self._standings.collected(sandbox.id, entries=len(page.entries))
            await _call_runtime(client, acknowledge(after))
            for call in calls:
                with contextlib.suppress(NotFound, Conflict):  # nobody waits any more
                    await _call_runtime(client, call)
            if len(page.entries) < PAGE:
                return total

    async def _page(
        self, client: RuntimeClient, after: int, *, wait: int = 0, limit: int = PAGE
    ) -> JournalPage:
        away = self._away_seconds
        call = read_journal(after, limit=limit, away_seconds=away, wait_seconds=wait)
        return await _call_runtime(client, call, wait)

    async def wait(self, sandbox: Sandbox, client: RuntimeClient, seconds: int) -> bool:
        """Wait at most `seconds` for an urgent journal entry. Returns whether there is one. Raises
        `Unavailable`, `Failed`."""
        async with self._ground.store.read() as rows:
            after = await rows.logs.collected(sandbox.id, sandbox.generation)
        page = await self._page(client, after, wait=seconds, limit=1)
        return bool(page.entries)

    async def _store(
        self, sandbox: Sandbox, entries: list[JournalEntry]
    ) -> tuple[int, tuple[RuntimeCall[None], ...]]:
        """Store the entries that were not collected before. Returns the number of new events, and
        the calls to make to the runtime."""
        calls: list[RuntimeCall[None]] = []
        async with self._ground.store.begin() as rows:
            mark = await rows.logs.collected(sandbox.id, sandbox.generation)
            fresh = [entry for entry in entries if entry.n > mark]
            drafts: list[EventDraft] = []
            for entry in fresh:
                if entry.kind == "runtime.began":
                    drafts += await self._forgotten(rows, sandbox, entry, drafts=drafts)
                outcome = await self._handle(rows, sandbox, entry)
                drafts += outcome.drafts
                calls += () if outcome.call is None else (outcome.call,)
            if drafts:
                appended = await rows.events.append(drafts)
                await self._projections.follow(rows, appended)
                self.note_activity(sandbox.id)
            if fresh:
                await rows.logs.set_collected(sandbox, fresh[-1].n)
        if drafts:
            self._ground.bus.announce((sandbox_stream(sandbox.id),))
        return len(drafts), tuple(calls)

    async def _forgotten(
        self, rows: Transaction, sandbox: Sandbox, entry: JournalEntry, *, drafts: list[EventDraft]
    ) -> tuple[EventDraft, ...]:
        """Return the event that the agents of before are gone, if there were some: a runtime that
        begins has none of them."""
        stream = sandbox_stream(sandbox.id)
        known = any(draft.event_type in AGENTS.kinds for draft in drafts)
        leads = self._ground.leadership.leads  # else the read model may lag behind
        if leads and not known and not await rows.projections.states(AGENTS.name, (stream,)):
            return ()
        payload: dict[str, Json] = {"sandbox_id": sandbox.id, "generation": sandbox.generation}
        event = self._event(sandbox, "agent.forgotten", entry, payload=payload, actor=SYSTEM)
        return (event,)

    async def _handle(
        self, rows: Transaction, sandbox: Sandbox, entry: JournalEntry
    ) -> JournalOutcome:
        handler = self._handlers.get(entry.kind)
        if handler is not None:
            return await handler(
                rows, sandbox, ReportedEntry(entry.n, _instant(entry), entry.payload)
            )
        report = read_report(entry.kind, entry.payload)
        if report is not None:
            await self._transitions.apply_within(rows, sandbox, report)
        await _store_session(rows, sandbox, entry)
        draft = self._draft(sandbox, entry)
        if draft is not None and draft.actor is SYSTEM and self._ground.leadership.shared:
            known = await rows.logs.actor(sandbox.id, str(draft.payload.get("id")))
            draft = replace(draft, actor=known or SYSTEM)
        drafts = () if draft is None else (draft,)
        more = self._further.get(entry.kind)
        if more is None:
            return JournalOutcome(drafts)
        outcome = await more(rows, sandbox, ReportedEntry(entry.n, _instant(entry), entry.payload))
        return JournalOutcome((*drafts, *outcome.drafts), outcome.call)

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
            _attached_person(sandbox, kind, payload)
            or acting_agent(sandbox, kind.name, payload)
            or _told_actor(sandbox, kind, entry)
            or self._actors.get((sandbox.id, str(thing)), SYSTEM)
        )
        return self._event(sandbox, kind.name, entry, payload=payload, actor=actor)

    def _event(
        self,
        sandbox: Sandbox,
        event_type: str,
        entry: JournalEntry,
        *,
        payload: Mapping[str, Json],
        actor: Principal,
    ) -> EventDraft:
        return EventDraft(
            id=self._ground.ids.event(),
            stream=sandbox_stream(sandbox.id),
            event_type=event_type,
            at=_instant(entry),
            org_id=sandbox.org_id,
            owner=sandbox.owner,
            actor=actor,
            reason=None,
            payload=payload,
        )


async def _call_runtime(client: RuntimeClient, call: RuntimeCall[T], wait: int = 0) -> T:
    """Return the runtime's answer. Raises `Unavailable` when it takes too long."""
    try:
        async with asyncio.timeout(wait + ANSWER_SECONDS):
            return await client.call(call)
    except TimeoutError as err:
        raise Unavailable("The sandbox's runtime did not answer in time.") from err


async def _store_session(rows: Transaction, sandbox: Sandbox, entry: JournalEntry) -> None:
    """Count a terminal or machine agent from its beginning to its end. What a sandbox tells last of
    all is over with it."""
    session = entry.payload.get("id")
    if entry.kind == "runtime.began":
        await rows.sessions.clear(sandbox.id)
    elif isinstance(session, str) and entry.kind in _SESSION_ENDS:
        await rows.sessions.remove(sandbox.id, session)
    elif isinstance(session, str) and _begins_session(entry) and sandbox.state in RUNNING:
        await rows.sessions.put(sandbox, session, _instant(entry))


def _begins_session(entry: JournalEntry) -> bool:
    machine = entry.kind == "agent.started" and entry.payload.get("mode") == "machine"
    return machine or entry.kind in ("terminal.opened", "terminal.adopted")


def _instant(entry: JournalEntry) -> datetime:
    try:
        return datetime.fromisoformat(entry.at)
    except ValueError as err:
        raise Failed(f"The journal's entry {entry.n} bears no time.") from err


def _attached_person(
    sandbox: Sandbox, kind: EventKind, payload: Mapping[str, Json]
) -> Principal | None:
    """Return the person attached to the entry's terminal, as this control plane informed the
    runtime. Entries of other kinds contain data from inside, which is not trusted."""
    principal = payload.get("principal")
    if kind.name not in _BY_PERSON or not isinstance(principal, str):
        return None
    by = payload.get("by")
    who = by if isinstance(by, str) else principal
    return Principal(sandbox.org_id, PrincipalId(who), ActorKind.PERSON)


def _told_actor(sandbox: Sandbox, kind: EventKind, entry: JournalEntry) -> Principal | None:
    """Return who began a command, as a control plane told the runtime with it."""
    if kind.name not in ("exec.started", "exec.exited"):
        return None
    return read_actor(sandbox.org_id, entry.payload.get("actor"))


def _payload(sandbox: Sandbox, entry: JournalEntry, kind: EventKind) -> dict[str, Json]:
    """Return the fields that the event's kind knows. Fields set by the control plane take
    precedence."""
    payload: dict[str, Json] = entry.payload  # type: ignore[assignment]
    if len(msgspec.json.encode(payload)) > MAX_PAYLOAD_BYTES:
        payload = {"id": payload.get("id")}
    if entry.kind != kind.name:
        payload = {**payload, "kind": entry.kind}
    allowed = kind.fields | kind.optional
    known = {key: payload[key] for key in payload if key in allowed or "*" in kind.optional}
    return {
        **known,
        "sandbox_id": sandbox.id,
        "generation": sandbox.generation,
        "n": entry.n,
    }
