"""Logins as policies lend them: to the sandboxes of their agent, on their owner's word."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from atoll.adapters.extensions.in_memory import InMemory
from atoll.domain.agents.catalogue import codex
from atoll.domain.agents.login_use import PLACEHOLDER_REFRESH, ExposedLogin, LoginInside
from atoll.domain.agents.registry import find
from atoll.domain.errors import Conflict, Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.ids import PrincipalId
from atoll.domain.logins.agent_login import AgentLoginRecord
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.secrets.secret import Use
from atoll.ports import Capabilities
from atoll.ports.outside.issuer import DeviceCode
from atoll.ports.runtime import RuntimeStream
from atoll.services.logins.agent_logins import AgentLogins
from atoll.services.logins.begun import BegunAgentLogin
from atoll.services.logins.lent import ExposureRules
from atoll.services.policies.policies import ComposedPolicy
from atoll.services.provisioning.seeds import lay_agents
from atoll.testing import FakeAgentIssuer
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.contract.policy import Policy
from atoll.wire.words.agents import LoginMethod, LoginState
from atoll.wire.words.events import ActorKind
from atoll.wire.words.secrets import Purpose
from atoll.wire.words.walls import IsolationLevel
from tests.domain.sandboxes.test_lifecycle import new_sandbox
from tests.services.approvals.test_approvals import collected, entry
from tests.services.scene import Scene, body_of, scene
from tests.services.test_secrets import accepting, policies, request

KEY = "sk-canary-login-7f3a9c1b5d2e8046"
OTHER = replace(LOCAL_PERSON, id=PrincipalId("other"))


@dataclass
class World:
    """A control plane with an issuer for codex, and a runtime that takes policies."""

    scene: Scene
    issuer: FakeAgentIssuer

    @property
    def logins(self) -> AgentLogins:
        return self.scene.background.logins.logins

    async def ready(self) -> AgentLoginRecord:
        """A login of codex that its person confirmed, and that is off."""
        record = await self.logins.begin(LOCAL_PERSON, BegunAgentLogin("codex"))
        self.issuer.confirm(DeviceCode("device-of-the-fake-issuer-000001", "", ""))
        return await self.until(record, version=1)

    async def until(self, record: AgentLoginRecord, version: int) -> AgentLoginRecord:
        """The login once the leader's upkeep received this version of its tokens."""
        async with asyncio.timeout(30):
            while (found := await self.logins.get(LOCAL_PERSON, record.id)).login.version < version:
                self.scene.clock.turn(1)
                await asyncio.sleep(0.001)
        return found

    async def policy(self, version: int) -> Policy:
        """The policy that lends this version."""
        async with asyncio.timeout(30):
            while True:
                for one in reversed(policies(self.scene)):
                    if [lent.version for lent in one.logins] == [version]:
                        return one
                await asyncio.sleep(0.001)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    issuer = FakeAgentIssuer()
    async with scene(issuers={"codex": issuer}) as made:
        accepting(made)
        made.runtime.answers["POST", "/execs"] = (200, {"exit": {"exit_code": 0}})
        yield World(made, issuer)


async def test_login_is_lent_to_sandboxes_that_may_run_its_agent_once_it_is_on(
    world: World,
) -> None:
    record = await world.ready()
    await world.scene.ready(agent="codex", name="one")
    assert not any(policy.logins for policy in policies(world.scene))
    await world.logins.turn(LOCAL_PERSON, record.id, on=True)
    policy = policies(world.scene)[-1]
    (lent,) = policy.logins
    assert (lent.provider, lent.login_id, lent.version) == ("chatgpt", record.id, 1)
    assert (lent.account, lent.value) == ("account", "access-of-the-fake-issuer-000002")
    ends_at = (await world.logins.get(LOCAL_PERSON, record.id)).login.expires_at
    assert ends_at is not None and lent.ends_at == ends_at.timestamp()
    assert lent.value in {one.value for one in policy.redacted}
    assert dict(policy.env)["CODEX_REFRESH_TOKEN_URL_OVERRIDE"].endswith("/chatgpt/oauth/token")
    assert "refresh-of-the" not in repr(world.scene.runtime.calls)
    for agent, name in ((None, "two"), ("claude-code", "three"), ("shell", "four")):
        await world.scene.ready(agent=agent, name=name)
        policy = policies(world.scene)[-1]
        assert policy.logins == (lent,), agent
        # Codex has them wherever it runs, and no other agent has.
        assert "CODEX_REFRESH_TOKEN_URL_OVERRIDE" not in dict(policy.env)
        assert [name for name, _ in policy.agent_env] == ["codex"]
    told = len(policies(world.scene))
    await world.scene.ready(agent_catalogue=("claude-code",), name="without")
    assert not any(one.logins for one in policies(world.scene)[told:])
    await world.scene.ready(agent="codex@1.0", name="five")
    assert policies(world.scene)[-1].logins == (lent,)
    await world.logins.turn(LOCAL_PERSON, record.id, on=False)
    assert not policies(world.scene)[-1].logins


