"""Checks of the rows of watches."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.tools.watch import Watch
from atoll.ports import Store
from atoll.testing.samples import NOW

ONE = Watch("s_1", "sandbox/sb_1", 7, NOW + timedelta(hours=1))


async def check_watch_is_kept_once_and_removed(store: Store) -> None:
    """A watch, the same again, and its end."""
    async with store.begin() as rows:
        await rows.watches.put(ONE)
        await rows.watches.put(replace(ONE, position=9))
        await rows.watches.put(replace(ONE, path="sandbox/*"))
        await rows.watches.put(replace(ONE, session_id="s_2"))
        await rows.watches.remove("s_1", "no/such")
    async with store.read() as rows:
        assert await rows.watches.of("s_1") == [replace(ONE, path="sandbox/*"), ONE]
        both = await rows.watches.among(("s_1", "s_none", "s_2"))
        mine = [one for one in both if one.session_id == "s_1"]
        assert mine == await rows.watches.of("s_1")
        assert [one.session_id for one in both if one not in mine] == ["s_2"]
        assert await rows.watches.among(()) == []
    async with store.begin() as rows:
        await rows.watches.remove("s_1", ONE.path)
        assert [one.path for one in await rows.watches.of("s_1")] == ["sandbox/*"]
        assert not await rows.watches.ended("s_1")
        await rows.watches.end("s_1", ONE.expires_at)
        assert await rows.watches.of("s_1") == []
        assert await rows.watches.ended("s_1")
        assert not await rows.watches.ended("s_2")
        assert len(await rows.watches.of("s_2")) == 1


async def check_watches_of_ended_sessions_are_forgotten(store: Store) -> None:
    """Rows that end at a time are gone at it, and not before."""
    async with store.begin() as rows:
        await rows.watches.put(ONE)
        await rows.watches.put(replace(ONE, session_id="s_2", expires_at=NOW))
        await rows.watches.forget(NOW)
        assert len(await rows.watches.of("s_1")) == 1
        assert await rows.watches.of("s_2") == []
        await rows.watches.end("s_1", NOW)
        await rows.watches.forget(NOW)
        assert not await rows.watches.ended("s_1")
