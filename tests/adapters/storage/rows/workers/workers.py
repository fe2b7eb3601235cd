"""Checks of the rows of workers, of their requests, and of their streams."""

from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.event import Json
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SandboxId, WorkerKey
from atoll.domain.paging import PageQuery
from atoll.domain.sandboxes.sandbox import RepoRequest
from atoll.domain.workers.artifact import WorkerArtifact
from atoll.domain.workers.create import CreateWorker, WorkerId, WorkerTeardown
from atoll.domain.workers.heartbeat import Lease
from atoll.domain.workers.ledger import LedgerEntry, RequestRefusal, Response
from atoll.domain.workers.lifecycle import DurabilityMarkers, HostContact, Worker, WorkerTornDown
from atoll.domain.workers.record import RequestRecord, WorkerEventDraft, WorkerRecord
from atoll.domain.workers.talk import OpenQuestion, WorkerTalk, WorkerThread
from atoll.ports import EventQuery, Store
from atoll.testing.samples import NOW, draft, sandbox
from atoll.wire.words.routes import ExecutionMode
from atoll.wire.words.workers import (
    ErrorCode,
    HeartbeatState,
    Permissions,
    TeardownPolicy,
    WorkerStatus,
)

ADA, BOB = PrincipalId("ada"), PrincipalId("bob")
KEY = WorkerKey("wk_a")


def worker(
    key: str, *, owner: PrincipalId = ADA, name: str = "w", org_id: OrgId = PERSONAL_ORG
) -> WorkerRecord:
    """Return a worker with something in every field."""
    created = CreateWorker(
        WorkerId(name),
        "codex",
        "daytona",
        ExecutionMode.SANDBOX,
        "profile.codex",
        (RepoRequest("https://forge.example/o/r", branch="b"),),
        "sandbox:sb_a/workspace",
        "sandbox:sb_a/agent-home",
        "thread-1",
        Permissions.ASK,
        WorkerTeardown(TeardownPolicy.RETAIN, 60),
        {"ticket": "7"},
    )
    life = Worker(
        created.worker_id,
        created.teardown,
        status=WorkerStatus.RUNNING,
        contact=HostContact.LOST,
        epoch=3,
        reason="it is gone",
        markers=DurabilityMarkers(7, bundle_ref="kept:1", thread_ids=("t",)),
        remove_at=NOW,
    )
    return WorkerRecord(
        *(WorkerKey(key), org_id, owner, created, life, Lease(3, NOW), NOW),
        sandbox_id=SandboxId("sb_a"),
        agent_id="a1",
        collected=12,
        heartbeat=HeartbeatState.STALE,
        talk=WorkerTalk((WorkerThread("t", "u", "One"),), (OpenQuestion("7", 3, "t"),)),
    )


async def check_workers_come_back_as_they_were_put_last(store: Store) -> None:
    """Every field comes back; a person's name is no other's."""
    mine, theirs = worker("wk_a"), worker("wk_b", owner=BOB)
    async with store.begin() as rows:
        await rows.workers.put(replace(mine, collected=0))
        await rows.workers.put(theirs)
        await rows.workers.put(mine)
    async with store.read() as rows:
        assert await rows.workers.get(mine.key) == mine
        assert await rows.workers.find(PERSONAL_ORG, ADA, WorkerId("w")) == mine
        assert await rows.workers.find(PERSONAL_ORG, BOB, WorkerId("w")) == theirs
        assert await rows.workers.find(OrgId("else"), ADA, WorkerId("w")) is None
        assert await rows.workers.get(WorkerKey("wk_none")) is None


async def check_unsettled_workers_are_those_that_were_not_torn_down(store: Store) -> None:
    """Also stopped ones that are retained; of everybody."""
    here, gone = worker("wk_a"), worker("wk_b", owner=BOB)
    ended = replace(gone.worker, status=WorkerStatus.STOPPED, torn_down=WorkerTornDown(("x",)))
    async with store.begin() as rows:
        await rows.workers.put(here)
        await rows.workers.put(gone)
    async with store.read() as rows:
        assert await rows.workers.unsettled() == [here, gone]
    async with store.begin() as rows:
        await rows.workers.put(replace(gone, worker=ended))
    async with store.read() as rows:
        assert await rows.workers.unsettled() == [here]


