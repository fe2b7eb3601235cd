import asyncio
from typing import Any

import pytest

from atoll.adapters.storage.store import SqlStore
from atoll.domain.errors import Unavailable
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import StoreUnavailable
from atoll.services.agents.statuses import AgentStatuses
from atoll.services.journals.journals import Journals
from atoll.testing import FakeRuntimes
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.contract.execs import ExecBody
from atoll.wire.contract.terminals import OpenBody
from tests.peers.contract import EXEC, SESSION
from tests.services.scene import Scene, scene

AT = "2026-01-01T12:00:00Z"


def entry(n: int, kind: str, **payload: object) -> dict[str, object]:
    return {"n": n, "at": AT, "kind": kind, "payload": payload}


async def collected(s: Scene, sandbox: Sandbox, count: int) -> list[str]:
    """The kinds after the three of coming up, once there are `count`. How its work stands is no
    report of the runtime's."""
    async with asyncio.timeout(10):
        while True:
            kinds = [kind for kind in await s.kinds(sandbox) if not kind.startswith("work.")][3:]
            if len(kinds) >= count:
                return kinds
            s.clock.turn(10)
            await asyncio.sleep(0)


async def test_journal_reaches_the_log_once_though_read_many_times() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.journal = [
            entry(1, "terminal.opened", id="t_1", name="one", argv0="bash"),
            entry(2, "terminal.exited", id="t_1", argv0="bash", exit={"code": 0}, secret="x"),
        ]
        assert await collected(s, sandbox, 2) == ["terminal.opened", "terminal.exited"]
        s.runtime.journal.append(entry(3, "exec.started", id="e_1", argv0="true"))
        assert len(await collected(s, sandbox, 3)) == 3
        acks = [call.body for call in s.runtime.calls if call.path == "/journal/ack"]
        assert acks[-1] == b'{"n":3}'
        events = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{sandbox.id}")
        assert events[4].payload == {
            "id": "t_1",
            "argv0": "bash",
            "exit": {"code": 0},
            "sandbox_id": sandbox.id,
            "generation": 1,
            "n": 2,
        }
        assert events[4].actor_id == "atoll"


async def test_journal_whose_numbers_began_anew_is_collected_again() -> None:
    """Its disk went back, or was lost: what was collected of it is no measure any more."""
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.journal = [entry(n, "exec.started", id="e", argv0="true") for n in (1, 2, 3)]
        assert len(await collected(s, sandbox, 3)) == 3
        s.runtime.journal = [entry(1, "terminal.opened", id="t_1", name="one", argv0="bash")]
        assert (await collected(s, sandbox, 4))[3:] == ["terminal.opened"]
        assert len(await collected(s, sandbox, 4)) == 4


async def test_hostile_or_unknown_entries_are_left_out() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.journal = [
            entry(1, "sandbox.destroyed", id="x"),
            entry(2, "made.up", id="x"),
            entry(3, "exec.started", argv0="no id"),
            entry(4, "exec.started", id="e_1", argv0="x" * 50_000, sandbox_id="sb_forged"),
            entry(5, "agent.turn", state="working"),
        ]
        assert await collected(s, sandbox, 2) == ["exec.started", "agent.reported"]
        events = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{sandbox.id}")
        assert events[3].payload["sandbox_id"] == sandbox.id
        assert "argv0" not in events[3].payload
        assert events[4].payload["kind"] == "agent.turn"


async def test_events_of_terminals_and_commands_name_who_began_them() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.answers["POST", "/sessions"] = (201, SESSION | {"session_id": "t_9"})
        s.runtime.answers["POST", "/execs"] = (200, EXEC | {"exec_id": "e_9"})
        await s.terminals.open(LOCAL_PERSON, sandbox.id, OpenBody())
        command = LOCAL_PERSON, sandbox.id, ExecBody(argv=["true"])
        await s.calls.run(*command)
        actor = dict(s.runtime.calls[-1].query)["actor"]
        async with s.calls.run_streamed(*command):
            assert dict(s.runtime.calls[-1].query)["actor"] == actor
        s.runtime.journal = [
            entry(1, "terminal.opened", id="t_9", argv0="bash"),
            entry(2, "exec.started", id="e_9", argv0="true", actor=actor),
            entry(3, "exec.exited", id="e_8", argv0="true", exit={"code": 0}, actor="agt:a_1"),
            entry(4, "terminal.closed", id="t_8", argv0="sh", actor=actor),
        ]
        await collected(s, sandbox, 5)
        events = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{sandbox.id}")
        actors = {event.event_type: event.actor_id for event in events}
        assert actors["terminal.opened"] == actors["exec.started"] == LOCAL_PERSON.id
        assert actors["exec.exited"] == "a_1"
        assert actors["terminal.closed"] == "atoll"  # only commands are noted with theirs
        assert actors["sandbox.ready"] == "atoll"


async def test_who_sat_at_a_terminal_is_the_actor_and_nobody_an_agent_names() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        bob = {"principal": "guest_b", "name": "Bob", "client": "c"}
        s.runtime.journal = [
            entry(1, "terminal.input", id="t_1", bytes=7, since=AT, **bob),
            entry(2, "terminal.control", id="t_1", act="taken", epoch=3, by="person", **bob),
            entry(3, "agent.turn", id="t_1", principal="person", by="person"),
        ]
        await collected(s, sandbox, 3)
        events = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{sandbox.id}")
        actors = {event.event_type: event.actor_id for event in events[3:]}
        assert actors == {
            "terminal.input": "guest_b",
            "terminal.control": "person",
            "agent.reported": "atoll",
        }


