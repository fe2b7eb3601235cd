import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.adapters.bus.in_process import InProcessBus
from atoll.domain.approvals.approval import (
    COOLDOWN,
    MAX_PER_MINUTE,
    ApprovalGrant,
    digest,
    shown_lines,
)
from atoll.domain.errors import Forbidden, Invalid, LimitReached
from atoll.domain.event import Json
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import LOCAL_PERSON, Principal, TokenAccess
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.tools.answer import Answer
from atoll.domain.tools.tool import Effects, Tool
from atoll.services.ground import Ground
from atoll.services.tools.bounds import PER_MINUTE
from atoll.services.tools.consent import MAX_ARGUMENTS, Consent
from atoll.services.tools.tool_call import ToolCall
from atoll.services.tools.tool_calls import ToolCalls
from atoll.services.tools.wakings import Wakings
from atoll.wire.words.approvals import ApprovalState, GrantScope
from tests.services.scene import Scene, scene

DROP = Tool(
    "db.drop",
    "Drop.",
    Capability.FILE_WRITE,
    Effects(destructive=True),
    inside=Capability.FILE_WRITE,
)
LOOK = Tool(
    "db.look", "Look.", Capability.FILE_READ, Effects(read_only=True), inside=Capability.FILE_READ
)
ARGUMENTS: Mapping[str, Json] = {"name": "prod", "also": ["a\x1b[2J"]}


class Calls:
    """The service, and how often it ran what it was asked."""

    def __init__(self, s: Scene, ground: Ground | None = None) -> None:
        own, wakings = ground or s.ground, Wakings(s.ground, s.events)
        hasty = Consent(own, patience=timedelta())
        self._calls = ToolCalls(own, s.events, hasty, wakings)
        self.patient = ToolCalls(s.ground, s.events, Consent(s.ground), wakings)
        self.runs = 0

    async def of(
        self, caller: Principal, tool: Tool, arguments: Mapping[str, Json] = ARGUMENTS
    ) -> Answer:
        known = await self._calls.caller(caller)
        return await self._calls.perform(known, ToolCall(tool, arguments), self._run)

    async def waiting(self, caller: Principal, tool: Tool) -> Answer:
        known = await self.patient.caller(caller)
        return await self.patient.perform(known, ToolCall(tool, ARGUMENTS), self._run)

    async def _run(self) -> Answer:
        self.runs += 1
        return Answer({"done": True})


def inside(sandbox: Sandbox) -> Principal:
    ends = datetime(2100, 1, 1, tzinfo=UTC)
    return replace(
        LOCAL_PERSON,
        interactive=False,
        token=TokenAccess(f"sandbox:{sandbox.id}", ends, sandbox.id),
    )


def _waits(answer: Answer) -> str:
    pending = answer.value["pending"]
    assert isinstance(pending, dict)
    return str(pending["approval_id"])


async def _approve(s: Scene, approval_id: str) -> None:
    shown = digest(await s.approvals.get(LOCAL_PERSON, approval_id))
    await s.approvals.approve(
        LOCAL_PERSON, approval_id, ApprovalGrant(GrantScope.ONCE, None, shown)
    )


async def test_destructive_call_waits_and_runs_once_after_the_grant() -> None:
    async with scene() as s:
        caller, calls = inside(await s.ready()), Calls(s)
        first = _waits(await calls.of(caller, DROP))
        assert _waits(await calls.of(caller, DROP)) == first
        approval = await s.approvals.get(LOCAL_PERSON, first)
        assert shown_lines(approval)[:2] == (
            "Call the tool db.drop with",
            '  {"also":["a\\\\u001b[2J"],"name":"prod"}',
        )
        await _approve(s, first)
        assert (await calls.of(caller, DROP)).value == {"done": True}
        assert _waits(await calls.of(caller, DROP)) != first
        assert calls.runs == 1
        used = await s.approvals.get(LOCAL_PERSON, first)
        assert used.verdict is ApprovalState.USED