async def check_workers_are_listed_by_page_newest_first(store: Store) -> None:
    """A person's alone."""
    mine = [
        replace(worker(f"wk_{n}", name=f"w{n}"), created_at=NOW + timedelta(seconds=n))
        for n in range(3)
    ]
    async with store.begin() as rows:
        for one in (*mine, worker("wk_b", owner=BOB)):
            await rows.workers.put(one)
    async with store.read() as rows:
        first = await rows.workers.page(PERSONAL_ORG, ADA, PageQuery(2))
        assert list(first.rows) == [mine[2], mine[1]]
        rest = await rows.workers.page(PERSONAL_ORG, ADA, PageQuery(2, first.following))
        assert (list(rest.rows), rest.following) == ([mine[0]], None)


async def check_workers_of_everybody_are_listed_for_their_organization(store: Store) -> None:
    """By page, newest first."""
    mine = replace(worker("wk_a"), created_at=NOW + timedelta(seconds=1))
    theirs = worker("wk_b", owner=BOB)
    foreign = replace(worker("wk_c"), org_id=OrgId("else"))
    async with store.begin() as rows:
        for one in (foreign, theirs, mine):
            await rows.workers.put(one)
    async with store.read() as rows:
        first = await rows.workers.page(PERSONAL_ORG, None, PageQuery(1))
        rest = await rows.workers.page(PERSONAL_ORG, None, PageQuery(1, first.following))
    assert [*first.rows, *rest.rows] == [mine, theirs]
    assert rest.following is None


async def check_requests_keep_their_receipt_and_their_order(store: Store) -> None:
    """A request under the same id at another worker is another one."""
    open_ones = [RequestRecord(KEY, f"r{n}", LedgerEntry("d")) for n in (2, 1)]
    refusal = RequestRefusal(ErrorCode.OUTCOME_UNKNOWN, "it ended\0", '{"code":1}')
    answered = [
        RequestRecord(KEY, "done", LedgerEntry("d", Response('{"n":1.0}'), "thread/read")),
        RequestRecord(KEY, "empty", LedgerEntry("d", Response(""))),
        RequestRecord(WorkerKey("wk_b"), "r1", LedgerEntry("other")),
    ]
    async with store.begin() as rows:
        for one in (*open_ones, *answered):
            await rows.worker_requests.put(one)
        failed = RequestRecord(KEY, "failed", LedgerEntry("d", refusal))
        await rows.worker_requests.put(failed)
    async with store.read() as rows:
        assert await rows.worker_requests.open(KEY) == open_ones
        for one in (*open_ones, *answered):
            assert await rows.worker_requests.get(one.key, one.request_id) == one
        told = await rows.worker_requests.get(KEY, "failed")
        assert told is not None and isinstance(told.entry.receipt, RequestRefusal)
        assert told.entry.receipt.code is ErrorCode.OUTCOME_UNKNOWN
        assert await rows.worker_requests.get(KEY, "none") is None
    async with store.begin() as rows:
        entry = replace(open_ones[0].entry, receipt=Response("{}"))
        await rows.worker_requests.put(replace(open_ones[0], entry=entry))
    async with store.read() as rows:
        assert await rows.worker_requests.open(KEY) == [open_ones[1]]


async def check_streams_count_from_one_without_a_gap(store: Store) -> None:
    """Also after a removal, which keeps the newest event; each worker by itself."""
    async with store.begin() as rows:
        for one in (worker("wk_a"), worker("wk_b", owner=BOB)):
            await rows.workers.put(one)
        assert await rows.worker_events.last(KEY) == 0
        assert await rows.worker_events.first(KEY) == 1
        await rows.worker_events.append(KEY, [_said(str(n)) for n in range(3)])
        await rows.worker_events.append(WorkerKey("wk_b"), [_said("x")])
        (last,) = await rows.worker_events.append(KEY, [_said("3")])
        assert last.seq == 4
    async with store.read() as rows:
        page = await rows.worker_events.page(KEY, 1, 2)
        assert [(one.seq, one.payload["params"]) for one in page] == [(2, "1"), (3, "2")]
        assert (page[0].event_type, page[0].at) == ("worker.event", NOW)
    async with store.begin() as rows:
        assert await rows.worker_events.remove(KEY, 100) == 3
        assert (await rows.worker_events.first(KEY), await rows.worker_events.last(KEY)) == (4, 4)
        (next_one,) = await rows.worker_events.append(KEY, [_said("4")])
        assert next_one.seq == 5
    async with store.read() as rows:
        assert len(await rows.worker_events.page(WorkerKey("wk_b"), 0, 9)) == 1


