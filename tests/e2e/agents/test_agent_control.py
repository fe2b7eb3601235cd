"""Real agents under control: locked while they work, paused, asked, answered, carded, stopped."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from atoll.testing.server import TestServer
from atoll.wire.terminal.screen_rows import ScreenRows
from tests.e2e.agents.agent_world import CHOICES, World, first_here, run, sandbox_for
from tests.peers.api import Pauses

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

DAEMON = "987654"
WORK = (
    f"(setsid sleep {DAEMON} >/dev/null 2>&1 &); touch began; "
    "until [ -e go ]; do sleep 0.1; done; echo written > made.txt"
)
LOOP = "touch began-{n}; until [ -e go-{n} ]; do sleep 0.1; done; echo done"
TOOLS = {
    "claude-code": 'Bash {"command":"%s","description":"write"}',
    "codex": 'exec_command {"cmd":"%s"}',
}
QUESTIONS = {
    "claude-code": (
        'AskUserQuestion {"questions":[{"question":"Which colour?","header":"Colour",'
        '"multiSelect":false,"options":[{"label":"red","description":"r"},'
        '{"label":"blue","description":"b"}]}]}'
    ),
    "codex": (
        'exec_command {"cmd":"echo ok > app.txt","sandbox_permissions":"require_escalated",'
        '"justification":"May I?"}'
    ),
}
TYPED_WHILE_PAUSED = b"zqzq"


@dataclass
class AgentViewer:
    """A person at the agent's terminal: what they saw and were told."""

    socket: aiohttp.ClientWebSocketResponse
    output: bytearray = field(default_factory=bytearray)
    screen: ScreenRows = field(default_factory=lambda: ScreenRows(80, 24))
    told: list[dict[str, Any]] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def run(self) -> None:
        async for message in self.socket:
            if message.type is aiohttp.WSMsgType.BINARY:
                self.output += message.data
                self.screen.feed(message.data)
                await self._answer(message.data)
            else:
                self.told.append(json.loads(message.data))
            async with self.news:
                self.news.notify_all()

    async def _answer(self, data: bytes) -> None:
        """What a terminal answers to an agent's questions."""
        for question, reply in ((b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?62;22c")):
            if question in data:
                await self.socket.send_bytes(reply)

    async def until(self, holds: Callable[["AgentViewer"], bool], seconds: float = 60) -> None:
        try:
            async with asyncio.timeout(seconds), self.news:
                await self.news.wait_for(lambda: holds(self))
        except TimeoutError:
            raise AssertionError((self.told[-8:], bytes(self.output[-600:]))) from None

    async def type(self, keys: bytes) -> dict[str, Any] | None:
        """Type, and say how that was refused; None when it was not. The answer to a frame that
        is no message comes behind any refusal."""
        at = len(self.told)
        await self.socket.send_bytes(keys)
        await self.socket.send_str("no message")
        await self.until(lambda viewer: any(one["type"] == "error" for one in viewer.told[at:]))
        refused = [one for one in self.told[at:] if one["type"] == "input_refused"]
        return refused[0] if refused else None

    def shows(self, words: str) -> bool:
        """Whether these stand on the screen now. A program draws only what differs, so they need
        not be in the output."""
        return any(words in line for line in self.screen.lines())

    @property
    def state(self) -> tuple[str, str]:
        told = [one for one in self.told if one["type"] == "agent_state"]
        return (told[-1]["agent_state"], told[-1]["turn"]) if told else ("", "")


@dataclass
class Reader:
    """A second connection that follows the cards."""

    socket: aiohttp.ClientWebSocketResponse
    cards: dict[str, dict[str, Any]] = field(default_factory=dict)
    seqs: list[int] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def run(self) -> None:
        async for message in self.socket:
            page = json.loads(message.data)
            self.seqs.append(page["seq"])
            self.cards.update({card["id"]: card for card in page["cards"]})
            async with self.news:
                self.news.notify_all()

    async def until(self, holds: Callable[["Reader"], bool], seconds: float = 150) -> None:
        try:
            async with asyncio.timeout(seconds), self.news:
                await self.news.wait_for(lambda: holds(self))
        except TimeoutError:
            raise AssertionError(self.cards) from None

    @property
    def ordered(self) -> list[dict[str, Any]]:
        return sorted(self.cards.values(), key=lambda card: int(card["n"]))

    def texts(self, words: str) -> int:
        return sum(card["kind"] == "text" and words in card["text"] for card in self.ordered)

    def turns(self, state: str) -> int:
        return sum(card["kind"] == "turn" and card["state"] == state for card in self.ordered)


@asynccontextmanager
async def reading(w: World, path: str) -> AsyncIterator[Reader]:
    async with _connected(w, path) as socket, asyncio.TaskGroup() as group:
        reader = Reader(socket)
        task = group.create_task(reader.run())
        yield reader
        task.cancel()


@asynccontextmanager
async def viewing(w: World, path: str) -> AsyncIterator[AgentViewer]:
    async with _connected(w, path) as socket, asyncio.TaskGroup() as group:
        viewer = AgentViewer(socket)
        task = group.create_task(viewer.run())
        yield viewer
        task.cancel()


@asynccontextmanager
async def _connected(w: World, path: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    headers = {"Authorization": f"Bearer {w.server.token}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.ws_connect(w.server.url + path, max_msg_size=0) as socket,
    ):
        yield socket


@dataclass
class Scene:
    """One agent at a terminal, its person, and who follows its cards from the beginning."""

    w: World
    agent: str
    sandbox: str
    here: str
    viewer: AgentViewer
    early: Reader

    async def act(self, action: str) -> dict[str, Any]:
        done = await self.w.api.post(f"{self.here}/agent", json={"action": action})
        assert done.status_code == 200, done.text
        told: dict[str, Any] = done.json()
        return told

    async def ask(self, words: str) -> None:
        done = await self.w.api.post(f"{self.here}/ask", json={"prompt": words})
        assert done.status_code == 202, done.text

    async def press_until(self, key: bytes, settled: Callable[[], Awaitable[None]]) -> None:
        """Press a key until it is `settled`. An agent draws a question before it takes keys: on a
        busy machine Claude Code has read one 0.9 s after the draw, and dropped it. A person then
        presses again."""
        for seconds in (10, 20, 50):
            assert await self.viewer.type(key) is None
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    return await settled()
        await settled()


@asynccontextmanager
async def scene_with(w: World, agent: str, sandbox: str, **request: object) -> AsyncIterator[Scene]:
    """The agent at a terminal that has drawn its prompt; it and all it started end with this."""
    opened = await w.api.post(f"/v1/sandboxes/{sandbox}/agents", json={"agent": agent, **request})
    assert opened.status_code == 201, opened.text
    here = f"/v1/sandboxes/{sandbox}/terminals/{opened.json()['id']}"
    async with (
        viewing(w, f"{here}/attach?client=me") as viewer,
        reading(w, f"{here}/cards") as early,
    ):
        scene = Scene(w, agent, sandbox, here, viewer, early)
        await _until_it_can_be_asked(scene)
        yield scene
        async with asyncio.timeout(5):
            assert (await scene.act("stop"))["agent_state"] == "stopped"
        await viewer.until(lambda s: s.state[0] == "stopped")
    await _until_all_have_ended(w, sandbox)


@first_here("codex", "claude-code")
async def test_agent_at_a_terminal_is_locked_paused_carded_and_stopped(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    sandbox = await sandbox_for(w, agent, repository)
    async with scene_with(w, agent, sandbox) as scene:
        await _is_locked_and_paused_while_it_works(scene)
        await scene.ask("And once more, without a tool.")
        # A transcript may be written after the turn's end was reported.
        await scene.early.until(lambda r: r.turns("done") == 2 and r.texts("All done") == 2)
        await _has_the_same_cards_for_everybody(scene)
        assert TYPED_WHILE_PAUSED not in scene.viewer.output


@first_here("claude-code", "codex")
async def test_agent_that_asks_its_person_is_answered_at_its_terminal(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    sandbox = await sandbox_for(w, agent, repository)
    if agent == "codex":
        asks = 's/"never"/"on-request"/; s/danger-full-access/workspace-write/'
        await run(w, sandbox, "/bin/sh", "-c", f"sed -i '{asks}' $HOME/.codex/config.toml")
    async with scene_with(w, agent, sandbox) as scene:
        viewer, early = scene.viewer, scene.early
        await scene.ask(f"Now a question. [[tool {QUESTIONS[agent]}]]")
        await early.until(lambda r: any(card["state"] == "pending" for card in r.ordered))
        await viewer.until(lambda s: s.state == ("running", "waiting"))
        drawn = {"codex": "proceed", "claude-code": "2. blue"}[agent]
        await viewer.until(lambda s: s.shows(drawn))
        asked = await _until_asked(w)
        await scene.press_until(b"\r", partial(early.until, lambda r: r.turns("done") == 1))
        await early.until(lambda r: not any(c["state"] == "pending" for c in r.ordered))
        async with asyncio.timeout(5):
            pauses = Pauses()
            while {*asked} & {*await _asked_in_the_inbox(w)}:
                await pauses.wait()


async def _until_asked(w: World) -> list[str]:
    """The ids of what agents ask, once there is one: the inbox follows their cards."""
    async with asyncio.timeout(5):
        pauses = Pauses()
        while not (asked := await _asked_in_the_inbox(w)):
            await pauses.wait()
    return asked


async def _asked_in_the_inbox(w: World) -> list[str]:
    """The ids of what agents ask, of those that wait."""
    listed = await w.api.get("/v1/inbox")
    assert listed.status_code == 200, listed.text
    return [one["id"] for one in listed.json()["items"] if one["kind"] == "agent"]


@first_here("codex", "claude-code")
async def test_owner_types_on_while_the_agent_works_and_esc_breaks_off_its_turn(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    sandbox = await sandbox_for(w, agent, repository)
    async with scene_with(w, agent, sandbox) as scene:
        viewer = scene.viewer
        await scene.ask(f"Wait. [[tool {TOOLS[agent] % LOOP.format(n=1)}]]")
        await _until_there_is(scene, "began-1")
        await viewer.until(lambda s: s.state == ("running", "working"))
        assert await viewer.type(b"zebra crossing") is None
        await viewer.until(lambda s: b"zebra" in s.output)
        draft = await w.api.post(f"{scene.here}/ask", json={"prompt": "and more"})
        assert (draft.status_code, draft.json()["code"]) == (409, "agent_running")
        assert await viewer.type(b"\r") is None
        await run(w, sandbox, "touch", "go-1")
        await _until_the_model_reads(w, "zebra crossing")
        await viewer.until(lambda s: s.state == ("running", "waiting"))

        await scene.ask(f"Again. [[tool {TOOLS[agent] % LOOP.format(n=2)}]]")
        await _until_there_is(scene, "began-2")
        await viewer.until(lambda s: s.state == ("running", "working"))
        assert await viewer.type(b"\x1b") is None
        await viewer.until(lambda s: s.state == ("running", "waiting"))
        if agent == "codex":
            # It says to its model that what it ran may go on in the background.
            await _until_codex_writes(w, sandbox, '"turn_aborted".*"reason":"interrupted"')
        else:
            await _until_there_is_no_process(w, sandbox, "go-2")


async def _until_the_model_reads(w: World, words: str) -> None:
    async with asyncio.timeout(60):
        pauses = Pauses()
        while True:
            if any(words in body for body in w.model.bodies):
                return
            await pauses.wait()


async def _until_codex_writes(w: World, sandbox: str, pattern: str) -> None:
    """Wait until a line of its conversation is like this."""
    look = f"grep -hE '{pattern}' $HOME/.codex/sessions/*/*/*/*.jsonl"
    async with asyncio.timeout(120):
        pauses = Pauses()
        while True:
            if (await run(w, sandbox, "/bin/sh", "-c", look))[0] == 0:
                return
            await pauses.wait()


async def _until_there_is_no_process(w: World, sandbox: str, words: str) -> None:
    async with asyncio.timeout(60):
        pauses = Pauses()
        while True:
            if words.encode() not in (await run(w, sandbox, "ps", "-eo", "args="))[1]:
                return
            await pauses.wait()


async def _until_it_can_be_asked(scene: Scene) -> None:
    """It has drawn its prompt."""
    if scene.agent == "codex":
        await scene.viewer.until(lambda s: b"Ask Codex" in s.output)
    else:
        await scene.viewer.until(lambda s: b"permissions" in s.output)


async def _is_locked_and_paused_while_it_works(scene: Scene) -> None:
    w, viewer = scene.w, scene.viewer
    await scene.ask(f"Please write. [[tool {TOOLS[scene.agent] % WORK}]]")
    await viewer.until(lambda s: s.state == ("running", "working"))
    async with viewing(w, f"{scene.here}/attach?client=look&read_only=true") as watcher:
        refused = await watcher.type(b"\x1b")
        assert refused is not None and refused["reason"] == "viewer"
    again = await w.api.post(f"{scene.here}/ask", json={"prompt": "and more"})
    assert (again.status_code, again.json()["code"]) == (409, "agent_running")

    await _until_there_is(scene, "began")
    await scene.act("pause")
    await viewer.until(lambda s: s.state == ("paused", "working"))
    refused = await viewer.type(TYPED_WHILE_PAUSED)
    assert refused is not None and refused["reason"] == "agent_paused"
    await _until_all_are_stopped(scene)
    await scene.act("resume")
    await viewer.until(lambda s: s.state == ("running", "working"))
    await run(w, scene.sandbox, "touch", "go")
    await viewer.until(lambda s: s.state == ("running", "waiting"))
    assert await run(w, scene.sandbox, "cat", "made.txt") == (0, b"written\n")
    await scene.early.until(lambda r: r.turns("done") == 1)


async def _has_the_same_cards_for_everybody(scene: Scene) -> None:
    late = (await scene.w.api.get(f"{scene.here}/cards")).json()
    await scene.early.until(lambda r: r.seqs[-1] >= late["seq"])
    assert late["cards"] == scene.early.ordered
    assert [card["n"] for card in late["cards"]] == list(range(1, len(late["cards"]) + 1))
    assert scene.early.seqs == sorted(scene.early.seqs)
    async with reading(scene.w, f"{scene.here}/attach?mode=cards") as joined:
        await joined.until(lambda r: r.seqs != [])
        assert joined.ordered == late["cards"]
    texts = [card["text"] for card in late["cards"] if card["kind"] == "text"]
    assert sum("All done" in words for words in texts) == 2
    assert any(WORK in card["data"].get("command", "") for card in late["cards"])


async def _until_there_is(scene: Scene, name: str) -> None:
    """Wait until the agent's tool has made this file."""
    try:
        async with asyncio.timeout(120):
            pauses = Pauses()
            while True:
                if (await run(scene.w, scene.sandbox, "test", "-e", name))[0] == 0:
                    return
                await pauses.wait()
    except TimeoutError:
        viewer, asked = scene.viewer, scene.w.model.requests[-8:]
        raise AssertionError((name, viewer.told[-8:], asked, bytes(viewer.output[-900:]))) from None


async def _until_all_are_stopped(scene: Scene) -> None:
    """Wait until none of its processes runs. A process receives the signal when it is scheduled,
    which a busy machine delays."""
    async with asyncio.timeout(60):
        pauses = Pauses()
        while (found := await _states(scene.w, scene.sandbox)) != {"T"}:
            assert found <= {"R", "T", "S", "D"}, found
            await pauses.wait()


async def _until_all_have_ended(w: World, sandbox: str) -> None:
    """Wait until nothing that the agent started is there. What counts a turn's changes is ours, and
    may still run then."""
    left: list[str] = []
    try:
        async with asyncio.timeout(30):
            pauses = Pauses()
            while left := await _processes(w, sandbox):
                await pauses.wait()
    except TimeoutError:
        raise AssertionError(left) from None


async def _states(w: World, sandbox: str) -> set[str]:
    """States of the agent's processes, its daemon and its leader included."""
    return {line[0] for line in await _processes(w, sandbox)}


async def _processes(w: World, sandbox: str) -> list[str]:
    """State and argv of everything inside but init, its wardens, what listens beside the agent,
    this question, and zombies, which a stopped parent does not collect."""
    _, listed = await run(w, sandbox, "ps", "-eo", "stat=,args=")
    spared = (" /.atoll/init", " ps -eo", " cat", " tail ", " sh -c mkfifo", " app-server proxy")
    lines = [line for line in listed.decode().splitlines() if not any(s in line for s in spared)]
    return [line for line in lines if not line.startswith("Z")]


MACHINES = [
    ("codex", {}, 'exec_command {{"cmd":"{command}"}}'),
    ("claude-code", {"permissions": "ask"}, 'Bash {{"command":"{command}","description":"w"}}'),
    pytest.param(
        "opencode",
        {"env": CHOICES["opencode"], "permissions": "ask"},
        'bash {{"command":"{command}","description":"write"}}',
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("agent", "wanted", "tool"), MACHINES)
async def test_agent_as_a_machine_works_answers_and_shows_its_cards(
    w: World,
    agent: str,
    wanted: dict[str, Any],
    tool: str,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    sandbox = await sandbox_for(w, agent, repository)
    script = tool.format(command="echo by a machine > made.txt")
    body = {"agent": agent, "mode": "machine", "prompt": f"Write. [[tool {script}]]", **wanted}
    opened = await w.api.post(f"/v1/sandboxes/{sandbox}/agents", json=body)
    assert opened.status_code == 201, opened.text
    here = f"/v1/sandboxes/{sandbox}/terminals/{opened.json()['id']}"
    async with reading(w, f"{here}/cards") as reader:
        if wanted.get("permissions") == "ask":
            await reader.until(lambda r: any(c["state"] == "pending" for c in r.ordered))
            asked = next(card for card in reader.ordered if card["state"] == "pending")
            at = f"{here}/cards/{asked['id']}/answer"
            wrong = await w.api.post(at, json={"option": "perhaps"})
            assert wrong.status_code == 422
            done = await w.api.post(at, json={"option": asked["options"][0]["id"]})
            assert (done.status_code, done.json()["state"]) == (200, "done")
            twice = await w.api.post(at, json={"option": asked["options"][0]["id"]})
            assert (twice.status_code, twice.json()["code"]) == (409, "not_pending")
        await reader.until(lambda r: r.turns("done") == 1)
        assert await run(w, sandbox, "cat", "made.txt") == (0, b"by a machine\n")
        kinds = [card["kind"] for card in reader.ordered]
        assert {"turn", "text", "bash"} <= set(kinds)
        bash = next(card for card in reader.ordered if card["kind"] == "bash")
        assert bash["state"] == "done"
        again = await w.api.post(f"{here}/ask", json={"prompt": "Say it again."})
        assert (again.status_code, again.json()["turn"]) == (202, "working")
        await reader.until(lambda r: r.turns("done") == 2)
        stopped = await w.api.post(f"{here}/agent", json={"action": "stop"})
        assert stopped.json()["agent_state"] == "stopped"
    await _until_all_have_ended(w, sandbox)
