import asyncio
from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest

from atoll.adapters.extensions.in_memory import InMemory
from atoll.domain.errors import Conflict, Failed, Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.hooks.hook import Hook, HookId
from atoll.domain.hooks.hook import bound_to as hook_binding
from atoll.domain.ids import PERSONAL_ORG, PrincipalId
from atoll.domain.people.capability import capabilities_of
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox, SetupMetadata
from atoll.domain.secrets.secret import Place, Secret, Use
from atoll.ports import RuntimeClient
from atoll.ports.extension import Capabilities
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.policies.policies import ComposedPolicy, Policies
from atoll.services.policies.policy_push import AT_ONCE, PATIENCE_SECONDS
from atoll.services.policies.settings import PolicySettings
from atoll.services.secrets import SetSecret
from atoll.services.ssh.authority import SshAuthority
from atoll.services.webhooks.posting import WebhookPosting
from atoll.services.webhooks.webhooks import Webhooks
from atoll.testing import FakeSshSigner, FakeWebhookSender
from atoll.testing.samples import NOW
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.contract.policy import (
    GatewayReach,
    Policy,
    PolicyView,
    ProviderKey,
    decode_policy,
)
from atoll.wire.words.events import ActorKind
from atoll.wire.words.hooks import HookSource
from atoll.wire.words.people import OrgRole
from atoll.wire.words.secrets import Purpose
from atoll.wire.words.walls import IsolationLevel
from tests.peers.receivers.webhook_receiver import verify
from tests.services.scene import Scene, scene

HOOK = "https://hooks.example/in"
KEY = "sk-canary-A1b2C3d4E5"
OTHER = replace(LOCAL_PERSON, id=PrincipalId("other"), capabilities=capabilities_of(OrgRole.MEMBER))
OPENAI = Use(Purpose.PROVIDER, "openai")
CUSTOM = Use(Purpose.CUSTOM, places=(Place("api.example.com"),), variable="MY_KEY")
ENV = Use(Purpose.ENV, variable="DB_URL", brokered=False)


def request(
    name: str = "K", value: str = KEY, use: Use = OPENAI, scope: str = "person"
) -> SetSecret:
    return SetSecret(name, value, use, scope)


def view(revision: int) -> dict[str, object]:
    return msgspec.structs.asdict(PolicyView(revision, [], [], "none"))


def accepting(s: Scene) -> None:
    s.runtime.answers["PUT", "/policy"] = (200, view(1))
    s.runtime.answers["GET", "/policy"] = (200, view(1))


def policies(s: Scene) -> list[Policy]:
    """Every policy the runtime was told, in order."""
    return [_policy(call) for call in s.runtime.calls if _is_put(call)]


def _is_put(call: RuntimeCall[object]) -> bool:
    return (call.method, call.path) == ("PUT", "/policy")


def _policy(call: RuntimeCall[object]) -> Policy:
    assert isinstance(call.body, bytes)
    return decode_policy(call.body)


async def set_(s: Scene, **fields: object) -> Secret:
    return await s.secrets.set(LOCAL_PERSON, request(**fields))  # type: ignore[arg-type]


async def test_setting_twice_is_one_secret_and_one_event() -> None:
    async with scene() as s:
        one = await set_(s)
        assert await set_(s) == one
        assert (one.version, one.last4, one.name) == (1, "d4E5", "K")
        two = await set_(s, value=KEY + "x")
        assert (two.id, two.version) == (one.id, 2)
        assert two.fingerprint != one.fingerprint
        kinds = [event.event_type for event in await s.events.list(LOCAL_PERSON)]
        assert kinds == ["secret.set", "secret.set"]
        assert await s.secrets.list(LOCAL_PERSON) == [two]


async def test_fresh_secret_must_not_be_there() -> None:
    async with scene() as s:
        await s.secrets.set(LOCAL_PERSON, request(), fresh=True)
        with pytest.raises(Conflict) as caught:
            await s.secrets.set(LOCAL_PERSON, request(), fresh=True)
        assert caught.value.code == "name_taken"


async def test_same_name_lives_in_several_scopes() -> None:
    async with scene() as s:
        await set_(s)
        shared = await set_(s, scope="organization")
        with pytest.raises(Conflict) as caught:
            await s.secrets.get(LOCAL_PERSON, "K")
        assert caught.value.code == "several_scopes"
        assert await s.secrets.get(LOCAL_PERSON, "K", scope="organization") == shared
        assert await s.secrets.get(LOCAL_PERSON, shared.id) == shared
        await s.secrets.remove(LOCAL_PERSON, "K", scope="organization")
        assert len(await s.secrets.list(LOCAL_PERSON)) == 1


