"""A desktop's lane against a whole control plane, with the real runtime and a scripted agent.

Its times are a twentieth of the real ones: a heartbeat is half a second.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from atoll.adapters.bus.live_channels import InProcessChannels
from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.client.aio.connection import Connection
from atoll.client.aio.retries import NO_RETRIES
from atoll.client.desktop.agent import HostedAgent
from atoll.client.desktop.folders import WorkerFolder
from atoll.client.desktop.lane import Lane, LaneRun
from atoll.client.desktop.served import Pace
from atoll.client.fields import Shape
from atoll.client.made.workers.deliveries import Ingest
from atoll.client.server import Server, server_at
from atoll.client.transport import Call
from atoll.domain.errors import AtollError, Failed, Invalid, NotFound
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.wall.isolation import Isolation
from atoll.domain.workers.create import WorkerId
from atoll.domain.workers.heartbeat import LEASE
from atoll.domain.workers.live import WorkerDelta
from atoll.domain.workers.record import WorkerEvent
from atoll.ports.extension import Reachability
from atoll.ports.outside.local_wall import LocalRuntime, LocalWall
from atoll.services.workers.desktop_deltas import DesktopDeltas
from atoll.wire.contract.agents import list_agents
from atoll.wire.words.walls import IsolationLevel
from atoll.wiring.control.lifecycle import workers as wiring
from tests.runtime.stage import runtime
from tests.runtime.workers.stage import codex, seen
from tests.surfaces.http import world as worlds
from tests.surfaces.http.world import TurnedClock, World, client_of, world

BARE = Isolation(IsolationLevel.NONE, "none", ("all: it runs as its person",))
PACE = Pace(0.05)
S = TypeVar("S", bound=Shape)
DEAD = "http://127.0.0.1:9"


class RunningClock(TurnedClock):
    """A clock that goes, and that a test turns forward."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = timedelta()
        self.turned = asyncio.Event()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def turn(self, by: timedelta) -> None:
        self.ahead += by
        self.turned.set()
        self.turned = asyncio.Event()

    async def sleep_until(self, deadline: datetime) -> None:
        while (left := (deadline - self.now()).total_seconds()) > 0:
            try:
                await asyncio.wait_for(self.turned.wait(), left)
            except TimeoutError:
                return


class Judged(Connection):
    """A connection to a server that does something else first with what is delivered."""

    judge: Callable[[Any], dict[str, Any] | None] = staticmethod(lambda _: None)
    gate: asyncio.Event

    async def read(self, shape: type[S], call: Call) -> S:
        if shape is Ingest and isinstance(call.body, bytes):
            answer = self.judge(json.loads(call.body))
            if answer is not None:
                return shape(answer)
        found = await super().read(shape, call)
        await self.gate.wait()
        return found


