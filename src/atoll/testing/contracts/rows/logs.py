"""Checks of the rows of provisioning logs and journal marks."""

from atoll.ports import LogLine, Store
from atoll.testing.contracts.event_log import NOW
from atoll.testing.contracts.rows.sandboxes import sandbox


async def check_log_lines_and_journal_marks_are_kept(store: Store) -> None:
    one = sandbox("one")
    lines = [LogLine(NOW, f"line {number}") for number in range(3)]
    async with store.begin() as rows:
        await rows.logs.append(one, lines)
        await rows.logs.append(one, [])
        await rows.logs.set_collected(one, 4)
        await rows.logs.set_collected(one, 7)
    async with store.read() as rows:
        assert await rows.logs.lines(one.id) == lines
        assert await rows.logs.collected(one.id, 1) == 7
        assert await rows.logs.collected(one.id, 2) == 0
