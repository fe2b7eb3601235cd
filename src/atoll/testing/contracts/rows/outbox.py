"""Checks of the rows of the outbox."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.lease import Lease
from atoll.domain.outbox import Cursor
from atoll.ports import Store
from atoll.testing.contracts.event_log import NOW


async def check_cursor_is_the_last_one_of_its_stream(store: Store) -> None:
    """Also a smaller one: a stream that lost its end is filled again."""
    async with store.begin() as rows:
        assert await rows.outbox.cursor("ATOLL") is None
        await rows.outbox.set_cursor("ATOLL", Cursor(2**40, 7))
        await rows.outbox.set_cursor("OTHER", Cursor(1, 1))
        await rows.outbox.set_cursor("ATOLL", Cursor(3, 2))
    async with store.read() as rows:
        assert await rows.outbox.cursor("ATOLL") == Cursor(3, 2)
        assert await rows.outbox.cursor("OTHER") == Cursor(1, 1)


async def check_lease_is_read_as_it_was_put_and_replaced_by_its_name(store: Store) -> None:
    """Of its name only, with its end to the microsecond."""
    first = Lease("outbox", "a", 2**40, NOW)
    later = replace(first, holder="b", fence=first.fence + 1, until=NOW + timedelta(seconds=15))
    other = Lease("other", "a", 1, NOW)
    async with store.begin() as rows:
        assert await rows.leases.get("outbox") is None
        for each in (first, other, later):
            await rows.leases.put(each)
    async with store.read() as rows:
        assert await rows.leases.get("outbox") == later
        assert await rows.leases.get("other") == other
