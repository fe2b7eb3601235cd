"""The audit log: read, exported, verified, and dropped behind a signed checkpoint.

Entries are written with the events they are made of. Here they are only read and, when they are
past their retention, dropped.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from atoll.domain.audit import (
    AuditEntry,
    AuditFilter,
    Checkpoint,
    Verdict,
    signed_bytes,
    spell_time,
    verify,
)
from atoll.domain.event import Gap
from atoll.domain.ids import OrgId
from atoll.domain.people.principal import Principal
from atoll.ports.signer import AuditSigner
from atoll.services.ground import Ground
from atoll.services.repetition import sweep_hourly

PAGE = 500
"""Entries that are read at once, the bound on memory."""

MAX_SCAN = 10_000
"""Entries that one request looks through for those that fit a filter."""

EVERYTHING = AuditFilter()


_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Verified:
    """The outcome of a verification, the checkpoint it began at, and the key of its signature."""

    verdict: Verdict
    checkpoint: Checkpoint | None
    public_key: str


@dataclass(frozen=True, slots=True)
class AuditSearch:
    """Entries that fit a filter, in their order. `previous` is the number below which the search
    goes on, None when everything was looked through."""

    entries: list[AuditEntry]
    previous: int | None


class AuditLog:
    """The audit log of the caller's organization. `retention` None keeps every entry."""

    def __init__(self, ground: Ground, signer: AuditSigner, *, retention: timedelta | None) -> None:
        self._store, self._clock = ground.store, ground.clock
        self._signer = signer
        self._retention = retention

    async def page(
        self, caller: Principal, *, after: int | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """Return at most `limit` entries after a number, or without one the newest."""
        async with self._store.read() as rows:
            if after is None:
                return await rows.audit.latest(caller.org_id, limit=limit)
            return await rows.audit.page(caller.org_id, after=after, limit=limit)

    async def gap(self, caller: Principal, *, after: int) -> Gap | None:
        """Return the entries after a number that are no longer kept; one that is `set_back` for a
        number that the log has not reached. Call it after `page`."""
        async with self._store.read() as rows:
            head = await rows.audit.head(caller.org_id)
            begin = await rows.audit.checkpoint(caller.org_id)
        if after > head.n:
            return Gap(after, head.n)
        return Gap(after, begin.n) if begin is not None and begin.n > after else None

    async def find(
        self,
        caller: Principal,
        wanted: AuditFilter,
        *,
        before: int | None = None,
        limit: int = 100,
    ) -> AuditSearch:
        """Return the newest entries below a number that fit a filter, of at most `MAX_SCAN` that
        are looked through."""
        entries: list[AuditEntry] = []
        before = await self._find_upper_bound(caller.org_id, wanted, before)
        for _ in range(MAX_SCAN // PAGE):
            async with self._store.read() as rows:
                page = await rows.audit.latest(caller.org_id, limit=PAGE, before=before)
            for entry in reversed(page):
                if wanted.since is not None and entry.at < spell_time(wanted.since):
                    return AuditSearch(entries[::-1], None)
                before = entry.n
                if wanted.fits(entry):
                    entries.append(entry)
                if len(entries) == limit:
                    return AuditSearch(entries[::-1], before)
            if len(page) < PAGE:
                return AuditSearch(entries[::-1], None)
        return AuditSearch(entries[::-1], before)

    async def _find_upper_bound(
        self, org_id: OrgId, wanted: AuditFilter, before: int | None
    ) -> int | None:
        """Return the number below which to read: entries after `until` are skipped."""
        if wanted.until is None:
            return before
        async with self._store.read() as rows:
            newest = await rows.audit.newest_before(org_id, wanted.until)
        end = 0 if newest is None else newest.n + 1
        return end if before is None else min(end, before)

    async def beginning(self, caller: Principal) -> tuple[Checkpoint | None, str]:
        """Return where the kept entries begin, and the public key of checkpoints."""
        async with self._store.read() as rows:
            point = await rows.audit.checkpoint(caller.org_id)
        return point, self._signer.public_key()

    async def entries(
        self, caller: Principal, begin: Checkpoint | None, wanted: AuditFilter = EVERYTHING
    ) -> AsyncIterator[list[AuditEntry]]:
        """Yield all entries after a checkpoint that fit a filter, in pages, up to the newest of
        now."""
        after = 0 if begin is None else begin.n
        while page := await self.page(caller, after=after, limit=PAGE):
            yield [entry for entry in page if wanted.fits(entry)]
            after = page[-1].n
            if len(page) < PAGE:
                return

    async def verify(self, caller: Principal) -> Verified:
        """Follow the whole chain of the caller's organization."""
        begin, key = await self.beginning(caller)
        org_id = caller.org_id
        if begin is not None and not self._signer.signed(signed_bytes(begin), begin.signature):
            wrong = "the checkpoint's signature is not this installation's: it was replaced"
            return Verified(Verdict(0, begin.n, begin.hash, wrong), begin, key)
        verdict, point = verify((), begin, org_id=org_id), begin
        async for page in self.entries(caller, begin):
            page_verdict = verify(page, point, org_id=org_id)
            verdict = replace(page_verdict, entries=verdict.entries + page_verdict.entries)
            if verdict.wrong is not None:
                break
            point = Checkpoint(org_id, page_verdict.n, page_verdict.hash, "")
        return Verified(verdict, begin, key)

    async def run(self) -> None:
        """Drop what is past its retention once an hour; never returns."""
        await sweep_hourly(
            self._clock, self.sweep, failed="audit_not_swept", broke="audit_sweep_broke"
        )

    async def sweep(self) -> int:
        """Drop every entry that is past its retention now, and return their number. Entries of a
        chain that does not hold are kept: they are evidence. Raises `Unavailable`."""
        if self._retention is None:
            return 0
        before = self._clock.now() - self._retention
        async with self._store.read() as rows:
            due = await rows.audit.due(before)
        dropped = 0
        for org_id in due:
            while count := await self._drop(org_id, before):
                dropped += count
        return dropped

    async def _drop(self, org_id: OrgId, before: datetime) -> int:
        """Drop a page of what is due in one organization."""
        now = self._clock.now()
        async with self._store.begin() as rows:
            last = await rows.audit.newest_before(org_id, before)
            begin = await rows.audit.checkpoint(org_id)
            if last is None:
                return 0
            after = 0 if begin is None else begin.n
            going = await rows.audit.page(org_id, after=after, limit=PAGE)
            going = [entry for entry in going if entry.n <= last.n]
            verdict = verify(going, begin, org_id=org_id)
            if verdict.wrong is not None:
                _log.error("audit_chain_broken", org_id=org_id, reason=verdict.wrong)
                return 0
            point = Checkpoint(
                org_id, verdict.n, verdict.hash, spell_time(now), self._signer.public_key()
            )
            signature = self._signer.sign(signed_bytes(point))
            return await rows.audit.drop(replace(point, signature=signature))
