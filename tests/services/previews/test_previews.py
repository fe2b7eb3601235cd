"""Previews: built by the project's set-up, watched by the leader, torn down with their sandbox."""

from dataclasses import replace

import pytest

from atoll.domain.errors import Conflict, LimitReached, NotFound
from atoll.domain.ids import OrgId
from atoll.domain.paging import PageQuery
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.previews.preview import MAX_PREVIEWS, PreviewId, PreviewRequest
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.services.previews.previews import Previews, PreviewWatch
from atoll.wire.words.previews import PreviewState
from tests.peers.contract import SESSION
from tests.services.provisioning.steps.test_project_setup import decided, made, opened
from tests.services.scene import Scene, scene

WEB = PreviewRequest("web", 3000)
EXITED = {**SESSION, "state": "exited", "exit": {"code": 3}}


def previews(s: Scene) -> Previews:
    return Previews(s.ground, s.sandboxes, s.access)


async def kinds(s: Scene, sandbox: Sandbox) -> list[str]:
    return [kind for kind in await s.kinds(sandbox) if kind.startswith("preview.")]


async def test_without_a_set_up_a_preview_is_ready_at_once() -> None:
    async with scene() as s:
        box = await s.ready()
        found = await previews(s).create(LOCAL_PERSON, box.id, WEB)
        assert (found.state, found.terminal_id) == ("ready", None)
        assert await previews(s).get(LOCAL_PERSON, box.id, found.id) == found
        assert await previews(s).log(LOCAL_PERSON, box.id, found.id) == ""
        assert await kinds(s, box) == ["preview.building", "preview.ready"]
        with pytest.raises(Conflict) as refused:
            await previews(s).create(LOCAL_PERSON, box.id, WEB)
        assert refused.value.code == "preview_exists"


async def test_preview_waits_for_the_set_up_that_runs_and_follows_its_end() -> None:
    async with scene() as s:
        await decided(s)
        box = await made(s)
        found = await previews(s).create(LOCAL_PERSON, box.id, WEB)
        assert (found.state, found.terminal_id) == ("building", "t_1")
        assert len(opened(s)) == 1
        s.runtime.answers["GET", "/sessions/t_1/text"] = (
            200,
            {"text": "npm said", "from": 0, "to": 8, "cut": False},
        )
        assert await previews(s).log(LOCAL_PERSON, box.id, found.id) == "npm said"
        await PreviewWatch(s.ground, previews(s)).look()
        assert (await previews(s).get(LOCAL_PERSON, box.id, found.id)).state == "building"
        s.runtime.answers["GET", "/sessions/t_1"] = (200, EXITED)
        await s.sandboxes.stop(LOCAL_PERSON, box.id)
        await s.sandboxes.wait(LOCAL_PERSON, box.id, settled=True)
        await s.sandboxes.start(LOCAL_PERSON, box.id)
        await s.sandboxes.wait(LOCAL_PERSON, box.id)
        await PreviewWatch(s.ground, previews(s)).look()
        after = await previews(s).get(LOCAL_PERSON, box.id, found.id)
        assert (after.state, await kinds(s, box)) == (
            "failed",
            ["preview.building", "preview.failed"],
        )


async def test_rebuild_runs_the_set_up_again_and_says_why_it_failed() -> None:
    async with scene() as s:
        await decided(s)
        box = await made(s, later=True)
        s.runtime.answers["GET", "/sessions/t_1"] = (200, EXITED)
        found = await previews(s).create(LOCAL_PERSON, box.id, WEB)
        assert (found.state, found.reason) == ("failed", "A command ended with exit code 3.")
        again = await previews(s).rebuild(LOCAL_PERSON, box.id, found.id)
        assert (again.id, again.state) == (found.id, "failed")
        assert len(opened(s)) == 2
        s.runtime.answers["POST", "/sessions"] = (429, {"code": "limit_reached", "detail": "full"})
        refused = await previews(s).rebuild(LOCAL_PERSON, box.id, found.id)
        assert (refused.state, refused.reason) == ("failed", "full")


async def test_torn_down_preview_is_gone_and_comes_back_under_its_id() -> None:
    async with scene() as s:
        box = await s.ready()
        found = await previews(s).create(LOCAL_PERSON, box.id, WEB)
        gone = await previews(s).tear_down(LOCAL_PERSON, box.id, found.id)
        assert gone.state is PreviewState.GONE
        assert await previews(s).tear_down(LOCAL_PERSON, box.id, found.id) == gone
        for act in (previews(s).rebuild, previews(s).living):
            with pytest.raises(Conflict):
                await act(LOCAL_PERSON, box.id, found.id)
        again = await previews(s).create(
            LOCAL_PERSON, box.id, PreviewRequest("web", 3000, None, "a" * 7)
        )
        assert (again.id, again.state, again.sha) == (found.id, "ready", "a" * 7)


async def test_preview_of_a_destroyed_sandbox_is_gone() -> None:
    async with scene() as s:
        box = await s.ready()
        found = await previews(s).create(LOCAL_PERSON, box.id, WEB)
        await s.sandboxes.destroy(LOCAL_PERSON, box.id)
        # At once, and not when somebody looks.
        assert (await previews(s).get(LOCAL_PERSON, box.id, found.id)).state == "gone"
        await PreviewWatch(s.ground, previews(s)).look()
        assert (await kinds(s, box)).count("preview.gone") == 1


async def test_previews_of_a_sandbox_are_bounded_and_paged() -> None:
    async with scene() as s:
        box = await s.ready()
        found = await previews(s).create(LOCAL_PERSON, box.id, WEB)
        async with s.store.begin() as rows:
            for number in range(1, MAX_PREVIEWS):
                more = replace(found, id=PreviewId(f"pv_{number}"), port=4000 + number)
                await rows.previews.put(more)
        with pytest.raises(LimitReached):
            await previews(s).create(LOCAL_PERSON, box.id, PreviewRequest("web", 3001))
        page = await previews(s).list(LOCAL_PERSON, box.id, PageQuery(10))
        assert (len(page.rows), page.following is None) == (10, False)


async def test_name_of_a_pull_request_stays_with_its_organization() -> None:
    async with scene() as s:
        box, other = await s.ready(), await s.ready()
        asked = PreviewRequest("web", 3000, 7)
        found = await previews(s).create(LOCAL_PERSON, box.id, asked)
        await refused_name(s, other, asked)
        await previews(s).tear_down(LOCAL_PERSON, box.id, found.id)
        async with s.store.begin() as rows:
            foreign = replace(found, state=PreviewState.GONE, pr_number=8, id=PreviewId("pv_f"))
            await rows.previews.put(replace(foreign, org_id=OrgId("other")))
        await refused_name(s, other, PreviewRequest("web", 3000, 8))
        assert (await previews(s).create(LOCAL_PERSON, other.id, asked)).state == "ready"


async def refused_name(s: Scene, box: Sandbox, asked: PreviewRequest) -> None:
    with pytest.raises(Conflict) as taken:
        await previews(s).create(LOCAL_PERSON, box.id, asked)
    assert taken.value.code == "preview_name_taken"


async def test_preview_of_another_sandbox_is_missing() -> None:
    async with scene() as s:
        box, other = await s.ready(), await s.ready()
        found = await previews(s).create(LOCAL_PERSON, box.id, WEB)
        for preview_id in (found.id, "pv_none"):
            with pytest.raises(NotFound, match="There is no preview"):
                await previews(s).get(LOCAL_PERSON, other.id, preview_id)
