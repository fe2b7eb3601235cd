"""Sandboxes made from inside one: what a child gets, and what its maker cannot get by it."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from atoll.domain.errors import AtollError, Conflict, Forbidden, LimitReached, NotFound
from atoll.domain.files.host_mount import HostMount
from atoll.domain.ids import OrgId
from atoll.domain.network.switch import NetworkChange
from atoll.domain.people.capability import EVERY_CAPABILITY, Capability
from atoll.domain.people.principal import LOCAL_PERSON, Principal, TokenAccess
from atoll.domain.people.token import NEVER_INSIDE
from atoll.domain.routes.policy import RouteOptions
from atoll.domain.sandboxes.sandbox import CreateSandbox, RepoRequest, Sandbox, SetupMetadata
from atoll.domain.sandboxes.task import TaskRequest
from atoll.services.tools.children import Children
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.sandboxes import State
from tests.services.scene import BARE, Scene, opened, scene
from tests.services.test_secrets import CUSTOM, accepting, policies, set_

FAMILY = BARE.replace("bare", "family") + (
    "network: {egress: [example.org]}\nmcp: {children: {live: 2, per_hour: 4, depth: 2}}\n"
)


def inside(sandbox: Sandbox) -> Principal:
    """The caller that a runtime's token stands for."""
    return replace(
        LOCAL_PERSON,
        org_id=sandbox.org_id,
        id=sandbox.owner,
        interactive=False,
        capabilities=EVERY_CAPABILITY - NEVER_INSIDE | {Capability.SANDBOX_CHILDREN},
        token=TokenAccess(f"sandbox:{sandbox.id}", datetime(2100, 1, 1, tzinfo=UTC), sandbox.id),
    )


async def parent_in(s: Scene, **request: Any) -> Sandbox:
    accepting(s)
    with suppress(Conflict):
        await s.profiles.save(LOCAL_PERSON, "family", FAMILY)
    return await s.ready(profile="family", **request)


async def child_of(s: Scene, parent: Sandbox, **request: Any) -> Sandbox:
    request = {"profile": "", **request}
    made = await s.sandboxes.create(inside(parent), CreateSandbox(**request))
    return await s.sandboxes.wait(LOCAL_PERSON, made.id)


def children_in(s: Scene) -> Children:
    return Children(s.ground, s.sandboxes)


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    yield path
    shutil.rmtree(path)


async def test_child_has_its_parents_recipe_owner_and_end() -> None:
    async with scene() as s:
        parent = await parent_in(s, ttl_seconds=600)
        s.clock.turn(60)
        child = await child_of(s, parent)
        assert (child.org_id, child.owner) == (parent.org_id, parent.owner)
        assert child.parent == parent.id and child.ancestors == (parent.id,)
        assert child.expires_at <= parent.expires_at
        assert child.max_expires_at <= parent.max_expires_at
        assert (child.host, child.region) == (parent.host, parent.region)
        assert child.profile.id == parent.profile.id
        assert child.profile.extension == parent.profile.extension
        assert child.profile.network == parent.profile.network
        assert child.share == parent.share * 3
        told = (await s.events.list(LOCAL_PERSON, stream=f"sandbox:{child.id}"))[0]
        assert told.payload["parent"] == parent.id


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("profile", "bare"),
        ("profile_version", "2.0.0"),
        ("agent", "codex"),
        ("mounts", (HostMount("/srv/x", "/mnt/x"),)),
        ("env", (("A", "b"),)),
        ("setup_metadata", SetupMetadata(secret_refs=("deploy",))),
        ("network_mode", NetworkMode.FULL),
        ("host", "big"),
        ("route", RouteOptions(extension="ext.other")),
        ("route", RouteOptions(accept_open_network=True)),
        ("repos", (RepoRequest("https://evil.example/taken"),)),
    ],
)
async def test_child_gets_nothing_that_its_parent_has_not(field: str, value: Any) -> None:
    async with scene() as s:
        parent = await parent_in(s)
        with pytest.raises(Forbidden) as refused:
            await child_of(s, parent, **{field: value})
        assert refused.value.field == field
        assert len((await s.sandboxes.list(LOCAL_PERSON)).sandboxes) == 1


