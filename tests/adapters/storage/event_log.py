"""The contract of a Store's event log: a part of `StoreContract`."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.event import EventDraft, Gap
from atoll.domain.event_retention import Removal
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId
from atoll.ports import EventQuery, Store
from atoll.testing.samples import NOW, OTHER, OWNER, draft

EVER = datetime.min.replace(tzinfo=UTC)


def aged(stream: str, *days: int) -> list[EventDraft]:
    """Return events of one stream, each so many days old."""
    return [
        replace(draft(number, stream=stream), at=NOW - timedelta(days=old))
        for number, old in enumerate(days, 1)
    ]


async def append(store: Store, drafts: Sequence[EventDraft]) -> None:
    """Append in one transaction."""
    async with store.begin() as rows:
        await rows.events.append(drafts)


async def remove(
    store: Store,
    stream: str,
    *,
    days: int | None = None,
    below: int = 0,
    limit: int = 100,
    until: int | None = None,
) -> int:
    """Remove what is older than `days` or numbered below `below`, up to the position `until`."""
    before = EVER if days is None else NOW - timedelta(days=days)
    async with store.begin() as rows:
        return await rows.events.remove(Removal(stream, before, below, limit, until))


async def kept(store: Store, stream: str) -> list[int]:
    """Return the numbers of a stream's events."""
    async with store.read() as rows:
        page = await rows.events.page(EventQuery(PERSONAL_ORG, OWNER, stream))
    return [event.seq for event in page]


async def gap(
    store: Store, after: int, stream: str | None = None, *, owner: PrincipalId = OWNER
) -> Gap | None:
    """Return the gap of a reader who saw all events up to `after`."""
    async with store.read() as rows:
        return await rows.events.gap(EventQuery(PERSONAL_ORG, owner, stream, after))


