"""Checks of the rows of previews and of their visits."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.errors import Conflict
from atoll.domain.ids import PERSONAL_ORG, SandboxId
from atoll.domain.paging import PageQuery
from atoll.domain.previews.preview import Preview, PreviewId
from atoll.domain.previews.visit import PortAddress, Visit
from atoll.ports import Store
from atoll.testing.samples import NOW, OWNER
from atoll.wire.words.previews import PreviewState

BOX = SandboxId("sb_1")


def preview(name: str, *, number: int = 0, pr_number: int | None = None) -> Preview:
    """Return a preview made `number` seconds from the beginning."""
    at = NOW + timedelta(seconds=number)
    return Preview(
        id=PreviewId(name),
        org_id=PERSONAL_ORG,
        owner=OWNER,
        sandbox_id=BOX,
        app="shop",
        port=3000 + number,
        pr_number=pr_number,
        sha=None,
        created_at=at,
        updated_at=at,
    )


def visit(mark: str, *, number: int = 0, of: str | None = None) -> Visit:
    """Return a visit of a minute, made `number` seconds from the beginning."""
    at = NOW + timedelta(seconds=number)
    return Visit(
        mark=mark,
        is_ticket=False,
        org_id=PERSONAL_ORG,
        owner=OWNER,
        sandbox_id=BOX,
        address=PortAddress(3000, "3000-sb-1", preview_id=None if of is None else PreviewId(of)),
        login="session:x",
        capabilities=("exec.use",),
        created_at=at,
        expires_at=at + timedelta(seconds=60),
    )


async def check_previews_are_found_by_sandbox_name_and_state(store: Store) -> None:
    """Put twice, listed, paged, and found by name and state."""
    one, two = preview("one"), preview("two", number=1, pr_number=7)
    ready = replace(one, state=PreviewState.READY)
    async with store.begin() as rows:
        await rows.previews.put(one)
        await rows.previews.put(two)
        await rows.previews.put(ready)
    async with store.read() as rows:
        assert await rows.previews.get(PreviewId("one")) == ready
        assert await rows.previews.get(PreviewId("three")) is None
        assert list(await rows.previews.of(BOX)) == [ready, two]
        assert list(await rows.previews.of(SandboxId("sb_2"))) == []
        assert list(await rows.previews.building()) == [two]
        assert list(await rows.previews.named("pr-7.shop")) == [two]
        assert list(await rows.previews.named("pr-8.shop")) == []
        assert list(await rows.previews.orphaned()) == []
        page = await rows.previews.page(BOX, PageQuery(1))
        assert list(page.rows) == [two]
        rest = await rows.previews.page(BOX, PageQuery(1, page.following))
        assert (list(rest.rows), rest.following) == ([ready], None)


async def check_name_of_a_pull_request_is_one_previews_until_it_is_gone(store: Store) -> None:
    """Two that are not gone cannot have one name."""
    one, two = preview("one", pr_number=7), preview("two", pr_number=7)
    async with store.begin() as rows:
        await rows.previews.put(one)
    try:
        async with store.begin() as rows:
            await rows.previews.put(two)
    except Conflict as error:
        assert error.code == "preview_name_taken"
    else:
        raise AssertionError("the name was given twice")
    async with store.begin() as rows:
        await rows.previews.put(replace(one, state=PreviewState.GONE))
        await rows.previews.put(two)
        await rows.previews.put(preview("three"))
        await rows.previews.put(preview("four"))
    async with store.read() as rows:
        assert len(await rows.previews.named("pr-7.shop")) == 2


async def check_visits_end_with_their_time_their_preview_and_their_number(store: Store) -> None:
    """Found by their marks, removed one by one, by preview, by end and beyond a number."""
    async with store.begin() as rows:
        for number, mark in enumerate(("a", "b", "c")):
            await rows.preview_visits.add(visit(mark, number=number), most=2)
    async with store.read() as rows:
        assert await rows.preview_visits.marked("a") is None
        assert await rows.preview_visits.marked("c") == visit("c", number=2)
        assert [one.mark for one in await rows.preview_visits.of(BOX)] == ["b", "c"]
    async with store.begin() as rows:
        assert await rows.preview_visits.remove("c")
        assert not await rows.preview_visits.remove("c")
        await rows.preview_visits.add(visit("d", number=2, of="one"), most=9)
        await rows.preview_visits.add(visit("e", number=3, of="two"), most=9)
        await rows.preview_visits.remove_of(PreviewId("one"))
        await rows.preview_visits.forget(NOW + timedelta(seconds=61))
    async with store.read() as rows:
        found = [await rows.preview_visits.marked(mark) for mark in "bde"]
        assert [None if one is None else one.mark for one in found] == [None, None, "e"]
