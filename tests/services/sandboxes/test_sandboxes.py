import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters.extensions.in_memory import FailurePoint
from atoll.domain.errors import (
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
    Unavailable,
)
from atoll.domain.hosts.host import NOT_TRUSTED
from atoll.domain.ids import PrincipalId
from atoll.domain.people.capability import capabilities_of
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Consumer, CreateSandbox, RepoRequest, Sandbox
from atoll.services.provisioning.orders import complete_order
from atoll.services.sandboxes.backend_watch import SURVEY_SECONDS
from atoll.surfaces.http.serving.answers import runtime_body
from atoll.wire.contract.terminals import OpenBody
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from atoll.wire.words.sandboxes import Access, Scope, State
from tests.services.scene import Scene, opened, scene, timers

OTHER = replace(
    LOCAL_PERSON, id=PrincipalId("somebody-else"), capabilities=capabilities_of(OrgRole.MEMBER)
)


async def test_create_returns_at_once_and_gets_ready() -> None:
    async with scene() as s:
        made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))
        assert made.state is State.PROVISIONING
        assert made.name.startswith("bare-")
        ready = await s.sandboxes.wait(LOCAL_PERSON, made.id)
        assert ready.state is State.READY
        assert ready.attachment.isolation is not None
        assert await s.kinds(made) == [
            "sandbox.requested",
            "sandbox.provisioning",
            "sandbox.ready",
        ]
        assert [line.text for line in await s.sandboxes.logs(LOCAL_PERSON, made.name)][-2:] == [
            "Checked out.",
            "Ready.",
        ]


async def test_eighty_creates_at_once_give_exactly_twenty() -> None:
    async with scene(max_sandboxes=20) as s:
        answers = await asyncio.gather(
            *(s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare")) for _ in range(80)),
            return_exceptions=True,
        )
        made = [one for one in answers if not isinstance(one, BaseException)]
        assert len(made) == 20
        assert all(
            isinstance(one, LimitReached) for one in answers if isinstance(one, BaseException)
        )
        for one in made:
            assert (await s.sandboxes.wait(LOCAL_PERSON, one.id)).state is State.READY
        with pytest.raises(LimitReached):
            await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))
        await s.sandboxes.create(OTHER, CreateSandbox(profile="bare"))
        await s.sandboxes.destroy(LOCAL_PERSON, made[0].id)
        await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))


async def test_same_idempotency_key_at_once_makes_one() -> None:
    async with scene() as s:
        request = CreateSandbox(profile="bare", name="mine")
        made = await asyncio.gather(
            *(s.sandboxes.create(LOCAL_PERSON, request, idempotency_key="k1") for _ in range(20))
        )
        assert len({one.id for one in made}) == 1
        with pytest.raises(Conflict) as err:
            await s.sandboxes.create(
                LOCAL_PERSON, CreateSandbox(profile="bare"), idempotency_key="k1"
            )
        assert err.value.code == "idempotency_mismatch"
        await s.sandboxes.create(OTHER, request, idempotency_key="k1")


async def test_idempotency_key_is_forgotten_after_a_day() -> None:
    async with scene() as s:
        request = CreateSandbox(profile="bare")
        first = await s.sandboxes.create(LOCAL_PERSON, request, idempotency_key="k")
        s.clock.turn(24 * 3600 + 1)
        assert (await s.sandboxes.create(LOCAL_PERSON, request, idempotency_key="k")).id != first.id


async def test_agent_scope_same_consumer_gets_the_same_sandbox() -> None:
    async with scene() as s:
        request = CreateSandbox(
            profile="belonging", consumer=Consumer(ActorKind.AGENT, "harness", session_id="s1")
        )
        made = await asyncio.gather(*(s.sandboxes.create(LOCAL_PERSON, request) for _ in range(10)))
        assert len({one.id for one in made}) == 1
        other = replace(request, consumer=replace(request.consumer, session_id="s2"))
        assert (await s.sandboxes.create(LOCAL_PERSON, other)).id != made[0].id


async def test_agent_scope_with_another_access_is_a_conflict_and_what_is_left_out_is_not() -> None:
    async with scene() as s:
        consumer = Consumer(harness="h", session_id="s")
        first = CreateSandbox(profile="belonging", access=Access.READ_ONLY, consumer=consumer)
        made = await s.sandboxes.create(LOCAL_PERSON, first)
        for same in (first, replace(first, access=None)):
            assert (await s.sandboxes.create(LOCAL_PERSON, same)).id == made.id
        with pytest.raises(Conflict) as refused:
            await s.sandboxes.create(LOCAL_PERSON, replace(first, access=Access.READ_WRITE))
        assert (refused.value.code, refused.value.field) == ("other_inputs", "workspace.access")