@dataclass
class Desk:
    """The machine `laptop`: its lane, which a test starts, cuts off and ends."""

    atoll: World
    client: httpx.AsyncClient
    folder: Path
    is_cut: bool = False
    said: list[str] = field(default_factory=list)
    runtimes: list[LocalRuntime] = field(default_factory=list)
    fails: str = ""
    fails_as: AtollError | None = None
    resumes: bool = True
    starts: int = 0
    starting: asyncio.Event = field(default_factory=asyncio.Event)
    arriving: asyncio.Event = field(default_factory=asyncio.Event)
    run: LaneRun | None = None
    judge: Callable[[Any], dict[str, Any] | None] = lambda _: None

    def locate(self) -> Server:
        url = DEAD if self.is_cut else self.atoll.url
        return server_at(url, "ATOLL_URL")._replace(token=self.atoll.token)

    @asynccontextmanager
    async def start(self, place: Path) -> AsyncIterator[LocalRuntime]:
        self.starts += 1
        await self.starting.wait()
        if self.fails_as is not None:
            raise self.fails_as
        if self.fails:
            raise Failed(self.fails)
        clients = HttpRuntimeClients()
        agent = codex(place)
        assert agent.machine is not None
        words = ("sh", "-c", "sleep 1000") if self.resumes else ()
        machine = replace(agent.machine, conversation_argv=())
        agent = replace(agent, conversation_argv=words, machine=machine)
        async with runtime(agents=(agent,), kept=place / "kept") as rt:
            client = clients.client(Reachability(f"unix:{rt.socket_path}", BARE))
            found = LocalRuntime(client, lambda: True)
            self.runtimes.append(found)
            refused: AtollError | None = None
            try:
                yield found
            except AtollError as err:
                refused = err  # outside the groups of the runtime, as a process of its own is
            finally:
                await clients.close()
        if refused is not None:
            raise refused

    @asynccontextmanager
    async def lane(self) -> AsyncIterator[LaneRun]:
        async with Judged(self.locate, NO_RETRIES) as connection:
            connection.judge = lambda batch: self.judge(batch)
            connection.gate = self.arriving
            wall = LocalWall(BARE, self.start)
            run = LaneRun(Lane(connection, "laptop", wall, self.folder, self.said.append, PACE))
            self.run = run
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(run.run())
                await self.until(lambda: self.shown("present"))
                yield run
                running.cancel()

    async def shown(self, member: str) -> Any:
        (found,) = (await self.client.get("/v1/desktops")).json()["desktops"]
        return found[member]

    async def worker(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.client.get("/v1/workers/w/snapshot")).json()
        return found

    async def until(self, look: Callable[[], Any]) -> Any:
        with self.atoll.ground.bus.listen() as listener:
            async with asyncio.timeout(30):
                while not (found := await look()):
                    # What changes on this machine alone is announced by nobody.
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(listener.wait(), 0.1)
        return found

    async def create(self, **more: Any) -> None:
        made = await self.client.post("/v1/workers", json={"worker_id": "w", **more})
        assert made.status_code in (200, 201), made.text

    async def status(self, wanted: str) -> dict[str, Any]:
        async def look() -> dict[str, Any] | None:
            found = await self.worker()
            return found if found["status"] == wanted else None

        shown: dict[str, Any] = await self.until(look)
        return shown

    async def ask(self, number: str, method: str, **params: Any) -> Any:
        request = {"request_id": number, "method": method, "params": params}
        answer = await self.client.post(
            "/v1/workers/w/requests", json={"request": request, "wait_ms": 20_000}
        )
        assert answer.status_code in (200, 202), answer.text
        return answer.json()

    async def say(self, number: str, *lines: str) -> None:
        """Have the agent say something by itself."""
        assert self.run is not None
        served = self.run.served["w"]
        await served.request(number, "test/say", {"lines": [*lines]})

    async def events(self) -> list[dict[str, Any]]:
        found = await self.atoll.services.workers.streams.page(LOCAL_PERSON, "w", after=0)
        assert [one.seq for one in found.events] == list(range(1, len(found.events) + 1))
        return [{"kind": one.event_type, **dict(one.payload)} for one in found.events]

    async def kinds(self) -> list[str]:
        return [one["kind"].removeprefix("worker.") for one in await self.events()]

    async def params(self) -> list[str]:
        return [one["params"] for one in await self.events() if one["kind"] == "worker.event"]

    async def post(self, act: str, **body: Any) -> httpx.Response:
        return await self.client.post(f"/v1/workers/w/{act}", json=body)

    async def modes(self) -> list[str]:
        """The modes of the agents that run here."""
        found = (await self.runtimes[-1].client.call(list_agents())).agents
        return [one.mode for one in found if one.agent_state != "stopped"]

    async def agent_state(self) -> str:
        found = await self.runtimes[-1].client.call(list_agents())
        return found.agents[-1].agent_state


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setattr(worlds, "TurnedClock", RunningClock)
    deltas = DesktopDeltas(InProcessChannels())
    monkeypatch.setattr(wiring, "DesktopDeltas", lambda _: deltas)
    async with world() as atoll, client_of(atoll.url, atoll.token, timeout=60) as client:
        assert (await client.put("/v1/desktops/laptop")).status_code == 201
        workers = atoll.services.workers
        async with asyncio.TaskGroup() as tasks:
            acts = (workers.driver.run, workers.heartbeats.run, workers.intake.run)
            running = [tasks.create_task(one()) for one in acts]
            found = Desk(atoll, client, tmp_path)
            found.starting.set()
            found.arriving.set()
            yield found
            for one in running:
                one.cancel()


def note(number: int) -> str:
    params = {"threadId": "th", "n": number}
    return json.dumps({"method": "turn/started", "params": params})


