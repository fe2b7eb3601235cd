"""Agents over a stop and a start: kept from the journal, opened again by the next start."""

import asyncio
from dataclasses import replace
from typing import Any, TypeAlias

from atoll.domain.agents.resumable import ResumeFallback, RunningAgent
from atoll.domain.ids import SnapshotId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox, SeedRequest
from atoll.domain.snapshots.snapshot import snapshot_of
from atoll.testing.samples import NOW
from atoll.wire.words.sandboxes import DiskPromise, SnapshotState
from tests.peers.contract import AGENT
from tests.services.journals.test_journals import entry
from tests.services.scene import Scene, body_of, scene

Order: TypeAlias = tuple[dict[str, str], dict[str, Any]]

CODEX = {
    "agent": "codex",
    "mode": "tui",
    "by": "person",
    "cwd": "/workspace/a",
    "otherwise": "last",
    "softlock": "strict",
}
MACHINE = {"agent": "claude-code", "mode": "machine", "asks": True, "otherwise": "afresh"}
STARTED = [
    entry(1, "runtime.began"),
    entry(2, "agent.started", id="t_1", **CODEX),
    entry(3, "agent.started", id="t_2", agent="aider", mode="tui", otherwise="last"),
    entry(4, "agent.conversation", id="t_1", agent="codex", conversation="c-1"),
    entry(5, "agent.started", id="g_3", **MACHINE),
    entry(6, "agent.ended", id="t_2", agent="aider", why="stopped"),
    entry(7, "agent.started", id="t_4", agent="shell", mode="tui", otherwise="never"),
]


async def stopped(s: Scene, journal: list[dict[str, object]], **request: Any) -> Sandbox:
    """A sandbox whose runtime had told this much when it was stopped."""
    sandbox = await s.ready(**request)
    s.runtime.journal = journal
    await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
    return await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)


async def started(s: Scene, sandbox: Sandbox, *, resume_agents: bool | None = None) -> list[Order]:
    """The agents a start opens."""
    s.runtime.answers.setdefault(("GET", "/agents"), (200, {"agents": []}))
    s.runtime.answers.setdefault(("POST", "/agents"), (201, AGENT))
    await s.sandboxes.start(LOCAL_PERSON, sandbox.id, resume_agents=resume_agents)
    await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
    calls = [call for call in s.runtime.calls if (call.method, call.path) == ("POST", "/agents")]
    return [(dict(call.query), body_of(call)) for call in calls]


async def logged(s: Scene, sandbox: Sandbox) -> list[str]:
    return [line.text for line in await s.sandboxes.logs(LOCAL_PERSON, sandbox.id)]


async def test_agents_that_ran_are_opened_in_their_conversations() -> None:
    async with scene() as s:
        sandbox = await stopped(s, STARTED)
        assert [(one.id, one.conversation) for one in sandbox.agents] == [
            ("t_1", "c-1"),
            ("g_3", None),
            ("t_4", None),
        ]
        first, second = await started(s, sandbox)
        requested = {"agent": "codex", "cwd": "/workspace/a", "conversation": "c-1"}
        assert first == ({"principal": "person"}, {**requested, "softlock": "strict"})
        assert second == ({}, {"agent": "claude-code", "mode": "machine", "permissions": "ask"})
        log = await logged(s, sandbox)
        assert "codex goes on in its conversation c-1." in log
        assert "claude-code goes on afresh: nothing had been said to it." in log
        assert "shell was not resumed: it cannot resume a conversation." in log
        assert (await s.sandboxes.get(LOCAL_PERSON, sandbox.id)).agents == ()


async def copied(s: Scene, *, earlier: bool) -> list[Order]:
    """The agents that a copy of a stopped sandbox opens; an `earlier` runtime knows no forks."""
    source = await stopped(s, STARTED[:4])
    made: dict[str, Any] = {"name": "first", "disk": DiskPromise.CRASH, "now": NOW}
    snapshot = snapshot_of(source, snapshot_id=SnapshotId("snap_1"), **made)
    async with s.store.begin() as rows:
        await rows.snapshots.put(replace(snapshot, state=SnapshotState.READY))
    s.runtime.journal = []
    s.runtime.answers["GET", "/agents"] = (200, {"agents": []})
    problem = {"code": "invalid", "detail": "unknown field", "field": "fork"}
    s.runtime.answers["POST", "/agents"] = (422, problem) if earlier else (201, AGENT)
    box = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(seed=SeedRequest("snap_1")))
    box = await s.sandboxes.wait(LOCAL_PERSON, box.id, timeout_seconds=30)
    assert box.state == "ready", box.reason
    calls = [call for call in s.runtime.calls if (call.method, call.path) == ("POST", "/agents")]
    orders = [(dict(call.query), body_of(call)) for call in calls]
    # Only what a copy begins with is forked: it goes on in what it named then.
    s.runtime.calls.clear()
    s.runtime.answers["POST", "/agents"] = (201, AGENT)
    s.runtime.journal = STARTED[:4]
    await s.sandboxes.stop(LOCAL_PERSON, box.id)
    await s.sandboxes.wait(LOCAL_PERSON, box.id, settled=True)
    again = [body for _, body in await started(s, box)]
    assert [body["agent"] for body in again] == ["codex", "aider"]
    assert not any("fork" in body for body in again)
    return orders