async def test_agent_scope_with_other_inputs_is_a_conflict_that_names_the_sandbox() -> None:
    async with scene() as s:
        consumer = Consumer(ActorKind.AGENT, "harness", session_id="s1")
        request = CreateSandbox(
            profile="belonging", consumer=consumer, repos=(RepoRequest("o/one"),)
        )
        made = await s.sandboxes.create(LOCAL_PERSON, request)
        assert (await s.sandboxes.create(LOCAL_PERSON, request)).id == made.id
        with pytest.raises(Conflict, match=made.name) as refused:
            await s.sandboxes.create(LOCAL_PERSON, replace(request, repos=(RepoRequest("o/two"),)))
        assert (refused.value.code, refused.value.field) == ("other_inputs", "repos")


async def test_agent_scope_gets_a_new_one_once_the_old_has_failed() -> None:
    async with scene() as s:
        request = CreateSandbox(profile="belonging", consumer=Consumer(ActorKind.AGENT, "harness"))
        first = await s.sandboxes.create(LOCAL_PERSON, request)
        await s.sandboxes.wait(LOCAL_PERSON, first.id)
        s.extension.die(first.id)
        await s.until(first, "failed")
        assert (await s.sandboxes.create(LOCAL_PERSON, request)).id != first.id


async def test_name_taken_is_a_conflict_and_defaults_step_aside() -> None:
    async with scene() as s:
        request = CreateSandbox(profile="bare", name="mine")
        await s.sandboxes.create(LOCAL_PERSON, request)
        with pytest.raises(Conflict) as err:
            await s.sandboxes.create(LOCAL_PERSON, request)
        assert (err.value.code, err.value.field) == ("name_taken", "name")
        repo = CreateSandbox(profile="bare", repos=(RepoRequest("owner/repo", branch="fix/One"),))
        first, second = (
            await s.sandboxes.create(LOCAL_PERSON, repo),
            await s.sandboxes.create(LOCAL_PERSON, repo),
        )
        assert (first.name, second.name) == ("repo-fix-one", "repo-fix-one-2")
        assert first.repos[0].path == "/workspace"


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (CreateSandbox(profile="../x"), "profile"),
        (CreateSandbox(profile="bare", name="Not Good"), "name"),
        (CreateSandbox(profile="bare", ttl_seconds=5 * 3600), "ttl"),
        (CreateSandbox(profile="bare", env=(("A B", "x"),)), "env"),
        (CreateSandbox(profile="bare", env=(("A", "x\0"),)), "env.A"),
        (CreateSandbox(profile="bare", repos=(RepoRequest("ext::sh"),)), "repos[0].repo_url"),
        (
            CreateSandbox(profile="bare", repos=(RepoRequest("o/r", branch="-x"),)),
            "repos[0].branch",
        ),
        (CreateSandbox(profile="bare", agent="a\nb"), "agent"),
    ],
)
async def test_create_wrong_wish_is_refused_with_its_field(
    wanted: CreateSandbox, field: str
) -> None:
    async with scene() as s:
        with pytest.raises(Invalid) as err:
            await s.sandboxes.create(LOCAL_PERSON, wanted)
        assert err.value.field == field
        assert (await s.sandboxes.list(LOCAL_PERSON)).sandboxes == ()


async def test_failed_provisioning_says_why_and_ends_what_began() -> None:
    async with scene() as s:
        s.extension.fail(
            FailurePoint.WAIT_READY, Failed("The wall did not stand: no loop device left.")
        )
        failed = await s.ready()
        assert failed.state is State.FAILED
        assert failed.reason == "The wall did not stand: no loop device left."
        await s.sandboxes.wait(LOCAL_PERSON, failed.id, settled=True)
        assert not s.extension.lives(failed.id)
        assert (await s.sandboxes.logs(LOCAL_PERSON, failed.id))[-1].text == failed.reason
        s.clock.turn(24 * 3600 + 1)
        await s.until(failed, "destroyed")
        assert not s.extension.kept(failed.id)


