import asyncio

from atoll.domain.hook.hook import Hook, HookSource
from atoll.domain.hook.hook import bound_to as hook_binding
from atoll.domain.ids import PERSONAL_ORG, DesktopId, HookId, PrincipalId
from atoll.domain.people.capability import OrgRole
from atoll.domain.people.organization import Member
from atoll.domain.people.principal import LOCAL_PERSON, ActorKind, Principal
from atoll.domain.quota import Quota
from atoll.domain.worker.desktop import Desktop
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.people.departures import Departures
from atoll.services.webhooks.posting import WebhookPosting
from atoll.services.webhooks.webhooks import Webhooks
from atoll.services.webhooks.worker import WebhookWorker
from atoll.testing import FakeWebhookSender
from tests.services.scene import scene

BOB = Principal(PERSONAL_ORG, PrincipalId("bob"), ActorKind.PERSON)


async def test_what_only_a_member_could_use_goes_with_its_membership() -> None:
    async with scene() as at:
        ground = Ground(at.store, at.bus, at.clock, Identifiers())
        member = Member(BOB.org_id, BOB.id, BOB.kind, "Bob", "", OrgRole.MEMBER, (), at.clock.now())
        hook = Hook(HookId("hk_bob"), BOB.org_id, BOB.id, HookSource.GITHUB, "ci", at.clock.now())
        desktop = Desktop(DesktopId("dsk_bob"), BOB.org_id, BOB.id, "laptop", at.clock.now())
        async with at.store.begin() as rows:
            await rows.hooks.put(hook, at.vault.seal("key", hook_binding(hook)))
            await rows.desktops.put(desktop)
            await rows.quotas.put(BOB.org_id, BOB.id, Quota(sandboxes=1))
            await Departures(ground, at.sandboxes, at.secrets).forget(
                rows, member, actor=LOCAL_PERSON
            )
        async with at.store.read() as rows:
            assert await rows.hooks.of(BOB.org_id, BOB.id) == []
            assert await rows.desktops.of(BOB.org_id, BOB.id) == []
            assert await rows.quotas.members(BOB.org_id) == {}


async def test_webhooks_of_a_member_end_with_its_membership() -> None:
    async with scene() as at:
        ground = Ground(at.store, at.bus, at.clock, Identifiers())
        posting = WebhookPosting(at.clock, at.vault, FakeWebhookSender())
        webhooks, worker = Webhooks(ground, at.vault, posting), WebhookWorker(ground, posting)
        mine, _ = await webhooks.create(LOCAL_PERSON, "https://hooks.example/a")
        theirs, _ = await webhooks.create(BOB, "https://hooks.example/b")
        member = Member(BOB.org_id, BOB.id, BOB.kind, "Bob", "", OrgRole.MEMBER, (), at.clock.now())
        departures = Departures(ground, at.sandboxes, at.secrets)
        async with asyncio.TaskGroup() as tasks:
            working = tasks.create_task(worker.run())
            async with at.store.begin() as rows:
                await departures.forget(rows, member, actor=LOCAL_PERSON)
            await departures.settle(member)
            working.cancel()
        assert await webhooks.list(BOB) == []
        assert await webhooks.list(LOCAL_PERSON) == [mine]
        told = await at.events.list(BOB, stream=theirs.webhook.stream)
        assert [one.event_type for one in told] == ["webhook.created", "webhook.removed"]
