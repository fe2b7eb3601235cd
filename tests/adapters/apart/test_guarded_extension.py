"""Extensions that hang, lie, or raise anything: nobody else notices."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from atoll.adapters.apart.extension import (
    AskRuntime,
    GuardedExtension,
    call_on_loop,
    guard_extension,
)
from atoll.adapters.apart.guard import DEADLINES, Guard
from atoll.adapters.apart.loop import BLOCKED_SECONDS, ApartLoop
from atoll.adapters.extensions.in_memory import InMemory
from atoll.domain.errors import AtollError, Conflict, Failed, Unavailable
from atoll.domain.ids import SandboxId, spell
from atoll.domain.profile.profile import Profile
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import (
    Capabilities,
    CleanupReport,
    Ended,
    EndReasons,
    Extension,
    Handle,
    Mirrors,
    Provision,
    Reachability,
    Relocates,
)
from atoll.testing import ExtensionContract
from atoll.wire.contract.journal import HealthRecord
from atoll.wire.words.routes import Breaker
from atoll.wire.words.walls import IsolationLevel

ABLE = Capabilities(IsolationLevel.NONE)


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


class Apart:
    """What a test makes guarded extensions with; each thread ends with it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.loops: list[ApartLoop] = []
        self.gates: list[threading.Event] = []

    def around(
        self,
        inner: Extension,
        *,
        blocked_seconds: float = BLOCKED_SECONDS,
        ask: AskRuntime | None = None,
        **deadlines: float,
    ) -> GuardedExtension:
        loop = ApartLoop("test", blocked_seconds=blocked_seconds)
        self.loops.append(loop)
        waits = {**DEADLINES, **deadlines}
        return guard_extension(
            inner, Guard(inner.name, loop, now=self.clock.now, deadlines=waits), ABLE, ask=ask
        )

    def gate(self) -> threading.Event:
        self.gates.append(threading.Event())
        return self.gates[-1]


@pytest.fixture
async def apart() -> AsyncIterator[Apart]:
    made = Apart()
    yield made
    for gate in made.gates:
        gate.set()
    for loop in made.loops:
        assert await loop.wait_closed(10)


def request() -> Provision:
    sandbox = SandboxId(spell("sb", os.urandom(10)))
    return Provision(sandbox, 1, "test", Profile(id="profile.shell", version="1.0.0"))


class TestGuardedExtension(ExtensionContract):
    @pytest.fixture
    async def extension(self, apart: Apart) -> Extension:
        self.inner = InMemory()
        self.apart = apart
        return apart.around(self.inner)

    async def kill(self, extension: Extension, handle: Handle) -> None:
        async def die() -> None:
            self.inner.die(handle.sandbox_id)

        await self.apart.loops[0].call(die, 5)


async def test_code_that_blocks_freezes_only_its_own_extension(apart: Apart) -> None:
    gate = apart.gate()

    class Blocking(InMemory):
        async def provision(self, request: Provision) -> Handle:
            gate.wait()
            return await super().provision(request)

    blocking, other = apart.around(Blocking(), provision=0.2), apart.around(InMemory())
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        ticking = tasks.create_task(tick())
        with pytest.raises(Unavailable, match="did not answer provision within"):
            # It cannot be unwound while it blocks: nobody waits for it for long.
            await blocking.provision(request())
        ticking.cancel()
    assert ticks > 100
    assert (await other.provision(request())).generation == 1


async def test_verb_that_cannot_begin_names_the_line_that_blocks(apart: Apart) -> None:
    gate, blocks = apart.gate(), threading.Event()

    class Blocking(InMemory):
        async def ended(self) -> AsyncIterator[Ended]:
            blocks.set()
            gate.wait()
            yield Ended(SandboxId("sb_x"), 1, "late")

    mine = apart.around(Blocking(), blocked_seconds=0.2)
    stream = mine.ended()

    async def taken() -> Ended:
        return await anext(stream)

    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(taken())
        await asyncio.to_thread(blocks.wait)
        handle = Handle(SandboxId("sb_x"), 1, mine.name)
        with pytest.raises(Unavailable, match=r"could not begin teardown.*in ended\)"):
            await mine.teardown(handle, keep_state=False)
        assert mine.trouble is not None and "blocked in test_guarded_extension.py" in mine.trouble
        gate.set()
        assert (await first).reason == "late"
    assert not (await mine.teardown(handle, keep_state=False)).removed
    assert mine.trouble is None


