"""Sandboxes that sleep: who wakes them, for how many, and what is kept of their terminals."""

import asyncio
import base64
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
import pytest

from atoll.adapters.extensions.in_memory import FailurePoint
from atoll.domain.errors import AtollError, Conflict, Failed, NoConnection, Unavailable
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON, SYSTEM
from atoll.domain.sandboxes.project import server_argv
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Transaction
from atoll.services.sandboxes.sleep import sleepers
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.contract.execs import ExecBody
from atoll.wire.contract.journal import FALLING_ASLEEP
from atoll.wire.contract.screens import KeptScreen
from tests.peers.contract import EXEC, SESSION
from tests.services.provisioning.steps.test_project_setup import FILE, decided
from tests.services.provisioning.steps.test_project_setup import made as project_sandbox
from tests.services.scene import Scene, body_of, scene

T = TypeVar("T")

SECRET = b"a line that only the vault may show"
SCREEN = KeptScreen("t_1", "work", ("/bin/bash",), "/workspace/app", 100, 40, 65536, 7, b"", SECRET)


def shows(s: Scene, *screens: KeptScreen) -> None:
    """Have the runtime show these."""
    document: Any = {
        "screens": [
            {
                **{name: getattr(one, name) for name in one.__struct_fields__},
                "preamble": base64.b64encode(one.preamble).decode(),
                "data": base64.b64encode(one.data).decode(),
            }
            for one in screens
        ]
    }
    s.runtime.answers["GET", "/screens"] = (200, document)


async def asleep(s: Scene, **request: Any) -> Sandbox:
    """A sandbox that sleeps, and whose processes have ended."""
    made = await s.ready(**request)
    await s.sandboxes.sleep(LOCAL_PERSON, made.id)
    return await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)


async def test_access_waits_until_it_runs_and_looking_does_not_wake_it() -> None:
    async with scene() as s:
        made = await asleep(s)
        with pytest.raises(Conflict, match="using it wakes it") as refused:
            await s.terminals.list(LOCAL_PERSON, made.id)
        assert refused.value.code == "asleep"
        woken, _ = await s.access.runtime(LOCAL_PERSON, made.id, activity=True)
        assert (woken.state, woken.asleep_since) == ("ready", None)


async def test_many_accesses_start_it_once() -> None:
    async with scene() as s:
        made = await asleep(s)
        went_on = await asyncio.gather(
            *(s.access.runtime(LOCAL_PERSON, made.id, activity=True) for _ in range(20))
        )
        assert {one.state for one, _ in went_on} <= {"ready", "active"}
        kinds = await s.kinds(made)
        assert kinds.count("sandbox.provisioning") == 2  # the first start, and this one


async def test_accesses_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sleepers, "MOST_WAITING", 2)
    async with scene() as s:
        made = await asleep(s)
        answers = await asyncio.gather(
            *(s.access.runtime(LOCAL_PERSON, made.id, activity=True) for _ in range(5)),
            return_exceptions=True,
        )
        refused = [one for one in answers if isinstance(one, Unavailable)]
        assert len(refused) == 3
        assert {one.code for one in refused} == {"waking"}
        assert all(isinstance(one, tuple | Unavailable) for one in answers)
        # Nobody waits any more.
        await s.access.runtime(LOCAL_PERSON, made.id, activity=True)


async def test_profile_keeps_a_program_from_waking_it() -> None:
    async with scene() as s:
        await s.profiles.save(LOCAL_PERSON, "people", ONLY_PEOPLE)
        made = await asleep(s, profile="people")
        program = replace(SYSTEM, id=LOCAL_PERSON.id)
        with pytest.raises(Conflict, match="a person alone") as refused:
            await s.access.runtime(program, made.id, activity=True)
        assert refused.value.code == "asleep"
        woken, _ = await s.access.runtime(LOCAL_PERSON, made.id, activity=True)
        assert woken.state == "ready"