async def test_other_people_see_and_change_nothing_of_mine() -> None:
    async with scene() as s:
        mine, shared = await set_(s), await set_(s, scope="organization")
        assert await s.secrets.list(OTHER) == [shared]
        for act in (
            s.secrets.get(OTHER, mine.id),
            s.secrets.rotate(OTHER, mine.id, KEY + "y"),
            s.secrets.remove(OTHER, mine.id),
        ):
            with pytest.raises(NotFound):
                await act
        with pytest.raises(Forbidden):
            await s.secrets.remove(OTHER, shared.id)
        with pytest.raises(Forbidden):
            await s.secrets.set(OTHER, request(value=KEY + "z", scope="organization"))
        assert await s.secrets.set(OTHER, request()) != mine


@pytest.mark.parametrize("kind", [ActorKind.AGENT, ActorKind.AUTOMATION])
async def test_only_people_change_secrets(kind: ActorKind) -> None:
    async with scene() as s:
        with pytest.raises(Forbidden):
            await s.secrets.set(replace(LOCAL_PERSON, kind=kind), request())


async def test_room_is_bounded() -> None:
    async with scene() as s:
        use = Use(Purpose.ENV, variable="A", brokered=False)
        long = "".join(f"{number:x}-" for number in range(13_000))
        for number in range(6):
            await set_(s, name=f"N{number}", value=f"{number}{long}", use=use)
        with pytest.raises(LimitReached):
            await set_(s, name="N7", value=f"7{long}", use=use)


async def test_vendors_key_pays_for_a_backend_that_is_there_and_takes_one() -> None:
    paid = InMemory(called="ext.paid", able=Capabilities(IsolationLevel.NONE, needs_key=True))
    async with scene(others=(paid,)) as s:
        assert (await set_(s, use=Use(Purpose.EXTENSION, "ext.paid"))).use.target == "ext.paid"
        for name, why in (("ext.payed", "no backend ext.payed"), (s.extension.name, "no key")):
            with pytest.raises(Invalid, match=why) as refused:
                await set_(s, name="K2", use=Use(Purpose.EXTENSION, name))
            assert refused.value.field == "extension"


async def test_scope_of_a_sandbox_that_is_not_mine_is_refused() -> None:
    async with scene() as s:
        box = await s.ready(name="box")
        assert (await set_(s, scope="sandbox:box")).scope == f"sandbox:{box.id}"
        assert (await set_(s, scope="profile:bare")).scope == "profile:profile.bare"
        for scope in ("sandbox:nobody", f"sandbox:sb_{'a' * 16}", "profile:nope"):
            with pytest.raises(Invalid) as refused:
                await set_(s, scope=scope)
            assert refused.value.field == "scope"
        with pytest.raises(Invalid):
            await s.secrets.set(OTHER, request(scope=f"sandbox:{box.id}"))


async def test_secret_of_a_destroyed_sandbox_goes() -> None:
    async with scene() as s:
        box = await s.ready(name="box")
        await set_(s, scope="sandbox:box")
        await s.sandboxes.destroy(LOCAL_PERSON, box.id)
        await s.sandboxes.wait(LOCAL_PERSON, box.id, settled=True)
        assert await s.secrets.list(LOCAL_PERSON) == []
        with pytest.raises(Conflict):
            await set_(s, scope=f"sandbox:{box.id}")


async def test_plain_create_tells_no_policy() -> None:
    async with scene() as s:
        accepting(s)
        await s.ready()
        assert policies(s) == []


async def test_new_sandbox_is_told_before_its_workspace_is_laid_out() -> None:
    async with scene() as s:
        accepting(s)
        await set_(s)
        await set_(s, name="MINE", value=KEY + "-2", use=CUSTOM)
        await s.ready()
        (policy,) = policies(s)
        assert [(key.provider, key.value) for key in policy.providers] == [("openai", KEY)]
        assert [(one.name, one.slot) for one in policy.customs] == [("MINE", "bearer")]
        assert [(one.host, one.port) for one in policy.approvals] == [("api.example.com", 443)]
        assert {one.value for one in policy.redacted} == {KEY, KEY + "-2"}
        env = dict(policy.env)
        assert env["OPENAI_BASE_URL"] == "http://127.0.0.1:8082/broker/openai/v1"
        assert env["MY_KEY_BROKER_URL"] == "http://127.0.0.1:8082/broker/custom/MINE"
        assert KEY not in str(env)


