"""The contract of a Store, as a test class to inherit from.

```python
class TestMine(StoreContract):
    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Store]:
        async with my_store() as store:
            yield store
```
`opened` gives an empty store; every test opens its own.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.approvals.approval import (
    Approval,
    ApprovalState,
    CommandAsk,
    GrantScope,
    Requester,
    SecretAsk,
)
from atoll.domain.errors import Conflict
from atoll.domain.ids import (
    PERSONAL_ORG,
    ApprovalId,
    GuestId,
    OrgId,
    PrincipalId,
    SandboxId,
    SecretId,
    ShareId,
    TerminalId,
)
from atoll.domain.people.share import Guest, Share
from atoll.domain.profile.profile import Profile, Scope
from atoll.domain.sandbox.sandbox import Attachment, Sandbox, SandboxRepo, State
from atoll.domain.secrets.secret import Place, Purpose, Secret, Use
from atoll.domain.terminal.turn import Role
from atoll.domain.wall.isolation import Isolation, IsolationLevel
from atoll.ports import (
    ApprovalQuery,
    EventQuery,
    IdempotencyRecord,
    LogLine,
    SandboxQuery,
    Sealed,
    Store,
)
from atoll.testing.contracts.event_log import NOW, OTHER, OWNER, EventLogContract, draft


def sandbox(name: str, *, owner: PrincipalId = OWNER, number: int = 0) -> Sandbox:
    """Return a ready sandbox with something in every field that is not plain text."""
    at = NOW + timedelta(microseconds=number)
    isolation = Isolation(IsolationLevel.CONTAINER, "test", ("memory: none",), host_uid=7)
    return Sandbox(
        id=SandboxId(f"sb_{owner}_{name}"),
        org_id=PERSONAL_ORG,
        owner=owner,
        name=name,
        profile=Profile("profile.x", "1.0.0", env=(("A", "ü"),)),
        scope=Scope.SESSION,
        ttl_seconds=60,
        created_at=at,
        updated_at=at,
        expires_at=at + timedelta(seconds=60),
        max_expires_at=at + timedelta(seconds=600),
        state=State.READY,
        repos=(SandboxRepo("https://example.org/o/r", "b", None, "/workspace"),),
        attachment=Attachment((("pid", "1"),), "unix:/x", "secret", isolation),
        ready_at=at,
    )


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


def secret(name: str, *, owner: PrincipalId = OWNER, scope: str = "person") -> Secret:
    """Return a custom secret with something in every field."""
    return Secret(
        id=SecretId(f"sec_{owner}_{name}"),
        org_id=PERSONAL_ORG,
        owner=owner,
        name=name,
        scope=scope,
        use=Use(Purpose.CUSTOM, slot="basic", slot_name="me", places=(Place("h", 1),)),
        version=1,
        fingerprint="f" * 32,
        last4="1234",
        size=20,
        created_at=NOW,
        updated_at=NOW,
    )


def approval(number: int, *, owner: PrincipalId = OWNER) -> Approval:
    """Return a pending question about a secret."""
    return Approval(
        id=ApprovalId(f"ap_{number}"),
        org_id=PERSONAL_ORG,
        owner=owner,
        requester=Requester(SandboxId("sb_1"), "box", 1, "ask_1"),
        ask=SecretAsk("one", "sec_1", 1, "h", 443),
        asked_at=NOW + timedelta(seconds=number),
        until=NOW + timedelta(days=1),
    )


class StoreContract(EventLogContract):
    """Contract of a store: inherit, and say how an empty store is opened."""

    def opened(self) -> AbstractAsyncContextManager[Store]:
        """Return an empty store, closed on leaving."""
        raise AssertionError("a contract class says how its store is opened")

    async def test_sandbox_comes_back_as_it_was(self) -> None:
        one = sandbox("one")
        async with self.opened() as store:
            async with store.begin() as rows:
                await rows.sandboxes.insert(one)
            async with store.read() as rows:
                assert await rows.sandboxes.get(one.id) == one
                assert await rows.sandboxes.named(PERSONAL_ORG, OWNER, "one") == one
                assert await rows.sandboxes.get(SandboxId("sb_none")) is None
                assert await rows.sandboxes.named(PERSONAL_ORG, OTHER, "one") is None
                assert await rows.sandboxes.named(OrgId("else"), OWNER, "one") is None

    async def test_transaction_that_raises_leaves_nothing(self) -> None:
        async with self.opened() as store:
            with pytest.raises(ZeroDivisionError):
                async with store.begin() as rows:
                    await rows.sandboxes.insert(sandbox("one"))
                    await rows.events.append((draft(1),))
                    raise ZeroDivisionError
            async with store.read() as rows:
                assert await rows.sandboxes.unfinished() == []
                assert await rows.events.last_position() == 0

    async def test_cancelled_transaction_leaves_nothing_and_blocks_nobody(self) -> None:
        async with self.opened() as store:
            inside = asyncio.Event()

            async def hang() -> None:
                async with store.begin() as rows:
                    await rows.sandboxes.insert(sandbox("one"))
                    inside.set()
                    await asyncio.Event().wait()

            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(hang())
                await inside.wait()
                task.cancel()
            async with store.begin() as rows:
                assert await rows.sandboxes.unfinished() == []
                await rows.sandboxes.insert(sandbox("one"))

    async def test_name_is_unique_among_the_owners_living(self) -> None:
        one = sandbox("one")
        rival = replace(one, id=SandboxId("sb_rival"))
        async with self.opened() as store:
            async with store.begin() as rows:
                await rows.sandboxes.insert(one)
                await rows.sandboxes.insert(sandbox("one", owner=OTHER))
            with pytest.raises(Conflict):
                async with store.begin() as rows:
                    await rows.sandboxes.insert(rival)
            async with store.begin() as rows:
                await rows.sandboxes.update(replace(one, state=State.DESTROYING))
                await rows.sandboxes.insert(rival)
            async with store.read() as rows:
                assert await rows.sandboxes.named(PERSONAL_ORG, OWNER, "one") == rival
                held = await rows.sandboxes.held(PERSONAL_ORG, OWNER)
                assert [holding.id for holding in held] == [rival.id]

    async def test_pages_go_newest_first_and_hide_what_is_not_the_owners(self) -> None:
        mine = [sandbox(f"n{number}", number=number) for number in range(5)]
        shared = replace(sandbox("s", owner=OTHER, number=9), scope=Scope.SHARED)
        gone = replace(sandbox("gone", number=10), state=State.DESTROYED)
        async with self.opened() as store:
            async with store.begin() as rows:
                for one in (*mine, shared, gone, sandbox("theirs", owner=OTHER)):
                    await rows.sandboxes.insert(one)
            async with store.read() as rows:
                first = await rows.sandboxes.page(SandboxQuery(PERSONAL_ORG, OWNER, limit=3))
                assert [one.name for one in first] == ["s", "n4", "n3"]
                before = (first[-1].created_at, first[-1].id)
                rest = await rows.sandboxes.page(
                    SandboxQuery(PERSONAL_ORG, OWNER, before=before, limit=9)
                )
                assert [one.name for one in rest] == ["n2", "n1", "n0"]
                only = SandboxQuery(PERSONAL_ORG, OWNER, (State.DESTROYED,))
                assert await rows.sandboxes.page(only) == [gone]
                assert len(await rows.sandboxes.unfinished()) == 7

    async def test_writers_at_once_take_turns(self) -> None:
        async with self.opened() as store:

            async def add(number: int) -> bool:
                async with store.begin() as rows:
                    if len(await rows.sandboxes.held(PERSONAL_ORG, OWNER)) >= 10:
                        return False
                    await rows.sandboxes.insert(sandbox(f"n{number}", number=number))
                    await rows.events.append((draft(number),))
                    return True

            done = await asyncio.gather(*(add(number) for number in range(40)))
            assert sum(done) == 10
            async with store.read() as rows:
                events = await rows.events.page(EventQuery(PERSONAL_ORG, OWNER))
            assert [event.seq for event in events] == list(range(1, 11))

    async def test_log_lines_and_journal_marks_are_kept(self) -> None:
        one = sandbox("one")
        lines = [LogLine(NOW, f"line {number}") for number in range(3)]
        async with self.opened() as store:
            async with store.begin() as rows:
                await rows.logs.append(one, lines)
                await rows.logs.append(one, [])
                await rows.logs.set_collected(one, 4)
                await rows.logs.set_collected(one, 7)
            async with store.read() as rows:
                assert await rows.logs.lines(one.id) == lines
                assert await rows.logs.collected(one.id, 1) == 7
                assert await rows.logs.collected(one.id, 2) == 0

    async def test_profiles_are_kept_by_version(self) -> None:
        first, second = Profile("profile.x", "1.0.0"), Profile("profile.x", "2.0.0")
        async with self.opened() as store, store.begin() as rows:
            await rows.profiles.save(PERSONAL_ORG, OWNER, first)
            await rows.profiles.save(PERSONAL_ORG, OWNER, second)
            await rows.profiles.save(PERSONAL_ORG, OWNER, replace(first, description="new"))
            found = await rows.profiles.all(PERSONAL_ORG)
            assert {(p.version, p.description) for p in found} == {
                ("1.0.0", "new"),
                ("2.0.0", ""),
            }
            assert await rows.profiles.all(OrgId("else")) == []
            assert await rows.profiles.delete(PERSONAL_ORG, "profile.x", "2.0.0") == 1
            assert await rows.profiles.delete(PERSONAL_ORG, "profile.x", None) == 1
            assert await rows.profiles.delete(PERSONAL_ORG, "profile.x", None) == 0

    async def test_secrets_are_kept_by_holder_and_go_whole(self) -> None:
        one = secret("one")
        newer, shared = replace(one, version=2), secret("two", owner=OTHER, scope="organization")
        sealed = Sealed("key", b"\x00wrapped\xff", b"body\x00")
        async with self.opened() as store:
            async with store.begin() as rows:
                await rows.secrets.put(one, sealed)
                await rows.secrets.put(newer, replace(sealed, key_id="key2"))
                await rows.secrets.put(shared, sealed)
                await rows.secrets.put(secret("three", owner=OTHER), sealed)
            with pytest.raises(Conflict):
                async with store.begin() as rows:
                    await rows.secrets.put(replace(one, id=SecretId("sec_rival")), sealed)
            async with store.read() as rows:
                assert await rows.secrets.get(PERSONAL_ORG, one.id) == newer
                assert await rows.secrets.get(OrgId("else"), one.id) is None
                assert await rows.secrets.visible(PERSONAL_ORG, OWNER) == [newer, shared]
                assert await rows.secrets.visible(OrgId("else"), OWNER) == []
                kept = await rows.secrets.sealed(PERSONAL_ORG, OWNER)
                assert {k.secret.name: k.sealed.key_id for k in kept} == {
                    "one": "key2",
                    "two": "key",
                }
                assert kept[0].sealed.body == b"body\x00"
                assert len(await rows.secrets.everything()) == 3
            async with store.begin() as rows:
                await rows.secrets.remove(one.id)
                await rows.secrets.remove(one.id)
                assert len(await rows.secrets.everything()) == 2

    async def test_approvals_are_found_by_who_decides_and_by_what_they_are_about(self) -> None:
        one, command = approval(1), replace(approval(2), ask=CommandAsk(("a", "b"), "/"))
        other = replace(
            approval(3, owner=OTHER), verdict=ApprovalState.GRANTED, reach=GrantScope.ONCE
        )
        done = replace(approval(4), verdict=ApprovalState.EXPIRED, until=None)
        async with self.opened() as store, store.begin() as rows:
            for each in (one, command, other, done, replace(one, times=7)):
                await rows.approvals.put(each)
            assert await rows.approvals.get(PERSONAL_ORG, one.id) == replace(one, times=7)
            assert await rows.approvals.get(PERSONAL_ORG, command.id) == command
            assert await rows.approvals.get(OrgId("else"), one.id) is None
            page = await rows.approvals.page(ApprovalQuery(PERSONAL_ORG, OWNER))
            assert [each.id for each in page] == [done.id, command.id, one.id]
            pending = ApprovalQuery(PERSONAL_ORG, OWNER, (ApprovalState.PENDING,), limit=1)
            assert await rows.approvals.page(pending) == [command]
            mine = await rows.approvals.open(
                PERSONAL_ORG, sandbox_id=SandboxId("sb_none"), owner=OWNER
            )
            assert {each.id for each in mine} == {one.id, command.id}
            here = await rows.approvals.open(
                PERSONAL_ORG, sandbox_id=SandboxId("sb_1"), owner=PrincipalId("nobody")
            )
            assert {each.id for each in here} == {one.id, command.id, other.id}
            about = await rows.approvals.about(PERSONAL_ORG, "sec_1")
            assert {each.id for each in about} == {one.id, other.id}

    async def test_idempotency_keys_belong_to_their_owner_and_are_forgotten(self) -> None:
        record = IdempotencyRecord("digest", SandboxId("sb_a"), NOW)
        async with self.opened() as store, store.begin() as rows:
            await rows.idempotency.put(PERSONAL_ORG, OWNER, key="k", record=record)
            await rows.idempotency.put(PERSONAL_ORG, OWNER, key="k", record=record)
            assert await rows.idempotency.get(PERSONAL_ORG, OWNER, "k") == record
            assert await rows.idempotency.get(PERSONAL_ORG, OTHER, "k") is None
            await rows.idempotency.forget(NOW + timedelta(seconds=1))
            assert await rows.idempotency.get(PERSONAL_ORG, OWNER, "k") is None

    async def test_share_is_found_by_its_mark_and_counts_its_guests(self) -> None:
        """A link, its guests, and what removing it takes along."""
        async with self.opened() as store:
            async with store.begin() as rows:
                await rows.shares.add(share("one"))
                await rows.shares.add(share("two", number=1))
                await rows.shares.add_guest(guest("g", "one"))
                await rows.shares.add_guest(guest("h", "one"))
                await rows.shares.remove_guest("session of h")
            async with store.read() as rows:
                found = await rows.shares.of(SandboxId("sb_1"))
                assert found == [(share("one"), 1), (share("two", number=1), 0)]
                assert await rows.shares.marked("mark of one") == share("one")
                assert await rows.shares.marked("mark of three") is None
                assert await rows.shares.guest("session of g") == (guest("g", "one"), share("one"))
                assert await rows.shares.guest("session of h") is None
                assert await rows.shares.of(SandboxId("sb_2")) == []
            async with store.begin() as rows:
                await rows.shares.remove(ShareId("one"))
                await rows.shares.remove(ShareId("one"))
            async with store.read() as rows:
                assert await rows.shares.guest("session of g") is None
                assert await rows.shares.marked("mark of one") is None

    async def test_shares_that_ended_are_forgotten_with_their_guests(self) -> None:
        """At their end and not before it."""
        async with self.opened() as store:
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