async def test_last_words_are_taken_in_before_a_stop() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.journal = [
            entry(1, "exec.started", id="e_1"),
            entry(2, "terminal.opened", id="t_1", name="bash", argv0="bash"),
        ]
        await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
        await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        assert {"exec.started", "terminal.opened"} <= {*await s.kinds(sandbox)}
        async with s.store.read() as rows:
            assert not await rows.sessions.of(sandbox.id), "what it told of is over with it"


async def test_last_words_are_not_lost_with_the_connection_to_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is cut again and again while they are stored, and does not come back at once."""
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.journal = [entry(1, "exec.started", id="e_1")]
        append, read, cuts = Journals._store, SqlStore.read, [0, 0]

        async def store(self: Journals, *args: Any) -> Any:
            if cuts[0] < 5:
                cuts[0] += 1
                monkeypatch.setattr(SqlStore, "read", away)
                raise StoreUnavailable("cut")
            return await append(self, *args)

        def away(_self: SqlStore) -> Any:
            cuts[1] += 1
            monkeypatch.setattr(SqlStore, "read", read)
            raise StoreUnavailable("still away")

        monkeypatch.setattr(Journals, "_store", store)
        await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
        async with asyncio.timeout(20):
            while "exec.started" not in await s.kinds(sandbox):
                s.clock.turn(1)
                await asyncio.sleep(0.01)
        assert cuts == [5, 5]


async def test_last_words_are_read_once_the_runtime_knows_that_it_ends() -> None:
    """What it confirms afterwards could be lost."""
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.calls.clear()
        await s.sandboxes.destroy(LOCAL_PERSON, sandbox.id)
        await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        paths = [call.path for call in s.runtime.calls if call.path != "/health"]
        assert "/journal" in paths[paths.index("/farewell") :]


async def test_last_words_of_a_runtime_that_was_overloaded_are_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.journal = [entry(1, "exec.started", id="e_1")]
        call, refused = FakeRuntimes.call, 0

        async def overloaded(self: FakeRuntimes, request: RuntimeCall[Any]) -> Any:
            nonlocal refused
            if refused < 2:
                refused += 1
                raise Unavailable("no connection")
            return await call(self, request)

        monkeypatch.setattr(FakeRuntimes, "call", overloaded)
        await s.sandboxes.destroy(LOCAL_PERSON, sandbox.id)
        await s.until(sandbox, "destroyed")
        assert refused == 2
        assert "exec.started" in await s.kinds(sandbox)


async def test_last_words_are_taken_in_before_a_workspace_is_renewed() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.journal = [entry(n, "exec.started", id=f"e_{n}") for n in (1, 2, 3)]
        await s.sandboxes.recreate(LOCAL_PERSON, sandbox.id)
        made = await s.sandboxes.wait(LOCAL_PERSON, sandbox.id)
        assert (await s.kinds(sandbox)).count("exec.started") == 3
        # The new journal is counted by itself.
        s.runtime.journal = [entry(1, "exec.started", id="e_4")]
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        assert (await s.kinds(sandbox)).count("exec.started") == 4


async def test_what_an_agent_does_itself_has_the_agent_as_actor() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        fields = {"id": "t_1", "agent": "codex"}
        turn = {**fields, "agent_state": "running", "turn": "working"}
        s.runtime.journal = [
            entry(1, "agent.started", mode="tui", **fields),
            entry(2, "agent.state", why="the agent", **turn),
            entry(3, "agent.tool", card="call_1", card_kind="bash", **fields),
            entry(4, "agent.state", why="paused", **turn),
            entry(5, "agent.conversation", conversation="c-1", **fields),
            entry(6, "agent.ended", why="stopped", **fields),
            entry(7, "agent.ended", why="ended", **fields),
        ]
        await collected(s, sandbox, 7)
        events = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{sandbox.id}")
        agent, other = ("agt", "t_1"), ("atm", "atoll")
        actors = [(event.actor_kind, event.actor_id) for event in events[3:]]
        assert actors == [other, agent, agent, other, agent, other, agent]


async def test_status_of_an_agent_is_kept_until_its_runtime_begins_anew() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        started = {"id": "t_1", "agent": "codex", "mode": "tui"}
        working = {**started, "status": "working", "since": AT, "on": "npm test"}
        s.runtime.journal = [
            entry(1, "agent.started", **started),
            entry(2, "agent.status", **working),
            entry(3, "agent.status", **{**working, "id": "../t", "status": "sings"}),
        ]
        await collected(s, sandbox, 3)
        statuses = AgentStatuses(s.store, s.bus)
        (placed,) = await statuses.all(LOCAL_PERSON)
        assert (placed.sandbox.id, placed.agent.id) == (sandbox.id, "t_1")
        assert (placed.agent.status.status, placed.agent.status.on) == ("working", "npm test")
        assert [*await statuses.of([sandbox])] == [sandbox.id]
        (event,) = [
            one
            for one in await s.events.list(LOCAL_PERSON, stream=f"sandbox:{sandbox.id}")
            if one.event_type == "agent.status" and one.payload["status"] == "working"
        ]
        assert (event.actor_kind, event.actor_id) == ("agt", "t_1")
        s.runtime.journal.append(entry(4, "runtime.began"))
        s.runtime.journal.append(entry(5, "exec.started", id="e_1", argv0="true"))
        await collected(s, sandbox, 4)
        assert await statuses.all(LOCAL_PERSON) == []


async def test_statuses_go_with_their_sandbox() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.journal = [entry(1, "agent.started", id="t_1", agent="codex", mode="tui")]
        await collected(s, sandbox, 1)
        await s.sandboxes.destroy(LOCAL_PERSON, sandbox.id)
        await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        async with s.store.read() as rows:
            assert await rows.projections.states("agents", [f"sandbox:{sandbox.id}"]) == {}
