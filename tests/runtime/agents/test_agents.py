"""Agents in a whole runtime, played by shell scripts: locks, control, cards, machine modes."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import pytest

from atoll.ports.runtime_boot import Agent, Machine
from tests.runtime.stage import Runtime, runtime

PATIENCE = 20
# It tells of its turn the way hooks do, and says back what it reads.
TALKER = r"""
tell() { printf '{"transcript_path":"%s","hook_event_name":"%s"}\n' "$T" "$1" 1<>"$ATOLL_EAR"; }
T=$PWD/transcript; : > "$T"
stty -echo; trap '' INT; echo ready
while read -r line; do
  tell UserPromptSubmit
  now=$(date -u +%FT%T.%3NZ)
  said='{"type":"user","uuid":"u-%s","timestamp":"%s","message":{"content":"%s"}}'
  printf "$said\n" "$line" "$now" "$line" >> "$T"
  printf '{"type":"\377"}\n' >> "$T"
  echo "working-on-$line"
  while [ ! -e "$PWD/done-$line" ]; do sleep 0.01; done
  said='{"type":"assistant","uuid":"a-%s","message":{"content":[{"type":"text","text":"did %s"}]}}'
  printf "$said\n" "$line" "$line" >> "$T"
  tell Stop; echo "did-$line"
done
"""
# One that speaks Claude's protocol: it asks for a permission and ends its turn by the answer.
MACHINE = r"""
while read -r line; do
  case $line in
  *'"initialize"'*) ;;
  *'"behavior":"allow"'*)
    echo '{"type":"result","subtype":"success","is_error":false,"duration_ms":1}' ;;
  *'"type":"user"'*)
    echo 'no json'; printf '{"type":"\377"}\n'
    echo '{"type":"assistant","uuid":"a","message":{"content":[{"type":"text","text":"hi"}]}}'
    wants='"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"}'
    echo '{"type":"control_request","request_id":"r1","request":{'"$wants"'}}' ;;
  esac
