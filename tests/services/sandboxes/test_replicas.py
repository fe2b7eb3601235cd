"""Two control planes over one store and one backend: what one accepts, the leader does."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from atoll.adapters.extensions.in_memory import FailurePoint
from atoll.domain.errors import Failed
from atoll.domain.event_kind import KINDS
from atoll.domain.hosts.host import NOT_TRUSTED
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.ports import StoreUnavailable
from atoll.services.journals.events import Note
from atoll.services.sandboxes.replica_watch import POLICY_EVENTS
from atoll.testing import FakeLeadership
from atoll.wire.contract.execs import ExecBody
from atoll.wire.words.sandboxes import State
from tests.peers.contract import EXEC
from tests.services.scene import Scene, opened


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    yield path
    shutil.rmtree(path)


class Pair:
    """Two replicas, of which the first leads at the beginning."""

    def __init__(
        self, one: Scene, two: Scene, elections: tuple[FakeLeadership, FakeLeadership]
    ) -> None:
        self.one, self.two = one, two
        self.elections = elections

    def switch(self) -> None:
        """Have the second one lead."""
        self.elections[0].depose()
        self.elections[1].elect()

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Let time pass until something holds."""
        async with asyncio.timeout(60):
            while not await holds():
                self.one.clock.turn(0.25)
                await asyncio.sleep(0.005)

    async def reaches(self, scene: Scene, sandbox: Sandbox, state: State) -> Sandbox:
        async def there() -> bool:
            return (await scene.sandboxes.get(LOCAL_PERSON, sandbox.id)).state is state

        await self.until(there)
        return await scene.sandboxes.get(LOCAL_PERSON, sandbox.id)

    async def settled(self) -> None:
        async def nothing() -> bool:
            async with self.one.store.read() as rows:
                return not await rows.replicas.owed()

        await self.until(nothing)


@asynccontextmanager
async def pair_in(folder: Path) -> AsyncIterator[Pair]:
    elections = FakeLeadership(), FakeLeadership()
    elections[0].elect()
    async with (
        opened(folder, leadership=elections[0]) as one,
        opened(folder, before=one, leadership=elections[1]) as two,
    ):
        pair = Pair(one, two, elections)
        await pair.until(_loaded(two))
        await one.background.backend_watch.adopted()
        for _ in range(20):
            await asyncio.sleep(0.005)  # no write of the first leader is under way
        yield pair


async def test_follower_accepts_and_the_leader_does_the_work(folder: Path) -> None:
    async with pair_in(folder) as pair:
        made = await pair.two.sandboxes.create(LOCAL_PERSON, CreateSandbox("bare"))
        assert made.state is State.PROVISIONING
        await pair.reaches(pair.two, made, State.READY)
        await pair.two.sandboxes.stop(LOCAL_PERSON, made.id)
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(_settled(pair.two, made))
            await pair.settled()
        assert waiting.result().state is State.STOPPED
        assert await pair.one.extension.survey() == []
        await pair.two.sandboxes.destroy(LOCAL_PERSON, made.id)
        await pair.reaches(pair.one, made, State.DESTROYED)
        await pair.settled()


async def test_destroy_that_rests_is_owed_by_nobody_and_is_taken_up_by_the_survey(
    folder: Path,
) -> None:
    async with pair_in(folder) as pair:
        made = await pair.two.sandboxes.create(LOCAL_PERSON, CreateSandbox("bare"))
        await pair.reaches(pair.two, made, State.READY)
        error = Failed("host box shows another key", code=NOT_TRUSTED)
        pair.one.extension.fail(FailurePoint.TEARDOWN, error, times=2)
        for _ in range(2):
            await pair.two.sandboxes.destroy(LOCAL_PERSON, made.id)
            async with asyncio.TaskGroup() as tasks:
                waiting = tasks.create_task(_settled(pair.two, made))
                await pair.settled()
            assert waiting.result().state is State.DESTROYING
            assert waiting.result().leftovers
        pair.switch()
        await pair.reaches(pair.two, made, State.DESTROYED)


async def _settled(scene: Scene, sandbox: Sandbox) -> Sandbox:
    return await scene.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)


async def test_sandbox_stopped_and_started_before_the_leader_looked_runs_anew(
    folder: Path,
) -> None:
    async with pair_in(folder) as pair:
        made = await pair.two.sandboxes.create(LOCAL_PERSON, CreateSandbox("bare"))
        await pair.reaches(pair.two, made, State.READY)
        await pair.settled()
        await pair.two.sandboxes.stop(LOCAL_PERSON, made.id)
        await pair.two.sandboxes.start(LOCAL_PERSON, made.id)
        await pair.reaches(pair.two, made, State.READY)
        await pair.settled()
        assert [one.sandbox_id for one in await pair.one.extension.survey()] == [made.id]