async def test_call_that_waits_runs_when_the_grant_comes() -> None:
    async with scene() as s:
        caller, calls = inside(await s.ready()), Calls(s)
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(calls.waiting(caller, DROP))
            with s.ground.bus.listen() as listener:
                while not (found := (await s.approvals.list(LOCAL_PERSON)).rows):
                    await listener.wait()
            await _approve(s, found[0].id)
        assert waiting.result().value == {"done": True}


async def test_call_beside_a_shell_is_not_said_to_be_the_agents() -> None:
    """A person may have typed `atoll-mcp call`."""
    async with scene() as s:
        sandbox = await s.ready()
        caller, calls = inside(sandbox), Calls(s)
        async with s.store.begin() as rows:
            await rows.sessions.put(sandbox, "t_1", s.clock.now())
        approval = await s.approvals.get(LOCAL_PERSON, _waits(await calls.of(caller, DROP)))
        assert approval.requester.beside_command


async def test_changed_arguments_need_a_grant_of_their_own() -> None:
    async with scene() as s:
        caller, calls = inside(await s.ready()), Calls(s)
        first = _waits(await calls.of(caller, DROP))
        await _approve(s, first)
        other = _waits(await calls.of(caller, DROP, {"name": "other"}))
        assert other != first
        assert calls.runs == 0


async def test_recreated_sandbox_asks_anew() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        caller, calls = inside(sandbox), Calls(s)
        await _approve(s, first := _waits(await calls.of(caller, DROP)))
        await s.sandboxes.recreate(LOCAL_PERSON, sandbox.id)
        await s.sandboxes.wait(LOCAL_PERSON, sandbox.id)
        assert _waits(await calls.of(caller, DROP)) != first
        assert calls.runs == 0


async def test_two_parallel_repeats_run_once() -> None:
    async with scene() as s:
        caller, calls = inside(await s.ready()), Calls(s)
        await _approve(s, _waits(await calls.of(caller, DROP)))
        answers = await asyncio.gather(*(calls.of(caller, DROP) for _ in range(5)))
        assert calls.runs == 1
        assert len([one for one in answers if "pending" in one.value]) == 4


async def test_parallel_repeats_at_two_replicas_run_once() -> None:
    async with scene() as s:
        caller, here = inside(await s.ready()), Calls(s)
        there = Calls(s, replace(s.ground, bus=InProcessBus()))
        first = _waits(await here.of(caller, DROP))
        assert _waits(await there.of(caller, DROP)) == first
        await _approve(s, first)
        both = [calls.of(caller, DROP) for calls in (here, there) for _ in range(3)]
        answers = await asyncio.gather(*both)
        assert here.runs + there.runs == 1
        pending = {_waits(one) for one in answers if "pending" in one.value}
        assert len(pending) == 1 and first not in pending


async def test_denial_at_another_replica_counts() -> None:
    async with scene() as s:
        caller, here = inside(await s.ready()), Calls(s)
        there = Calls(s, replace(s.ground, bus=InProcessBus()))
        await s.approvals.deny(LOCAL_PERSON, _waits(await here.of(caller, DROP)))
        for calls in (here, there):
            with pytest.raises(Forbidden, match="denied"):
                await calls.of(caller, DROP)
            # Other arguments are another call.
            assert _waits(await calls.of(caller, DROP, {"name": "other"}))


async def test_denied_call_says_so_until_the_cooldown_ends() -> None:
    async with scene() as s:
        caller, calls = inside(await s.ready()), Calls(s)
        first = _waits(await calls.of(caller, DROP))
        await s.approvals.deny(LOCAL_PERSON, first)
        with pytest.raises(Forbidden, match="denied") as denied:
            await calls.of(caller, DROP)
        assert denied.value.code == "tool_denied"
        s.clock.turn(COOLDOWN.total_seconds() + 1)
        assert _waits(await calls.of(caller, DROP)) != first
        assert calls.runs == 0


