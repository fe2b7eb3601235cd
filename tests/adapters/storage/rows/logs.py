"""Checks of the rows of provisioning logs and journal marks."""

from dataclasses import replace

from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports import LogLine, Store
from atoll.testing.samples import NOW, sandbox


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


async def check_actor_is_remembered_without_what_it_may_do(store: Store) -> None:
    one, two = sandbox("one"), sandbox("two", number=1)
    named = replace(LOCAL_PERSON, name="Ada")
    async with store.begin() as rows:
        await rows.logs.remember_actor(one.id, "t1", LOCAL_PERSON)
        await rows.logs.remember_actor(one.id, "t1", named)
        await rows.logs.remember_actor(two.id, "t1", LOCAL_PERSON)
        found = await rows.logs.actor(one.id, "t1")
        assert found == replace(named, capabilities=frozenset(), roles=(), groups=())
        assert await rows.logs.actor(one.id, "t2") is None
        await rows.logs.forget_actors(one.id)
    async with store.read() as rows:
        assert await rows.logs.actor(one.id, "t1") is None
        assert await rows.logs.actor(two.id, "t1") is not None