@pytest.mark.parametrize(
    "fault",
    [
        RuntimeError("x"),
        asyncio.CancelledError(),
        SystemExit(3),
        KeyboardInterrupt(),
        StopIteration(),
    ],
)
async def test_whatever_is_raised_is_a_failure_like_any_other(
    apart: Apart, fault: BaseException
) -> None:
    class Raising(InMemory):
        async def wait_ready(self, handle: Handle) -> Reachability:
            raise fault

    extension = apart.around(Raising())
    handle = await extension.provision(request())
    with pytest.raises(Failed, match="this is a fault of the extension"):
        await extension.wait_ready(handle)
    assert handle in await extension.survey()


@pytest.mark.parametrize("kind", [Failed, RuntimeError])
async def test_endless_reason_of_a_package_is_cut(apart: Apart, kind: type[Exception]) -> None:
    class Raising(InMemory):
        async def provision(self, request: Provision) -> Handle:
            raise kind("x" * 5_000_000)

    extension = apart.around(Raising())
    with pytest.raises(AtollError) as caught:
        await extension.provision(request())
    assert len(caught.value.message) <= 2000 and len(str(caught.value)) <= 2000


async def test_system_exit_of_a_task_of_its_own_ends_no_loop(apart: Apart) -> None:
    class Leaving(InMemory):
        async def survey(self) -> list[Handle]:
            async def leave() -> None:
                raise SystemExit(4)

            self.task = asyncio.get_running_loop().create_task(leave())
            await asyncio.sleep(0)
            return await super().survey()

    extension = apart.around(Leaving())
    assert await extension.survey() == []
    assert await extension.survey() == []


async def test_errors_raised_on_purpose_pass_unchanged(apart: Apart) -> None:
    extension = apart.around(InMemory())
    asked = request()
    await extension.provision(asked)
    with pytest.raises(Conflict):
        await extension.provision(
            Provision(asked.sandbox_id, 2, "test", Profile(id="profile.shell", version="1.0.0"))
        )


async def test_repeated_faults_open_the_breaker_and_one_call_tries_again(apart: Apart) -> None:
    class Breaking(InMemory):
        broken = True
        called_times = 0

        async def survey(self) -> list[Handle]:
            self.called_times += 1
            if self.broken:
                raise RuntimeError("broken")
            return []

    inner = Breaking()
    extension = apart.around(inner)
    guard = extension._guard
    for _ in range(5):
        with pytest.raises(Failed):
            await extension.survey()
    assert str(guard.breaker) == Breaker.OPEN
    with pytest.raises(Unavailable, match="left alone"):
        await extension.survey()
    assert inner.called_times == 5
    apart.clock.time += timedelta(seconds=31)
    inner.broken = False
    assert await extension.survey() == []
    assert str(guard.breaker) == Breaker.CLOSED


@pytest.mark.parametrize(
    "lie",
    [
        None,
        {"sandbox_id": "sb"},
        Handle(SandboxId("sb_other"), 1, "ext.in-memory"),
        Handle(SandboxId("sb_other"), 1, "ext.namespaces"),
    ],
)
async def test_handle_of_something_else_is_refused(apart: Apart, lie: object) -> None:
    class Lying(InMemory):
        async def provision(self, request: Provision) -> Handle:
            return lie  # type: ignore[return-value]

        async def survey(self) -> list[Handle]:
            return [lie] * 20_000  # type: ignore[list-item]

    extension = apart.around(Lying())
    with pytest.raises(Failed, match=r"ext\.in-memory answered provision"):
        await extension.provision(request())
    with pytest.raises(Failed, match=r"ext\.in-memory answered survey"):
        await extension.survey()


@pytest.mark.parametrize(
    "address", ["", "unix:relative", "file:///etc/passwd", "http://", "http://[", "ftp://x", 7]
)
async def test_address_that_is_none_is_refused(apart: Apart, address: str) -> None:
    class Lying(InMemory):
        async def wait_ready(self, handle: Handle) -> Reachability:
            return Reachability(address, Isolation(IsolationLevel.NONE, "x"))

    extension = apart.around(Lying())
    with pytest.raises(Failed, match="neither unix"):
        await extension.wait_ready(await extension.provision(request()))


@pytest.mark.parametrize("data", ["text", ((1, 2),), (("a",),), (("a", "x" * 20_000),)])
async def test_data_that_cannot_be_stored_are_refused(apart: Apart, data: object) -> None:
    class Lying(InMemory):
        async def provision(self, request: Provision) -> Handle:
            return Handle(request.sandbox_id, 1, self.name, data)  # type: ignore[arg-type]

    with pytest.raises(Failed, match="short pairs"):
        await apart.around(Lying()).provision(request())


