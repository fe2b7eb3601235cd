import asyncio

import pytest

from atoll.domain.errors import Forbidden
from atoll.domain.hooks.hook import Hook, HookId
from atoll.domain.hooks.hook import bound_to as hook_binding
from atoll.domain.ids import PERSONAL_ORG, DesktopId, PrincipalId
from atoll.domain.people.organization import Member
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.quota import Quota
from atoll.domain.workers.desktop import Desktop
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.logins.begun import BegunAgentLogin
from atoll.services.people.departures import Departures
from atoll.services.webhooks.posting import WebhookPosting
from atoll.services.webhooks.webhooks import Webhooks
from atoll.services.webhooks.worker import WebhookWorker
from atoll.testing import FakeAgentIssuer, FakeWebhookSender
from atoll.wire.words.events import ActorKind
from atoll.wire.words.hooks import HookSource
from atoll.wire.words.people import OrgRole
from tests.adapters.storage.rows.people.ssh_keys import key as ssh_key
from tests.peers.api import Pauses
from tests.services.logins.test_agent_logins import replicas
from tests.services.scene import scene

BOB = Principal(PERSONAL_ORG, PrincipalId("bob"), ActorKind.PERSON)


async def test_what_only_a_member_could_use_goes_with_its_membership() -> None:
    issuer = FakeAgentIssuer()
    async with scene() as at, replicas(at, issuer, 1) as (logins,):
        member = Member(BOB.org_id, BOB.id, BOB.kind, "Bob", "", OrgRole.MEMBER, (), at.clock.now())
        hook = Hook(HookId("hk_bob"), BOB.org_id, BOB.id, HookSource.GITHUB, "ci", at.clock.now())
        desktop = Desktop(DesktopId("dsk_bob"), BOB.org_id, BOB.id, "laptop", at.clock.now())
        async with at.store.begin() as rows:
            await rows.hooks.put(hook, at.vault.seal("key", hook_binding(hook)))
            await rows.desktops.put(desktop)
            await rows.quotas.put(BOB.org_id, BOB.id, Quota(sandboxes=1))
            await rows.ssh_keys.put(ssh_key("key_bob", owner=BOB.id))
            departures = Departures(
                at.ground,
                at.sandboxes,
                at.secrets,
                policy_push=at.within.policy_push,
                logins=logins,
            )
            await departures.forget(rows, member, actor=LOCAL_PERSON)
        async with at.store.read() as rows:
            assert await rows.hooks.of(BOB.org_id, BOB.id) == []
            assert await rows.desktops.of(BOB.org_id, BOB.id) == []
            assert await rows.ssh_keys.of(BOB.org_id, BOB.id) == []
            assert await rows.quotas.members(BOB.org_id) == {}


async def test_login_of_a_member_is_over_at_its_issuer_once_its_membership_is() -> None:
    issuer = FakeAgentIssuer()
    async with scene(run=False) as at, replicas(at, issuer, 1) as (logins,):
        member = Member(BOB.org_id, BOB.id, BOB.kind, "Bob", "", OrgRole.MEMBER, (), at.clock.now())
        await logins.begin(BOB, BegunAgentLogin("codex"))
        issuer.confirm_all()
        at.clock.turn(5)
        await logins.advance()
        departures = Departures(
            at.ground, at.sandboxes, at.secrets, policy_push=at.within.policy_push, logins=logins
        )
        async with at.store.begin() as rows:
            departure = await departures.forget(rows, member, actor=LOCAL_PERSON)
        assert departure.counts["secrets"] == 1
        assert issuer.over == 0, "the membership was not over yet"
        await departures.settle(departure)
        pauses = Pauses()
        async with asyncio.timeout(30):
            while issuer.over == 0:  # it is a task of its own
                await pauses.wait()
        assert issuer.over == 1
        assert await logins.list(BOB) == []
        (grant,) = departure.grants
        with pytest.raises(Forbidden):
            await issuer.refresh(grant.refresh_token)


async def test_webhooks_of_a_member_end_with_its_membership() -> None:
    async with scene() as at, replicas(at, FakeAgentIssuer(), 1) as (logins,):
        ground = Ground(at.store, at.bus, at.clock, Identifiers())
        posting = WebhookPosting(ground, at.vault, FakeWebhookSender())
        webhooks, worker = Webhooks(ground, at.vault, posting), WebhookWorker(ground, posting)
        mine, _ = await webhooks.create(LOCAL_PERSON, "https://hooks.example/a")
        theirs, _ = await webhooks.create(BOB, "https://hooks.example/b")
        member = Member(BOB.org_id, BOB.id, BOB.kind, "Bob", "", OrgRole.MEMBER, (), at.clock.now())
        departures = Departures(
            ground, at.sandboxes, at.secrets, policy_push=at.within.policy_push, logins=logins
        )
        async with asyncio.TaskGroup() as tasks:
            working = tasks.create_task(worker.run())
            async with at.store.begin() as rows:
                departure = await departures.forget(rows, member, actor=LOCAL_PERSON)
            await departures.settle(departure)
            working.cancel()
        assert await webhooks.list(BOB) == []
        assert await webhooks.list(LOCAL_PERSON) == [mine]
        told = await at.events.list(BOB, stream=theirs.webhook.stream)
        assert [one.event_type for one in told] == ["webhook.created", "webhook.removed"]
