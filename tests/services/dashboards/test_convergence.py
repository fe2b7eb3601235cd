"""Any interleaving of edits, disconnections, restarts and compactions converges."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atoll.adapters.storage.dashboards.documents import SqlDocumentRows
from atoll.domain.ids import DashboardId
from atoll.ports.store.dashboards.dashboards import DocumentSnapshot
from atoll.services.dashboards import rooms, work
from tests.services.dashboards.scene import Replica, Scene, Tab, item_id, person, scene

PEOPLE = (person("ann"), person("bob"), person("ann"))
"""Each has a browser; the last one is a second browser of the first."""

BROWSERS = st.integers(0, len(PEOPLE) - 1)
NUMBERS = st.integers(0, 5)
ACTS = st.one_of(
    st.tuples(st.just("add"), BROWSERS, NUMBERS),
    st.tuples(st.just("type"), BROWSERS, NUMBERS),
    st.tuples(st.just("move"), BROWSERS, NUMBERS),
    st.tuples(st.just("remove"), BROWSERS, NUMBERS),
    st.tuples(st.just("leave"), BROWSERS, st.just(0)),
    st.tuples(st.just("join"), BROWSERS, st.integers(0, 1)),
    st.tuples(st.just("restart"), st.just(0), st.integers(0, 1)),
    st.tuples(st.just("compact"), st.just(0), st.just(0)),
    st.tuples(st.just("lose"), st.just(0), st.integers(0, 1)),
    st.tuples(st.just("wait"), st.just(0), st.just(0)),
)


class Play:
    """Browsers that edit one dashboard through two replicas."""

    def __init__(self, made: Scene, board: str) -> None:
        self.made, self.board = made, board
        self.tabs = [Tab() for _ in PEOPLE]
        self.stacks: list[AsyncExitStack | None] = [None] * len(PEOPLE)
        self.alive: list[Replica] = [made.replicas[0], made.replica()]

    async def join(self, browser: int, replica: int) -> None:
        await self.leave(browser)
        stack = AsyncExitStack()
        tab = self.tabs[browser].joined(self.alive[replica], self.board, PEOPLE[browser])
        await stack.enter_async_context(tab)
        self.stacks[browser] = stack

    async def leave(self, browser: int) -> None:
        stack, self.stacks[browser] = self.stacks[browser], None
        if stack is not None:
            await stack.aclose()

    def edit(self, kind: str, browser: int, number: int) -> None:
        items, one = self.tabs[browser].items, item_id(number)
        if kind == "add" and one not in items:
            self.tabs[browser].add(number, "text")
        elif kind == "type" and one in items:
            items[one]["text"].insert(0, f"{browser}")
        elif kind == "move" and one in items:
            items[one]["x"] = number + browser
        elif kind == "remove" and one in items:
            del items[one]

    async def act(self, kind: str, browser: int, number: int) -> None:
        if kind == "leave":
            await self.leave(browser)
        elif kind == "join":
            await self.join(browser, number)
        elif kind == "restart":
            self.alive[number].kill()
            self.alive[number] = self.made.replica()
        elif kind == "compact":
            await self.made.documents.compact(self.board)  # type: ignore[arg-type]
        elif kind == "lose":
            self.made.live.loses = bool(number)
        elif kind == "wait":
            await asyncio.sleep(0.01)
        else:
            self.edit(kind, browser, number)
        tab = self.tabs[browser]
        if tab.connected and not tab.closed:
            await tab.flush()

    async def settle(self) -> None:
        """Have everybody back, and wait until all documents are equal."""
        self.made.live.loses = False
        for browser in range(len(PEOPLE)):
            await self.leave(browser)
            self.tabs[browser].closed.clear()
            await self.join(browser, browser % 2)
        async with asyncio.timeout(10):
            while not await self._equal():  # noqa: ASYNC110 - three documents and a database
                await asyncio.sleep(0.01)

    async def _equal(self) -> bool:
        for tab in self.tabs:
            await tab.flush()
        if not all(tab.is_idle for tab in self.tabs):
            return False
        states = [tab.state() for tab in self.tabs]
        return all(one == states[0] for one in states) and states[0] == await self.made.stored(
            self.board
        )


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "BATCH_SECONDS", 0.0)
    monkeypatch.setattr(rooms, "LOOK_SECONDS", 0.05)


async def _played(acts: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with scene(Path(folder)) as made:
            play = Play(made, await made.board())
            for browser in range(len(PEOPLE)):
                await play.join(browser, browser % 2)
            for act in acts:
                await play.act(*act)
            await play.settle()
            refused = [one for tab in play.tabs for one in tab.said if one["type"] == "refused"]
            assert refused == []
            for browser in range(len(PEOPLE)):
                await play.leave(browser)
            compacted = await made.stored(play.board)
            while await made.documents.compact(play.board):  # type: ignore[arg-type]
                pass
            assert await made.stored(play.board) == compacted


@settings(
    max_examples=6,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(ACTS, max_size=24))
def test_any_interleaving_converges(acts: list[tuple[str, int, int]]) -> None:
    asyncio.run(_played(acts))


async def test_offline_edits_of_two_merge_and_nothing_is_doubled() -> None:
    await _played(
        [
            ("add", 0, 1),
            ("wait", 0, 0),
            ("leave", 1, 0),
            ("add", 1, 2),
            ("type", 0, 1),
            ("restart", 0, 0),
            ("compact", 0, 0),
            ("join", 1, 0),
            ("type", 1, 1),
            ("lose", 0, 1),
            ("type", 0, 1),
            ("move", 2, 1),
        ]
    )


async def test_document_is_loaded_whole_while_it_is_compacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(tmp_path) as made:
        board = await made.board()
        tab = Tab()
        async with tab.joined(made.replicas[0], board, PEOPLE[0]):
            tab.add(1, "kept")
            await tab.saved()
            rows, compacted = SqlDocumentRows.snapshot, asyncio.Event()

            async def overtaken(self: SqlDocumentRows, one: DashboardId) -> DocumentSnapshot | None:
                found = await rows(self, one)
                if not compacted.is_set():
                    compacted.set()
                    await made.documents.compact(DashboardId(board))
                return found

            monkeypatch.setattr(SqlDocumentRows, "snapshot", overtaken)
            assert await made.stored(board) == tab.state() != {}
            assert compacted.is_set()