class EventLogContract:
    """Events are numbered without gaps, and what is removed is known to have been there."""

    def opened(self) -> AbstractAsyncContextManager[Store]:
        """Return an empty store, closed on leaving."""
        raise AssertionError("a contract class says how its store is opened")

    async def test_events_are_numbered_by_stream_and_over_all(self) -> None:
        async with self.opened() as store:
            await append(store, [draft(1), draft(1, stream="b"), draft(2)])
            await append(store, [draft(2, stream="b"), draft(3, owner=OTHER)])
            async with store.read() as rows:
                page = await rows.events.page(EventQuery(PERSONAL_ORG, OWNER))
                assert [(e.stream, e.seq) for e in page] == [
                    ("auth", 1),
                    ("b", 1),
                    ("auth", 2),
                    ("b", 2),
                ]
                positions = [event.position for event in page]
                assert positions == sorted(set(positions))
                assert page[0].payload == {"how": "ticket 1"}
                assert page[0].at == NOW
                rest = await rows.events.page(
                    EventQuery(PERSONAL_ORG, OWNER, "b", after=positions[1])
                )
                assert [event.seq for event in rest] == [2]
                newest = EventQuery(PERSONAL_ORG, OWNER, limit=2, latest=True)
                assert await rows.events.page(newest) == page[-2:]
                login, none = frozenset({page[0].event_type}), frozenset[str]()
                assert await rows.events.page(replace(newest, kinds=login)) == page[-2:]
                assert await rows.events.page(replace(newest, kinds=none)) == []
                assert await rows.events.last_position() > positions[-1]
                assert await rows.events.page(EventQuery(OrgId("else"), OWNER)) == []

    async def test_transaction_that_is_rolled_back_leaves_no_gap(self) -> None:
        async with self.opened() as store:
            await append(store, [draft(1)])
            with pytest.raises(ZeroDivisionError):
                async with store.begin() as rows:
                    await rows.events.append([draft(2), draft(3)])
                    raise ZeroDivisionError
            many = [draft(n, stream=f"s{n % 3}") for n in range(10, 260)]
            async with store.begin() as rows:
                appended = await rows.events.append([draft(4), *many])
            assert [event.position for event in appended] == list(range(2, 253))
            assert appended[0].seq == 2
            for stream in ("s0", "s1", "s2"):
                numbers = [event.seq for event in appended if event.stream == stream]
                assert numbers == list(range(1, len(numbers) + 1))
            async with store.read() as rows:
                query = EventQuery(PERSONAL_ORG, OWNER, after=1, limit=1000)
                assert await rows.events.page(query) == appended

    async def test_reason_with_a_nul_is_kept_without_it(self) -> None:
        async with self.opened() as store:
            await append(store, [replace(draft(1), reason="a\0b")])
            async with store.read() as rows:
                (event,) = await rows.events.page(EventQuery(PERSONAL_ORG, OWNER))
            assert event.reason == "a\u2400b"

    async def test_events_of_everybody_are_read_in_order_after_a_position(self) -> None:
        async with self.opened() as store:
            await append(store, [draft(1), draft(1, stream="b", owner=OTHER), draft(2)])
            async with store.read() as rows:
                page = await rows.events.after(0, 10)
                assert [event.stream for event in page] == ["auth", "b", "auth"]
                assert await rows.events.after(page[0].position, 1) == page[1:2]
                assert await rows.events.after(page[2].position, 10) == []

    async def test_unknown_event_is_refused(self) -> None:
        async with self.opened() as store:
            with pytest.raises(ValueError, match="no event kind"):
                await append(store, [replace(draft(1), event_type="auth.happy")])

    async def test_removal_takes_the_oldest_first_and_stops_at_the_first_that_stays(self) -> None:
        async with self.opened() as store:
            # An event that was collected late is older than the one before it.
            await append(store, aged("s", 9, 8, 1, 7, 0))
            assert await remove(store, "s", days=5) == 2
            assert await kept(store, "s") == [3, 4, 5]
            assert await remove(store, "s", below=4) == 1
            assert await remove(store, "s", days=5, limit=1) == 1
            assert await remove(store, "s", days=5) == 0
            assert await kept(store, "s") == [5]

    async def test_removal_stops_at_the_position_that_readers_have(self) -> None:
        async with self.opened() as store:
            await append(store, aged("auth", 9, 8, 7, 6))
            assert await remove(store, "auth", days=1, until=2) == 2
            assert await kept(store, "auth") == [3, 4]

    async def test_newest_event_stays_so_that_numbers_never_begin_again(self) -> None:
        async with self.opened() as store:
            await append(store, aged("s", 9, 8))
            async with store.read() as rows:
                last = await rows.events.last_position()
            assert await remove(store, "s", days=1, below=99) == 1
            assert await remove(store, "s", days=1, below=99) == 0
            async with store.read() as rows:
                assert await rows.events.last_position() == last
            await append(store, [draft(3, stream="s")])
            assert await kept(store, "s") == [2, 3]

    async def test_reader_from_before_a_removal_is_told_and_no_other(self) -> None:
        async with self.opened() as store:
            await append(store, [*aged("a", 9, 9, 9), *aged("b", 9, 0), draft(1, owner=OTHER)])
            assert await gap(store, 0) is None
            await remove(store, "a", below=3)
            await remove(store, "b", days=5)
            assert await gap(store, 0) == Gap(0, 4)
            assert await gap(store, 3) == Gap(3, 4)
            assert await gap(store, 4) is None
            # A position that the log has not reached: it was set back, for everybody.
            assert await gap(store, 900) == Gap(900, 6)
            assert await gap(store, 900, "none", owner=OTHER) == Gap(900, 6)
            assert await gap(store, 1, "a") == Gap(1, 2)
            assert await gap(store, 2, "a") is None
            assert await gap(store, 0, "none") is None
            assert await gap(store, 0, owner=OTHER) is None

    async def test_stream_of_several_owners_tells_each_of_theirs(self) -> None:
        async with self.opened() as store:
            theirs = draft(2, owner=OTHER)
            await append(store, [draft(1), theirs, draft(3), draft(4, owner=OTHER)])
            assert await remove(store, "auth", below=3) == 2
            assert await remove(store, "auth", below=4) == 1
            assert await gap(store, 0) == Gap(0, 3)
            assert await gap(store, 0, owner=OTHER) == Gap(0, 2)

    async def test_streams_are_listed_one_by_one_with_what_they_hold(self) -> None:
        async with self.opened() as store:
            await append(store, [*aged("b", 7, 3, 1), *aged("a", 2)])
            await remove(store, "b", below=2)
            async with store.read() as rows:
                first = await rows.events.next_stream("")
                assert first is not None
                assert (first.stream, first.oldest_seq, first.newest_seq) == ("a", 1, 1)
                second = await rows.events.next_stream("a")
                assert second is not None
                assert (second.stream, second.oldest_seq, second.newest_seq) == ("b", 2, 3)
                assert second.oldest_at == NOW - timedelta(days=3)
                assert await rows.events.next_stream("b") is None