async def test_live_sandbox_hears_of_every_change() -> None:
    async with scene() as s:
        accepting(s)
        box = await s.ready()
        await set_(s)
        await s.secrets.rotate(LOCAL_PERSON, "K", KEY + "2")
        await s.secrets.remove(LOCAL_PERSON, "K")
        told = policies(s)
        assert [[key.value for key in one.providers] for one in told] == [[KEY], [KEY + "2"], []]
        assert [key.version for one in told for key in one.providers] == [1, 2]
        revisions = [one.revision for one in told]
        assert revisions == sorted(set(revisions))
        await s.secrets.rotate(LOCAL_PERSON, (await set_(s)).id, KEY)
        assert len(policies(s)) == 4
        assert not (await s.sandboxes.get(LOCAL_PERSON, box.id)).exposed_secrets


async def test_gateway_is_bounded_by_who_wrote_it_last() -> None:
    """Whoever takes over the organization's key of the person that runs the installation, too."""
    admin = replace(OTHER, capabilities=capabilities_of(OrgRole.ADMIN))
    gateway = replace(OPENAI, base_url="https://gateway.example.com")
    local = replace(OPENAI, base_url="http://127.0.0.1:8080")
    async with scene() as s:
        accepting(s)
        await s.ready()
        await set_(s, use=local, scope="organization")
        for use in (local, replace(OPENAI, base_url="https://10.1.2.3")):
            with pytest.raises(Forbidden, match="beyond what this installation") as raised:
                await s.secrets.set(admin, request(use=use, scope="organization"))
            assert raised.value.field == "base_url"
        await s.secrets.set(admin, request(use=gateway, scope="organization"))
        keys = [one.providers[0] for one in policies(s)]
        assert [(one.base_url, one.reach) for one in keys] == [
            (local.base_url, None),
            (gateway.base_url, GatewayReach()),
        ]


class EarlierRuntime:
    """One that refuses a policy with a field that it does not know."""

    def __init__(self) -> None:
        self.kept: list[Policy] = []

    async def call(self, call: RuntimeCall[object]) -> None:
        policy = _policy(call)
        if any(one.reach is not None for one in policy.providers):
            raise Invalid("there is no reach", field="reach")
        self.kept.append(policy)


async def test_runtime_of_an_earlier_version_gets_no_bounded_gateway() -> None:
    """It would dial it wherever it leads."""
    key = ProviderKey(provider="openai", secret_id="s", version=1, value=KEY)
    bounded = msgspec.structs.replace(key, provider="gemini", reach=GatewayReach())
    composed = ComposedPolicy(Policy(revision=1, providers=(key, bounded)), ())
    runtime = EarlierRuntime()
    async with scene() as s:
        box = await s.ready()
        ground = Ground(s.store, s.bus, s.clock, Identifiers())
        none = cast(Any, None)
        policies_ = Policies(ground, none, vault=s.vault, settings=PolicySettings())
        await policies_.put(cast(RuntimeClient, runtime), box, composed)
    assert [one.providers for one in runtime.kept] == [(key,)]


async def test_deaf_runtime_is_told_later() -> None:
    async with scene() as s:
        accepting(s)
        await s.ready()
        s.runtime.down = True
        await set_(s)
        s.runtime.down = False
        sent = len(policies(s))
        async with asyncio.timeout(10):
            while len(policies(s)) == sent:
                s.clock.turn(1)
                await asyncio.sleep(0)
        assert policies(s)[-1].providers


async def test_runtime_that_does_not_answer_delays_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, stuck, told = Policies.put, asyncio.Event(), asyncio.Semaphore(0)

    async def put(self: Policies, client: RuntimeClient, sandbox: Sandbox, *more: Any) -> None:
        if sandbox.name == "first":
            await stuck.wait()
        await plain(self, client, sandbox, *more)
        told.release()

    async with scene() as s:
        accepting(s)
        for name in ("first", *(f"box-{number}" for number in range(2 * AT_ONCE))):
            await s.ready(name=name)
        monkeypatch.setattr(Policies, "put", put)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(set_(s))
            async with asyncio.timeout(PATIENCE_SECONDS / 2):
                for _ in range(2 * AT_ONCE):
                    await told.acquire()
            stuck.set()