async def check_streams_with_old_events_are_found(store: Store) -> None:
    """The newest event of a stream is never old."""
    other = WorkerKey("wk_b")
    async with store.begin() as rows:
        for one in (worker("wk_a"), worker("wk_b", owner=BOB)):
            await rows.workers.put(one)
        await rows.worker_events.append(KEY, [_said("old", hours=-2), _said("older", hours=-3)])
        await rows.worker_events.append(KEY, [_said("new"), _said("odd", hours=-9)])
        await rows.worker_events.append(other, [_said("alone", hours=-9)])
    async with store.read() as rows:
        assert await rows.worker_events.aged(NOW - timedelta(hours=1), 9) == [(KEY, 2)]
        assert await rows.worker_events.aged(NOW - timedelta(hours=2.5), 9) == [(KEY, 2)]
        assert await rows.worker_events.aged(NOW - timedelta(hours=5), 9) == []
    async with store.begin() as rows:
        await rows.worker_events.append(other, [_said("x"), _said("y")])
    async with store.read() as rows:
        assert len(await rows.worker_events.aged(NOW - timedelta(hours=1), 1)) == 1
        assert await rows.worker_events.aged(NOW, 9) == [(KEY, 2), (other, 1)]


async def check_streams_of_workers_are_found_by_no_reader_of_the_log(store: Store) -> None:
    """What an agent said has no position, and the positions of the log have no gap for it."""
    query = EventQuery(PERSONAL_ORG, ADA)
    async with store.begin() as rows:
        await rows.workers.put(worker("wk_a"))
        await rows.events.append([draft(1, stream="a", owner=ADA)])
        await rows.worker_events.append(KEY, [_said("private"), _said("words")])
        (second,) = await rows.events.append([draft(2, stream="z", owner=ADA)])
        await rows.worker_events.append(KEY, [_said("again")])
        assert (second.position, await rows.events.last_position()) == (2, 2)
        await rows.worker_events.remove(KEY, 3)
    async with store.read() as rows:
        for found in (await rows.events.page(query), await rows.events.after(0, 9)):
            assert [(one.position, one.stream) for one in found] == [(1, "a"), (2, "z")]
        assert await rows.events.page(replace(query, stream="worker:wk_a")) == []
        assert await rows.events.gap(query) is None
        streams, after = [], ""
        while (span := await rows.events.next_stream(after)) is not None:
            streams.append(after := span.stream)
        assert streams == ["a", "z"]
        assert [one.seq for one in await rows.worker_events.page(KEY, 0, 9)] == [3]


async def check_workers_that_stand_come_with_their_sandboxes(store: Store) -> None:
    """Newest first, at most so many, of one organization; without those that were torn down."""
    box = sandbox("wall")
    walled = replace(worker("wk_a"), sandbox_id=box.id, created_at=NOW + timedelta(seconds=2))
    desktop = replace(worker("wk_b", owner=BOB), created_at=NOW + timedelta(seconds=1))
    early = replace(worker("wk_c", name="early"), sandbox_id=None)
    gone = worker("wk_d", name="gone")
    gone = replace(gone, worker=replace(gone.worker, torn_down=WorkerTornDown(("x",))))
    foreign = worker("wk_e", org_id=OrgId("else"))
    async with store.begin() as rows:
        await rows.sandboxes.insert(box)
        for one in (foreign, gone, early, desktop, walled):
            await rows.workers.put(one)
    async with store.read() as rows:
        found = await rows.workers.standing(PERSONAL_ORG, 9)
        assert found == [(walled, box), (desktop, None), (early, None)]
        assert await rows.workers.standing(PERSONAL_ORG, 1) == found[:1]