async def test_refreshed_token_is_pushed_and_a_revoked_one_taken_back(world: World) -> None:
    record = await world.ready()
    await world.logins.turn(LOCAL_PERSON, record.id, on=True)
    await world.scene.ready(agent="codex", name="one")
    world.scene.clock.turn(55 * 60)
    await world.until(record, version=2)
    newer = await world.policy(2)
    assert newer.logins[0].value == "access-of-the-fake-issuer-000004"
    await world.logins.revoke(LOCAL_PERSON, record.id)
    assert not policies(world.scene)[-1].logins


async def test_refused_token_is_refreshed_for_the_sandbox_it_was_lent_to(world: World) -> None:
    record = await world.ready()
    await world.logins.turn(LOCAL_PERSON, record.id, on=True)
    await world.scene.ready(agent="codex", name="one")
    told: list[dict[str, object]] = [
        {"login_id": record.id, "version": 1},
        {"login_id": record.id, "version": 1},
        {"login_id": "alg_of_nobody", "version": 1},
        {"login_id": "x/../y", "version": 1},
        {"login_id": record.id, "version": "1"},
        {"login_id": record.id},
        {},
    ]
    for payload in told:
        journal = world.scene.runtime.journal
        journal.append(entry(len(journal) + 1, "login.refused", payload))
    await collected(world.scene)
    await world.until(record, version=2)
    await world.policy(2)
    assert world.issuer.reused == 0
    assert (await world.logins.get(LOCAL_PERSON, record.id)).login.version == 2


async def test_refused_token_of_somebody_else_is_left_alone(world: World) -> None:
    key = BegunAgentLogin("codex", LoginMethod.API_KEY, KEY)
    record = await world.logins.begin(OTHER, key)
    await world.scene.ready(agent="codex", name="one")
    journal = world.scene.runtime.journal
    journal.append(entry(1, "login.refused", {"login_id": record.id, "version": 1}))
    await collected(world.scene)
    found = await world.logins.get(OTHER, record.id)
    assert (found.login.state, found.login.version) == (LoginState.READY, 1)


async def test_key_of_a_login_takes_precedence_in_the_sandboxes_of_its_agent(world: World) -> None:
    await world.scene.secrets.set(LOCAL_PERSON, request(use=Use(Purpose.PROVIDER, target="openai")))
    begun = BegunAgentLogin("opencode", LoginMethod.API_KEY, KEY)
    record = await world.logins.begin(LOCAL_PERSON, begun)
    await world.logins.turn(LOCAL_PERSON, record.id, on=True)
    for agent, last in (("opencode", KEY), ("codex", None)):
        await world.scene.ready(agent=agent, name=agent)
        provided = [one.value for one in policies(world.scene)[-1].providers]
        assert (provided[-1] == KEY) is (last == KEY)


async def test_keys_of_two_providers_are_lent_together(world: World) -> None:
    values = {"openai": KEY, "anthropic": f"{KEY}-2"}
    for provider, key in values.items():
        begun = BegunAgentLogin("opencode", LoginMethod.API_KEY, key, provider)
        record = await world.logins.begin(LOCAL_PERSON, begun)
        assert record.provider == provider
        await world.logins.turn(LOCAL_PERSON, record.id, on=True)
    await world.scene.ready(agent="opencode", name="one")
    lent = {one.provider: one.value for one in policies(world.scene)[-1].providers}
    assert lent == values
    first = await world.logins.begin(
        LOCAL_PERSON, BegunAgentLogin("opencode", LoginMethod.API_KEY, KEY)
    )
    assert first.provider == "openai"
    for agent, provider in (("opencode", "gemini"), ("codex", "anthropic")):
        wrong = BegunAgentLogin(agent, LoginMethod.API_KEY, KEY, provider)
        with pytest.raises(Invalid) as refused:
            await world.logins.begin(LOCAL_PERSON, wrong)
        assert (refused.value.code, refused.value.field) == ("unknown_provider", "provider")
    with pytest.raises(Invalid):
        await world.logins.begin(LOCAL_PERSON, BegunAgentLogin("codex", provider="openai"))


