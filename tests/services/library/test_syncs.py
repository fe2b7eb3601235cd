"""A conflict of a sync becomes a prompt for the sandbox's agent; over a real git in a real box."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from atoll.domain.errors import Conflict, Invalid, Unavailable
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports.repositories import Ref
from atoll.services.library.syncs import SyncOrder, Syncs
from atoll.wire.words.library import SyncAct, SyncOutcome
from tests.services.library.test_workspaces import World, world

__all__ = ["world"]


class OneAgent:
    """Agents of a sandbox in which one runs."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, str]] = []

    async def list(self, _caller: object, _ref: str) -> Any:
        return SimpleNamespace(agents=[SimpleNamespace(id="t_1")])

    async def ask(self, _caller: object, _ref: str, agent_id: str, *, body: Any) -> None:
        self.prompts.append((agent_id, body.prompt))


class Statuses:
    """Statuses of a sandbox's agents; of one that works when told so."""

    def __init__(self, *, works: bool = False) -> None:
        self.works = works

    async def of(self, sandboxes: Any) -> Any:
        working = SimpleNamespace(agent="codex", status=SimpleNamespace(status="working"))
        return {one.id: (working,) if self.works else () for one in sandboxes}


class Log:
    """An event log that remembers the kinds and payloads."""

    def __init__(self) -> None:
        self.notes: list[Any] = []

    async def record(self, _caller: object, note: Any) -> None:
        self.notes.append(note)


@pytest.mark.parametrize("hand_over", [True, False])
async def test_conflict_is_handed_to_the_agent_when_asked(world: World, hand_over: bool) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run("echo inside > b.txt; echo x > 'a\nb'; git add -A; git commit -qm inside")

    async def runtime(*_args: object, **_more: object) -> Any:
        return sandbox, box

    agents, log = OneAgent(), Log()
    syncs = Syncs(
        cast(Any, SimpleNamespace(runtime=runtime)),
        world.workspaces,
        agents=cast(Any, agents),
        statuses=cast(Any, Statuses()),
        events=cast(Any, log),
    )
    done = await syncs.sync(LOCAL_PERSON, sandbox.id, SyncOrder(onto="other", hand_over=hand_over))
    assert (done.outcome, done.files) == (SyncOutcome.CONFLICT, ("b.txt",))
    assert done.agent == ("t_1" if hand_over else None)
    assert [agent for agent, _ in agents.prompts] == (["t_1"] if hand_over else [])
    assert all("- b.txt\n" in prompt and "onto newer" in prompt for _, prompt in agents.prompts)
    (note,) = log.notes
    assert (note.event_type, note.payload["outcome"]) == ("git.synced", "conflict")


async def test_sync_waits_for_an_agent_at_work_unless_now(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())

    async def runtime(*_args: object, **_more: object) -> Any:
        return sandbox, box

    syncs = Syncs(
        cast(Any, SimpleNamespace(runtime=runtime)),
        world.workspaces,
        agents=cast(Any, OneAgent()),
        statuses=cast(Any, Statuses(works=True)),
        events=cast(Any, Log()),
    )
    before = box.run("git rev-parse HEAD")
    for begin in (SyncOrder(onto="other"), SyncOrder(act=SyncAct.ABORT)):
        with pytest.raises(Conflict, match="codex is at work") as caught:
            await syncs.sync(LOCAL_PERSON, sandbox.id, begin)
        assert caught.value.code == "agent_works"
    for order, field in (
        (SyncOrder(onto="other", act=SyncAct.LOOK), "onto"),
        (SyncOrder(onto="other", act=SyncAct.ABORT), "onto"),
        (SyncOrder(act=SyncAct.ABORT, hand_over=True), "agent"),
        (SyncOrder(act=SyncAct.LOOK, now=True), "now"),
    ):
        with pytest.raises(Invalid) as refused:
            await syncs.sync(LOCAL_PERSON, sandbox.id, order)
        assert refused.value.field == field
    assert box.run("git rev-parse HEAD") == before
    look = SyncOrder(act=SyncAct.LOOK)
    assert (await syncs.sync(LOCAL_PERSON, sandbox.id, look)).outcome is SyncOutcome.CLEAN
    at_once = SyncOrder(onto="other", now=True)
    assert (await syncs.sync(LOCAL_PERSON, sandbox.id, at_once)).outcome is SyncOutcome.UPDATED


async def test_sync_of_a_machine_that_lacks_the_newer_commits_says_so(world: World) -> None:
    """Its copy of the shared repository could not be brought up to date."""
    sandbox, box = await world.laid_out(world.repo())

    async def runtime(*_args: object, **_more: object) -> Any:
        return sandbox, box

    async def latest(*_args: object) -> tuple[Ref, ...]:
        return (Ref("refs/heads/main", "1" * 40), Ref("refs/tags/v1", "2" * 40))

    syncs = Syncs(
        cast(Any, SimpleNamespace(runtime=runtime)),
        cast(Any, SimpleNamespace(latest=latest)),
        agents=cast(Any, OneAgent()),
        statuses=cast(Any, Statuses()),
        events=cast(Any, Log()),
    )
    with pytest.raises(Unavailable, match="did not reach the sandbox's machine"):
        await syncs.sync(LOCAL_PERSON, sandbox.id, SyncOrder(onto="main"))
    with pytest.raises(Invalid, match="has no branch 'absent'; it has main"):
        await syncs.sync(LOCAL_PERSON, sandbox.id, SyncOrder(onto="absent"))