async def test_failed_start_is_said_to_who_waits() -> None:
    async with scene() as s:
        made = await asleep(s)
        s.extension.fail(FailurePoint.PROVISION, Failed("no room"))
        with pytest.raises(Conflict, match="did not wake") as refused:
            await s.access.runtime(LOCAL_PERSON, made.id, activity=True)
        assert refused.value.code == "not_running"


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(Conflict("the sandbox falls asleep", code=FALLING_ASLEEP), id="it says so"),
        pytest.param(NoConnection("no such socket"), id="another replica let it sleep"),
    ],
)
async def test_call_that_came_as_it_fell_asleep_goes_to_the_next_runtime(
    refusal: AtollError,
) -> None:
    async with scene() as s:
        made = await s.ready()
        call = s.runtime.call

        async def falling_asleep(asked: RuntimeCall[T]) -> T:
            if asked.path != "/execs":
                return await call(asked)
            s.runtime.call = call  # type: ignore[method-assign]
            await s.sandboxes.sleep(LOCAL_PERSON, made.id)
            raise refusal

        s.runtime.call = falling_asleep  # type: ignore[method-assign,assignment]
        s.runtime.answers["POST", "/execs"] = (200, EXEC)
        ran = await s.calls.run(LOCAL_PERSON, made.id, ExecBody(argv=["true"]))
        assert ran.exec_id == EXEC["exec_id"]
        assert (await s.kinds(made)).count("sandbox.provisioning") == 2


async def test_call_that_was_refused_goes_on_at_once_where_another_woke_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sleepers, "REST_SECONDS", 600.0)
    async with scene() as s:
        made = await s.ready()
        call = s.runtime.call

        async def falling_asleep(asked: RuntimeCall[T]) -> T:
            if asked.path != "/execs":
                return await call(asked)
            s.runtime.call = call  # type: ignore[method-assign]
            await s.sandboxes.sleep(LOCAL_PERSON, made.id)
            s.clock.turn(1)
            await s.access.runtime(LOCAL_PERSON, made.id, activity=True)
            raise Conflict("the sandbox falls asleep", code=FALLING_ASLEEP)

        s.runtime.call = falling_asleep  # type: ignore[method-assign,assignment]
        s.runtime.answers["POST", "/execs"] = (200, EXEC)
        async with asyncio.timeout(20):
            ran = await s.calls.run(LOCAL_PERSON, made.id, ExecBody(argv=["true"]))
        assert ran.exec_id == EXEC["exec_id"]


async def test_screens_are_sealed_while_it_sleeps_and_gone_after() -> None:
    async with scene() as s:
        shows(s, SCREEN)
        made = await asleep(s)
        async with s.store.read() as rows:
            kept = await rows.screens.get(made.id)
        assert kept is not None
        assert SECRET not in kept.sealed.body
        s.runtime.answers["POST", "/sessions"] = (201, {})
        await s.access.runtime(LOCAL_PERSON, made.id, activity=True)
        opened = [body_of(call) for call in s.runtime.calls if call.path == "/sessions"]
        assert [(one["screen"]["terminal_id"], one["cwd"]) for one in opened] == [
            ("t_1", "/workspace/app")
        ]
        assert base64.b64decode(opened[0]["screen"]["data"]) == SECRET
        assert opened[0]["screen"]["notice"].startswith("This sandbox slept for")
        async with s.store.read() as rows:
            assert await rows.screens.get(made.id) is None


@pytest.mark.parametrize("act", ["stop", "destroy", "archive", "recreate"])
async def test_screens_go_when_it_sleeps_no_more(act: str) -> None:
    async with scene() as s:
        shows(s, SCREEN)
        made = await asleep(s)
        await getattr(s.sandboxes, act)(LOCAL_PERSON, made.id)
        async with s.store.read() as rows:
            assert await rows.screens.get(made.id) is None


async def test_screens_of_a_runtime_that_was_taken_over_are_bounded() -> None:
    flood = msgspec.structs.replace(SCREEN, data=bytes(17 << 20))
    async with scene() as s:
        shows(s, flood)
        made = await asleep(s)
        async with s.store.read() as rows:
            assert await rows.screens.get(made.id) is None
        woken, _ = await s.access.runtime(LOCAL_PERSON, made.id, activity=True)
        assert woken.state == "ready"


@pytest.mark.parametrize("odd", [{"argv": ()}, {"name": "n" * 5000}, {"terminal_id": "../x"}])
async def test_odd_screens_of_a_runtime_keep_nobody_from_waking_it(odd: dict[str, Any]) -> None:
    async with scene() as s:
        shows(s, msgspec.structs.replace(SCREEN, **odd))
        made = await asleep(s)
        async with s.store.read() as rows:
            assert await rows.screens.get(made.id) is None
        woken, _ = await s.access.runtime(LOCAL_PERSON, made.id, activity=True)
        assert woken.state == "ready"


