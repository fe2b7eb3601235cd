"""Checks of the rows of the outbox."""

from atoll.domain.outbox import Cursor
from atoll.ports import Store


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
