"""Instructions of a sandbox: given to one of its agents, whatever the control plane repeats."""

import asyncio

import pytest

from atoll.domain.agents.registry import AGENTS as CATALOGUE
from atoll.ports.runtime_boot import Agent, Machine
from tests.runtime.agents.test_agents import MACHINE
from tests.runtime.agents.test_register import until
from tests.runtime.stage import Runtime, runtime

WORDS = "Read CONTRIBUTING first."
TOLD = Agent("told", ("sh", "-c", 'echo "told <$*>"; read -r line', "told"), prompt_argv=())
# It is slow to start: what is typed before it reads keys is lost.
_TYPED = r"""
stty -echo; echo starting; sleep 0.6
python3 -c 'import termios; termios.tcflush(0, termios.TCIFLUSH)'
printf '\033[?2004h'; read -r line
line=${line#?\[200~}; echo "told <${line%?\[201~}>"; cat
"""
TYPED = Agent("typed", ("sh", "-c", _TYPED))
# Each agent of the catalogue that takes a prompt as its argument, by a program that shows it.
_SHOW = "import sys; print('told', [word.encode() for word in sys.argv[1:]], flush=True); input()"
SHOWN = [
    Agent(one.name, ("python3", "-c", _SHOW), prompt_argv=one.prompt_argv)
    for one in CATALOGUE
    if one.prompt_argv is not None
]
SPOKEN = Agent("spoken", ("sh",), machine=Machine("claude", ("sh", "-c", MACHINE)))
AGENTS = (TOLD, TYPED, SPOKEN)
MACHINES = {"agent": "spoken", "mode": "machine"}


async def opened(rt: Runtime, **order: object) -> str:
    body = {"agent": "told", "instructions": WORDS, "instructions_id": 1, **order}
    status, shown = await rt.call("POST", "/agents", body)
    assert status == 201, shown
    return str(shown["id"])


def receivers(rt: Runtime) -> list[object]:
    entries = rt.journal.read(0, 1000).entries
    return [one.payload["id"] for one in entries if one.kind == "agent.instructed"]


async def test_instructions_with_the_same_id_are_given_to_one_agent() -> None:
    async with runtime(agents=AGENTS) as rt:
        agents = await asyncio.gather(*(opened(rt) for _ in range(3)))
        (receiver,) = receivers(rt)
        for agent_id in agents:
            expected = f"told <{WORDS}>" if agent_id == receiver else "told <>"
            async with rt.attach(agent_id) as watcher:
                await watcher.until_bytes(expected.encode())


async def test_instructions_of_another_id_or_of_none_are_given_again() -> None:
    async with runtime(agents=AGENTS) as rt:
        for again in (1, 2, None, None):
            agent_id = await opened(rt, instructions_id=again)
            async with rt.attach(agent_id) as watcher:
                await watcher.until_bytes(f"told <{WORDS}>".encode())
        assert len(receivers(rt)) == 2


async def test_machine_receives_them_and_a_terminal_after_it_does_not() -> None:
    async with runtime(agents=AGENTS) as rt:
        machine = await opened(rt, **MACHINES)
        terminal = {"agent": "told", "instructions": WORDS, "instructions_id": 1}
        status, shown = await rt.call("POST", "/sessions", terminal)
        assert status == 201, shown
        async with rt.attach(shown["session_id"]) as watcher:
            await watcher.until_bytes(b"told <>")
        assert receivers(rt) == [machine]


@pytest.mark.parametrize("failing", [{"resume": True}, {"conversation": "c-1"}])
async def test_agent_that_does_not_start_leaves_them_to_the_next(
    failing: dict[str, object],
) -> None:
    async with runtime(agents=AGENTS) as rt:
        body = {"agent": "told", "instructions": WORDS, "instructions_id": 1, **failing}
        assert (await rt.call("POST", "/agents", body))[0] == 422
        assert receivers(rt) == []
        agent_id = await opened(rt)
        assert receivers(rt) == [agent_id]


async def test_agent_without_a_first_prompt_has_its_prompt_typed_after_them() -> None:
    async with runtime(agents=AGENTS) as rt:
        agent_id = await opened(rt, agent="typed", prompt="Go.")
        async with rt.attach(agent_id) as watcher:
            await watcher.until_bytes(b"Go.")
        await until(lambda: receivers(rt) == [agent_id])


async def test_prompt_that_begins_like_an_option_is_none() -> None:
    async with runtime(agents=AGENTS) as rt:
        agent_id = await opened(rt, instructions=None, instructions_id=None, prompt="--version")
        async with rt.attach(agent_id) as watcher:
            await watcher.until_bytes(b"told < --version>")


async def test_agent_without_a_first_prompt_has_them_typed() -> None:
    async with runtime(agents=AGENTS) as rt:
        agent_id = await opened(rt, agent="typed")
        async with rt.attach(agent_id) as watcher:
            await watcher.until_bytes(f"told <{WORDS}>".encode())
        await until(lambda: receivers(rt) == [agent_id])


@pytest.mark.parametrize("agent", SHOWN, ids=lambda agent: agent.name)
async def test_agent_receives_instructions_and_task_as_one_argument(agent: Agent) -> None:
    async with runtime(agents=(agent,)) as rt:
        order = {"agent": agent.name, "instructions": "- Greet.", "prompt": 'Say "é"\x1b[1m\r\n$C'}
        agent_id = await opened(rt, **order)
        words = [*(agent.prompt_argv or ()), ' - Greet.\n\nSay "é"\n$C']
        async with rt.attach(agent_id) as watcher:
            await watcher.until_bytes(f"told {[word.encode() for word in words]}".encode())