@dataclass
class Doorless(World):
    """A control plane with a backend that gives no doors."""

    def written(self) -> list[list[str]]:
        """The arguments of the scripts that wrote a login inside."""
        bodies = [body_of(one) for one in self.scene.runtime.calls if one.path == "/execs"]
        return [one["argv"] for one in bodies if ".codex/auth.json" in one["argv"]]

    async def lies_inside(self, token: str) -> None:
        """Wait until this token is what was written last."""
        async with asyncio.timeout(30):
            while True:
                if any(token in word for word in self.written()[-1]):
                    return
                await asyncio.sleep(0.001)

    async def box(self, name: str, agent: str = "codex") -> Sandbox:
        return await self.scene.ready(agent=agent, name=name, profile="open")


@pytest.fixture
async def doorless() -> AsyncIterator[Doorless]:
    issuer = FakeAgentIssuer()
    able = Capabilities(IsolationLevel.NONE, doors=False)
    others = (InMemory(called="ext.open", able=able),)
    async with scene(issuers={"codex": issuer}, others=others) as made:
        accepting(made)
        made.runtime.answers["POST", "/execs"] = (200, {"exit": {"exit_code": 0}})
        document = {"id": "profile.open", "version": "1.0.0", "extension": "ext.open",
                    "isolation": {"level": "none"}}  # fmt: skip
        await made.profiles.save(LOCAL_PERSON, "open", json.dumps(document))
        yield Doorless(made, issuer)


async def test_backend_without_doors_gets_nothing_unless_the_owner_exposes_it(
    doorless: Doorless,
) -> None:
    record = await doorless.ready()
    await doorless.logins.turn(LOCAL_PERSON, record.id, on=True)
    box, other = await doorless.box("one"), await doorless.box("two")
    assert "access-of" not in repr(doorless.scene.runtime.calls)
    assert not any(one.logins for one in policies(doorless.scene))

    scope = f"sandbox:{box.id}"
    exposed = await doorless.logins.expose(LOCAL_PERSON, record.id, (scope, scope))
    assert exposed.exposed_to == (scope,)
    token = "access-of-the-fake-issuer-000002"
    shown = [policy for policy in policies(doorless.scene) if "refresh" not in repr(policy)]
    masked = {one.value: one.name for policy in shown for one in policy.redacted}
    assert masked[token] == record.secret_name
    assert not any(one.logins for one in policies(doorless.scene))
    assert any(token in word for word in doorless.written()[-1])
    assert "refresh-of-the" not in repr(doorless.scene.runtime.calls)
    assert (await doorless.scene.sandboxes.get(LOCAL_PERSON, box.id)).exposed_secrets == (
        record.secret_name,
    )
    assert not (await doorless.scene.sandboxes.get(LOCAL_PERSON, other.id)).exposed_secrets
    assert (await doorless.scene.kinds(box))[-1] == "sandbox.exposed"
    assert "sandbox.exposed" not in await doorless.scene.kinds(other)
    told = await doorless.scene.events.list(LOCAL_PERSON, stream=f"secret:{record.token_ref}")
    assert told[-1].payload["exposed_to"] == [scope]