async def test_stop_start_recreate_destroy_go_all_the_way() -> None:
    async with scene() as s:
        made = await s.ready()
        await s.sandboxes.stop(LOCAL_PERSON, made.name)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        assert not s.extension.lives(made.id)
        assert s.extension.kept(made.id)
        with pytest.raises(Conflict, match="is stopped: start it first"):
            await s.access.runtime(LOCAL_PERSON, made.id)
        with pytest.raises(Conflict):
            await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.sandboxes.start(LOCAL_PERSON, made.id)
        assert (await s.sandboxes.wait(LOCAL_PERSON, made.id)).state is State.READY
        await s.sandboxes.recreate(LOCAL_PERSON, made.id)
        again = await s.sandboxes.wait(LOCAL_PERSON, made.id)
        assert (again.state, again.generation) == (State.READY, 2)
        assert s.workspaces.acts.count("save") == 1
        assert s.extension.provisioned[-1].fresh
        await s.sandboxes.destroy(LOCAL_PERSON, made.id)
        gone = await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        assert gone.state is State.DESTROYED
        assert not s.extension.kept(made.id)
        assert (await s.sandboxes.destroy(LOCAL_PERSON, made.id)).state is State.DESTROYED
        assert (await s.kinds(made))[3:] == [
            "sandbox.stopped",
            "sandbox.provisioning",
            "sandbox.ready",
            "sandbox.provisioning",
            "sandbox.ready",
            "sandbox.destroying",
            "sandbox.destroyed",
        ]


async def test_recreate_of_a_stopped_one_brings_it_up_to_save_first() -> None:
    async with scene() as s:
        made = await s.ready()
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        s.runtime.down = True
        await s.sandboxes.recreate(LOCAL_PERSON, made.id)
        assert (await s.sandboxes.wait(LOCAL_PERSON, made.id)).state is State.READY
        assert [(p.generation, p.fresh) for p in s.extension.provisioned] == [
            (1, False),
            (1, False),
            (2, True),
        ]
        assert "save" in s.workspaces.acts


async def test_recreate_that_cannot_save_keeps_the_workspace() -> None:
    async with scene() as s:
        made = await s.ready()
        s.workspaces.failing["save"] = Failed("git broke")
        await s.sandboxes.recreate(LOCAL_PERSON, made.id)
        failed = await s.sandboxes.wait(LOCAL_PERSON, made.id)
        assert failed.state is State.FAILED
        assert "could not be saved (git broke)" in (failed.reason or "")
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        assert s.extension.kept(made.id)
        del s.workspaces.failing["save"]
        await s.sandboxes.recreate(LOCAL_PERSON, made.id)
        assert (await s.sandboxes.wait(LOCAL_PERSON, made.id)).state is State.READY


async def test_destroy_during_provisioning_does_not_wait_for_it() -> None:
    async with scene() as s:
        s.extension.gate = asyncio.Event()
        made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))
        await s.sandboxes.destroy(LOCAL_PERSON, made.id)
        gone = await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        assert gone.state is State.DESTROYED
        assert s.extension.provisioned == []


async def test_destroy_that_fails_is_tried_again() -> None:
    async with scene() as s:
        made = await s.ready()
        s.extension.fail(FailurePoint.TEARDOWN, Unavailable("the zygote is busy"))
        await s.sandboxes.destroy(LOCAL_PERSON, made.id)
        async with asyncio.timeout(5):
            with s.bus.listen() as listener:
                while "busy" not in ((await s.sandboxes.get(LOCAL_PERSON, made.id)).reason or ""):
                    await listener.wait()
        while (await s.sandboxes.get(LOCAL_PERSON, made.id)).state is not State.DESTROYED:
            s.clock.turn(5)
            await asyncio.sleep(0)
        assert not s.extension.kept(made.id)


async def held(s: Scene) -> Sandbox:
    """A sandbox whose destruction rests, as its host is not trusted."""
    made = await s.ready()
    error = Failed("host box shows another key", code=NOT_TRUSTED)
    s.extension.fail(FailurePoint.TEARDOWN, error)
    await s.sandboxes.destroy(LOCAL_PERSON, made.id)
    async with asyncio.timeout(5):
        return await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)