done
"""
TALKING = Agent("talker", ("sh", "-c", TALKER), watch_argv=("--watched",), transcript="claude")
MUTE = Agent("mute", ("sh", "-c", "echo ready; cat"))
STUBBORN = Agent(
    "stubborn",
    ("sh", "-c", 'trap "" INT TERM HUP; (setsid sh -c "trap \\"\\" INT TERM HUP; echo $$ >daemon; '
     'while :; do sleep 1; done" &); echo ready; while :; do sleep 1; done'),
)  # fmt: skip
SPEAKING = Agent("speaking", ("sh",), machine=Machine("claude", ("sh", "-c", MACHINE)))
# Another process keeps its output open after its end.
LEAKY = Agent("leaky", ("sh",), machine=Machine("claude", ("sh", "-c", "sleep 600 & exit 3")))
AGENTS = (TALKING, MUTE, STUBBORN, SPEAKING, LEAKY)


Shown: TypeAlias = dict[str, Any]


class Person:
    """Somebody at an agent's terminal."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.output = b""
        self.told: list[dict[str, Any]] = []

    async def until(self, holds: Callable[["Person"], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds(self):
                message = await self.socket.receive()
                if isinstance(message.data, bytes):
                    self.output += message.data
                else:
                    self.told.append(json.loads(message.data))

    async def sees(self, words: bytes) -> None:
        await self.until(lambda one: words in one.output)

    async def is_told(self, state: str, turn: str) -> None:
        def holds(one: "Person") -> bool:
            states = [m for m in one.told if m["type"] == "agent_state"]
            return bool(states) and (states[-1]["agent_state"], states[-1]["turn"]) == (state, turn)

        await self.until(holds)

    async def is_refused(self, keys: bytes, reason: str) -> None:
        await self.socket.send_bytes(keys)
        await self.until(lambda one: any(m.get("reason") == reason for m in one.told))


@asynccontextmanager
async def at(rt: Runtime, agent: str, **options: object) -> AsyncIterator[tuple[str, Person]]:
    status, shown = await rt.call("POST", "/agents", {"agent": agent, **options})
    assert status == 201, shown
    url = f"http://runtime/sessions/{shown['id']}/attach?client=me"
    async with rt.client.ws_connect(url) as socket:
        yield shown["id"], Person(socket)


async def act(rt: Runtime, agent_id: str, action: str, **more: object) -> tuple[int, Any]:
    return await rt.call("POST", f"/sessions/{agent_id}/agent", {"action": action, **more})


async def cards(rt: Runtime, agent_id: str, since: int = 0) -> Any:
    status, page = await rt.call("GET", f"/sessions/{agent_id}/cards?since={since}")
    assert status == 200, page
    return page


async def until_cards(
    rt: Runtime, agent_id: str, holds: Callable[[list[Shown]], bool]
) -> list[Shown]:
    async with asyncio.timeout(PATIENCE):
        async with rt.client.ws_connect(f"http://runtime/sessions/{agent_id}/cards") as socket:
            known: dict[str, Shown] = {}
            while True:
                page = json.loads((await socket.receive()).data)
                known.update({card["id"]: card for card in page["cards"]})
                ordered = sorted(known.values(), key=lambda card: card["n"])
                if holds(ordered):
                    return ordered


def _turns(shown: list[Shown]) -> list[tuple[str, str]]:
    return [(card["title"], card["state"]) for card in shown if card["kind"] == "turn"]


async def test_lock_follows_the_turn_and_cards_the_transcript() -> None:
    strict = {"softlock": "strict"}
    async with runtime(agents=AGENTS) as rt, at(rt, "talker", **strict) as (agent_id, person):
        await person.sees(b"ready")
        await person.socket.send_bytes(b"one\n")
        await person.is_told("running", "working")
        await person.is_refused(b"two\n", "agent_running")
        (rt.home / "w" / "done-one").touch()
        await person.is_told("running", "waiting")
        await person.sees(b"did-one")
        await person.socket.send_bytes(b"three\n")
        await person.sees(b"working-on-three")
        assert b"two" not in person.output
        shown = await until_cards(rt, agent_id, lambda all: any(c["id"] == "a-one:0" for c in all))
        assert [card["kind"] for card in shown][:3] == ["turn", "text", "text"]
        assert [card["text"] for card in shown if card["kind"] == "text"][:2] == ["one", "did one"]
        # It never wrote that its turn ended: its hooks said so.
        turns = [("one", "done"), ("three", "running")]
        await until_cards(rt, agent_id, lambda all: _turns(all) == turns)


async def test_paused_agent_gets_nothing_that_was_typed_and_goes_on_when_resumed() -> None:
    async with runtime(agents=AGENTS) as rt, at(rt, "talker") as (agent_id, person):
        await person.sees(b"ready")
        assert (await act(rt, agent_id, "pause"))[1]["agent_state"] == "paused"
        await person.is_told("paused", "waiting")
        await person.is_refused(b"while-paused\n", "agent_paused")
        status, problem = await rt.call("POST", f"/sessions/{agent_id}/ask", {"prompt": "x"})
        assert (status, problem["code"]) == (409, "agent_paused")
        await act(rt, agent_id, "resume")
        await person.is_told("running", "waiting")
        await person.socket.send_bytes(b"after\n")
        await person.sees(b"working-on-after")
        assert b"while-paused" not in person.output


async def test_agent_nobody_can_tell_of_is_locked_only_when_somebody_says_so() -> None:
    strict = {"softlock": "strict"}
    async with runtime(agents=AGENTS) as rt, at(rt, "mute", **strict) as (agent_id, person):
        await person.sees(b"ready")
        await person.socket.send_bytes(b"hello\n")
        await person.sees(b"hello\r\nhello")
        shown = (await act(rt, agent_id, "start"))[1]
        assert (shown["turn"], shown["watched"]) == ("working", False)
        await person.is_refused(b"no\n", "agent_running")
        await act(rt, agent_id, "yield")
        await person.is_told("running", "waiting")
        await person.socket.send_bytes(b"again\n")
        await person.sees(b"again\r\nagain")


async def test_stop_ends_a_tree_that_ignores_everything_and_left_its_session() -> None:
    async with runtime(agents=AGENTS) as rt, at(rt, "stubborn") as (agent_id, person):
        await person.sees(b"ready")
        pid = await _daemon(rt)
        async with asyncio.timeout(5):
            gaps = [0.1, 0.1, 0.1, 0.2]
            stops = (act(rt, agent_id, "stop", gaps=gaps) for _ in range(2))
            answers = await asyncio.gather(*stops)
            assert [shown["agent_state"] for _, shown in answers] == ["stopped", "stopped"]
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        await person.until(lambda one: any(m["type"] == "exit" for m in one.told))
        assert next(m for m in person.told if m["type"] == "exit")["signal"] == "KILL"
        status, problem = await act(rt, agent_id, "pause")
        assert (status, problem["code"]) == (409, "agent_stopped")
        told = [
            entry.payload
            for entry in rt.journal.read(0, 1000).entries
            if entry.kind == "agent.state"
        ]
        assert told[-1]["agent_state"] == "stopped"


async def test_paused_agent_can_be_stopped() -> None:
    async with runtime(agents=AGENTS) as rt, at(rt, "mute") as (agent_id, person):
        await person.sees(b"ready")
        await act(rt, agent_id, "pause")
        async with asyncio.timeout(5):
            assert (await act(rt, agent_id, "stop"))[1]["agent_state"] == "stopped"


async def test_paused_agent_that_is_killed_at_once_does_not_run_again(tmp_path: Path) -> None:
    """Its worker may run elsewhere by now."""
    ticks = tmp_path / "ticks"
    words = f"echo >> {ticks}; echo ready; while :; do echo >> {ticks}; sleep 0.01; done"
    agents = (Agent("ticking", ("sh", "-c", words)),)
    async with runtime(agents=agents) as rt, at(rt, "ticking") as (agent_id, person):
        await person.sees(b"ready")
        await act(rt, agent_id, "pause")
        before = ticks.stat().st_size
        assert (await act(rt, agent_id, "stop", gaps=[0] * 4))[1]["agent_state"] == "stopped"
        assert ticks.stat().st_size == before


async def test_machine_is_asked_answered_and_stopped() -> None:
    async with runtime(agents=AGENTS) as rt:
        body = {"agent": "speaking", "mode": "machine", "permissions": "ask", "prompt": "go"}
        status, shown = await rt.call("POST", "/agents", body)
        assert (status, shown["mode"]) == (201, "machine")
        agent_id = shown["id"]
        await until_cards(rt, agent_id, lambda all: any(c["state"] == "pending" for c in all))
        assert (await rt.call("POST", f"/sessions/{agent_id}/ask", {"prompt": "more"}))[0] == 409
        _, asking = await rt.call("GET", f"/sessions/{agent_id}/cards/approval:r1")
        assert (asking["title"], asking["text"]) == ("Allow Bash?", "ls")
        assert (await rt.call("GET", f"/sessions/{agent_id}/cards/none"))[0] == 404
        _, shown = await rt.call("GET", f"/agents/{agent_id}")
        assert shown["status"]["question"] == "Allow Bash? ls"
        answer = f"/sessions/{agent_id}/cards/approval:r1/answer"
        assert (await rt.call("POST", answer + "?role=viewer", {"option": "allow"}))[0] == 403
        assert (await rt.call("POST", answer, {"option": "maybe"}))[0] == 422
        assert (await rt.call("POST", answer, {"option": "allow"}))[1]["state"] == "done"
        assert (await rt.call("POST", answer, {"option": "allow"}))[1]["code"] == "not_pending"
        ended = await until_cards(rt, agent_id, lambda all: all[0]["state"] == "done")
        assert [card["kind"] for card in ended] == ["turn", "text", "text", "approval"]
        assert (await act(rt, agent_id, "stop"))[1]["agent_state"] == "stopped"
        assert (await rt.call("GET", f"/agents/{agent_id}"))[1]["agent_state"] == "stopped"


async def test_machine_that_ended_is_not_kept_by_a_process_it_left() -> None:
    async with runtime(agents=AGENTS) as rt:
        _, shown = await rt.call("POST", "/agents", {"agent": "leaky", "mode": "machine"})
        ended = await until_cards(rt, shown["id"], lambda all: any(c["id"] == "ended" for c in all))
        assert ended[-1]["text"] == "exit status 3"
        _, shown = await rt.call("GET", f"/agents/{shown['id']}")
        assert (shown["status"]["status"], shown["agent_state"]) == ("failed", "stopped")
        assert shown["status"]["reason"] == "It ended with exit status 3."


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"agent": "nobody"}, "agent"),
        ({"agent": "mute", "mode": "machine"}, "mode"),
        ({"agent": "mute", "resume": True}, "resume"),
        ({"agent": "mute", "prompt": "a\0b"}, "prompt"),
        ({"agent": "mute", "mode": "else"}, "mode"),
    ],
)
async def test_agent_that_cannot_be_started_so_is_refused_by_field(
    body: dict[str, object], field: str
) -> None:
    async with runtime(agents=AGENTS) as rt:
        status, problem = await rt.call("POST", "/agents", body)
        assert (status, problem["field"]) == (422, field)
        assert (await rt.call("GET", "/agents"))[1] == {"agents": []}


