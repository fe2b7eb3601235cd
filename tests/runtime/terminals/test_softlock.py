"""The soft lock and the keyboard in a whole runtime, with agents played by shell scripts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from atoll.ports.runtime_boot import Agent
from tests.runtime.agents.test_agents import Person, act
from tests.runtime.stage import Runtime, runtime

# It reads raw keys and shows them; lines of the file `hooks` become hooks, in their order.
KEYED = r"""
stty raw -echo; echo ready
(n=0; while :; do
  n=$((n+1)); until [ -e "hook-$n" ]; do sleep 0.02; done
  printf '{"hook_event_name":"%s"}\n' "$(cat "hook-$n")" 1<>"$ATOLL_EAR"
done) &
exec cat -v
"""
AGENTS = (
    Agent("keyed", ("sh", "-c", KEYED), watch_argv=("--watched",), transcript="claude"),
    Agent("mute", ("sh", "-c", KEYED.replace('1<>"$ATOLL_EAR"', ">/dev/null"))),
)
GUEST = "principal=bob&name=Bob&role=controller"


class Hooks:
    """Makes the agent report, one hook after the other."""

    def __init__(self, rt: Runtime) -> None:
        self._work = rt.home / "w"
        self._told = 0

    def tell(self, event: str) -> None:
        self._told += 1
        path = self._work / f"hook-{self._told}"
        path.with_suffix(".new").write_text(event)
        path.with_suffix(".new").rename(path)


@asynccontextmanager
async def keyed(rt: Runtime, **options: object) -> AsyncIterator[tuple[str, Person, Hooks]]:
    status, shown = await rt.call("POST", "/agents", {"agent": "keyed", **options})
    assert status == 201, shown
    async with attach_as(rt, shown["id"], "client=me") as person:
        await person.sees(b"ready")
        yield shown["id"], person, Hooks(rt)


@asynccontextmanager
async def attach_as(rt: Runtime, agent_id: str, query: str) -> AsyncIterator[Person]:
    url = f"http://runtime/sessions/{agent_id}/attach?{query}"
    async with rt.client.ws_connect(url) as socket:
        yield Person(socket)


async def ask(rt: Runtime, agent_id: str, prompt: str = "And now this") -> tuple[int, Any]:
    return await rt.call("POST", f"/sessions/{agent_id}/ask", {"prompt": prompt})


async def test_owner_types_on_while_the_agent_works_and_a_guest_only_interrupts() -> None:
    async with runtime(agents=AGENTS) as rt, keyed(rt) as (agent_id, owner, hooks):
        hooks.tell("UserPromptSubmit")
        await owner.is_told("running", "working")
        await owner.socket.send_bytes(b"queued")
        await owner.sees(b"queued")
        await owner.socket.send_str('{"type":"revoke_control"}')
        async with attach_as(rt, agent_id, f"client=b&{GUEST}") as guest:
            await guest.socket.send_str('{"type":"request_control"}')
            await guest.is_refused(b"steering", "agent_running")
            await guest.is_refused(b"\x03steering", "agent_running")
            await guest.socket.send_bytes(b"\x1b")
            await guest.socket.send_bytes(b"\x03")
            await guest.sees(b"^[^C")
            assert b"steering" not in guest.output


async def test_interrupt_of_somebody_who_does_not_drive_is_refused() -> None:
    async with runtime(agents=AGENTS) as rt, keyed(rt) as (agent_id, owner, hooks):
        hooks.tell("UserPromptSubmit")
        await owner.is_told("running", "working")
        async with attach_as(rt, agent_id, f"client=b&{GUEST}") as guest:
            await guest.is_refused(b"\x1b", "not_driver")


async def test_strict_lock_stops_the_owner_but_for_interrupts() -> None:
    async with runtime(agents=AGENTS) as rt:
        async with keyed(rt, softlock="strict") as (agent_id, owner, hooks):
            hooks.tell("UserPromptSubmit")
            await owner.is_told("running", "working")
            told = [one for one in owner.told if one["type"] == "agent_state"]
            assert told[-1]["softlock"] == "strict"
            await owner.is_refused(b"steering", "agent_running")
            await owner.socket.send_bytes(b"\x03")
            await owner.sees(b"^C")
            assert b"steering" not in owner.output
            await act(rt, agent_id, "pause")
            await owner.is_refused(b"\x03", "agent_paused")
        entries = rt.journal.read(0, 1000).entries
        (started,) = [one.payload for one in entries if one.kind == "agent.started"]
        assert started["softlock"] == "strict"


async def test_background_work_after_the_turn_shuts_nothing() -> None:
    async with runtime(agents=AGENTS) as rt, keyed(rt, softlock="strict") as scene:
        _, owner, hooks = scene
        hooks.tell("UserPromptSubmit")
        await owner.is_told("running", "working")
        for event in ("Stop", "PreToolUse", "PostToolUse", "Stop"):
            hooks.tell(event)
        await owner.is_told("running", "waiting")
        # Hooks are read in their order: this prompt is heard after the background's.
        hooks.tell("UserPromptSubmit")
        await owner.is_told("running", "working")
        told = [one.payload for one in rt.journal.read(0, 1000).entries]
        turns = [one["turn"] for one in told if "turn" in one]
        assert turns == ["working", "waiting", "working"]


async def test_beginning_without_a_prompt_ends_by_itself() -> None:
    async with runtime(agents=AGENTS) as rt, keyed(rt, softlock="strict") as scene:
        _, owner, hooks = scene
        hooks.tell("PreToolUse")
        await owner.is_told("running", "working")
        began = asyncio.get_running_loop().time()
        await owner.is_told("running", "waiting")
        assert asyncio.get_running_loop().time() > began + 2
        await owner.socket.send_bytes(b"free")
        await owner.sees(b"free")


async def test_prompt_on_a_half_typed_draft_is_refused_until_it_is_sent_or_cleared() -> None:
    async with runtime(agents=AGENTS) as rt, keyed(rt) as (agent_id, owner, _):
        await owner.socket.send_bytes(b"half a tho")
        await owner.sees(b"half a tho")
        status, problem = await ask(rt, agent_id)
        assert (status, problem["code"]) == (409, "draft")
        assert b"And now" not in owner.output
        await owner.socket.send_bytes(b"\x15")
        await owner.sees(b"^U")
        status, shown = await ask(rt, agent_id)
        assert status == 202
        # The hook that reports the prompt is on its way: it is no news that it works.
        assert (shown["agent_state"], shown["turn"]) == ("running", "working")
        await owner.sees(b"And now this")


async def test_answer_to_a_question_is_no_draft() -> None:
    async with runtime(agents=AGENTS) as rt, keyed(rt) as (agent_id, owner, hooks):
        # A viewer is sent only the newest of states that follow at once, so each is awaited.
        for event, turn in (("UserPromptSubmit", "working"), ("PermissionRequest", "waiting")):
            hooks.tell(event)
            await owner.is_told("running", turn)
        await owner.socket.send_bytes(b"1")
        await owner.sees(b"1")
        for event, turn in (("PostToolUse", "working"), ("Stop", "waiting")):
            hooks.tell(event)
            await owner.is_told("running", turn)
        assert (await ask(rt, agent_id))[0] == 202


async def test_prompt_that_nothing_can_report_is_not_said_to_be_worked_on() -> None:
    async with runtime(agents=AGENTS) as rt:
        _, opened = await rt.call("POST", "/agents", {"agent": "mute"})
        status, shown = await ask(rt, opened["id"])
        assert (status, shown["turn"], shown["watched"]) == (202, "waiting", False)


async def test_softlock_of_a_terminal_without_an_agent_is_refused() -> None:
    async with runtime(agents=AGENTS) as rt:
        status, problem = await rt.call("POST", "/sessions", {"softlock": "strict"})
        assert (status, problem["field"]) == (422, "softlock")
        status, shown = await rt.call("POST", "/sessions", {"agent": "keyed", "softlock": "strict"})
        assert status == 201
        agent = (await rt.call("GET", f"/agents/{shown['session_id']}"))[1]
        assert agent["softlock"] == "strict"