async def test_destroy_on_a_host_that_is_not_trusted_ends_with_what_stands() -> None:
    async with scene() as s:
        there = await held(s)
        assert there.state is State.DESTROYING
        assert there.reason == "It could not be taken away yet: host box shows another key"
        stands = f"the files of {there.name} ({there.id}) on host local, and what may still run"
        assert there.leftovers == (f"{stands} of it there",)
        events = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{there.id}", limit=100)
        assert events[-1].event_type == "sandbox.destroy_held"
        assert events[-1].payload["leftovers"] == list(there.leftovers)
        # Requested again, it is tried at once.
        s.extension.fail(FailurePoint.TEARDOWN, Failed("still another", code=NOT_TRUSTED))
        await s.sandboxes.destroy(LOCAL_PERSON, there.id)
        again = await s.sandboxes.wait(LOCAL_PERSON, there.id, settled=True)
        assert "still another" in (again.reason or "")
        assert (await s.kinds(there)).count("sandbox.destroy_held") == 1
        await s.sandboxes.destroy(LOCAL_PERSON, there.id)
        gone = await s.sandboxes.wait(LOCAL_PERSON, there.id, settled=True)
        assert (gone.state, gone.leftovers) == (State.DESTROYED, ())


async def test_destroy_that_rests_is_taken_up_once_the_host_is_trusted() -> None:
    async with scene() as s:
        there = await held(s)
        s.clock.turn(SURVEY_SECONDS + 1)
        await s.until(there, "destroyed")
        assert not s.extension.kept(there.id)


async def test_destroy_waits_for_no_stop_that_is_tried_again() -> None:
    async with scene() as s:
        made = await s.ready()
        error = Failed("host box shows another key", code=NOT_TRUSTED)
        s.extension.fail(FailurePoint.TEARDOWN, error, times=2)
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        async with asyncio.timeout(5):
            with s.bus.listen() as listener:
                while (await s.sandboxes.get(LOCAL_PERSON, made.id)).reason is None:
                    await listener.wait()
            await s.sandboxes.destroy(LOCAL_PERSON, made.id)
            there = await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        assert (there.state, len(there.leftovers)) == (State.DESTROYING, 1)


async def test_destroy_that_rests_is_taken_up_by_the_next_control_plane(tmp_path: Path) -> None:
    async with opened(tmp_path) as s:
        there = await held(s)
    async with opened(tmp_path, before=s) as again:
        await again.until(there, "destroyed")


async def test_stop_that_fails_says_what_may_still_run_until_it_is_gone() -> None:
    async with scene() as s:
        made = await s.ready()
        s.extension.fail(FailurePoint.TEARDOWN, Unavailable("the zygote is busy"))
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        async with asyncio.timeout(5):
            with s.bus.listen() as listener:
                while "busy" not in ((await s.sandboxes.get(LOCAL_PERSON, made.id)).reason or ""):
                    await listener.wait()
        while (await s.sandboxes.get(LOCAL_PERSON, made.id)).reason is not None:
            s.clock.turn(5)
            await asyncio.sleep(0)
        assert not s.extension.lives(made.id)


async def test_death_of_a_runtime_fails_its_sandbox() -> None:
    async with scene() as s:
        made = await s.ready()
        s.extension.die(made.id, "Its runtime was killed (signal 9).")
        failed = await s.until(made, "failed")
        assert failed.reason == "Its runtime was killed (signal 9)."


async def test_ttl_expires_and_retention_destroys() -> None:
    async with scene() as s:
        made = await s.ready()
        s.clock.turn(3600)
        expired = await s.until(made, "expired")
        assert expired.retained_until is not None
        s.clock.turn(24 * 3600)
        await s.until(made, "destroyed")


async def test_extend_ttl_never_passes_the_maximum() -> None:
    async with scene() as s:
        made = await s.ready()
        longer = await s.sandboxes.extend_ttl(LOCAL_PERSON, made.id, 3600)
        assert (longer.expires_at - made.expires_at).total_seconds() == 3600
        with pytest.raises(LimitReached, match="2h is the longest that fits"):
            await s.sandboxes.extend_ttl(LOCAL_PERSON, made.id, 2 * 3600 + 1)
        most = await s.sandboxes.extend_ttl(LOCAL_PERSON, made.id, 2 * 3600)
        assert most.expires_at == made.max_expires_at
        s.clock.turn(3 * 3600)
        assert (await s.sandboxes.get(LOCAL_PERSON, made.id)).state is State.READY