async def test_exposed_token_is_replaced_when_it_is_refreshed_and_goes_when_taken_back(
    doorless: Doorless,
) -> None:
    record = await doorless.ready()
    await doorless.logins.turn(LOCAL_PERSON, record.id, on=True)
    await doorless.logins.expose(LOCAL_PERSON, record.id, ("profile:profile.open",))
    box = await doorless.box("one")
    newest = doorless.written()[-1]
    assert any("access-of-the-fake-issuer-000002" in word for word in newest)
    doorless.scene.clock.turn(55 * 60)
    await doorless.until(record, version=2)
    await doorless.lies_inside("access-of-the-fake-issuer-000004")
    await doorless.logins.expose(LOCAL_PERSON, record.id, ())
    assert not any("access-of" in word for word in doorless.written()[-1])
    found = await doorless.scene.sandboxes.get(LOCAL_PERSON, box.id)
    assert found.exposed_secrets == (record.secret_name,), "it was inside in this life"
    assert "refresh-of-the" not in repr(doorless.scene.runtime.calls)


async def test_only_its_owner_exposes_a_login_and_only_where_no_door_serves_it(
    doorless: Doorless,
) -> None:
    record = await doorless.ready()
    closed = await doorless.scene.ready(agent="codex", name="closed")
    expose = doorless.logins.expose
    for caller in (OTHER, replace(LOCAL_PERSON, kind=ActorKind.AGENT)):
        with pytest.raises(NotFound if caller is OTHER else Forbidden):
            await expose(caller, record.id, ("profile:profile.open",))
    nothing = ("sandbox:sb_0000000000000000", "profile:profile.nope")
    for scope in ("person", "organization", *nothing, "sandbox:../x", "x"):
        with pytest.raises(Invalid):
            await expose(LOCAL_PERSON, record.id, (scope,))
    with pytest.raises(Conflict) as refused:
        await expose(LOCAL_PERSON, record.id, (f"sandbox:{closed.id}",))
    assert refused.value.code == "doors_serve_it"
    with pytest.raises(LimitReached):
        await expose(LOCAL_PERSON, record.id, [f"profile:profile.p{n}" for n in range(21)])
    key = BegunAgentLogin("codex", LoginMethod.API_KEY, KEY)
    lasting = await doorless.logins.begin(LOCAL_PERSON, key)
    with pytest.raises(Conflict) as refused:
        await expose(LOCAL_PERSON, lasting.id, ("profile:profile.open",))
    assert refused.value.code == "not_short_lived"
    await expose(LOCAL_PERSON, record.id, ("profile:profile.open",))
    await doorless.logins.revoke(LOCAL_PERSON, record.id)
    with pytest.raises(Conflict):
        await expose(LOCAL_PERSON, record.id, ("profile:profile.other",))
    assert (await expose(LOCAL_PERSON, record.id, ())).exposed_to == ()


async def test_login_is_no_longer_exposed_to_a_sandbox_that_is_destroyed(
    doorless: Doorless,
) -> None:
    record = await doorless.ready()
    box = await doorless.box("one")
    scopes = (f"sandbox:{box.id}", "profile:profile.open")
    await doorless.logins.expose(LOCAL_PERSON, record.id, scopes)
    await doorless.scene.sandboxes.destroy(LOCAL_PERSON, box.id)
    (left,) = await doorless.logins.list(LOCAL_PERSON)
    assert left.exposed_to == scopes[1:]
    with pytest.raises(Invalid):
        await doorless.logins.expose(LOCAL_PERSON, record.id, scopes)
    assert "access-of" not in repr(doorless.scene.runtime.calls)


async def test_one_login_of_an_agent_is_on(world: World) -> None:
    key = BegunAgentLogin("codex", LoginMethod.API_KEY, KEY)
    made = [await world.logins.begin(LOCAL_PERSON, key) for _ in range(3)]
    for one in made:
        await world.logins.turn(LOCAL_PERSON, one.id, on=True)
    found = {one.id: one.in_use for one in await world.logins.list(LOCAL_PERSON)}
    assert found == {made[0].id: False, made[1].id: False, made[2].id: True}


async def test_logins_that_ended_do_not_pile_up(world: World) -> None:
    key = BegunAgentLogin("codex", LoginMethod.API_KEY, KEY)
    for _ in range(25):
        record = await world.logins.begin(LOCAL_PERSON, key)
        await world.logins.revoke(LOCAL_PERSON, record.id)
    assert len(await world.logins.list(LOCAL_PERSON)) == 21