async def test_wake_that_failed_keeps_the_screens_of_before() -> None:
    async with scene() as s:
        shows(s, SCREEN)
        made = await asleep(s)
        shows(s)
        s.extension.fail(FailurePoint.WAIT_READY, Failed("no room"))
        with pytest.raises(Conflict, match="did not wake"):
            await s.access.runtime(LOCAL_PERSON, made.id, activity=True)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        async with s.store.read() as rows:
            assert await rows.screens.get(made.id) is not None


async def test_screens_do_not_go_along_to_a_new_owner() -> None:
    async def nothing(_rows: Transaction, _before: Sandbox) -> None: ...

    async with scene() as s:
        shows(s, SCREEN)
        made = await asleep(s)
        await s.sandboxes.give(LOCAL_PERSON, made.id, PrincipalId("bob"), also=nothing)
        async with s.store.read() as rows:
            given = await rows.sandboxes.get(made.id)
            assert given is not None and not given.asleep
            assert await rows.screens.get(made.id) is None


async def test_stopped_sandbox_keeps_no_screens() -> None:
    async with scene() as s:
        shows(s, SCREEN)
        made = await s.ready()
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        assert not any(call.path == "/screens" for call in s.runtime.calls)


async def test_screens_that_do_not_open_keep_nobody_from_waking_it() -> None:
    async with scene() as s:
        shows(s, SCREEN)
        made = await asleep(s)
        async with s.store.begin() as rows:
            kept = await rows.screens.get(made.id)
            assert kept is not None
            await rows.screens.put(replace(kept, sealed=replace(kept.sealed, body=b"flipped")))
        woken, _ = await s.access.runtime(LOCAL_PERSON, made.id, activity=True)
        assert woken.state == "ready"
        assert not any(call.path == "/sessions" for call in s.runtime.calls)


async def test_program_of_a_terminal_is_not_run_again() -> None:
    server = msgspec.structs.replace(SCREEN, terminal_id="t_2", argv=("npm", "run", "dev"))
    async with scene() as s:
        shows(s, SCREEN, server)
        s.runtime.answers["POST", "/sessions"] = (201, {})
        made = await asleep(s)
        await s.access.runtime(LOCAL_PERSON, made.id, activity=True)
        opened = [body_of(call) for call in s.runtime.calls if call.path == "/sessions"]
        assert [one.get("argv") for one in opened] == [["/bin/bash"], None]
        assert "npm has ended" in opened[1]["screen"]["notice"]


async def test_server_that_the_project_names_runs_again_and_no_other_program() -> None:
    async with scene() as s:
        await decided(s, content=replace(FILE, setup=(), servers=(("web", "npm run dev"),)))
        named = server_argv("web", "npm run dev")
        screen = msgspec.structs.replace
        shows(
            s,
            screen(SCREEN, terminal_id="t_2", name="web", argv=named),
            screen(SCREEN, terminal_id="t_3", name="web", argv=server_argv("web", "rm -rf .")),
            screen(SCREEN, terminal_id="t_4", name="other", argv=named),
        )
        s.runtime.answers["POST", "/sessions"] = (201, SESSION)
        s.runtime.answers["GET", "/sessions"] = (200, {"sessions": [{**SESSION, "name": "web"}]})
        made = await project_sandbox(s)
        await s.sandboxes.sleep(LOCAL_PERSON, made.id)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        await s.access.runtime(LOCAL_PERSON, made.id, activity=True)
        opened = [body_of(call) for call in s.runtime.calls if call.path == "/sessions"]
        back = {one["screen"]["terminal_id"]: one for one in opened if "screen" in one}
        assert [back[name].get("argv") for name in ("t_2", "t_3", "t_4")] == [
            [*named], None, None,
        ]  # fmt: skip
        assert "web is started again" in back["t_2"]["screen"]["notice"]


ONLY_PEOPLE = """
id: profile.people
version: "1.0.0"
extension: ext.in-memory
isolation: {level: none}
ttl: {default: 1h, max: 4h}
wake: person
"""
