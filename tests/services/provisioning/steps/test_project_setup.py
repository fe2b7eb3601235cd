"""An approved project: what of it reaches a sandbox, and its set-up from begin to end."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from atoll.domain.errors import Conflict, Invalid
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.repository.project import DecidedProject, ProjectFile, project_digest
from atoll.domain.routes.decision import RouteRequest
from atoll.domain.sandboxes.project import ProjectRequest
from atoll.domain.sandboxes.repeated_create import other_input
from atoll.domain.sandboxes.sandbox import CreateSandbox, RepoRequest, Sandbox
from atoll.wire.words.library import ProjectDecision
from atoll.wire.words.routes import Strategy
from atoll.wire.words.sandboxes import SetupState
from tests.peers.contract import POLICY, SESSION
from tests.services.journals.test_journals import entry
from tests.services.scene import Scene, body_of, scene

OPEN = ("POST", "/sessions")
FILE = ProjectFile(
    ".atoll.yaml",
    setup=("npm ci", "make"),
    network=("npm",),
    ports=(3000,),
    env=(("A", "1"), ("B", "2")),
)
DIGEST = project_digest(FILE)
REPO = "https://example.org/o/r"
APPROVED = DecidedProject(
    LOCAL_PERSON.org_id,
    LOCAL_PERSON.id,
    "example.org/o/r",
    DIGEST,
    ProjectDecision.APPROVED,
    FILE,
    decided_at=None,  # type: ignore[arg-type]  # set by `decided`
    decided_by="person",
)


async def decided(s: Scene, **changes: Any) -> None:
    async with s.store.begin() as rows:
        await rows.projects.put(replace(APPROVED, decided_at=s.clock.now(), **changes))


async def made(s: Scene, *, later: bool = False, **request: Any) -> Sandbox:
    s.runtime.answers["POST", "/execs"] = (200, {"exit": {"exit_code": 0}})
    for method in ("PUT", "GET"):
        s.runtime.answers[method, "/policy"] = (200, POLICY)
    s.runtime.answers.setdefault(OPEN, (201, SESSION))
    s.runtime.answers.setdefault(("GET", "/sessions/t_1"), (200, SESSION))
    sandbox = await s.ready(
        repos=(RepoRequest(REPO, branch="fix"),),
        project=ProjectRequest(DIGEST, later),
        **request,
    )
    assert sandbox.state == "ready", sandbox.reason
    return sandbox


def opened(s: Scene) -> list[dict[str, Any]]:
    return [body_of(call) for call in s.runtime.calls if (call.method, call.path) == OPEN]


async def ended(s: Scene, sandbox: Sandbox, **end: object) -> Sandbox:
    terminal = str(SESSION["session_id"])
    s.runtime.journal = [
        entry(1, "terminal.exited", id="t_other", argv0="sh", name="setup", exit={"code": 9}),
        entry(2, "terminal.exited", id=terminal, argv0="sh", name="setup", exit=end),
    ]
    await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
    return await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)


async def test_approved_commands_run_in_a_terminal_and_each_is_an_argument() -> None:
    async with scene() as s:
        await decided(s)
        sandbox = await made(s, env=(("B", "mine"),))
        (order,) = opened(s)
        assert order["name"] == "setup" and order["argv"][3:] == ["setup", "npm ci", "make"]
        assert "npm ci" not in order["argv"][2]
        assert sandbox.project is not None and sandbox.project.state is SetupState.RUNNING
        assert dict(sandbox.env) == {"A": "1", "B": "mine"}
        assert sandbox.profile.network.egress == ("preset:npm",)
        assert "sandbox.setup_started" in await s.kinds(sandbox)


@pytest.mark.parametrize(
    ("end", "state", "reason"),
    [
        ({"code": 0}, SetupState.DONE, None),
        ({"code": 2}, SetupState.FAILED, "A command ended with exit code 2."),
        ({"signal": "KILL"}, SetupState.FAILED, "It was ended by SIGKILL."),
        ({}, SetupState.FAILED, "A command ended with exit code unknown."),
    ],
)
async def test_end_of_its_terminal_is_the_end_of_the_setup(
    end: dict[str, object], state: SetupState, reason: str | None
) -> None:
    async with scene() as s:
        await decided(s)
        sandbox = await ended(s, await made(s), **end)
        assert sandbox.project is not None
        assert (sandbox.project.state, sandbox.project.reason) == (state, reason)
        assert (await s.kinds(sandbox)).count("sandbox.setup_ended") == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"decision": ProjectDecision.DECLINED},
        {"digest": "0" * 64},
        {"repository": "example.org/o/other"},
        {"owner": PrincipalId("somebody")},
    ],
)
async def test_project_that_its_person_did_not_approve_makes_no_sandbox(
    changes: dict[str, Any],
) -> None:
    async with scene() as s:
        # The digest is that of what a person saw, of this repository.
        await decided(s, **changes)
        with pytest.raises(Conflict) as refused:
            await made(s)
        assert refused.value.code == "project_not_approved"


async def test_project_without_a_repository_is_invalid() -> None:
    async with scene() as s:
        request = CreateSandbox(profile="bare", project=ProjectRequest(DIGEST))
        with pytest.raises(Invalid):
            await s.sandboxes.create(LOCAL_PERSON, request)


async def test_sandbox_that_names_no_project_has_nothing_of_it() -> None:
    async with scene() as s:
        await decided(s)
        s.runtime.answers["POST", "/execs"] = (200, {"exit": {"exit_code": 0}})
        sandbox = await s.ready(repos=(RepoRequest(REPO),))
        assert sandbox.project is None and sandbox.env == ()
        assert sandbox.profile.network.egress == () and opened(s) == []
        with pytest.raises(Conflict):
            await s.sandboxes.run_setup(LOCAL_PERSON, sandbox.id)


async def test_setup_that_waits_for_files_starts_when_asked_and_only_once_at_a_time() -> None:
    async with scene() as s:
        await decided(s)
        sandbox = await made(s, later=True)
        # As `"setup": "later"` asks for.
        assert sandbox.project is not None and sandbox.project.state is SetupState.WAITING
        assert opened(s) == []
        s.runtime.answers["GET", f"/sessions/{SESSION['session_id']}"] = (200, SESSION)
        began = await s.sandboxes.run_setup(LOCAL_PERSON, sandbox.id)
        assert began.project is not None and began.project.state is SetupState.RUNNING
        with pytest.raises(Conflict):
            await s.sandboxes.run_setup(LOCAL_PERSON, sandbox.id)


async def test_setup_that_ended_at_once_is_not_lost_and_may_run_again() -> None:
    async with scene() as s:
        await decided(s)
        sandbox = await made(s, later=True)
        over = {**SESSION, "state": "exited", "exit": {"code": 1}}
        s.runtime.answers["GET", f"/sessions/{SESSION['session_id']}"] = (200, over)
        for _ in range(2):
            done = await s.sandboxes.run_setup(LOCAL_PERSON, sandbox.id)
            assert done.project is not None and done.project.state is SetupState.FAILED


async def test_terminal_that_does_not_open_fails_the_setup_and_keeps_the_sandbox() -> None:
    async with scene() as s:
        await decided(s)
        s.runtime.answers[OPEN] = (422, {"code": "invalid", "detail": "no shell"})
        sandbox = await made(s)
        assert sandbox.state == "ready" and sandbox.project is not None
        assert (sandbox.project.state, sandbox.project.reason) == (SetupState.FAILED, "no shell")
        assert (await s.kinds(sandbox))[-1] == "sandbox.setup_ended"


async def test_setup_that_a_stop_broke_off_has_failed_and_a_recreate_runs_it_again() -> None:
    async with scene() as s:
        await decided(s)
        sandbox = await made(s)
        await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
        await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        await s.sandboxes.start(LOCAL_PERSON, sandbox.id)
        again = await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        assert again.project is not None and again.project.state is SetupState.FAILED
        assert len(opened(s)) == 1
        await s.sandboxes.recreate(LOCAL_PERSON, sandbox.id)
        fresh = await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        assert fresh.project is not None and fresh.project.state is SetupState.RUNNING
        assert len(opened(s)) == 2


async def test_setup_for_later_runs_by_itself_after_a_recreate_and_stands_as_it_was_asked() -> None:
    async with scene() as s:
        await decided(s)
        sandbox = await made(s, later=True)
        assert opened(s) == []
        await s.sandboxes.recreate(LOCAL_PERSON, sandbox.id)
        fresh = await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        assert fresh.project is not None and fresh.project.state is SetupState.RUNNING
        assert len(opened(s)) == 1
        again = CreateSandbox(project=ProjectRequest(DIGEST, later=True))
        assert other_input(again, fresh, RouteRequest(Strategy.EXPLICIT)) is None


async def test_servers_start_after_the_setup_each_in_a_terminal_of_its_own() -> None:
    servers = (("api", "./serve"), ("web", "npm run dev"))
    content = replace(FILE, servers=servers)
    async with scene() as s:
        await decided(s, content=content)
        sandbox = await made(s)
        s.clock.turn(2)
        assert [one["name"] for one in opened(s)] == ["setup"]
        s.runtime.answers["GET", "/sessions"] = (200, {"sessions": [{**SESSION, "name": "api"}]})
        over = {**SESSION, "state": "exited", "exit": {"code": 0}}
        s.runtime.answers["GET", "/sessions/t_1"] = (200, over)
        await started(s, sandbox)
        (order,) = opened(s)[1:]
        assert (order["name"], order["argv"][3:]) == ("web", ["web", "npm run dev"])
        assert "npm" not in order["argv"][2]


async def test_servers_without_a_setup_start_with_each_start() -> None:
    content = replace(FILE, setup=(), servers=(("web", "npm run dev"),))
    async with scene() as s:
        await decided(s, content=content)
        s.runtime.answers["GET", "/sessions"] = (200, {"sessions": []})
        sandbox = await made(s)
        await started(s, sandbox)
        await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
        await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        await s.sandboxes.start(LOCAL_PERSON, sandbox.id)
        await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        await started(s, sandbox)
        assert [one["name"] for one in opened(s)] == ["web", "web"]


async def test_server_that_the_runtime_refuses_is_not_tried_without_end() -> None:
    content = replace(FILE, setup=(), servers=(("web", "npm run dev"),))
    async with scene() as s:
        await decided(s, content=content)
        s.runtime.answers["GET", "/sessions"] = (200, {"sessions": []})
        s.runtime.answers[OPEN] = (422, {"code": "invalid", "detail": "no such folder"})
        await started(s, await made(s))
        assert len(opened(s)) == 1


async def started(s: Scene, sandbox: Sandbox) -> None:
    """Wait until the servers of a sandbox were started."""
    async with asyncio.timeout(20):
        while True:
            s.clock.turn(2)
            now = await s.sandboxes.get(LOCAL_PERSON, sandbox.id)
            assert now.project is not None
            if not now.project.awaits_servers:
                return
            await asyncio.sleep(0)