async def test_runtime_with_a_newer_number_is_told_above_it() -> None:
    async with scene() as s:
        accepting(s)
        await s.ready()
        far = 10**17
        s.runtime.answers["GET", "/policy"] = (200, view(far))
        s.runtime.answers["PUT", "/policy"] = (409, {"code": "conflict", "detail": "older"})
        await set_(s)
        assert policies(s)[-1].revision > far


async def test_exposed_secret_is_said_on_the_sandbox_and_stays_said() -> None:
    async with scene() as s:
        accepting(s)
        await set_(s, name="DB", use=ENV)
        await set_(s, name="ORG", use=replace(OPENAI, brokered=False))
        box = await s.ready()
        assert box.exposed_secrets == ("DB", "ORG")
        env = dict(policies(s)[0].env)
        assert (env["DB_URL"], env["OPENAI_API_KEY"]) == (KEY, KEY)
        assert {one.name for one in policies(s)[0].redacted} == {"DB", "ORG"}
        await s.secrets.remove(LOCAL_PERSON, "DB")
        assert (await s.sandboxes.get(LOCAL_PERSON, box.id)).exposed_secrets == ("DB", "ORG")


async def test_what_the_caller_set_himself_stays() -> None:
    async with scene() as s:
        accepting(s)
        await set_(s)
        await s.ready(env=(("OPENAI_BASE_URL", "https://mine.example"),))
        assert "OPENAI_BASE_URL" not in dict(policies(s)[0].env)


async def test_missing_reference_fails_before_anything_starts() -> None:
    async with scene() as s:
        accepting(s)
        needs = SetupMetadata(secret_refs=("NOPE",))
        with pytest.raises(Invalid, match="NOPE") as caught:
            await s.ready(setup_metadata=needs)
        assert caught.value.field == "setup_metadata.secret_refs"
        await set_(s, name="NOPE")
        box = await s.ready(setup_metadata=needs)
        assert box.state == "ready"
        await s.sandboxes.stop(LOCAL_PERSON, box.id)
        await s.sandboxes.wait(LOCAL_PERSON, box.id, settled=True)
        await s.secrets.remove(LOCAL_PERSON, "NOPE")
        acts = list(s.workspaces.acts)
        await s.sandboxes.start(LOCAL_PERSON, box.id)
        fell = await s.sandboxes.wait(LOCAL_PERSON, box.id)
        assert fell.state == "failed"
        assert fell.reason is not None and "NOPE" in fell.reason
        assert s.workspaces.acts == acts


async def test_value_that_does_not_open_is_left_out() -> None:
    async with scene() as s:
        accepting(s)
        await set_(s)
        await set_(s, name="G", value=KEY + "g", use=Use(Purpose.PROVIDER, "gemini"))
        await _tamper(s, "K")
        await s.ready()
        assert [key.provider for key in policies(s)[0].providers] == ["gemini"]
        refused = await s.ready(setup_metadata=SetupMetadata(secret_refs=("K",)))
        assert refused.state == "failed"
        assert KEY not in str(refused)
        with pytest.raises(Failed):
            await s.secrets.rotate(LOCAL_PERSON, "K", KEY + "9")


async def _tamper(s: Scene, name: str) -> None:
    async with s.store.begin() as rows:
        kept = next(one for one in await rows.secrets.everything() if one.secret.name == name)
        sealed = replace(kept.sealed, body=kept.sealed.body[:-2] + b"!!")
        await rows.secrets.put(kept.secret, sealed)


async def test_widened_row_does_not_open() -> None:
    async with scene() as s:
        accepting(s)
        await set_(s)
        async with s.store.begin() as rows:
            (kept,) = await rows.secrets.everything()
            await rows.secrets.put(replace(kept.secret, scope="organization"), kept.sealed)
        await s.ready()
        assert policies(s) == []


async def test_master_key_turns_over() -> None:
    async with scene() as s:
        accepting(s)
        await set_(s)
        done = await s.secrets.rotate_master(LOCAL_PERSON)
        assert (done.secrets, done.retired) == (1, 1)
        await s.ready()
        assert policies(s)[0].providers[0].value == KEY
        assert "vault.rotated" in [e.event_type for e in await s.events.list(LOCAL_PERSON)]


async def test_ssh_keys_of_the_installation_outlive_the_master_key() -> None:
    async with scene() as s:
        authority = SshAuthority(s.ground, s.vault, FakeSshSigner())
        before, public = await authority.host(), await authority.public()
        assert (await s.secrets.rotate_master(LOCAL_PERSON)).retired == 1
        again = SshAuthority(s.ground, s.vault, FakeSshSigner())
        after = await again.host()
        assert (after.private, after.public) == (before.private, before.public)
        assert await again.public() == public