async def test_sandbox_says_once_that_it_ends_soon() -> None:
    async with scene() as s:
        made = await s.ready()
        async with asyncio.timeout(10):
            with s.bus.listen(f"sandbox:{made.id}") as listener:
                s.clock.turn(1800)
                while "sandbox.ends_soon" not in await s.kinds(made):
                    await listener.wait()
        told = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{made.id}", limit=100)
        assert told[-1].payload["expires_at"] == made.expires_at.isoformat()
        s.clock.turn(60)
        s.clock.turn(1800)
        await s.until(made, "expired")
        assert (await s.kinds(made)).count("sandbox.ends_soon") == 1


async def test_unused_sandbox_is_stopped_by_its_runtimes_word_and_its_files_stay() -> None:
    async with scene() as s:
        made = await s.ready(profile="resting")
        s.runtime.idle_seconds, s.runtime.unused_seconds = 600, 5
        s.clock.turn(600)
        async with asyncio.timeout(10):
            with s.bus.listen(f"sandbox:{made.id}") as listener:
                while (await s.sandboxes.get(LOCAL_PERSON, made.id)).last_used_at is None:
                    await listener.wait()
        assert (await s.sandboxes.get(LOCAL_PERSON, made.id)).state is State.READY
        s.runtime.unused_seconds = 600
        s.clock.turn(595)
        stopped = await s.until(made, "stopped")
        assert stopped.reason == "Nobody used it for 10m."
        assert s.extension.kept(made.id)
        started = await s.sandboxes.start(LOCAL_PERSON, made.id)
        assert started.expires_at == made.expires_at


async def test_idle_sandbox_is_reaped_only_when_its_runtime_agrees() -> None:
    async with scene() as s:
        made = await s.ready(profile="idling")
        s.runtime.idle_seconds = 5
        s.clock.turn(600)
        async with asyncio.timeout(5):
            with s.bus.listen() as listener:
                while (await s.sandboxes.get(LOCAL_PERSON, made.id)).last_active_at is None:
                    await listener.wait()
        s.runtime.idle_seconds = 600
        s.clock.turn(600)
        expired = await s.until(made, "expired")
        assert "Nothing was typed" in (expired.reason or "")


async def test_activity_marks_active_once() -> None:
    async with scene() as s:
        made = await s.ready()
        for _ in range(5):
            await s.access.runtime(LOCAL_PERSON, made.name, activity=True)
        await s.until(made, "active")
        assert (await s.kinds(made)).count("sandbox.active") == 1


async def test_foreign_sandbox_is_not_found_and_shared_one_is_not_to_be_ended() -> None:
    async with scene() as s:
        mine = await s.ready()
        for act in (s.sandboxes.get, s.sandboxes.stop, s.access.runtime, s.sandboxes.logs):
            with pytest.raises(NotFound):
                await act(OTHER, mine.id)
        assert (await s.sandboxes.list(OTHER)).sandboxes == ()
        shared = await s.ready(scope=Scope.SHARED, name="together")
        assert (await s.sandboxes.get(OTHER, "together")).id == shared.id
        await s.access.runtime(OTHER, "together")
        with pytest.raises(Forbidden):
            await s.sandboxes.destroy(OTHER, "together")


async def test_list_pages_through_all_newest_first() -> None:
    async with scene() as s:
        for number in range(7):
            await s.ready(name=f"n{number}")
        seen, cursor = [], None
        while True:
            page = await s.sandboxes.list(LOCAL_PERSON, cursor=cursor, limit=3)
            seen += [one.name for one in page.sandboxes]
            cursor = page.next
            if cursor is None:
                break
        assert sorted(seen) == [f"n{number}" for number in range(7)]
        for bad in ("", "x", "AAAA", "1 2020", "é", "a" * 3000):
            with pytest.raises(Invalid):
                await s.sandboxes.list(LOCAL_PERSON, cursor=bad)
        with pytest.raises(Invalid):
            await s.sandboxes.list(LOCAL_PERSON, limit=0)


async def test_create_to_ready_waits_for_what_happens_and_never_for_time() -> None:
    async with scene() as s:
        await s.ready()
        asked = len(s.runtime.calls)
        with timers() as waits:
            await s.ready(name="next")
        assert [each for each in waits if each < 5.0] == [], "above it are limits of what hangs"
        # The extension has seen that it answers: to ask again would be a round trip more.
        assert s.runtime.calls[asked:] == []
        assert len(s.extension.provisioned) == 2


async def test_terminal_asked_for_without_a_body_is_the_profile_s_own() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        body = runtime_body(None, OpenBody)
        assert complete_order(sandbox, body, strict=True) == OpenBody()
