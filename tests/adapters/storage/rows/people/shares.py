"""Checks of the rows of share links and their guests."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.ids import (
    PERSONAL_ORG,
    DashboardId,
    GuestId,
    PrincipalId,
    SandboxId,
    ShareId,
    TerminalId,
)
from atoll.domain.people.share import Guest, Share
from atoll.ports import Store
from atoll.testing.samples import NOW, OWNER
from atoll.wire.words.terminals import Role


def share(name: str, *, number: int = 0) -> Share:
    """Return a link of a minute, and `number` microseconds, to one terminal."""
    at = NOW + timedelta(microseconds=number)
    return Share(
        id=ShareId(name),
        org_id=PERSONAL_ORG,
        owner=OWNER,
        sandbox_id=SandboxId("sb_1"),
        terminal_id=TerminalId("t_1"),
        role=Role.CONTROLLER,
        name="für Bob",
        mark=f"mark of {name}",
        created_at=at,
        expires_at=at + timedelta(seconds=60),
    )


def guest(name: str, share_id: str) -> Guest:
    """Return a guest who came by that link."""
    return Guest(
        id=GuestId(name),
        share_id=ShareId(share_id),
        org_id=PERSONAL_ORG,
        owner=OWNER,
        name="Bob",
        mark=f"session of {name}",
        created_at=NOW,
    )


async def check_share_is_found_by_its_mark_and_counts_its_guests(store: Store) -> None:
    """A link, its guests, and what removing it takes along."""
    async with store.begin() as rows:
        await rows.shares.add(share("one"))
        await rows.shares.add(share("two", number=1))
        await rows.shares.add_guest(guest("g", "one"))
        await rows.shares.add_guest(guest("h", "one"))
        await rows.shares.remove_guest("session of h")
    async with store.read() as rows:
        found = await rows.shares.of(SandboxId("sb_1"))
        assert found == [(share("one"), (guest("g", "one"),)), (share("two", number=1), ())]
        assert await rows.shares.marked("mark of one") == share("one")
        assert await rows.shares.marked("mark of three") is None
        assert await rows.shares.get(ShareId("two")) == share("two", number=1)
        assert await rows.shares.held(PERSONAL_ORG, OWNER) == [share("one"), share("two", number=1)]
        assert await rows.shares.held(PERSONAL_ORG, PrincipalId("nobody")) == []
        assert await rows.shares.guest("session of g") == (guest("g", "one"), share("one"))
        assert await rows.shares.guest("session of h") is None
        assert await rows.shares.of(SandboxId("sb_2")) == []
    async with store.begin() as rows:
        await rows.shares.remove(ShareId("one"))
        await rows.shares.remove(ShareId("one"))
    async with store.read() as rows:
        assert await rows.shares.guest("session of g") is None
        assert await rows.shares.marked("mark of one") is None
        assert await rows.shares.get(ShareId("one")) is None


async def check_links_of_a_dashboard_are_found_by_it(store: Store) -> None:
    """A link may open a dashboard in place of a sandbox."""
    made = replace(share("one"), sandbox_id=None, dashboard_id=DashboardId("dsh_1"), terminals=True)
    async with store.begin() as rows:
        await rows.shares.add(made)
        await rows.shares.add(share("two"))
    async with store.read() as rows:
        assert await rows.shares.of(DashboardId("dsh_1")) == [(made, ())]
        assert await rows.shares.of(SandboxId("sb_1")) == [(share("two"), ())]


async def check_shares_that_ended_are_forgotten_with_their_guests(store: Store) -> None:
    """At their end and not before it."""
    async with store.begin() as rows:
        await rows.shares.add(share("one"))
        await rows.shares.add(share("two", number=1))
        await rows.shares.add_guest(guest("g", "one"))
        await rows.shares.add_guest(guest("h", "two"))
        await rows.shares.forget(NOW + timedelta(seconds=60))
    async with store.read() as rows:
        left = [each.id for each, _ in await rows.shares.of(SandboxId("sb_1"))]
        assert left == ["two"]
        assert await rows.shares.guest("session of g") is None
        assert await rows.shares.guest("session of h") is not None
