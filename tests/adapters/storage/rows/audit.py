"""Checks of the rows of the audit log."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from atoll.domain.audit import BEGINNING, Checkpoint, spell_time, verify
from atoll.domain.event import EventDraft
from atoll.domain.ids import PERSONAL_ORG, EventId, OrgId
from atoll.domain.people.principal import LOCAL_PERSON, CallOrigin
from atoll.ports import Store
from atoll.testing.samples import NOW, OWNER

ELSE = OrgId("else")
ACTOR = replace(LOCAL_PERSON, origin=CallOrigin("192.0.2.1", "req_1", "tok_1"))


def login(number: int, *, org_id: OrgId = PERSONAL_ORG, kind: str = "auth.login") -> EventDraft:
    """Return an event that is audited, unless it is of another kind."""
    payload: dict[str, str] = {"how": f"login {number}"}
    if kind != "auth.login":
        payload = {"agent": "codex", "version": str(number)}
    return EventDraft(
        id=EventId(f"evt_{org_id}_{kind}_{number}"),
        stream="auth",
        event_type=kind,
        at=NOW + timedelta(hours=number),
        org_id=org_id,
        owner=OWNER,
        actor=ACTOR,
        reason="asked",
        payload=dict(payload),
    )


async def _append(store: Store, drafts: Sequence[EventDraft]) -> None:
    async with store.begin() as rows:
        await rows.events.append(drafts)


async def check_audited_events_form_a_chain_for_each_organization(store: Store) -> None:
    async with store.read() as rows:
        assert (await rows.audit.head(PERSONAL_ORG)).hash == BEGINNING
    await _append(store, [login(1), login(2, org_id=ELSE), login(3)])
    await _append(store, [login(4)])
    async with store.read() as rows:
        own = await rows.audit.page(PERSONAL_ORG, after=0, limit=10)
        other = await rows.audit.page(ELSE, after=0, limit=10)
        head = await rows.audit.head(PERSONAL_ORG)
        assert await rows.audit.latest(PERSONAL_ORG, limit=2) == own[1:]
        assert await rows.audit.latest(PERSONAL_ORG, limit=1, before=3) == own[1:2]
        assert await rows.audit.page(PERSONAL_ORG, after=1, limit=1) == own[1:2]
    assert ([one.n for one in own], [one.n for one in other]) == ([1, 2, 3], [1])
    first = own[0]
    assert (first.address, first.request_id, first.token_id) == ("192.0.2.1", "req_1", "tok_1")
    assert (first.reason, first.payload) == ("asked", {"how": "login 1"})
    verdict = verify(own, org_id=PERSONAL_ORG)
    assert (verdict.wrong, verdict.n, verdict.hash) == (None, head.n, head.hash)
    assert verify(other, org_id=ELSE).wrong is None


async def check_event_that_is_rolled_back_leaves_no_entry(store: Store) -> None:
    try:
        async with store.begin() as rows:
            await rows.events.append([login(1)])
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    async with store.read() as rows:
        assert await rows.audit.page(PERSONAL_ORG, after=0, limit=10) == []


async def check_chain_goes_on_from_its_checkpoint(store: Store) -> None:
    await _append(store, [login(number) for number in range(1, 5)])
    async with store.begin() as rows:
        before = NOW + timedelta(hours=4)
        assert await rows.audit.due(NOW) == []
        assert await rows.audit.newest_before(PERSONAL_ORG, NOW) is None
        assert await rows.audit.due(before) == [PERSONAL_ORG]
        last = await rows.audit.newest_before(PERSONAL_ORG, before)
        assert last is not None
        assert last.n == 3
        point = Checkpoint(PERSONAL_ORG, last.n, last.hash, spell_time(NOW), "key", "00")
        assert await rows.audit.drop(point) == 3
        assert await rows.audit.checkpoint(PERSONAL_ORG) == point
        everything = await rows.audit.head(PERSONAL_ORG)
        later = replace(point, n=everything.n, hash=everything.hash)
        assert await rows.audit.drop(later) == 1
        assert await rows.audit.checkpoint(PERSONAL_ORG) == later
        assert await rows.audit.head(PERSONAL_ORG) == everything
    await _append(store, [login(5)])
    async with store.read() as rows:
        kept = await rows.audit.page(PERSONAL_ORG, after=0, limit=10)
    assert verify(kept, later, org_id=PERSONAL_ORG).n == 5