async def test_master_key_does_not_turn_over_a_value_it_cannot_open() -> None:
    async with scene() as s:
        await set_(s)
        await set_(s, name="B", value=KEY + "b")
        await _tamper(s, "B")
        with pytest.raises(Failed, match="B "):
            await s.secrets.rotate_master(LOCAL_PERSON)
        accepting(s)
        await s.ready()
        assert policies(s)[0].providers[0].value == KEY


async def test_two_hundred_setters_make_one_secret() -> None:
    async with scene() as s:
        values = [f"{KEY}-{number}" for number in range(200)]
        await asyncio.gather(*(set_(s, value=value) for value in values))
        (one,) = await s.secrets.list(LOCAL_PERSON)
        assert one.version == 200


async def test_events_hold_no_value() -> None:
    async with scene() as s:
        accepting(s)
        await s.ready()
        await set_(s, use=ENV)
        await s.secrets.rotate(LOCAL_PERSON, "K", KEY + "2")
        await s.secrets.remove(LOCAL_PERSON, "K")
        everything = msgspec.json.encode(await s.events.list(LOCAL_PERSON, limit=1000))
        assert KEY.encode() not in everything


def _hooks(s: Scene, sender: FakeWebhookSender) -> Webhooks:
    ground = Ground(s.store, s.bus, s.clock, Identifiers())
    return Webhooks(ground, s.vault, WebhookPosting(ground, s.vault, sender))


async def test_master_key_turns_over_for_the_secrets_of_webhooks_too() -> None:
    async with scene() as s:
        sender = FakeWebhookSender()
        hooks = _hooks(s, sender)
        report, former = await hooks.create(LOCAL_PERSON, HOOK)
        _, newest = await hooks.rotate(LOCAL_PERSON, report.webhook.id)
        await set_(s)
        done = await s.secrets.rotate_master(LOCAL_PERSON)
        assert (done.secrets, done.retired) == (3, 1)
        assert (await hooks.test(LOCAL_PERSON, report.webhook.id)).reason is None
        ((headers, body),) = sender.sent[HOOK]
        for secret in (former, newest):
            verify(secret, dict(headers), body)


async def test_master_key_turns_over_for_the_secrets_of_hooks_too() -> None:
    async with scene() as s:
        hook = Hook(HookId("hook_1"), PERSONAL_ORG, LOCAL_PERSON.id, HookSource.FLUX, "x", NOW)
        async with s.store.begin() as rows:
            await rows.hooks.put(hook, s.vault.seal(KEY, hook_binding(hook)))
        await s.secrets.rotate_master(LOCAL_PERSON)
        async with s.store.read() as rows:
            ((_, sealed),) = await rows.hooks.all()
        assert sealed.key_id == s.vault.seal("newest", ()).key_id
        assert s.vault.open(sealed, hook_binding(hook)) == KEY


async def test_master_key_does_not_turn_over_a_webhooks_secret_it_cannot_open() -> None:
    async with scene() as s:
        hooks = _hooks(s, FakeWebhookSender())
        one, _ = await hooks.create(LOCAL_PERSON, HOOK)
        two, _ = await hooks.create(LOCAL_PERSON, HOOK)
        async with s.store.begin() as rows:
            kept = {each.webhook.id: each for each in await rows.webhooks.everything()}
            swapped = replace(kept[one.webhook.id], keys=kept[two.webhook.id].keys)
            await rows.webhooks.put(swapped)
        with pytest.raises(Failed, match=f"webhook {one.webhook.id} cannot be opened"):
            await s.secrets.rotate_master(LOCAL_PERSON)
        assert (await hooks.test(LOCAL_PERSON, two.webhook.id)).reason is None


async def test_settings_of_git_that_the_caller_made_are_counted_on() -> None:
    own = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    async with scene() as s:
        accepting(s)
        await set_(s, use=Use(Purpose.GIT, "https://git.example/o/r"))
        await s.ready(env=tuple(own.items()))
        inside = {**own, **dict(policies(s)[0].env)}
        assert (inside["GIT_CONFIG_COUNT"], inside["GIT_CONFIG_VALUE_0"]) == ("4", "c")
        assert {inside[f"GIT_CONFIG_VALUE_{number}"] for number in (1, 2, 3)} == {
            "https://git.example/o/r", "git@git.example:o/r", "ssh://git@git.example/o/r",
        }  # fmt: skip