async def test_login_whose_issuer_is_gone_is_kept(world: World) -> None:
    record = await world.ready()
    runner = world.scene.background.runners.own
    rules = ExposureRules(world.scene.profiles.get)
    without = AgentLogins(
        world.scene.ground, {}, vault=world.scene.vault, runner=runner, exposures=rules
    )
    due = record.login.next_at
    assert due is not None
    async with world.scene.store.begin() as rows:
        soon = replace(record.login, next_at=world.scene.clock.now())
        await rows.agent_logins.put(replace(record, login=soon))
    await without.advance_one(record.id)
    after = await world.logins.get(LOCAL_PERSON, record.id)
    assert after.login.state is LoginState.READY and after.login.sent_at is None
    assert after.login.next_at is not None and after.login.next_at > world.scene.clock.now()


@dataclass
class Home:
    """A runtime that runs commands on this machine, in a home of the test's own."""

    folder: Path

    @asynccontextmanager
    async def stream(self, call: RuntimeCall[bytes]) -> AsyncIterator[RuntimeStream]:
        argv, env = (
            body_of(call)["argv"],
            {"HOME": str(self.folder), "PATH": "/usr/bin:/bin"},
        )
        done = await asyncio.to_thread(
            subprocess.run, argv, env=env, capture_output=True, check=False
        )

        async def body() -> AsyncIterator[bytes]:
            yield b'{"exit":{"exit_code":%d}}\n' % done.returncode

        assert done.stderr == b""
        yield RuntimeStream(200, (), body())


async def laid(folder: Path, account: str | None, token: str = "") -> None:
    """Lay files as a start of a sandbox does."""
    shown = () if account is None else (LoginInside(account, token),)
    logins = tuple(ExposedLogin("codex", "login", 1, one) for one in shown)
    sandbox, composed = new_sandbox(), ComposedPolicy(Policy(), (), exposed_logins=logins)
    agents = (find("codex"), find("aider"))
    await lay_agents(Home(folder), sandbox, agents, composed)  # type: ignore[arg-type]


async def test_files_of_a_login_come_and_go_and_a_persons_own_stay(tmp_path: Path) -> None:
    auth, config = tmp_path / ".codex/auth.json", tmp_path / ".codex/config.toml"
    await laid(tmp_path, None)
    assert config.read_text() == codex.CONFIG and not auth.exists()
    for account in ("acct-1", "acct-2"):
        await laid(tmp_path, account)
        assert config.read_text() == codex.LOGIN_CONFIG
        assert f'"account_id": "{account}"' in auth.read_text()
        assert auth.stat().st_mode & 0o777 == 0o600
    auth.write_text(f'{{"tokens": {{"refresh_token": "{PLACEHOLDER_REFRESH}"}}}}')  # by Codex
    await laid(tmp_path, None)
    assert config.read_text() == codex.CONFIG and not auth.exists()
    auth.write_text('{"OPENAI_API_KEY": "mine"}')
    config.write_text(codex.CONFIG + "# mine\n")
    for one in ("acct-1", None):
        await laid(tmp_path, one)
        assert "mine" in auth.read_text() and "# mine" in config.read_text()


async def test_files_of_an_exposed_login_change_with_its_token_and_go(tmp_path: Path) -> None:
    auth, config = tmp_path / ".codex/auth.json", tmp_path / ".codex/config.toml"
    await laid(tmp_path, "acct-1")
    for token in ("access-one", "access-two"):
        await laid(tmp_path, "acct-1", token)
        assert config.read_text() == codex.EXPOSED_CONFIG
        tokens = json.loads(auth.read_text())["tokens"]
        assert tokens["access_token"] == token and tokens["refresh_token"] == PLACEHOLDER_REFRESH
    await laid(tmp_path, "acct-1")
    assert config.read_text() == codex.LOGIN_CONFIG and "access-two" not in auth.read_text()
    await laid(tmp_path, "acct-1", "access-three")
    await laid(tmp_path, None)
    assert config.read_text() == codex.CONFIG and not auth.exists()


async def test_files_that_an_agent_made_strange_hold_nobody_up(tmp_path: Path) -> None:
    folder = tmp_path / ".codex"
    folder.mkdir()
    os.mkfifo(folder / "auth.json")
    (folder / "config.toml").write_bytes(b"\0" * 1_000_000)
    for account in ("acct-1", None):
        async with asyncio.timeout(10):
            await laid(tmp_path, account)
    assert (folder / "auth.json").is_fifo()
