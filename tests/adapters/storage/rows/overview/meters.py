"""Checks of the rows of meters."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.hosts.host import LOCAL_HOST
from atoll.domain.ids import PERSONAL_ORG, OrgId, SandboxId
from atoll.domain.meters.cost import MeterTotal
from atoll.domain.meters.hosts import HostTerms, open_host, reserve
from atoll.domain.meters.meter import Charge, Meter, MeterFilter, MeterId, Subject
from atoll.domain.meters.pricing import AppliedRate, Remainder
from atoll.domain.meters.state import Count, MeterState, Reservation
from atoll.domain.paging import PageQuery
from atoll.ports import Store
from atoll.testing.samples import NOW, OTHER, OWNER
from atoll.wire.words.meters import Basis, MeterKind, Source

HOUR = timedelta(hours=1)
BOX = SandboxId("sb_1")
SUBJECT = Subject(BOX, PERSONAL_ORG, OWNER, 2, "codex", "ci/7", "e2b", "", "eu")
BIG = 2**53
STATE = MeterState(
    SUBJECT,
    NOW,
    7,
    MeterKind.RUNNING,
    Reservation(1500, 512, None),
    True,
    2,
    False,
    (AppliedRate(MeterKind.CPU, "e2b/cpu", 14 * 10**30, 10**30, "USD"),),
    (("sn_1", BIG),),
    (Count(MeterKind.TOKENS_READ, "codex", "a/b", 5, 6), Count(MeterKind.BYTES_IN, "", "", 7)),
    (Remainder(MeterKind.CPU, "e2b/cpu", 3, 2**70),),
)


def meter(number: int, **changed: object) -> Meter:
    """A meter of an hour, the number of hours after `NOW`."""
    made = Meter(
        MeterId(f"mt_{number}"),
        SUBJECT,
        MeterKind.CPU,
        BIG,
        NOW + number * HOUR,
        NOW + (number + 1) * HOUR,
        Charge("e2b/cpu", BIG, "USD"),
        Source.DECLARED,
        Basis.USED,
    )
    return replace(made, **changed)  # type: ignore[arg-type]


async def check_meters_are_paged_by_begin_and_added_once(store: Store) -> None:
    wanted = MeterFilter(PERSONAL_ORG)
    unpriced = meter(
        2, charge=None, subject=replace(SUBJECT, sandbox_id=None), source=Source.VENDOR
    )
    async with store.begin() as rows:
        await rows.meters.add([])
        await rows.meters.add([meter(1), unpriced, meter(3)])
        await rows.meters.add([meter(1, quantity=9), meter(4)])
    async with store.read() as rows:
        first = await rows.meters.page(wanted, PageQuery(3))
        assert first.rows == [meter(4), meter(3), unpriced]
        second = await rows.meters.page(wanted, PageQuery(3, first.following))
        assert (second.rows, second.following) == ([meter(1)], None)


async def check_meters_are_filtered(store: Store) -> None:
    others = replace(SUBJECT, owner=OTHER, agent="", consumer="ci", sandbox_id=SandboxId("sb_2"))
    like = replace(SUBJECT, consumer="ci%x", org_id=OrgId("else"))
    async with store.begin() as rows:
        await rows.meters.add([meter(1), meter(2, subject=others), meter(3, subject=like)])
        await rows.meters.add([meter(4, kind=MeterKind.DISK)])
    async with store.read() as rows:

        async def ids(org_id: OrgId = PERSONAL_ORG, **wanted: object) -> list[str]:
            query = MeterFilter(org_id, **wanted)  # type: ignore[arg-type]
            return [each.id for each in (await rows.meters.page(query, PageQuery(9))).rows]

        assert await ids() == ["mt_4", "mt_2", "mt_1"]
        assert await ids(owner=OTHER) == await ids(sandbox_id="sb_2") == ["mt_2"]
        assert await ids(agent="") == ["mt_2"]
        assert await ids(kind=MeterKind.DISK) == ["mt_4"]
        assert await ids(consumer="ci") == ["mt_4", "mt_2", "mt_1"]
        assert await ids(consumer="ci/7") == ["mt_4", "mt_1"]
        assert await ids(consumer="%") == []
        assert await ids(begin=NOW + 2 * HOUR, end=NOW + 4 * HOUR) == ["mt_2"]
        assert await ids(OrgId("else")) == ["mt_3"]


async def check_totals_of_meters_are_by_kind_agent_and_currency(store: Store) -> None:
    free = meter(3, charge=None)
    euro = meter(4, charge=Charge("x", 5, "EUR"))
    async with store.begin() as rows:
        await rows.meters.add([meter(1), meter(2), free, euro, meter(5, kind=MeterKind.DISK)])
    async with store.read() as rows:
        totals = await rows.meters.totals(MeterFilter(PERSONAL_ORG, sandbox_id=BOX))
        assert sorted(totals, key=repr) == sorted(
            [
                MeterTotal(MeterKind.CPU, "codex", 2 * BIG, 2 * BIG, "USD"),
                MeterTotal(MeterKind.CPU, "codex", BIG, 5, "EUR"),
                MeterTotal(MeterKind.CPU, "codex", BIG),
                MeterTotal(MeterKind.DISK, "codex", BIG, BIG, "USD"),
            ],
            key=repr,
        )
        assert await rows.meters.totals(MeterFilter(OrgId("else"))) == []


async def check_old_meters_are_dropped_a_few_at_a_time(store: Store) -> None:
    async with store.begin() as rows:
        await rows.meters.add([meter(number) for number in range(5)])
        assert await rows.meters.drop(NOW + 4 * HOUR, 2) == 2
        assert await rows.meters.drop(NOW + 4 * HOUR, 2) == 1
        assert await rows.meters.drop(NOW + 4 * HOUR, 2) == 0
        page = await rows.meters.page(MeterFilter(PERSONAL_ORG), PageQuery(9))
        assert [each.id for each in page.rows] == ["mt_4", "mt_3"]


async def check_meter_states_come_back_as_they_were_put_last(store: Store) -> None:
    hosted = replace(
        STATE, subject=replace(SUBJECT, sandbox_id=SandboxId("sb_2"), host="a"), snapshots=()
    )
    over = MeterState(replace(SUBJECT, sandbox_id=SandboxId("sb_3")), NOW, ended=True)
    async with store.begin() as rows:
        for state in (replace(STATE, position=1), STATE, hosted, over):
            await rows.meter_states.put(state)
    async with store.read() as rows:
        states = await rows.meter_states.of([BOX, SandboxId("sb_2"), SandboxId("sb_9")])
        assert states == {BOX: STATE, "sb_2": hosted}
        assert await rows.meter_states.open() == [STATE, hosted]
        assert await rows.meter_states.on_host("a") == [hosted]
    async with store.begin() as rows:
        await rows.meter_states.put(replace(hosted, phase=MeterKind.STOPPED))
        assert await rows.meter_states.on_host("a") == []
        await rows.meter_states.drop(NOW)
        assert await rows.meter_states.get(SandboxId("sb_3")) == over
        await rows.meter_states.drop(NOW + HOUR)
        assert await rows.meter_states.get(SandboxId("sb_3")) is None
        assert await rows.meter_states.get(BOX) == STATE


async def check_meter_states_of_hosts_come_back_by_name(store: Store) -> None:
    terms = HostTerms(10**15, "EUR", 4000, None)
    empty = open_host(LOCAL_HOST, terms, NOW, org_id=PERSONAL_ORG)
    taken, _ = reserve(empty, STATE, NOW + HOUR)
    async with store.begin() as rows:
        await rows.meter_hosts.put(replace(taken, name="z"))
        await rows.meter_hosts.put(empty)
        await rows.meter_hosts.put(taken)
        assert await rows.meter_hosts.everything() == [taken, replace(taken, name="z")]
        await rows.meter_hosts.remove("z")
        assert await rows.meter_hosts.get("z") is None