async def test_child_has_a_repository_of_its_parent() -> None:
    async with scene() as s:
        parent = await parent_in(s, repos=(RepoRequest("https://git.example/a/b"),))
        child = await child_of(s, parent, repos=(RepoRequest("https://git.example/a/b.git"),))
        assert [one.repo_url for one in child.repos] == [one.repo_url for one in parent.repos]
        assert not (await child_of(s, parent)).repos


async def test_sandbox_whose_profile_says_nothing_makes_none() -> None:
    async with scene() as s:
        plain = await s.ready()
        with pytest.raises(Forbidden, match="lets it make no"):
            await child_of(s, plain)
        parent = await parent_in(s)
        weak = replace(inside(parent), capabilities=frozenset({Capability.SANDBOX_CREATE}))
        with pytest.raises(Forbidden):
            await s.sandboxes.create(weak, CreateSandbox(profile=""))
        other = replace(inside(parent), org_id=OrgId("elsewhere"))
        with pytest.raises(Forbidden):
            await s.sandboxes.create(other, CreateSandbox(profile=""))
        await s.sandboxes.stop(LOCAL_PERSON, parent.id)
        with pytest.raises(Conflict):
            await child_of(s, parent)


async def test_quota_counts_the_whole_family_and_the_hour() -> None:
    async with scene() as s:
        parent = await parent_in(s)
        child = await child_of(s, parent)
        grandchild = await child_of(s, child)
        assert grandchild.ancestors == (parent.id, child.id)
        with pytest.raises(Forbidden, match="lets it make no"):
            await child_of(s, grandchild)
        for maker in (parent, child):
            with pytest.raises(LimitReached, match="destroy one first"):
                await child_of(s, maker)
        for number in range(2):
            await s.sandboxes.destroy(LOCAL_PERSON, grandchild.id)
            grandchild = await child_of(s, child, name=f"again-{number}")
        await s.sandboxes.destroy(LOCAL_PERSON, grandchild.id)
        with pytest.raises(LimitReached, match="within an hour"):
            await child_of(s, child)


async def test_quota_of_the_hour_is_free_again_after_it() -> None:
    async with scene() as s:
        parent = await parent_in(s, ttl_seconds=4 * 3600)
        for number in range(4):
            made = await child_of(s, parent, name=f"one-{number}")
            await s.sandboxes.destroy(LOCAL_PERSON, made.id)
        with pytest.raises(LimitReached):
            await child_of(s, parent)
        s.clock.turn(3601)
        assert (await child_of(s, parent)).parent == parent.id


async def test_quota_of_the_owner_counts_children() -> None:
    async with scene(max_sandboxes=2) as s:
        parent = await parent_in(s)
        await child_of(s, parent)
        with pytest.raises(LimitReached, match="max_sandboxes"):
            await child_of(s, parent)


async def test_race_over_two_replicas_makes_no_more_than_the_quota(folder: Path) -> None:
    async with opened(folder) as one, opened(folder, before=one, run=False) as two:
        parent = await parent_in(one)
        caller, request = inside(parent), CreateSandbox(profile="")
        done = await asyncio.gather(
            *(s.sandboxes.create(caller, request) for s in (one, two) * 4), return_exceptions=True
        )
        made = [each for each in done if isinstance(each, Sandbox)]
        assert len(made) == 2
        assert all(isinstance(each, LimitReached) for each in done if each not in made)


