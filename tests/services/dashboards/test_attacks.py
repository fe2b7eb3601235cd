"""What hostile browsers send, at the protocol. Nothing of it reaches the document or the others."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pycrdt import Doc, Map

from atoll.domain.dashboards.change import MAX_UPDATE_BYTES
from atoll.domain.errors import LimitReached, NotFound
from atoll.services.dashboards import connections
from atoll.services.dashboards import rooms as open_rooms
from atoll.wire.crdt.frames import SyncStep2, SyncUpdate, spell_frame
from atoll.wire.crdt.lib0 import spell_number
from atoll.wire.crdt.update import read_update
from atoll.wire.words.dashboards import DashboardScope
from atoll.wire.words.people import OrgRole
from tests.services.dashboards.scene import Scene, Tab, item_id, person, scene
from tests.wire.crdt.spelled import MAP, Part, shared, spell_update, string, values

ANN, BOB, EVE = person("ann"), person("bob"), person("eve", OrgRole.VIEWER)


def frame(update: bytes) -> bytes:
    return spell_frame(SyncUpdate(update))


async def prepared(made: Scene) -> str:
    """A dashboard with one note."""
    board = await made.board()
    tab = Tab()
    async with tab.joined(made.replicas[0], board, ANN):
        tab.add(1, "mine")
        await tab.saved()
    return board


async def test_viewer_changes_nothing_whatever_it_sends(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        board = await prepared(made)
        before = await made.stored(board)
        async with (
            Tab().joined(made.replicas[0], board, EVE) as eve,
            Tab().joined(made.replicas[0], board, ANN) as ann,
        ):
            assert (await eve.told("welcome"))["role"] == "viewer"
            await eve.until(lambda: item_id(1) in eve.items)
            await ann.until(lambda: item_id(1) in ann.items)
            # What everybody has is no change, also when it is sent as one.
            await eve.send(spell_frame(SyncStep2(bytes(eve.doc.get_update()))))
            assert (await eve.told("saved"))["seq"] == 1
            forged: list[Any] = []
            kept = eve.doc.observe(lambda event: forged.append(bytes(event.update)))
            eve.add(2, "forged")
            eve.items[item_id(1)]["x"] = 99
            eve.items[item_id(1)]["text"].insert(0, "not ")
            del eve.items[item_id(1)]
            del kept
            assert len(forged) == 4
            eve._out.clear()
            for update in forged:
                for wrapped in (SyncUpdate(update), SyncStep2(update)):
                    await eve.send(spell_frame(wrapped))
                    assert (await eve.told("refused"))["code"] == "forbidden"
            assert ann.state() == before
        assert await made.stored(board) == before


BOMB = [shared(MAP, parent="items", key=item_id(3))]
BOMB += [shared(MAP, parent=(9, depth), key="a") for depth in range(5000)]
UPDATES = {
    "garbage": b"\xff" * 50,
    "nothing": b"",
    "nested types": spell_update((9, 0, BOMB)),
    "nested values": spell_update(
        (9, 0, [values(b"\x75\x01" * 50_000 + b"\x78", parent=(9, 9), key="a")])
    ),
    "other root": spell_update((9, 0, [shared(MAP, parent="rights", key="ann")])),
    "foreign client": spell_update((7, 99, [string("x", origin=(7, 1))])),
    "missing changes": spell_update((9, 5, [string("x", origin=(9, 4))])),
    "no item": spell_update((9, 0, [shared(MAP, parent="items", key=item_id(3))])),
    "huge clock": spell_update((9, 0, [Part(0, spell_number(2**31))])),
    "many parts": spell_number(1) + spell_number(60_000) + b"\x09\x00" + b"\x00\x01" * 60_000,
}


async def test_update_that_no_page_writes_is_refused_and_all_goes_on(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        board = await prepared(made)
        before = await made.stored(board)
        async with Tab().joined(made.replicas[0], board, BOB) as bob:
            await bob.until(lambda: item_id(1) in bob.items)
            for update in UPDATES.values():
                await bob.send(frame(update))
                assert (await bob.told("refused"))["code"] in ("invalid", "too_large")
            await bob.send(frame(b"\0" * (MAX_UPDATE_BYTES + 100)))
            assert (await bob.told("refused"))["code"] == "too_large"
            await bob.send(b"\x07garbage")
            assert (await bob.told("refused"))["code"] == "invalid"
            assert await made.stored(board) == before
            bob.add(2, "honest")
            await bob.saved()
        assert set(await made.stored(board)) == {item_id(1), item_id(2)}


async def test_item_that_breaks_a_bound_is_refused_and_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(tmp_path) as made:
        board = await prepared(made)
        before = await made.stored(board)
        changes: list[tuple[Callable[[Tab], None], str]] = [
            (lambda tab: tab.add(2, x="left"), "invalid"),
            (lambda tab: tab.add(2, url="javascript:alert(1)"), "invalid"),
            (lambda tab: tab.add(2, "x" * 70_000), "too_large"),
            (lambda tab: tab.items.update({"rights": Map({"kind": "note"})}), "invalid"),
            (lambda tab: tab.items.update({item_id(2): "no map"}), "invalid"),
        ]
        for change, code in changes:
            async with Tab().joined(made.replicas[0], board, BOB) as bob:
                await bob.told("welcome")
                await bob.until(partial(_is_there, bob))
                change(bob)
                assert (await bob.told("refused"))["code"] == code
                assert await made.stored(board) == before
            async with Tab().joined(made.replicas[0], board, ANN) as ann:
                await ann.until(partial(_is, ann, before))


async def test_changes_in_the_name_of_another_person_are_refused(tmp_path: Path) -> None:
    """Else their next change would have the number of the forged one, and never converge."""
    async with scene(tmp_path) as made:
        board = await made.board()
        ann, bob = Tab(client=7), Tab(client=7)
        async with (
            ann.joined(made.replicas[0], board, ANN),
            bob.joined(made.replicas[0], board, BOB),
        ):
            await ann.present(1, {})
            await bob.until(lambda: 7 in bob.presences)
            bob.add(1)
            assert (await bob.told("refused"))["code"] == "invalid"
            ann.add(2)
            await ann.saved()
        async with Tab(client=7).joined(made.replicas[0], board, BOB) as again:
            await again.until(lambda: item_id(2) in again.items)
            again.add(3)
            assert (await again.told("refused"))["code"] == "invalid"
        assert set(await made.stored(board)) == {item_id(2)}


async def test_presence_is_of_ones_own_client_and_person_alone(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        board = await made.board()
        async with (
            Tab().joined(made.replicas[0], board, ANN) as ann,
            Tab().joined(made.replicas[0], board, EVE) as eve,
        ):
            await ann.present(1, {"at": 1})
            await eve.until(lambda: ann.client in eve.presences)
            await eve.present(5, {"user": {"name": "Ann", "id": "ann"}, "at": 2})
            await eve.present(9, {"user": {"name": "Ann"}}, client=ann.client)
            await eve.present(9, None, client=ann.client)
            await ann.until(lambda: eve.client in ann.presences)
            assert '"id":"eve","name":"Eve"' in ann.presences[eve.client].state
            await eve.present(6, {"more": "x" * 5000})
            assert (await eve.told("refused"))["code"] == "too_large"
            await ann.present(2, {"at": 3})
            await eve.until(lambda: eve.presences[ann.client].clock == 2)
            assert '"id":"ann"' in eve.presences[ann.client].state
        async with Tab().joined(made.replicas[0], board, ANN) as last:
            await last.told("welcome")
            assert eve.client not in last.presences


async def test_foreign_dashboard_is_not_found_and_a_lost_role_ends_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(tmp_path) as made:
        boards, rooms = made.replicas[0].boards, made.replicas[0].rooms
        board = await made.board()
        for who, ref in ((person("mallory", org="other"), board), (ANN, "dsh_none")):
            with pytest.raises(NotFound):
                async with rooms.attach(who, ref):
                    pass
        async with Tab().joined(made.replicas[0], board, BOB) as bob:
            await bob.told("welcome")
            await boards.change(ANN, board, name="New", scope=DashboardScope.PRIVATE)
            await bob.until(lambda: bob.closed)
            assert isinstance(bob.closed[0], NotFound)
        async with Tab().joined(made.replicas[0], board, ANN) as ann:
            monkeypatch.setattr(open_rooms, "LOOK_SECONDS", 60.0)
            await ann.told("welcome")
            await boards.delete(ANN, board)
            await ann.until(lambda: ann.closed)


async def test_update_after_the_role_was_lost_is_refused_in_its_own_transaction(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as made:
        board = await made.board()
        async with (
            Tab().joined(made.replicas[0], board, BOB) as bob,
            Tab().joined(made.replicas[0], board, ANN) as ann,
        ):
            await bob.told("welcome")
            # Another replica changed the row, and its message is lost.
            async with made.ground.store.begin() as rows:
                found = await rows.dashboards.get(board)  # type: ignore[arg-type]
                assert found is not None
                await rows.dashboards.put(replace(found, scope=DashboardScope.PRIVATE))
            bob.add(1)
            ann.add(2)
            await bob.flush()
            await ann.saved()
            await bob.until(lambda: bob.closed or bob.said)
        assert set(await made.stored(board)) == {item_id(2)}


async def test_flood_is_read_slowly_and_disturbs_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MESSAGE_BURST", 20.0)
    async with scene(tmp_path) as made:
        board = await made.board()
        async with (
            Tab().joined(made.replicas[0], board, BOB) as bob,
            Tab().joined(made.replicas[0], board, ANN) as ann,
        ):
            sent = 0

            async def flood() -> None:
                nonlocal sent
                while True:
                    await bob.present(sent, {"at": sent})
                    sent += 1

            async with asyncio.TaskGroup() as group:
                flooding = group.create_task(flood())
                began = asyncio.get_running_loop().time()
                ann.add(1)
                await ann.saved()
                await asyncio.sleep(0.3)  # the flood goes on for so long
                flooding.cancel()
                seconds = asyncio.get_running_loop().time() - began
            assert sent <= 20 + 80 * seconds + 1


async def test_connection_ends_after_many_refusals(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        board = await made.board()
        async with Tab().joined(made.replicas[0], board, BOB) as bob:
            for _ in range(connections.MAX_REFUSALS + 1):
                await bob.send(b"\x09")
            await bob.until(lambda: bob.closed)
            assert isinstance(bob.closed[0], LimitReached)


def _is_there(tab: Tab) -> bool:
    return item_id(1) in tab.items


def _is(tab: Tab, state: object) -> bool:
    return bool(tab.state() == state)


def test_library_would_not_stand_what_is_refused_here() -> None:
    """The update of nested types is one that the library takes: only the judge stops it."""
    doc: Any = Doc()
    doc.get("items", type=Map)
    doc.apply_update(spell_update((9, 0, BOMB[:50])))
    assert doc.get_state() != b"\0"


def begin_of_text(document: bytes) -> tuple[int, int]:
    """Return the first character of the longest text of a document."""
    longest = max(read_update(document).structs, key=lambda one: one.length)
    return longest.client, longest.clock


def dear_parts(shape: str, count: int, begin: tuple[int, int]) -> list[Part]:
    """Parts that walk over each other, at a text of 4,000 characters."""
    client, clock = begin
    if shape == "one left":
        rights = [(client, clock + 1 + n) for n in range(count)]
        return [string("a", origin=begin, right=one) for one in rights]
    lefts = [(client, clock + n) for n in range(count)]
    return [string("a", origin=one, right=(client, clock + 3999)) for one in lefts]


@pytest.mark.parametrize("browsers", ["one", "many"])
@pytest.mark.parametrize("shape", ["one left", "one right"])
async def test_update_that_is_dear_to_merge_is_refused_before_it_is_merged(
    tmp_path: Path, shape: str, browsers: str
) -> None:
    async with scene(tmp_path) as made:
        board = await made.board()
        async with Tab().joined(made.replicas[0], board, ANN) as ann:
            ann.add(1, "x" * 4000)
            await ann.saved()
            begin = begin_of_text(bytes(ann.doc.get_update()))
            before, parts = await made.stored(board), dear_parts(shape, 3000, begin)
            groups = [(9, 0, parts)]
            if browsers == "many":
                groups = [(9 + n, 0, [one]) for n, one in enumerate(parts)]
            began = time.process_time()
            await ann.send(frame(spell_update(*groups)))
            assert (await ann.told("refused"))["code"] in {"document_full", "too_many"}
            assert time.process_time() - began < 0.5
        assert await made.stored(board) == before
