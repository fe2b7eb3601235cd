"""Webhooks in a team: each delivery is judged by the role that its owner has then."""

from dataclasses import replace

import pytest

from atoll.domain.errors import Forbidden
from atoll.domain.event_retention import EventRetention
from atoll.domain.ids import EVERY_MEMBER, PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.people.organization import Member, Organization
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.services.journals.pruning import EventPruning
from atoll.services.webhooks.webhooks import remove_all
from atoll.testing.samples import sandbox
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from atoll.wire.words.sandboxes import Scope
from atoll.wire.words.webhooks import WebhookScope
from tests.services.webhooks.scene import HookScene, hook_scene

ANN = replace(LOCAL_PERSON, id=PrincipalId("ann"))
TEAM = replace(LOCAL_PERSON, id=EVERY_MEMBER)
PRIVATE, SHARED, ORG = "sandbox:private", "sandbox:shared", "org:personal"


async def team(at: HookScene, role: OrgRole) -> None:
    """Make a team of the installation's person and Ann, who has a role."""
    now = at.clock.now()
    async with at.ground.store.begin() as rows:
        await rows.organizations.put(Organization(PERSONAL_ORG, "acme", "Acme", now))
        for person, own in ((LOCAL_PERSON, OrgRole.OWNER), (ANN, role)):
            member = Member(PERSONAL_ORG, person.id, ActorKind.PERSON, "n", "", own, (), now)
            await rows.members.put(member)
        for name, scope in (("private", Scope.AGENT), ("shared", Scope.SHARED)):
            if await rows.sandboxes.get(SandboxId(name)) is None:
                one = replace(sandbox(name), id=SandboxId(name), scope=scope)
                await rows.sandboxes.insert(replace(one, owner=LOCAL_PERSON.id))


async def happen(at: HookScene) -> None:
    """Append events of everybody: private and shared ones of the person, Ann's, the team's."""
    everything: tuple[tuple[str, Principal], ...] = (
        (PRIVATE, LOCAL_PERSON),
        ("sandbox:of-ann", ANN),
        (ORG, TEAM),
        (SHARED, LOCAL_PERSON),
    )
    for stream, owner in everything:
        await at.append([stream], owner=owner)


async def test_webhook_of_a_team_receives_what_everybody_sees() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await team(at, OrgRole.ADMIN)
        await at.endpoints.create(ANN, receiver.url, scope=WebhookScope.ORGANIZATION)
        await happen(at)
        await receiver.took(2)
        assert {one["data"]["stream"] for one in receiver.accepted} == {ORG, SHARED}


async def test_webhook_of_a_member_receives_what_the_member_may_see() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await team(at, OrgRole.MEMBER)
        await at.endpoints.create(ANN, receiver.url)
        await happen(at)
        await receiver.took(3)
        streams = {one["data"]["stream"] for one in receiver.accepted}
        assert streams == {"sandbox:of-ann", ORG, SHARED}


@pytest.mark.parametrize("role", (OrgRole.MEMBER, OrgRole.VIEWER))
async def test_only_administrators_make_webhooks_of_the_team(role: OrgRole) -> None:
    async with hook_scene() as (at, receiver):
        with pytest.raises(Forbidden):  # no team yet
            await at.endpoints.create(ANN, receiver.url, scope=WebhookScope.ORGANIZATION)
        await team(at, role)
        with pytest.raises(Forbidden):
            await at.endpoints.create(ANN, receiver.url, scope=WebhookScope.ORGANIZATION)


async def test_role_that_was_taken_away_ends_the_deliveries_at_once() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await team(at, OrgRole.ADMIN)
        made, _ = await at.endpoints.create(ANN, receiver.url, scope=WebhookScope.ORGANIZATION)
        receiver.failing.add(SHARED)
        await happen(at)
        await receiver.took(1)
        await team(at, OrgRole.MEMBER)
        receiver.failing.clear()
        at.clock.turn(10)
        await at.append([ORG], owner=TEAM)
        with at.ground.bus.listen() as listener:
            while (now := await at.endpoints.get(ANN, made.webhook.id)).webhook.enabled:
                await listener.wait()
        assert now.webhook.reason is not None and "role" in now.webhook.reason
        assert len(receiver.accepted) == 1


async def test_webhooks_of_a_member_who_is_gone_end() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await team(at, OrgRole.ADMIN)
        await at.endpoints.create(ANN, receiver.url, scope=WebhookScope.ORGANIZATION)
        await at.endpoints.create(ANN, receiver.url)
        async with at.ground.store.begin() as rows:
            await rows.members.remove(PERSONAL_ORG, ANN.id)
            await remove_all(rows, at.ground, (PERSONAL_ORG, ANN.id), actor=LOCAL_PERSON)
        await happen(at)
        assert await at.endpoints.list(ANN) == []
    assert receiver.accepted == []


async def test_pruning_waits_for_webhooks_that_want_what_is_due() -> None:
    async with hook_scene() as (at, receiver):
        await team(at, OrgRole.MEMBER)
        await at.endpoints.create(ANN, receiver.url, streams=(ORG,))
        await at.append([SHARED] * 4)
        pruning = EventPruning(at.ground, EventRetention(None, most=2))
        assert await pruning.sweep() == 2  # no reader wants these
        await at.append([ORG], owner=TEAM)
        await at.append([SHARED] * 2)
        assert await pruning.sweep() == 2 and len(await at.events(SHARED)) == 2
        await at.append([SHARED] * 2)
        assert await pruning.sweep() == 0 and len(await at.events(SHARED)) == 4
        await at.append([SHARED])
        assert await pruning.sweep() == 1
        (told,) = await at.events("log")
        assert told.event_type == "log.pruned"