async def test_parent_reaches_its_own_children_alone() -> None:
    async with scene() as s:
        parent, other = await parent_in(s, name="a"), await parent_in(s, name="b")
        child = await child_of(s, parent, name="mine")
        theirs = await child_of(s, other, name="theirs")
        grandchild = await child_of(s, child, name="below")
        children, caller = children_in(s), inside(parent)
        foreign = (other, theirs, grandchild, parent)
        for ref in (*(one.id for one in foreign), *(one.name for one in foreign), "none"):
            with pytest.raises(NotFound):
                await children.reach(caller, ref)
        for ref in (child.id, child.name):
            reach = await children.reach(caller, ref)
            assert (await s.sandboxes.get(reach.caller, reach.ref)).id == child.id
            for one in (*foreign,):
                with pytest.raises(NotFound):
                    await s.sandboxes.get(reach.caller, one.id)
        # Without the tools, a token of a sandbox sees that one alone.
        with pytest.raises(NotFound):
            await s.sandboxes.get(caller, child.id)
        page = await children.list(caller, cursor=None, limit=20)
        assert [one.id for one in page.sandboxes] == [child.id]
        assert len((await children.list(LOCAL_PERSON, cursor=None, limit=20)).sandboxes) == 5


async def test_list_of_children_has_pages() -> None:
    async with scene() as s:
        parent = await parent_in(s)
        made = [await child_of(s, parent) for _ in range(2)]
        children, caller = children_in(s), inside(parent)
        first = await children.list(caller, cursor=None, limit=1)
        rest = await children.list(caller, cursor=first.next, limit=1)
        assert {one.id for one in (*first.sandboxes, *rest.sandboxes)} == {one.id for one in made}
        assert rest.next is None


async def test_key_gives_the_same_child_and_never_a_siblings() -> None:
    async with scene() as s:
        parent, other = await parent_in(s, name="a"), await parent_in(s, name="b")
        request = CreateSandbox(profile="")
        made = [
            await s.sandboxes.create(inside(one), request, idempotency_key="k")
            for one in (parent, parent, other)
        ]
        assert made[0].id == made[1].id != made[2].id


async def test_children_stop_with_their_parent_and_keep_their_files() -> None:
    async with scene() as s:
        parent = await parent_in(s)
        child = await child_of(s, parent)
        below = await child_of(s, child)
        await s.sandboxes.stop(LOCAL_PERSON, parent.id)
        for one in (child, below):
            stopped = await s.until(one, State.STOPPED)
            assert stopped.reason == f"Its parent {parent.name} does not run."
        await s.sandboxes.destroy(LOCAL_PERSON, parent.id)
        await s.until(parent, State.DESTROYED)
        # What is kept can be had: its person starts it, as any other.
        await s.sandboxes.start(LOCAL_PERSON, child.id)
        assert (await s.sandboxes.wait(LOCAL_PERSON, child.id)).state is State.READY


async def test_narrower_network_of_a_parent_is_its_childrens() -> None:
    async with scene() as s:
        parent = await parent_in(s)
        child = await child_of(s, parent)
        below = await child_of(s, child)
        change = NetworkChange(mode=NetworkMode.NONE)
        await s.sandboxes.switch_network(LOCAL_PERSON, parent.id, change)
        for one in (child, below):
            now = await s.sandboxes.get(LOCAL_PERSON, one.id)
            assert now.profile.network.mode is NetworkMode.NONE


async def test_secret_of_the_parent_alone_is_none_of_its_child() -> None:
    async with scene() as s:
        parent = await parent_in(s)
        await set_(s, name="own", use=CUSTOM, scope=f"sandbox:{parent.id}")
        assert [one.name for one in policies(s)[-1].customs] == ["own"]
        await child_of(s, parent)
        assert not policies(s)[-1].customs


async def test_prompt_is_given_to_the_parents_agent_alone() -> None:
    async with scene() as s:
        parent = await parent_in(s)
        with pytest.raises(AtollError) as refused:
            await child_of(s, parent, task=TaskRequest("Do it."))
        assert refused.value.field == "prompt"