async def test_worker_runs_on_a_linked_desktop_and_is_stopped_and_removed(desk: Desk) -> None:
    async with desk.lane():
        await desk.create(teardown={"policy": "immediate"})
        shown = await desk.status("running")
        assert (shown["backend"], shown["extension"]) == ("desktop", "ext.desktop")
        wall = shown["sandbox"]["isolation"]
        assert (wall["weak"], wall["degraded"]) == (True, ["all: it runs as its person"])
        assert shown["route"]["chosen"]["host"] == "laptop"
        got = await desk.ask("r1", "thread/list")
        assert json.loads(got["response"]["result"])["big"] == 9007199254740993
        assert got == await desk.ask("r1", "thread/list")
        await desk.say("said", note(1), note(2))

        async def both() -> bool:
            return len(await desk.params()) == 2

        await desk.until(both)
        assert len(seen(desk.folder / "workers" / "w", "thread/list")) == 1
        assert await desk.shown("workers") == ["w"]
        await desk.client.post("/v1/workers/w/stop", json={})

        async def removed() -> bool:
            return "torn_down" in await desk.kinds()

        await desk.until(removed)
        assert (await desk.events())[-1]["removed"] == ["desktop:laptop/w"]
        assert not (desk.folder / "workers" / "w").exists()
        assert desk.run is not None and desk.run.served == {}


async def test_conversation_that_the_desktops_agent_does_not_know_is_a_fault_of_the_create(
    desk: Desk,
) -> None:
    async with desk.lane():
        await desk.create(backend="desktop", thread_id="lost")
        shown = await desk.status("failed")
        assert "codex knows no conversation lost: no" in shown["reason"]
        assert await desk.shown("workers") == []
        assert not (desk.folder / "workers" / "w").exists()


async def test_conversation_that_the_desktops_agent_knows_is_gone_on_with(desk: Desk) -> None:
    async with desk.lane():
        await desk.create(backend="desktop", thread_id="th")
        await desk.status("running")
        asked = seen(desk.folder / "workers" / "w", "thread/resume")
        assert {one["params"]["threadId"] for one in asked} == {"th"}
        assert (await desk.ask("r1", "thread/list"))["response"]
        await desk.say("one", note(1))

        async def heard() -> bool:
            return len(await desk.params()) == 1

        await desk.until(heard)


async def test_host_that_is_cut_off_pauses_its_agent_and_returns_in_its_epoch(desk: Desk) -> None:
    """What it buffered is delivered once, in order."""
    async with desk.lane() as run:
        await desk.create()
        await desk.status("running")
        desk.is_cut = True
        await desk.say("one", note(1), note(2))

        async def paused() -> bool:
            return run.served["w"].is_paused

        await desk.until(paused)
        assert await desk.agent_state() == "paused"
        assert await desk.params() == []
        desk.is_cut = False

        async def both() -> bool:
            return len(await desk.params()) == 2

        await desk.until(both)
        assert [json.loads(one)["n"] for one in await desk.params()] == [1, 2]
        assert await desk.agent_state() != "paused"
        assert (await desk.ask("r1", "thread/list"))["response"]