async def test_grant_for_more_than_once_is_refused() -> None:
    async with scene() as s:
        caller, calls = inside(await s.ready()), Calls(s)
        first = _waits(await calls.of(caller, DROP))
        shown = digest(await s.approvals.get(LOCAL_PERSON, first))
        with pytest.raises(Invalid):
            await s.approvals.approve(
                LOCAL_PERSON, first, ApprovalGrant(GrantScope.SANDBOX, None, shown)
            )


async def test_nothing_inside_approves() -> None:
    async with scene() as s:
        caller, calls = inside(await s.ready()), Calls(s)
        first = _waits(await calls.of(caller, DROP))
        shown = digest(await s.approvals.get(LOCAL_PERSON, first))
        with pytest.raises(Forbidden):
            await s.approvals.approve(caller, first, ApprovalGrant(GrantScope.ONCE, None, shown))


async def test_flood_of_requests_is_bounded() -> None:
    async with scene() as s:
        caller, calls = inside(await s.ready()), Calls(s)
        for number in range(MAX_PER_MINUTE):
            await calls.of(caller, DROP, {"n": number})
        with pytest.raises(LimitReached):
            await calls.of(caller, DROP, {"n": "more"})
        with pytest.raises(LimitReached, match="too long"):
            await calls.of(caller, DROP, {"n": "x" * 200_000})


async def test_reading_call_and_person_outside_ask_nobody() -> None:
    async with scene() as s:
        caller, calls = inside(await s.ready()), Calls(s)
        assert (await calls.of(caller, LOOK)).value == {"done": True}
        assert (await calls.of(LOCAL_PERSON, DROP)).value == {"done": True}


async def test_calls_are_bounded_by_caller_and_tool() -> None:
    async with scene() as s:
        caller, calls = inside(await s.ready()), Calls(s)
        for _ in range(PER_MINUTE):
            await calls.of(caller, LOOK)
        with pytest.raises(LimitReached, match="within a minute"):
            await calls.of(caller, LOOK)
        await calls.of(LOCAL_PERSON, LOOK)
        s.clock.turn(61)
        await calls.of(caller, LOOK)


async def test_profile_says_what_is_called_asked_about_and_denied() -> None:
    document = (
        "id: profile.ruled\nversion: '1.0.0'\nextension: in_memory\nisolation: {level: none}\n"
        "mcp: {tools: {db.look: ask, db.drop: allow}}\n"
    )
    async with scene() as s:
        await s.profiles.save(LOCAL_PERSON, "ruled", document)
        await s.profiles.save(
            LOCAL_PERSON, "mute", document.replace("ruled", "mute").replace("ask", "deny")
        )
        ruled = inside(await s.ready(name="ruled", profile="ruled"))
        mute, calls = inside(await s.ready(name="mute", profile="mute")), Calls(s)
        assert _waits(await calls.of(ruled, LOOK))
        assert (await calls.of(ruled, DROP)).value == {"done": True}
        with pytest.raises(Forbidden, match=r"denies db\.look"):
            await calls.of(mute, LOOK)
        assert calls.runs == 1


async def test_long_arguments_are_shown_whole() -> None:
    async with scene() as s:
        caller, calls = inside(await s.ready()), Calls(s)
        waits = _waits(await calls.of(caller, DROP, {"a": "x" * 9000, "z": "the end"}))
        shown = shown_lines(await s.approvals.get(LOCAL_PERSON, waits))
        assert shown[1].endswith('x","z":"the end"}')
        with pytest.raises(LimitReached):
            await calls.of(caller, DROP, {"a": "x" * MAX_ARGUMENTS})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
async def test_arguments_that_would_be_shown_as_others_are_refused(value: Json) -> None:
    with pytest.raises(Invalid):
        ToolCall(DROP, {"value": value})