async def test_forged_hooks_never_break_the_runtime() -> None:
    flood = r"""
    i=0
    while [ $i -lt 2000 ]; do
      hook="{\"transcript_path\":\"/nowhere/$i\",\"hook_event_name\":\"UserPromptSubmit\"}"
      printf '%s\n' "$hook" garbage 1<>"$ATOLL_EAR"; i=$((i+1))
    done
    echo flooded; cat
    """
    forger = Agent("forger", ("sh", "-c", flood), watch_argv=("-",), transcript="codex")
    async with runtime(agents=(forger,)) as rt, at(rt, "forger") as (agent_id, person):
        await person.sees(b"flooded")
        await person.is_told("running", "working")
        status, _ = await act(rt, agent_id, "interrupt")
        assert status == 200
        assert (await act(rt, agent_id, "stop", gaps=[0, 0, 0, 0]))[1]["agent_state"] == "stopped"
        entries = [e for e in rt.journal.read(0, 5000).entries if e.kind == "agent.state"]
        assert len(entries) < 400


async def test_cards_of_a_shell_are_its_lines_and_links() -> None:
    async with runtime() as rt:
        terminal = await rt.open(
            "sh", "-c", "printf '\\033[31mred\\033[0m http://localhost:5173/\\n'; cat"
        )
        async with rt.attach(terminal) as watcher:
            await watcher.until_bytes(b"5173")
        shown = (await cards(rt, terminal))["cards"]
        assert [card["kind"] for card in shown] == ["text", "preview-link"]
        assert shown[0]["text"].startswith("red http://localhost:5173/")
        assert (await rt.call("GET", "/sessions/t_none/cards"))[0] == 404


async def _daemon(rt: Runtime) -> int:
    path = rt.home / "w" / "daemon"
    async with asyncio.timeout(PATIENCE):
        while True:
            if path.exists() and path.read_text().strip():
                return int(path.read_text())
            await asyncio.sleep(0.01)
