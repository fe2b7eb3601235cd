import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func

from atoll.adapters.storage.audit import audit_entries
from atoll.domain.errors import Unavailable
from atoll.domain.ids import OrgId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.journals.audit import AuditLog
from atoll.services.journals.events import Note
from atoll.services.repetition import FIRST_SWEEP, NEXT_SWEEP
from atoll.testing import FakeAuditSigner
from tests.services.scene import Scene, scene

DAY = timedelta(days=1)
OTHER = replace(LOCAL_PERSON, org_id=OrgId("other"))


def audit(s: Scene, *, retention: timedelta | None = None, key: str = "11" * 32) -> AuditLog:
    ground = Ground(s.store, s.bus, s.clock, Identifiers())
    return AuditLog(ground, FakeAuditSigner(key), retention=retention)


@asynccontextmanager
async def logins(*days: int) -> AsyncIterator[Scene]:
    """A scene where somebody logged in on each of these days."""
    async with scene(run=False) as s:
        for day in days:
            s.clock.turn(day * DAY.total_seconds())
            await s.events.record(LOCAL_PERSON, Note("auth", "auth.login", {"how": "a test"}))
        yield s


async def test_organization_sees_its_own_entries_only() -> None:
    async with logins(0, 0) as s:
        log = audit(s)
        assert [one.n for one in await log.page(LOCAL_PERSON)] == [1, 2]
        assert [one.n for one in await log.page(LOCAL_PERSON, after=1)] == [2]
        assert [one.n for one in await log.page(LOCAL_PERSON, limit=1)] == [2]
        assert await log.page(OTHER) == []
        assert (await log.verify(OTHER)).verdict.entries == 0


async def test_long_chain_is_followed_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atoll.services.journals.audit.PAGE", 3)
    async with logins(*[0] * 7) as s:
        found = await audit(s).verify(LOCAL_PERSON)
        assert (found.verdict.entries, found.verdict.n, found.verdict.wrong) == (7, 7, None)


async def test_expired_entries_leave_a_signed_checkpoint_where_verification_begins() -> None:
    async with logins(0, 0, 10) as s:
        log = audit(s, retention=5 * DAY)
        assert await log.sweep() == 2
        assert await log.sweep() == 0
        found = await log.verify(LOCAL_PERSON)
        assert found.checkpoint is not None
        assert (found.checkpoint.n, found.verdict.n, found.verdict.wrong) == (2, 3, None)
        foreign = await audit(s, key="22" * 32).verify(LOCAL_PERSON)
        assert "not this installation's" in (foreign.verdict.wrong or "")


async def test_nothing_expires_without_a_retention() -> None:
    async with logins(0, 900) as s:
        assert await audit(s).sweep() == 0
        assert len(await audit(s).page(LOCAL_PERSON)) == 2


async def test_chain_that_was_touched_is_kept_as_evidence() -> None:
    async with logins(0, 0, 10) as s:
        (first,) = await audit(s).page(LOCAL_PERSON, after=0, limit=1)
        changed = audit_entries.update().where(audit_entries.c.n == 2)
        async with s.store.engines.writing() as connection:
            body = func.replace(audit_entries.c.body, '"person"', '"nobody"')
            await connection.execute(changed.values(body=body))
        log = audit(s, retention=5 * DAY)
        assert (await log.verify(LOCAL_PERSON)).verdict.wrong is not None
        assert await log.sweep() == 0
        assert (await log.page(LOCAL_PERSON))[0] == first


async def test_sweeps_go_on_at_intervals_after_a_database_that_did_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with logins(0, 10) as s:
        log = audit(s, retention=5 * DAY)
        plain, tried = log.sweep, 0

        async def sweep() -> int:
            nonlocal tried
            tried += 1
            if tried < 3:
                raise (Unavailable("not now"), RuntimeError("not now"))[tried - 1]
            return await plain()

        monkeypatch.setattr(log, "sweep", sweep)
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(log.run())
            for wait in (FIRST_SWEEP, NEXT_SWEEP, NEXT_SWEEP):
                while not s.clock._sleepers:  # noqa: ASYNC110 - the clock has no such event
                    await asyncio.sleep(0)
                s.clock.turn(wait.total_seconds())
            while len(await log.page(LOCAL_PERSON)) != 1:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0)
            running.cancel()