async def test_new_leader_goes_on_with_what_the_one_before_left(folder: Path) -> None:
    async with pair_in(folder) as pair:
        pair.elections[0].depose()
        made = [
            await scene.sandboxes.create(LOCAL_PERSON, CreateSandbox("bare"))
            for scene in (pair.one, pair.two, pair.one)
        ]
        assert {one.state for one in made} == {State.PROVISIONING}
        pair.switch()
        for one in made:
            await pair.reaches(pair.one, one, State.READY)
        await pair.settled()
        for one in made:
            kinds = await pair.one.kinds(one)
            assert kinds.count("sandbox.ready") == 1


async def test_leader_that_was_deposed_provisions_nothing_any_more(folder: Path) -> None:
    async with pair_in(folder) as pair:
        pair.elections[0].depose()
        made = await pair.one.sandboxes.create(LOCAL_PERSON, CreateSandbox("bare"))
        for _ in range(40):
            pair.one.clock.turn(1)
            await asyncio.sleep(0.005)
        now = await pair.one.sandboxes.get(LOCAL_PERSON, made.id)
        assert now.state is State.PROVISIONING
        pair.elections[0].elect()
        await pair.reaches(pair.one, made, State.READY)


async def test_follower_reads_what_a_stopped_sandbox_keeps(folder: Path) -> None:
    async with pair_in(folder) as pair:
        made = await pair.two.sandboxes.create(LOCAL_PERSON, CreateSandbox("bare"))
        await pair.reaches(pair.two, made, State.READY)
        await pair.two.sandboxes.stop(LOCAL_PERSON, made.id)
        await pair.settled()
        read = asyncio.Event()

        async def reading() -> None:
            async with pair.two.access.reading(LOCAL_PERSON, made.id):
                read.set()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(reading())

            async def done() -> bool:
                return read.is_set()

            await pair.until(done)
        assert [one.sandbox_id for one in await pair.one.extension.survey()] == [made.id]
        await pair.two.sandboxes.start(LOCAL_PERSON, made.id)
        await pair.reaches(pair.two, made, State.READY)


async def test_follower_shows_the_log_of_a_bring_up_under_way(folder: Path) -> None:
    async with pair_in(folder) as pair:
        pair.one.extension.gate = asyncio.Event()
        made = await pair.two.sandboxes.create(LOCAL_PERSON, CreateSandbox("bare"))
        begun = "Provisioning in ext.in-memory."

        async def seen() -> bool:
            lines = await pair.two.sandboxes.logs(LOCAL_PERSON, made.id)
            return begun in [line.text for line in lines]

        await pair.until(seen)
        pair.one.extension.gate.set()
        await pair.reaches(pair.two, made, State.READY)
        for replica in (pair.one, pair.two):
            texts = [line.text for line in await replica.sandboxes.logs(LOCAL_PERSON, made.id)]
            assert (texts.count(begun), texts[-1]) == (1, "Ready.")


async def test_follower_answers_a_command_although_it_could_not_store_who_began_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is done: an error would have it repeated."""
    async with pair_in(folder) as pair:
        made = await pair.two.sandboxes.create(LOCAL_PERSON, CreateSandbox("bare"))
        await pair.reaches(pair.two, made, State.READY)
        pair.two.runtime.answers[("POST", "/execs")] = (200, EXEC)

        def away() -> None:
            raise StoreUnavailable("the database is away")

        with monkeypatch.context() as patched:
            patched.setattr(pair.two.store, "begin", away)
            calls = pair.two.calls
            done = await calls.run(LOCAL_PERSON, made.id, ExecBody(argv=["true"]))
        assert done.exec_id == EXEC["exec_id"]


async def test_follower_hears_what_the_leader_announces(folder: Path) -> None:
    async with pair_in(folder) as pair:
        with pair.two.bus.listen("auth") as listener:
            async with asyncio.TaskGroup() as tasks:
                hearing = tasks.create_task(listener.wait())
                await pair.one.events.record(LOCAL_PERSON, Note("auth", "auth.login", {"how": "x"}))

                async def heard() -> bool:
                    return hearing.done()

                await pair.until(heard)


def _loaded(scene: Scene) -> Callable[[], Awaitable[bool]]:
    async def loaded() -> bool:
        return scene.background.replica_watch._loaded.is_set()

    return loaded


@pytest.mark.parametrize("beginning", POLICY_EVENTS)
def test_events_after_which_policies_differ_are_kinds_that_exist(beginning: str) -> None:
    assert any(kind.startswith(beginning) for kind in KINDS)
