"""Calls into a sandbox whose runtime goes away, because another client ends it or not."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from atoll.domain.errors import Conflict, Unavailable
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.sandboxes.sandbox import RUNNING, CreateSandbox, Sandbox
from atoll.ports import Channel
from atoll.services.lifecycle.directory import FRESH_SECONDS, SandboxLookup
from atoll.wire.contract.call import Query, RuntimeCall
from atoll.wire.contract.execs import ExecBody, stream_exec
from atoll.wire.contract.files import pack_files
from atoll.wire.words.sandboxes import State
from tests.peers.contract import EXEC
from tests.services.sandboxes.test_maintenance import calm
from tests.services.scene import Scene, scene

Act = Callable[[Scene, Sandbox], Awaitable[object]]


async def execute(s: Scene, made: Sandbox) -> None:
    await s.calls.run(LOCAL_PERSON, made.id, ExecBody(argv=["true"]))


async def follow(s: Scene, made: Sandbox) -> None:
    call = stream_exec(ExecBody(argv=["true"]))
    async with s.calls.stream(LOCAL_PERSON, made.id, call, activity=True):
        pass


async def read(s: Scene, made: Sandbox) -> None:
    async with s.calls.take(LOCAL_PERSON, made.id, pack_files((("path", "."),))):
        pass


T = TypeVar("T")


async def stop(s: Scene, made: Sandbox) -> None:
    await s.sandboxes.stop(LOCAL_PERSON, made.id)


async def destroy(s: Scene, made: Sandbox) -> None:
    await s.sandboxes.destroy(LOCAL_PERSON, made.id)
    await s.until(made, "destroyed")


async def recreate(s: Scene, made: Sandbox) -> None:
    await s.sandboxes.recreate(LOCAL_PERSON, made.id)
    await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)


async def restart(s: Scene, made: Sandbox) -> None:
    await stop(s, made)
    await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
    s.clock.turn(1)
    await start(s, made)


async def start(s: Scene, made: Sandbox) -> None:
    await s.sandboxes.start(LOCAL_PERSON, made.id)
    await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)


async def sleep(s: Scene, made: Sandbox) -> None:
    await s.sandboxes.sleep(LOCAL_PERSON, made.id)


async def wake(s: Scene, made: Sandbox) -> None:
    await sleep(s, made)
    await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
    s.clock.turn(1)
    await s.access.runtime(LOCAL_PERSON, made.id, activity=True)


async def nothing(s: Scene, made: Sandbox) -> None:
    del s, made


async def answering(s: Scene) -> Sandbox:
    """A sandbox that is ready, whose runtime answers an exec and a read."""
    s.runtime.answers["POST", "/execs"] = (200, EXEC)
    s.runtime.answers["GET", "/files/archive"] = (200, {})
    return await s.ready()


def breaks_off(s: Scene, made: Sandbox, meanwhile: Act) -> None:
    """Make the next exec or read lose its runtime after `meanwhile`."""
    plain = s.runtime.call

    async def failing(call: RuntimeCall[T]) -> T:
        if call.path not in ("/execs", "/files/archive"):
            return await plain(call)
        s.runtime.call = plain  # type: ignore[method-assign]
        await meanwhile(s, made)
        raise Unavailable("The runtime does not answer.")

    s.runtime.call = failing  # type: ignore[method-assign]


STOPS = [(stop, "stopped", "not_running"), (restart, "ready", "conflict")]
ENDS = [(destroy, "destroyed", "not_running"), (recreate, "ready", "conflict")]
"""Ends after which the files are gone, or others."""


@pytest.mark.parametrize(
    ("call", "meanwhile", "state", "code"),
    [
        *((call, *end) for call in (execute, follow) for end in (*STOPS, *ENDS)),
        *((read, *end) for end in ENDS),
    ],
)
async def test_call_to_a_sandbox_that_is_ended_meanwhile_is_a_conflict_with_its_state(
    call: Act, meanwhile: Act, state: str, code: str
) -> None:
    async with scene() as s:
        made = await s.ready()
        breaks_off(s, made, meanwhile)
        with pytest.raises(Conflict, match=f"{made.name} was ended .* is {state} now") as error:
            await call(s, made)
        assert error.value.code == code


@pytest.mark.parametrize("call", [execute, follow, read])
async def test_call_to_a_sandbox_that_still_runs_may_be_repeated(call: Act) -> None:
    async with scene() as s:
        made = await s.ready()
        breaks_off(s, made, nothing)
        with pytest.raises(Unavailable):
            await call(s, made)


@pytest.mark.parametrize("meanwhile", [stop, restart, sleep, wake])
async def test_read_goes_on_when_its_sandbox_stops_or_wakes_meanwhile(meanwhile: Act) -> None:
    async with scene() as s:
        made = await answering(s)
        breaks_off(s, made, meanwhile)
        await read(s, made)
        assert "/files/archive" in {call.path for call in s.runtime.calls}


@pytest.mark.parametrize("begun", [stop, sleep])
async def test_read_of_a_stopped_sandbox_outlives_its_start_and_not_its_end(begun: Act) -> None:
    async with scene() as s:
        made = await answering(s)
        await begun(s, made)
        breaks_off(s, made, start)
        await read(s, made)
        await begun(s, made)
        breaks_off(s, made, destroy)
        with pytest.raises(Conflict, match="was ended"):
            await read(s, made)


PORT = "/ports/3000"


async def dial(s: Scene, made: Sandbox) -> None:
    async with s.calls.dial(LOCAL_PERSON, made.id, "3000"):
        pass


def opens_nothing(s: Scene, made: Sandbox, meanwhile: Act) -> None:
    """Have the next connection to a port lose its runtime after `meanwhile`."""
    plain = s.runtime.attach
    s.runtime.terminals.add(PORT)

    @asynccontextmanager
    async def failing(path: str, query: Query = ()) -> AsyncIterator[Channel]:
        s.runtime.attach = plain  # type: ignore[method-assign]
        await meanwhile(s, made)
        raise Unavailable("The runtime does not answer.")
        yield

    s.runtime.attach = failing  # type: ignore[method-assign]


@pytest.mark.parametrize("meanwhile", [stop, destroy])
async def test_port_of_a_sandbox_that_is_ended_meanwhile_is_a_conflict(meanwhile: Act) -> None:
    async with scene() as s:
        made = await s.ready()
        opens_nothing(s, made, meanwhile)
        with pytest.raises(Conflict, match="was ended") as error:
            await dial(s, made)
        assert error.value.code == "not_running"


@pytest.mark.parametrize("meanwhile", [nothing, restart])
async def test_port_of_a_sandbox_that_runs_may_be_tried_again(meanwhile: Act) -> None:
    async with scene() as s:
        made = await s.ready()
        opens_nothing(s, made, meanwhile)
        with pytest.raises(Unavailable):
            await dial(s, made)


async def test_port_of_a_sandbox_that_sleeps_meanwhile_is_opened_in_the_next_runtime() -> None:
    async with scene() as s:
        made = await s.ready()
        opens_nothing(s, made, sleep)
        await dial(s, made)
        assert (await s.sandboxes.get(LOCAL_PERSON, made.id)).state in RUNNING


@pytest.mark.parametrize("meanwhile", [stop, destroy])
async def test_sandbox_that_ends_while_it_is_read_is_not_known_as_it_was(
    monkeypatch: pytest.MonkeyPatch, meanwhile: Act
) -> None:
    async with scene() as s:
        made = await s.ready()
        s.clock.turn(FRESH_SECONDS + 1)
        get = SandboxLookup.get

        async def get_late(self: SandboxLookup, caller: Principal, ref: str) -> Sandbox:
            found = await get(self, caller, ref)
            monkeypatch.setattr(SandboxLookup, "get", get)
            await meanwhile(s, made)
            return found

        monkeypatch.setattr(SandboxLookup, "get", get_late)
        await s.access.runtime(LOCAL_PERSON, made.id)
        with pytest.raises(Conflict) as error:
            await s.access.runtime(LOCAL_PERSON, made.id)
        assert error.value.code == "not_running"


async def test_read_of_a_sandbox_that_wakes_waits_for_it() -> None:
    async with scene() as s:
        made = await answering(s)
        await sleep(s, made)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        s.extension.gate = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(execute(s, made))
            await s.until(made, "provisioning")
            reading = tasks.create_task(read(s, made))
            await calm()
            assert not reading.done()
            s.extension.gate.set()


async def test_call_to_a_sandbox_that_is_being_made_is_typed_and_may_be_repeated() -> None:
    async with scene() as s:
        s.extension.gate = asyncio.Event()
        made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))
        with pytest.raises(Unavailable) as error:
            await execute(s, made)
        assert error.value.code == "not_ready"
        s.extension.gate.set()
        assert (await s.sandboxes.wait(LOCAL_PERSON, made.id)).state is State.READY