async def test_answer_that_was_long_on_its_way_resumes_no_agent(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says that the lease held when it was sent: the worker may be elsewhere by now."""
    resumed: list[HostedAgent] = []
    resume = HostedAgent.resume

    async def noted(agent: HostedAgent) -> None:
        resumed.append(agent)
        await resume(agent)

    monkeypatch.setattr(HostedAgent, "resume", noted)
    async with desk.lane() as run:
        await desk.create()
        await desk.status("running")
        desk.arriving.clear()
        await desk.say("one", note(1))

        async def paused() -> bool:
            return run.served["w"].is_paused

        await desk.until(paused)
        desk.is_cut = True
        await asyncio.sleep(PACE.interval * 2)  # the lease ends while it is away
        desk.arriving.set()
        await asyncio.sleep(PACE.retry * 5)  # nothing may be resumed in this time
        assert resumed == [] and await desk.agent_state() == "paused"
        desk.is_cut = False

        async def goes_on() -> bool:
            return await desk.agent_state() != "paused"

        await desk.until(goes_on)


async def test_worker_reattached_elsewhere_takes_nothing_of_a_host_that_returns(
    desk: Desk,
) -> None:
    """It was cut off past its lease, and had paused by then."""
    async with desk.lane() as run:
        await desk.create()
        await desk.status("running")
        served = run.served["w"]
        desk.is_cut = True
        await desk.say("one", note(1))

        async def paused() -> bool:
            return served.is_paused

        await desk.until(paused)
        clock = desk.atoll.clock
        assert isinstance(clock, RunningClock)
        clock.turn(LEASE)

        async def lost() -> bool:
            return "lost" in await desk.kinds()

        await desk.until(lost)
        assert await desk.agent_state() == "paused"
        await desk.create()

        async def elsewhere() -> bool:
            return "started" in (await desk.kinds())[2:] or "stopped" in await desk.kinds()

        await desk.until(elsewhere)
        before = await desk.kinds()
        desk.is_cut = False

        async def ended() -> bool:
            return "w" not in run.served

        await desk.until(ended)
        assert await desk.params() == []
        assert await desk.kinds() == before


async def test_desktop_that_keeps_its_worker_goes_on_while_it_is_cut_off(desk: Desk) -> None:
    async with desk.lane() as run:
        await desk.create(execution_mode="desktop")
        await desk.status("running")
        assert not run.served["w"].lease.reattachable
        desk.is_cut = True
        await asyncio.sleep(PACE.interval * 3)  # it may not be paused in this time
        assert not run.served["w"].is_paused
        desk.is_cut = False
        assert (await desk.ask("r1", "thread/list"))["response"]


async def test_start_that_fails_here_is_told(desk: Desk) -> None:
    desk.fails = "codex is not there"
    async with desk.lane():
        await desk.create(execution_mode="desktop")
        assert (await desk.status("failed"))["reason"] == "codex is not there"


async def test_agent_that_ends_is_lost_and_reattached_here(desk: Desk) -> None:
    async with desk.lane() as run:
        await desk.create(execution_mode="desktop")
        await desk.status("running")
        await run.served["w"].request("end", "test/end", {})

        async def lost() -> bool:
            return "lost" in await desk.kinds()

        await desk.until(lost)
        await desk.create(execution_mode="desktop")

        async def again() -> bool:
            return "w" in run.served and run.served["w"].lease.epoch == 2

        await desk.until(again)
        await desk.status("running")
        assert (await desk.ask("r9", "thread/list"))["response"]


async def test_lane_that_was_restarted_reports_what_ended_with_it(desk: Desk) -> None:
    async with desk.lane():
        await desk.create(execution_mode="desktop")
        await desk.status("running")
    assert await desk.shown("present") is False
    async with desk.lane():

        async def lost() -> bool:
            return "lost" in await desk.kinds()

        await desk.until(lost)
        assert (await desk.events())[-1]["reason"] == "Its desktop's program was restarted."
        await desk.client.post("/v1/workers/w/stop", json={})
        await desk.status("stopped")


async def test_lane_of_a_desktop_that_is_unlinked_ends(desk: Desk) -> None:
    with pytest.raises(BaseExceptionGroup) as raised:
        async with desk.lane():
            await desk.client.delete("/v1/desktops/laptop")
            await asyncio.sleep(10)  # the end of the lane cuts this short
    assert raised.group_contains(NotFound)


async def test_desktop_is_chosen_for_workers_and_never_for_other_sandboxes(desk: Desk) -> None:
    async with desk.lane():
        made = await desk.client.post("/v1/sandboxes?wait=ready", json={"name": "box"})
        assert made.json()["isolation"]["mechanism"] != "none"
        only = {"name": "b2", "route": {"execution_mode": "desktop"}}
        refused = await desk.client.post("/v1/sandboxes", json=only)
        assert (refused.status_code, refused.json()["code"]) == (409, "no_route")
        await desk.create(execution_mode="sandbox")
        shown = await desk.worker()
        assert shown["extension"] != "ext.desktop"


async def test_bare_desktop_is_refused_by_any_required_isolation(desk: Desk) -> None:
    rules = {"constraints": {"require_isolation": "policy"}, "strategy": "desktop_preferred"}
    put = await desk.client.put("/v1/routes/default", json={"default": rules})
    assert put.status_code == 200, put.text
    async with desk.lane():
        wanted = {"worker_id": "w", "execution_mode": "desktop"}
        refused = await desk.client.post("/v1/workers", json=wanted)
        assert (refused.status_code, refused.json()["code"]) == (409, "no_route")
        assert "its isolation is none, and policy is required" in refused.json()["detail"]


async def test_receipt_that_the_server_refuses_is_one_error_and_the_worker_goes_on(
    desk: Desk,
) -> None:
    """Without it the request would stay open until the worker ends."""

    def judge(batch: Any) -> None:
        said = [one.get("response", {}).get("request_id") for one in batch["items"]]
        if "r1" in said:
            raise Invalid("it is no JSON", field=f"items.{said.index('r1')}.response.result")

    desk.judge = judge
    async with desk.lane():
        await desk.create()
        await desk.status("running")
        error = (await desk.ask("r1", "thread/list"))["error"]
        assert (error["code"], error["retryable"]) == ("internal_error", False)
        assert "it is no JSON" in error["message"]
        assert (await desk.ask("r1", "thread/list"))["error"] == error
        assert (await desk.ask("r2", "thread/list"))["response"]
        told = [one["kind"] for one in await desk.events() if one.get("request_id") == "r1"]
        assert told == ["worker.request.received", "worker.error"]
        assert (await desk.worker())["pending"]["request_ids"] == []


async def test_server_that_lost_what_it_had_taken_ends_that_worker_and_no_other(
    desk: Desk,
) -> None:
    """It was restored from a backup, say, or it is no server of ours."""
    async with desk.lane() as run:
        await desk.create()
        await desk.status("running")
        desk.judge = lambda _: {"expected": 1, "taken": 0}

        async def ended() -> bool:
            return "w" not in run.served

        await desk.until(ended)
        desk.judge = lambda _: None
        assert await desk.shown("present") is True


THREAD = json.dumps({"method": "thread/started", "params": {"thread": {"id": "t1"}}})


async def test_conversation_is_taken_at_the_desktop_alone_and_given_back(desk: Desk) -> None:
    async with desk.lane():
        await desk.create(execution_mode="desktop")
        await desk.status("running")
        await desk.say("said", THREAD)

        async def spoke() -> bool:
            return [one["thread_id"] for one in (await desk.worker())["threads"]] == ["t1"]

        await desk.until(spoke)
        for elsewhere in ({}, {"desktop": "tower"}):
            refused = await desk.post("take", **elsewhere)
            assert (refused.status_code, refused.json()["code"]) == (409, "on_desktop")
            assert "`atoll worker take w`" in refused.json()["detail"]
        assert await desk.modes() == ["machine"]
        taken = (await desk.post("take", desktop="laptop")).json()
        assert (taken["desktop"], taken["thread_id"]) == ("laptop", "t1")
        assert await desk.modes() == ["tui"]
        again = await desk.post("take", desktop="laptop")
        assert again.json() == taken
        folder = WorkerFolder(desk.folder, "w")
        held = folder.terminal()
        assert held is not None and held.terminal_id == taken["terminal_id"]
        assert (folder.place / "terminal.json").stat().st_mode & 0o777 == 0o600
        request = {"request_id": "r1", "method": "thread/list", "params": {}}
        waits = await desk.post("requests", request=request, wait_ms=0)
        assert (waits.status_code, waits.json()["code"]) == (409, "held_by_person")
        given = await desk.post("give-back")
        assert given.status_code == 200, given.text
        assert await desk.modes() == ["machine"]
        assert folder.terminal() is None
        assert (await desk.ask("r2", "thread/list"))["response"]
        assert "lost" not in await desk.kinds()
        holders = [one["holder"] for one in await desk.events() if "holder" in one]
        assert holders == ["person", "machine"]
        resumed = seen(desk.folder / "workers" / "w", "thread/resume")
        assert [one["params"]["threadId"] for one in resumed] == ["t1"]


async def test_worker_that_a_person_has_is_stopped_with_their_terminal(desk: Desk) -> None:
    async with desk.lane():
        await desk.create(execution_mode="desktop")
        await desk.status("running")
        await desk.say("said", THREAD)

        async def spoke() -> bool:
            return bool((await desk.worker())["threads"])

        await desk.until(spoke)
        assert (await desk.post("take", desktop="laptop")).status_code == 200
        await desk.post("stop")
        await desk.status("stopped")
        assert WorkerFolder(desk.folder, "w").terminal() is None


async def test_terminal_that_cannot_be_opened_leaves_the_conversation_with_the_machine(
    desk: Desk,
) -> None:
    desk.resumes = False
    async with desk.lane():
        await desk.create(execution_mode="desktop")
        await desk.status("running")
        await desk.say("said", THREAD)

        async def spoke() -> bool:
            return bool((await desk.worker())["threads"])

        await desk.until(spoke)
        refused = await desk.post("take", desktop="laptop")
        assert refused.status_code == 502, refused.text
        assert "opened no terminal" in refused.json()["detail"]
        assert await desk.modes() == ["machine"]
        assert (await desk.ask("r2", "thread/list"))["response"]


async def test_stop_takes_in_last_words_and_says_what_stays_where(desk: Desk) -> None:
    async with desk.lane():
        await desk.create(execution_mode="desktop")
        await desk.status("running")
        await desk.say("said", *(note(number) for number in range(150)))

        async def began() -> bool:
            return bool(await desk.params())

        await desk.until(began)
        await desk.post("stop")
        await desk.status("stopped")
        markers = (await desk.events())[-1]["markers"]
        assert [json.loads(one)["n"] for one in await desk.params()] == list(range(150))
        place = "desktop:laptop/w"
        assert markers["workspace_ref"] == f"{place}/workspace"
        assert markers["codex_home_ref"] == f"{place}/agent-home"
        assert markers["last_seq"] == len(await desk.events()) - 1
        assert (desk.folder / "workers" / "w" / "workspace").is_dir()


async def test_stop_of_a_worker_whose_desktop_is_away_says_what_is_lost(desk: Desk) -> None:
    async with desk.lane():
        await desk.create(execution_mode="desktop")
        await desk.status("running")
    await desk.post("stop")
    shown = await desk.status("stopped")
    assert shown["reason"] == (
        "The desktop laptop was not heard: what its agent said last is lost. Its files stay there."
    )


async def test_stop_during_a_start_ends_the_agent_too(desk: Desk) -> None:
    """The receipt of the stop must not come before that of the start."""
    desk.starting.clear()
    async with desk.lane() as run:
        await desk.create(execution_mode="desktop")

        async def begins() -> bool:
            return desk.starts > 0

        await desk.until(begins)
        await desk.post("stop")
        await asyncio.sleep(0.2)  # the stop may not be reported before the start ended
        desk.starting.set()
        await desk.status("stopped")

        async def ended() -> bool:
            return run.served == {} and all(one.is_set() for one in run.gone.values())

        await desk.until(ended)


async def test_next_candidate_takes_a_worker_that_its_desktop_did_not_start(desk: Desk) -> None:
    """Nothing is left here of one that was not here before. No sandbox here has a real agent."""
    desk.fails = "codex is not there"
    async with desk.lane():
        await desk.create()

        async def moved() -> bool:
            made = (await desk.client.get("/v1/sandboxes")).json()["sandboxes"]
            return bool(made)

        await desk.until(moved)
        assert not (desk.folder / "workers" / "w").exists()
        async with desk.atoll.ground.store.read() as rows:
            record = await rows.workers.find(LOCAL_PERSON.org_id, LOCAL_PERSON.id, WorkerId("w"))
        assert record is not None
        (failed,) = record.failed
        assert (failed.extension, failed.host) == ("ext.desktop", "laptop")
        assert failed.reason == "its agent did not start: codex is not there"


async def test_request_that_no_place_could_serve_burns_no_candidate(desk: Desk) -> None:
    desk.fails_as = Invalid("codex cannot resume that", field="conversation")
    async with desk.lane():
        await desk.create()
        shown = await desk.status("failed")
        assert shown["reason"] == "codex cannot resume that"
        assert shown["extension"] == "ext.desktop"


async def test_pieces_of_text_reach_who_follows_and_are_kept_by_nobody(desk: Desk) -> None:
    async with desk.lane() as run:
        await desk.create(execution_mode="desktop")
        await desk.status("running")
        found: list[WorkerEvent | WorkerDelta] = []

        async def follow() -> None:
            streams = desk.atoll.services.workers.streams
            async for part in streams.follow(LOCAL_PERSON, "w", after=0):
                found.extend(part)

        following = asyncio.create_task(follow())  # noqa: TID251 - it is cancelled below
        async with asyncio.timeout(20):
            while True:
                number = len(found)
                piece = json.dumps({"threadId": "th", "itemId": "m", "delta": f"piece {number}"})
                line = f'{{"method":"item/agentMessage/delta","params":{piece}}}'
                await desk.say(
                    f"say{number}-{len(desk.said)}-{asyncio.get_running_loop().time()}", line
                )
                await asyncio.sleep(0.05)
                if any(isinstance(one, WorkerDelta) for one in found):
                    break
        following.cancel()
        delta = next(one for one in found if isinstance(one, WorkerDelta))
        assert (delta.method, delta.thread_id) == ("item/agentMessage/delta", "th")
        assert "piece" in delta.params
        assert await desk.params() == []
        assert run.served["w"]