async def test_agent_of_a_copy_goes_on_in_a_fork_of_its_conversation() -> None:
    async with scene() as s:
        ((_, order),) = await copied(s, earlier=False)
        assert (order["agent"], order["conversation"], order["fork"]) == ("codex", "c-1", True)


async def test_runtime_of_an_earlier_version_resumes_the_conversation_in_a_copy() -> None:
    async with scene() as s:
        forking, resuming = await copied(s, earlier=True)
        assert forking[1].pop("fork")
        assert forking == resuming


async def test_agent_of_no_known_conversation_takes_up_its_last_one() -> None:
    async with scene() as s:
        sandbox = await stopped(s, [entry(1, "agent.started", id="t_1", **CODEX)])
        assert sandbox.agents[0].otherwise is ResumeFallback.LAST
        ((_, body),) = await started(s, sandbox)
        assert body["resume"] and "conversation" not in body
        assert "codex goes on in its last conversation." in await logged(s, sandbox)


async def test_agent_that_cannot_go_on_is_logged_and_the_sandbox_is_ready() -> None:
    async with scene() as s:
        sandbox = await stopped(s, STARTED[:4])
        problem = {"code": "invalid", "detail": "this sandbox has no agent 'codex'"}
        s.runtime.answers["POST", "/agents"] = (422, problem)
        await started(s, sandbox)
        assert (await s.sandboxes.get(LOCAL_PERSON, sandbox.id)).state == "ready"
        words = "codex was not resumed: this sandbox has no agent 'codex'"
        assert words in await logged(s, sandbox)


async def test_runtime_that_does_not_know_its_agents_is_ready_all_the_same() -> None:
    async with scene() as s:
        sandbox = await stopped(s, STARTED[:4])
        s.runtime.answers["GET", "/agents"] = (404, {"detail": "no such route"})
        assert await started(s, sandbox) == []
        assert (await s.sandboxes.get(LOCAL_PERSON, sandbox.id)).state == "ready"
        assert "No agent was resumed: no such route" in await logged(s, sandbox)


async def test_start_that_is_told_not_to_opens_nothing() -> None:
    async with scene() as s:
        sandbox = await stopped(s, STARTED)
        assert await started(s, sandbox, resume_agents=False) == []
        await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
        sandbox = await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        assert sandbox.agents == ()


async def test_start_that_was_broken_off_opens_nothing_twice() -> None:
    async with scene() as s:
        sandbox = await stopped(s, STARTED)
        s.runtime.answers["GET", "/agents"] = (200, {"agents": [AGENT]})
        assert await started(s, sandbox) == []


async def test_what_another_life_told_late_is_overtaken_by_the_next_one() -> None:
    async with scene() as s:
        journal = [
            *STARTED,
            entry(8, "runtime.began"),
            entry(9, "agent.started", id="t_9", **CODEX),
        ]
        sandbox = await stopped(s, journal)
        assert [one.id for one in sandbox.agents] == ["t_9"]


async def test_hostile_words_of_agents_change_nothing() -> None:
    async with scene() as s:
        odd = [
            entry(1, "agent.started", id="../x", agent="codex", mode="tui"),
            entry(2, "agent.started", id="t_1", agent=["codex"], mode="tui"),
            entry(3, "agent.started", id="t_2", agent="codex", mode="tui", otherwise="always"),
            entry(4, "agent.conversation", id="t_3"),
            entry(5, "agent.ended"),
            entry(6, "agent.started", id="t_5", agent="codex", mode="tui"),
            entry(7, "agent.conversation", id="t_5", agent="codex", conversation="--version"),
        ]
        sandbox = await stopped(s, odd)
        assert sandbox.agents == (RunningAgent("t_5", "codex", "tui"),)


async def test_agents_are_in_the_log_of_events_too() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.journal = STARTED[:4]
        async with asyncio.timeout(10):
            while len(kinds := (await s.kinds(sandbox))[3:]) < 3:
                s.clock.turn(10)
                await asyncio.sleep(0)
        assert kinds == ["agent.started", "agent.started", "agent.conversation"]