async def test_reports_arrive_on_the_loop_of_the_caller(apart: Apart) -> None:
    here, lines = threading.get_ident(), []

    class Telling(InMemory):
        async def provision(self, request: Provision) -> Handle:
            request.report("pulling")
            assert threading.get_ident() != here
            return await super().provision(request)

    asked = request()
    told = Provision(
        asked.sandbox_id,
        1,
        "test",
        asked.profile,
        report=lambda line: lines.append((line, threading.get_ident())),
    )
    await apart.around(Telling()).provision(told)
    await asyncio.sleep(0)
    assert lines == [("pulling", here)]


async def test_calls_of_ours_come_back_to_our_loop(apart: Apart) -> None:
    here = threading.get_ident()

    async def where() -> int:
        return threading.get_ident()

    back = call_on_loop(where)
    assert await back() == here
    extension = apart.around(InMemory())
    assert await extension._guard.loop.call(back, 5) == here


async def test_flood_of_ends_is_taken_one_at_a_time(apart: Apart) -> None:
    made = 0

    class Flooding(InMemory):
        async def ended(self) -> AsyncIterator[Ended]:
            nonlocal made
            while True:
                made += 1
                yield Ended(SandboxId("sb_x"), 1, "x" * 10_000)

    stream = apart.around(Flooding()).ended()
    for _ in range(3):
        assert len((await anext(stream)).reason) == 2_000
    assert made == 3


async def test_abilities_are_those_of_the_extension(apart: Apart) -> None:
    class Able(InMemory):
        async def why_ended(self, sandbox_id: SandboxId) -> str | None:
            return 7  # type: ignore[return-value]

        async def refresh(self, source: str) -> None:
            if not source:
                raise SystemExit
            raise Unavailable(f"{source} is not brought")

        async def copy_kept(self, handle: Handle, target: str) -> None:
            raise Unavailable(f"{target} is away")

        async def drop_kept(self, handle: Handle, host: str) -> CleanupReport:
            return CleanupReport((host,))

    class Plain(InMemory):
        why_ended = None  # type: ignore[assignment]  # so it has not this ability

    able, plain = apart.around(Able()), apart.around(Plain())
    assert not isinstance(plain, EndReasons | Mirrors | Relocates)
    assert isinstance(able, EndReasons)
    handle = Handle(SandboxId("sb_x"), 1, able.name)
    with pytest.raises(Failed, match="answered why_ended by int where str is due"):
        await able.why_ended(handle.sandbox_id)
    assert isinstance(able, Mirrors) and isinstance(able, Relocates)
    with pytest.raises(Failed, match="SystemExit"):
        await able.refresh("")
    with pytest.raises(Unavailable, match=r"r\.git is not brought"):
        await able.refresh("r.git")
    with pytest.raises(Unavailable, match="box is away"):
        await able.copy_kept(handle, "box")
    assert (await able.drop_kept(handle, "box")).removed == ("box",)


async def test_cancelled_call_cancels_the_work_and_waits_for_it(apart: Apart) -> None:
    begun, unwound = threading.Event(), threading.Event()

    class Slow(InMemory):
        async def teardown(self, handle: Handle, *, keep_state: bool) -> CleanupReport:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                unwound.set()
            return CleanupReport()

    extension = apart.around(Slow())
    handle = Handle(SandboxId("sb_x"), 1, extension.name)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(extension.teardown(handle, keep_state=False))
        await asyncio.to_thread(begun.wait)
        task.cancel()
    assert unwound.is_set()


async def test_capabilities_never_wait_for_the_extension(apart: Apart) -> None:
    gate = apart.gate()

    class Blocking(InMemory):
        def capabilities(self) -> Capabilities:
            gate.wait()
            raise SystemExit

    extension = apart.around(Blocking())
    assert extension.capabilities() is ABLE
    assert extension.capabilities() is ABLE


async def test_runtime_that_was_called_ready_is_asked_whose_it_is(apart: Apart) -> None:
    asked = request()
    answers: list[HealthRecord | AtollError] = [
        health(asked.sandbox_id, 1),
        health(asked.sandbox_id, 2),
        health("sb_other", 1),
        Unavailable("no such file"),
    ]

    async def ask(_reach: Reachability) -> HealthRecord:
        answer = answers.pop(0)
        if isinstance(answer, AtollError):
            raise answer
        return answer

    mine = apart.around(InMemory(), ask=ask)
    handle = await mine.provision(asked)
    await mine.wait_ready(handle)
    for _ in range(2):
        with pytest.raises(Failed, match="address of another sandbox or generation"):
            await mine.wait_ready(handle)
    with pytest.raises(Failed, match="does not answer at its address with its token: no such"):
        await mine.wait_ready(handle)


def health(sandbox_id: str, generation: int) -> HealthRecord:
    return HealthRecord(sandbox_id, generation, "", 0, "", 0, 0, 0, 0.0)