async def check_losses_come_with_the_start_before_them(store: Store) -> None:
    """Of one organization, since a time, newest first; those without a start are left out."""
    mine, other = worker("wk_a"), worker("wk_b", owner=BOB)
    foreign = worker("wk_c", org_id=OrgId("else"))
    moved = [_started("box", 1, -30), _lost(1, -29), _started("far", 2, -3), _lost(2, -2)]
    streams = (
        (mine, [*moved, _said("x", hours=-2), _lost(2, -1)]),
        (other, [_lost(1, -1)]),
        (foreign, [_started("box", 1, -2), _lost(1, -1)]),
    )
    async with store.begin() as rows:
        for record, drafts in streams:
            await rows.workers.put(record)
            await rows.worker_events.append(record.key, drafts)
    async with store.read() as rows:
        found = await rows.worker_events.lost(PERSONAL_ORG, NOW - timedelta(hours=24), 9)
        assert [(one.seq, one.payload["epoch"]) for one in found] == [(3, 2), (3, 2)]
        older = await rows.worker_events.lost(PERSONAL_ORG, NOW - timedelta(hours=48), 9)
        assert [one.seq for one in older] == [3, 3, 1]
        assert older[2].payload["extension"] == "box"
        assert len(await rows.worker_events.lost(PERSONAL_ORG, NOW - timedelta(hours=48), 1)) == 1


async def check_artifacts_are_of_their_worker_each_name_once(store: Store) -> None:
    """Old ones are removed, of one worker or of all."""
    first, second = (WorkerArtifact(name, "text/plain", 1, "a" * 64) for name in ("b", "a"))
    changed, other = replace(first, size=2), WorkerKey("wk_b")
    hour = timedelta(hours=1)
    async with store.begin() as rows:
        await rows.worker_artifacts.put(KEY, first, NOW - 3 * hour)
        await rows.worker_artifacts.put(KEY, second, NOW - 2 * hour)
        await rows.worker_artifacts.put(KEY, changed, NOW - hour)
        await rows.worker_artifacts.put(other, first, NOW - 2 * hour)
    async with store.read() as rows:
        assert await rows.worker_artifacts.list(KEY) == [second, changed]
        assert await rows.worker_artifacts.list(other) == [first]
    async with store.begin() as rows:
        assert await rows.worker_artifacts.remove(NOW - hour, KEY) == 1
        assert await rows.worker_artifacts.list(other) == [first]
        assert await rows.worker_artifacts.remove(NOW) == 2
        assert await rows.worker_artifacts.list(KEY) == []


async def check_event_that_is_of_no_kind_of_workers_is_refused(store: Store) -> None:
    """A mistake of the program's."""
    wrong: tuple[tuple[str, dict[str, Json], str], ...] = (
        ("sandbox.ready", {}, "no event kind is called 'sandbox.ready'"),
        ("worker.event", {"worker_id": "w"}, "worker.event lacks method, params"),
    )
    for kind, payload, words in wrong:
        async with store.begin() as rows:
            with pytest.raises(ValueError, match=words):
                await rows.worker_events.append(KEY, [WorkerEventDraft(kind, NOW, payload)])


def _said(params: str, *, hours: int = 0) -> WorkerEventDraft:
    payload: dict[str, Json] = {"worker_id": "w", "method": "m", "params": params}
    return WorkerEventDraft("worker.event", NOW + timedelta(hours=hours), payload)


def _started(extension: str, epoch: int, hours: int) -> WorkerEventDraft:
    payload: dict[str, Json] = {"worker_id": "w", "agent": "codex", "epoch": epoch}
    payload |= {"reattached": False, "extension": extension}
    return WorkerEventDraft("worker.started", NOW + timedelta(hours=hours), payload)


def _lost(epoch: int, hours: int) -> WorkerEventDraft:
    payload: dict[str, Json] = {"worker_id": "w", "epoch": epoch, "reason": "it is silent"}
    return WorkerEventDraft("worker.lost", NOW + timedelta(hours=hours), payload)
