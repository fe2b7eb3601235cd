"""What a runtime's journal tells of agents, so that a start can open them again."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.ports.runtime_boot import Agent, AgentTools, Machine, WatchFile
from atoll.runtime.agents.orders import AgentOrder, machine_argv
from tests.runtime.agents.test_agents import act, at
from tests.runtime.stage import Runtime, runtime

# It names its conversation by hooks, and says with which words it was started.
NAMING = r"""
tell() {
  printf '{"session_id":"%s","hook_event_name":"%s","source":"startup"}\n' "$2" "$1" 1<>"$ATOLL_EAR"
}
tell SessionStart s-1; stty -echo; echo "started with $*"
while read -r line; do
  tell UserPromptSubmit "$line"; tell Stop "$line"; echo "heard $line"
  [ "$line" != bye ] || exit 0
done
"""
NAMER = Agent(
    "namer",
    ("sh", "-c", NAMING, "namer"),
    conversation_argv=("sh", "-c", NAMING, "namer", "--session"),
    fork_argv=("sh", "-c", NAMING, "namer", "--copy"),
    watch_argv=("--watched",),
)
PLAIN = Agent("plain", ("sh", "-c", "echo ready; read -r line"), resume_argv=("sh", "-c", "cat"))
FILED = Agent(
    "filed",
    ("sh", "-c", 'cat "$MEMO"; echo; read -r line'),
    watch_files=(WatchFile(".json", "tell {report_pipe} 'so'", "MEMO"), WatchFile(".js", "more")),
)
TOOLED = Agent(
    "tooled",
    ("echo", "own"),
    watch_argv=("--watched",),
    mcp=AgentTools(argv=("--tools", "here")),
)
TOOLED_FILE = replace(
    FILED,
    name="tooled-file",
    mcp=AgentTools(files=(WatchFile(".json", "tell and call {report_pipe}", "MEMO"),)),
)
AGENTS = (NAMER, PLAIN, FILED, TOOLED, TOOLED_FILE)


def told(rt: Runtime) -> list[tuple[str, dict[str, object]]]:
    """The journal's words on agents, without ids."""
    page = rt.journal.read(0, 1000)
    kinds = ("agent.started", "agent.conversation", "agent.ended")
    return [
        (one.kind, {key: value for key, value in one.payload.items() if key != "id"})
        for one in page.entries
        if one.kind in kinds
    ]


async def until(holds: Callable[[], bool]) -> None:
    """The journal is a file: nobody tells of what is written to it."""
    async with asyncio.timeout(20):
        while True:
            if holds():
                return
            await asyncio.sleep(0.01)


async def until_told(rt: Runtime, kind: str) -> list[tuple[str, dict[str, object]]]:
    await until(lambda: kind in [name for name, _ in told(rt)])
    return told(rt)


def turns(rt: Runtime) -> list[object]:
    entries = rt.journal.read(0, 1000).entries
    return [one.payload["turn"] for one in entries if one.kind == "agent.state"]


async def test_agent_is_told_of_from_its_start_over_its_conversation_to_its_end() -> None:
    async with runtime(agents=AGENTS) as rt, at(rt, "namer") as (_, person):
        await person.sees(b"started with --watched")
        started = {"agent": "namer", "mode": "tui", "asks": False, "otherwise": "afresh"}
        started["softlock"] = "owner"
        assert told(rt) == [("agent.started", started)]
        await person.socket.send_bytes(b"c-1\n")
        assert (await until_told(rt, "agent.conversation"))[1:] == [
            ("agent.conversation", {"agent": "namer", "conversation": "c-1"})
        ]
        await until(lambda: turns(rt) == ["working", "waiting"])
        await person.socket.send_bytes(b"bye\n")
        ended = await until_told(rt, "agent.ended")
        assert ended[-1] == ("agent.ended", {"agent": "namer", "why": "ended"})


async def test_agent_that_somebody_stopped_is_told_of_at_once() -> None:
    async with runtime(agents=AGENTS) as rt, at(rt, "plain") as (agent_id, person):
        await person.sees(b"ready")
        await act(rt, agent_id, "stop", gaps=[0, 0, 0, 0])
        assert [kind for kind, _ in told(rt)] == ["agent.started", "agent.ended"]
        assert told(rt)[0][1]["otherwise"] == "last"
        assert told(rt)[1][1]["why"] == "stopped"


async def test_agent_goes_on_with_the_conversation_it_is_opened_with() -> None:
    async with runtime(agents=AGENTS) as rt:
        options = {"agent": "namer", "conversation": "c-7", "name": "mine", "cwd": "/tmp"}
        status, shown = await rt.call("POST", "/agents?principal=me", options)
        assert status == 201, shown
        async with rt.attach(shown["id"]) as watcher:
            await watcher.until_bytes(b"started with --session c-7 --watched")
        ((_, started),) = told(rt)
        assert (started["conversation"], started["name"]) == ("c-7", "mine")
        assert (started["cwd"], started["by"]) == ("/tmp", "me")


