import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from atoll.domain.terminals.size import Size
from atoll.domain.terminals.turn import Act, Change, Party
from atoll.runtime.terminals.control_audit import ControlAudit
from atoll.runtime.terminals.terminal import Terminal
from atoll.runtime.terminals.terminals import TerminalRequest
from atoll.wire.attach import (
    AgentStateChanged,
    ControlExpired,
    ControlState,
    DriverChanged,
    Exited,
    GrantControl,
    InputRefused,
    Point,
    Pointed,
    Pointer,
    Refused,
    RequestControl,
    Resize,
    RevokeControl,
    Say,
    Sized,
    Talked,
)
from atoll.wire.words.terminals import Role
from tests.runtime.stage import Runtime, Watcher, runtime

ANN = {"principal": "ann", "name": "Ann", "role": "owner"}
BOB = {"principal": "bob", "name": "Bob", "role": "controller"}
EVE = {"principal": "eve", "name": "Eve", "role": "viewer"}
AWAY_SECONDS = 60


class Switch:
    """A guard that refuses every key while it has a reason."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def refusal(self, role: Role, keys: bytes) -> str | None:
        return self.reason

    def greeting(self) -> AgentStateChanged:
        return AgentStateChanged("running", "working", "codex", "owner")


async def guarded(rt: Runtime, *argv: str) -> tuple[Terminal, Switch]:
    """A terminal with a guard, running `argv`."""
    guard = Switch()
    options = TerminalRequest(argv, None, {}, Size(80, 24), None, 64 * 1024, guard=guard)
    return await rt.terminals.open(options), guard


async def state(viewer: Watcher, driver: str | None, waiting: tuple[str, ...] = ()) -> ControlState:
    """The next control state in which this client drives and those principals wait."""
    while True:
        told = await viewer.until(ControlState)
        found = None if told.driver is None else told.driver.client
        if (found, tuple(one.principal for one in told.waiting)) == (driver, waiting):
            return told


async def journal(rt: Runtime, kind: str) -> list[dict[str, Any]]:
    _, page = await rt.call("GET", "/journal?limit=1000")
    return [entry["payload"] for entry in page["entries"] if entry["kind"] == kind]


async def test_control_goes_round_by_request_grant_release_and_take_over() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with (
            rt.attach(terminal, client="a", **ANN) as ann,
            rt.attach(terminal, client="b", **BOB) as bob,
        ):
            first = await state(bob, "a")
            assert [one.principal for one in first.watchers] == ["ann", "bob"]
            await bob.type(b"not mine\n")
            assert (await bob.until(InputRefused)).reason == "not_driver"
            await bob.say(RequestControl())
            await state(ann, "a", ("bob",))
            await ann.say(GrantControl("bob"))
            assert (await state(bob, "b")).epoch == first.epoch + 1
            await bob.type(b"mine now\n")
            await ann.until_bytes(b"mine now\r\nmine now")
            assert b"not mine" not in ann.seen
            await bob.say(RevokeControl())
            await state(ann, None)
            await bob.say(RequestControl())
            await state(ann, "b")
            await ann.say(RevokeControl())
            await state(bob, "a")
            await bob.type(b"late\n")
            assert (await bob.until(InputRefused)).reason == "not_driver"


async def test_people_at_a_terminal_talk_beside_it_and_nothing_reaches_the_program() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with (
            rt.attach(terminal, client="a", **ANN) as ann,
            rt.attach(terminal, client="e", **EVE) as eve,
        ):
            await eve.say(Say("look\x1b[2J there"))
            heard = await ann.until(Talked)
            assert [(one.name, one.text) for one in heard.lines] == [("Eve", "look[2J there")]
            assert heard.by == "e"
            await eve.say(Say("\x07"))
            assert (await eve.until(Refused)).code == "empty"
            async with rt.attach(terminal, client="b", **BOB) as bob:
                late = await bob.until(Talked)
                assert ([one.text for one in late.lines], late.by) == (["look[2J there"], "")
            await ann.type(b"typed\n")
            await ann.until_bytes(b"typed\r\ntyped")
            assert b"look" not in ann.seen
        assert "look" not in str(await rt.call("GET", "/journal?limit=1000"))


async def test_line_of_the_server_is_told_at_every_terminal_and_to_who_comes() -> None:
    async with runtime() as rt:
        first, second = await rt.open("cat"), await rt.open("cat")
        async with (
            rt.attach(first, client="a", **ANN) as ann,
            rt.attach(second, client="e", **EVE) as eve,
        ):
            assert (await rt.call("POST", "/notice", {"text": "box ends\x1b[2J soon"}))[0] == 204
            for viewer in (ann, eve):
                heard = await viewer.until(Talked)
                assert [(one.name, one.text) for one in heard.lines] == [
                    ("Atoll", "box ends[2J soon")
                ]
                assert heard.by == "atoll"
            async with rt.attach(first, client="b", **BOB) as bob:
                assert [one.name for one in (await bob.until(Talked)).lines] == ["Atoll"]


async def test_viewer_watches_and_can_do_nothing_else() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "stty raw -echo; printf ready; exec cat -v")
        async with rt.attach(terminal, client="e", cols=9, rows=9, **EVE) as eve:
            await eve.until_bytes(b"ready")
            assert (eve.start.cols, eve.start.driver) == (80, None)
            await eve.type(b"x")
            assert (await eve.until(InputRefused)).reason == "viewer"
            for message in (RequestControl(), GrantControl("eve"), RevokeControl(), Resize(9, 9)):
                await eve.say(message)
                assert (await eve.until(Refused)).code in ("viewer", "not_driver")
            await eve.type(b"\x1b[1;1R")
            await rt.terminals.get(terminal).pty.process.signal(15, tree=True)
            await eve.until(Exited)
            assert bytes(eve.seen) == b"ready"


async def test_read_only_attach_of_an_owner_never_drives() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with rt.attach(terminal, client="a", read_only="true", **ANN) as ann:
            assert ann.start.driver is None
            await ann.type(b"x")
            assert (await ann.until(InputRefused)).reason == "viewer"


async def test_take_on_attach_is_the_owners_and_a_request_of_a_controller() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with rt.attach(terminal, client="b", take="true", **BOB) as bob:
            assert bob.start.driver == "b"
            async with rt.attach(terminal, client="a", take="true", **ANN) as ann:
                assert ann.start.driver == "a"
                await state(bob, "a")
                async with rt.attach(terminal, client="c", take="true", **{**BOB, "name": "C"}):
                    await state(ann, "a", ("bob",))


async def test_size_is_the_drivers_and_comes_with_control() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat", cols=80, rows=24)
        async with rt.attach(terminal, client="a", cols=100, rows=30, **ANN) as ann:
            assert (ann.start.cols, ann.start.rows) == (100, 30)
            async with rt.attach(terminal, client="b", cols=50, rows=20, **BOB) as bob:
                assert bob.start.cols == 100
                await bob.say(Resize(60, 20))
                assert (await bob.until(Refused)).code == "not_driver"
                await ann.say(GrantControl("bob"))
                assert (await ann.until(DriverChanged)).client == "b"
                assert await ann.until(Sized) == Sized(60, 20)
                await bob.say(Resize(5000, 0))
                assert await ann.until(Sized) == Sized(1000, 1)


async def test_phone_that_keeps_the_size_takes_over_without_resizing_until_it_asks() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat", cols=80, rows=24)
        phone = {"cols": 40, "rows": 20, "keep_size": "true", "take": "true"}
        async with rt.attach(terminal, client="p", **phone, **ANN) as viewer:
            assert (viewer.start.driver, viewer.start.cols) == ("p", 80)
            await viewer.say(Resize(40, 20))
            assert await viewer.until(Sized) == Sized(40, 20)


async def test_storm_of_sizes_reaches_the_program_as_a_few_and_ends_with_the_last() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        sizes: list[Size] = []

        class Sizes:
            def showed(self, data: bytes) -> None: ...
            def typed(self, author: object, data: bytes) -> None: ...
            def resized(self, size: Size) -> None:
                sizes.append(size)

            def ended(self, ending: Exited) -> None: ...

        rt.terminals.get(terminal).pty.subscribe(Sizes())
        async with rt.attach(terminal, client="a", **ANN) as viewer:
            for cols in range(100, 200):
                await viewer.say(Resize(cols, 30))
            while (await viewer.until(Sized)).cols != 199:
                pass
        assert sizes[-1] == Size(199, 30)
        assert len(sizes) < 20


async def test_driver_gone_for_the_grace_leaves_the_terminal_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("atoll.domain.terminals.turn.GRACE_SECONDS", 0.3)
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with rt.attach(terminal, client="b", **BOB) as bob:
            async with rt.attach(terminal, client="a", **ANN):
                await state(bob, "a")
            away = await state(bob, "a")
            while not away.away:
                away = await state(bob, "a")
            gone = await bob.until(ControlExpired)
            assert (gone.principal, gone.client, gone.reason) == ("ann", "a", "grace")
            await state(bob, None)
            await bob.type(b"hello\n")
            await bob.until_bytes(b"hello")
            assert rt.terminals.get(terminal).driver == "b"


async def test_driver_gone_with_its_control_plane_keeps_control_until_that_asks_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("atoll.domain.terminals.turn.GRACE_SECONDS", 0.3)
    async with runtime() as rt:
        terminal = await rt.open("cat")
        turn = rt.terminals.get(terminal).control.turn
        async with rt.attach(terminal, client="b", **BOB) as bob:
            async with rt.attach(terminal, client="a", **ANN), control_plane(rt):
                await state(bob, "a")
            while not (await state(bob, "a")).away:
                pass
            left_at = turn.left_at
            assert left_at is not None
            while turn.deadline != left_at + AWAY_SECONDS:
                assert turn.driver is not None, "the grace ended with nobody to come back to"
                await asyncio.sleep(0.01)
            async with control_plane(rt):
                assert (await bob.until(ControlExpired)).client == "a"


@contextlib.asynccontextmanager
async def control_plane(rt: Runtime) -> AsyncIterator[None]:
    """A reader of the journal that says who it is; its connection ends with the block."""
    connector = aiohttp.UnixConnector(str(rt.socket_path))
    async with aiohttp.ClientSession(connector=connector) as client:
        async with client.get(f"http://runtime/journal?away={AWAY_SECONDS}") as reply:
            assert reply.status == 200
            await reply.read()
        yield


async def test_driver_back_within_the_grace_holds_the_same_lease() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with rt.attach(terminal, client="b", **BOB) as bob:
            async with rt.attach(terminal, client="a", **ANN):
                held = await state(bob, "a")
            async with rt.attach(terminal, client="a", **ANN) as again:
                assert again.start.driver == "a"
                assert (await state(again, "a")).epoch == held.epoch
                await again.type(b"still\n")
                await bob.until_bytes(b"still")


async def test_somebody_elses_client_id_is_replaced_and_gives_nothing() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with rt.attach(terminal, client="a", **ANN) as ann:
            async with rt.attach(terminal, client="a", **BOB) as thief:
                assert thief.start.client != "a"
                assert thief.start.driver == "a"
                await thief.type(b"stolen\n")
                assert (await thief.until(InputRefused)).reason == "not_driver"
            await ann.type(b"fine\n")
            await ann.until_bytes(b"fine")
            assert b"stolen" not in ann.seen
        async with rt.attach(terminal, client="a", **BOB) as thief:
            assert thief.start.client != "a"
            assert rt.terminals.get(terminal).driver == "a"


async def test_superseded_connection_can_neither_type_nor_ask() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with (
            rt.attach(terminal, client="a", **ANN) as older,
            rt.attach(terminal, client="a", **ANN) as newer,
        ):
            with contextlib.suppress(ConnectionError):
                await older.type(b"old\n")
                await older.say(RevokeControl())
            await older.to_end()
            await newer.type(b"new\n")
            await newer.until_bytes(b"new\r\nnew")
            assert b"old" not in newer.seen
            assert rt.terminals.get(terminal).driver == "a"


async def test_lock_refuses_what_is_typed_and_lets_the_drivers_answers_pass() -> None:
    async with runtime() as rt:
        terminal, guard = await guarded(rt, "sh", "-c", "stty raw -echo; printf ready; exec cat -v")
        async with rt.attach(terminal.spec.id, client="a", **ANN) as ann:
            await ann.until_bytes(b"ready")
            guard.reason = "agent_running"
            await ann.type(b"locked")
            assert (await ann.until(InputRefused)).reason == "agent_running"
            await ann.type(b"\x1b[2;2R")
            await ann.until_bytes(b"^[[2;2R")
            guard.reason = None
            await ann.type(b"free")
            await ann.until_bytes(b"free")
            assert b"locked" not in ann.seen


async def test_answer_with_a_newline_in_it_is_no_answer_and_stops_at_the_lock() -> None:
    async with runtime() as rt:
        terminal, guard = await guarded(rt, "cat")
        async with rt.attach(terminal.spec.id, client="a", **ANN) as ann:
            guard.reason = "agent_running"
            await ann.type(b"\x1bPid\r\x1b\\")
            assert (await ann.until(InputRefused)).reason == "agent_running"


async def test_agent_has_control_until_it_yields_and_everybody_is_told() -> None:
    async with runtime() as rt:
        terminal, guard = await guarded(rt, "cat")
        async with rt.attach(terminal.spec.id, client="a", **ANN) as ann:
            control = terminal.control
            guard.reason = "agent_running"
            control.agent_takes("codex")
            while (await ann.until(ControlState)).agent != "codex":
                pass
            await ann.type(b"x")
            assert (await ann.until(InputRefused)).reason == "agent_running"
            guard.reason = None
            control.agent_yields()
            while (await ann.until(ControlState)).agent is not None:
                pass
            await ann.type(b"y\n")
            await ann.until_bytes(b"y")


async def test_connection_whose_credential_has_ended_is_closed_4401() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with rt.attach(terminal, client="a", expires=1, **ANN) as ann:
            await asyncio.wait_for(ann.to_end(), 5)
            assert ann.ws.close_code == 4401


async def test_journal_says_who_had_control_and_how_much_they_typed_but_never_what() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with (
            rt.attach(terminal, client="a", **ANN) as ann,
            rt.attach(terminal, client="b", **BOB) as bob,
        ):
            await ann.type(b"classified ")
            await ann.type(b"words\n")
            await ann.until_bytes(b"classified words")
            await ann.say(GrantControl("bob"))
            await state(bob, "b")
            await bob.type(b"ok\n")
            await bob.until_bytes(b"ok")
        await rt.call("DELETE", f"/sessions/{terminal}")
        typed = await journal(rt, "terminal.input")
        assert [(one["principal"], one["name"], one["bytes"]) for one in typed] == [
            ("ann", "Ann", 17),
            ("bob", "Bob", 3),
        ]
        control = await journal(rt, "terminal.control")
        assert [(one["act"], one["principal"], one.get("by")) for one in control] == [
            ("granted", "ann", None),
            ("granted", "bob", "ann"),
        ]
        assert "classified" not in str(await rt.call("GET", "/journal"))


@pytest.mark.parametrize(
    "query",
    [
        {"role": "admin"},
        {"role": ""},
        {"principal": "a b"},
        {"principal": "x" * 129},
        {"take": "maybe"},
        {"expires": "soon"},
    ],
)
async def test_attach_with_impossible_credentials_is_refused(query: dict[str, str]) -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        upgrade = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        }
        status, _ = await rt.call(
            "GET", f"/sessions/{terminal}/attach", params=query, headers=upgrade
        )
        assert status == 422


async def test_name_is_shown_without_control_characters() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with rt.attach(terminal, client="a", **{**ANN, "name": "A\x1b[2J\u202en"}) as ann:
            told = await ann.until(ControlState)
            assert told.driver is not None
            assert told.driver.name == "A?[2J?n"


async def test_flood_of_requests_is_paced_and_hides_nobody_who_types() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with rt.attach(terminal, client="b", **BOB) as bob:
            refused = False
            for _ in range(40):
                await bob.say(RequestControl())
                await bob.say(RevokeControl())
            while not refused:
                refused = (await bob.until(Refused)).code == "too_fast"
            await bob.type(b"counted\n")
            await bob.until_bytes(b"counted")
        await rt.call("DELETE", f"/sessions/{terminal}")
        assert [one["bytes"] for one in await journal(rt, "terminal.input")] == [8]


async def test_ledger_beyond_its_budget_keeps_what_was_typed_for_later() -> None:
    entries: list[tuple[str, dict[str, Any]]] = []
    audit = ControlAudit("t_1", lambda kind, payload: entries.append((kind, dict(payload))))
    party = Party("bob", "Bob", "b", Role.CONTROLLER)
    for epoch in range(1000):
        audit.typed(party, 3)
        audit.changed(Change(Act.GRANTED, epoch, party))
    assert len(entries) < 700
    audit.close()
    assert sum(one["bytes"] for kind, one in entries if kind == "terminal.input") == 3000


async def test_pointers_reach_those_who_take_part_and_nobody_else() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with (
            rt.attach(terminal, client="a", **ANN) as ann,
            rt.attach(terminal, client="e", **EVE) as eve,
            rt.attach(terminal, client="b", **BOB) as bob,
        ):
            await ann.say(Point())
            assert (await ann.until(Pointed)).pointers == ()
            await eve.say(Point(at=(3, 7), selected=(1, 0, 2, 10**6)))
            seen = Pointer("e", (3, 7), (1, 0, 2, 1000))
            assert (await ann.until(Pointed)).pointers == (seen,)
            await ann.say(Point(at=(-(10**9), -5)))
            while len((await eve.until(Pointed)).pointers) < 2:
                pass
            await eve.say(Point(off=True))
            while len((left := await ann.until(Pointed)).pointers) != 1 or left.pointers == (seen,):
                pass
            assert left.pointers == (Pointer("a", (-100000, 0)),)
            await bob.say(Say("done"))
            await bob.until(Talked)
            assert not [one for one in bob.messages if isinstance(one, Pointed)]
        assert "pointers" not in str(await rt.call("GET", "/journal?limit=1000"))