async def test_agent_that_is_to_fork_does_so_where_it_can_and_names_its_copy() -> None:
    resuming = replace(NAMER, name="resuming", fork_argv=())
    order = {"conversation": "c-7", "fork": True}
    async with runtime(agents=(*AGENTS, resuming)) as rt:
        async with at(rt, "resuming", **order) as (_, person):
            await person.sees(b"started with --session c-7 --watched")
        async with at(rt, "namer", **order) as (_, person):
            await person.sees(b"started with --copy c-7 --watched")
            # Until it names its own, the one that it was forked from says the same.
            assert [started["conversation"] for _, started in told(rt)] == ["c-7", "c-7"]
            await person.socket.send_bytes(b"c-8\n")
            assert (await until_told(rt, "agent.conversation"))[2:] == [
                ("agent.conversation", {"agent": "namer", "conversation": "c-8"})
            ]


def test_machine_forks_by_its_argv_and_goes_on_in_what_it_named_when_it_starts_again() -> None:
    machine = Machine(
        "claude", ("it",), conversation_argv=("--resume",), fork_argv=("--fork", "--resume")
    )
    order = AgentOrder(conversation="c-7", fork=True)
    assert machine_argv(NAMER, machine, order) == ("it", "--fork", "--resume", "c-7")
    again = replace(order, conversation="c-8", fork=False)
    assert machine_argv(NAMER, machine, again) == ("it", "--resume", "c-8")
    unable = replace(machine, fork_argv=())
    assert machine_argv(NAMER, unable, order) == ("it", "--resume", "c-7")


async def test_conversation_that_an_agent_at_a_terminal_must_know_and_does_not_is_refused() -> None:
    knowing = "printf '\\033[?2004h'; read -r line"
    picky = Agent(
        "picky",
        ("sh", "-c", knowing),
        conversation_argv=(
            "sh",
            "-c",
            f'[ "$1" = known ] && {{ {knowing}; exit; }}; echo "no $1"',
            "-",
        ),
    )
    async with runtime(agents=(picky,)) as rt:
        body = {"agent": "picky", "conversation": "lost", "must_know": True}
        status, problem = await rt.call("POST", "/agents", body)
        assert (status, problem["field"]) == (422, "conversation")
        assert problem["detail"] == "picky knows no conversation lost: no lost"
        status, shown = await rt.call("POST", "/agents", {**body, "conversation": "known"})
        assert (status, shown["agent_state"]) == (201, "running"), shown


async def test_files_that_make_an_agent_tell_lie_beside_its_ear_while_it_lives() -> None:
    async with runtime(agents=AGENTS) as rt:
        async with at(rt, "filed") as (agent_id, person):
            pipe = Path(f"/tmp/.atoll-{agent_id}")
            await person.sees(f"tell {pipe} 'so'".encode())
            beside = [pipe.with_name(pipe.name + suffix) for suffix in (".json", ".js")]
            assert [path.stat().st_mode & 0o777 for path in (pipe, *beside)] == [0o600] * 3
            await act(rt, agent_id, "stop", gaps=[0, 0, 0, 0])
            await until(lambda: not any(path.exists() for path in (pipe, *beside)))
        own = {"agent": "filed", "env": {"MEMO": "/dev/null"}}
        _, shown = await rt.call("POST", "/agents", own)
        async with rt.attach(shown["id"]) as watcher:
            await watcher.until_bytes(b"\n")
            assert b"tell" not in watcher.seen


async def test_agent_learns_of_tools_by_its_arguments_or_by_the_file_of_its_hooks() -> None:
    async with runtime(agents=AGENTS) as rt:
        async with at(rt, "tooled") as (_, person):
            await person.sees(b"--tools here own --watched")
        async with at(rt, "tooled-file") as (agent_id, person):
            await person.sees(f"tell and call /tmp/.atoll-{agent_id}".encode())
            assert Path(f"/tmp/.atoll-{agent_id}.js").read_text() == "more"


@pytest.mark.parametrize(
    "body",
    [
        {"agent": "namer", "conversation": "--dangerous"},
        {"agent": "namer", "conversation": "a b"},
        {"agent": "plain", "conversation": "c-1"},
    ],
)
async def test_conversation_that_cannot_be_gone_on_with_is_refused(body: dict[str, object]) -> None:
    async with runtime(agents=AGENTS) as rt:
        status, problem = await rt.call("POST", "/agents", body)
        assert (status, problem["field"]) == (422, "conversation")


async def test_agents_that_end_with_their_sandbox_are_not_told_of_as_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds: list[str] = []
    async with runtime(agents=AGENTS) as rt:
        append = rt.journal.append

        def noted(kind: str, payload: Mapping[str, object]) -> int:
            kinds.append(kind)
            return append(kind, payload)

        monkeypatch.setattr(rt.journal, "append", noted)
        async with at(rt, "plain") as (_, person):
            await person.sees(b"ready")
    assert "agent.started" in kinds and "agent.ended" not in kinds
