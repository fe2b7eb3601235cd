import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from atoll.adapters.addresses import Reach
from atoll.adapters.clocks import SystemClock
from atoll.adapters.issuers.client import IssuerClient
from atoll.adapters.issuers.http import IssuerHttp
from atoll.adapters.issuers.openai import OpenAIIssuer
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
    Unavailable,
)
from atoll.domain.ids import PrincipalId
from atoll.domain.logins.agent_login import (
    ANSWER_TIME,
    MAX_LOGINS,
    MAX_RETRY,
    RESEND,
    AgentLoginRecord,
    Denied,
    SlowDown,
)
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports import Bus, EventQuery
from atoll.ports.outside.issuer import DeviceCode, IssuerBusy, LoginTokens
from atoll.services.logins.agent_logins import AgentLogins
from atoll.services.logins.begun import BegunAgentLogin
from atoll.services.logins.lent import ExposureRules
from atoll.services.task_runner import TaskRunner
from atoll.testing import FakeAgentIssuer
from atoll.wire.words.agents import LoginMethod, LoginState
from atoll.wire.words.events import ActorKind
from tests.peers.issuers.login_issuer import CLIENT, login_issuer
from tests.services.scene import Scene, scene

OTHER = replace(LOCAL_PERSON, id=PrincipalId("other"))
AGENT = replace(LOCAL_PERSON, kind=ActorKind.AGENT)
DUE = 55 * 60
"""The seconds after which a token of an hour is refreshed."""

KEY = "sk-canary-login-7f3a9c1b5d2e8046"


@dataclass
class Logins:
    """Two replicas over one store, and an issuer in memory."""

    scene: Scene
    issuer: FakeAgentIssuer
    one: AgentLogins
    two: AgentLogins

    async def waiting(self) -> AgentLoginRecord:
        return await self.one.begin(LOCAL_PERSON, BegunAgentLogin("codex"))

    async def ready(self) -> AgentLoginRecord:
        record = await self.waiting()
        self.issuer.confirm(DeviceCode("device-of-the-fake-issuer-000001", "", ""))
        self.scene.clock.turn(5)
        await self.one.advance()
        await self.one.turn(LOCAL_PERSON, record.id, on=True)
        return await self.one.get(LOCAL_PERSON, record.id)

    async def state(self, record: AgentLoginRecord) -> LoginState:
        return (await self.one.get(LOCAL_PERSON, record.id)).login.state


@asynccontextmanager
async def replicas(
    made: Scene,
    issuer: FakeAgentIssuer | OpenAIIssuer,
    count: int,
    clock: SystemClock | None = None,
) -> AsyncIterator[list[AgentLogins]]:
    ground = made.ground if clock is None else replace(made.ground, clock=clock)
    async with asyncio.TaskGroup() as tasks:
        runner = TaskRunner()
        running = tasks.create_task(runner.run())
        yield [
            AgentLogins(
                ground,
                {"codex": issuer},
                vault=made.vault,
                runner=runner,
                exposures=ExposureRules(made.profiles.get),
            )
            for _ in range(count)
        ]
        running.cancel()


@pytest.fixture
async def logins() -> AsyncIterator[Logins]:
    issuer = FakeAgentIssuer()
    async with scene(run=False) as made, replicas(made, issuer, 2) as (one, two):
        yield Logins(made, issuer, one, two)


async def test_device_login_gets_ready_once_confirmed(logins: Logins) -> None:
    record = await logins.waiting()
    assert record.login.state is LoginState.PENDING and record.user_code == "ABCD-EFGH"
    logins.scene.clock.turn(5)
    await logins.one.advance()
    assert await logins.state(record) is LoginState.PENDING
    logins.issuer.confirm(DeviceCode("device-of-the-fake-issuer-000001", "", ""))
    await logins.one.advance()  # too early
    assert await logins.state(record) is LoginState.PENDING
    logins.scene.clock.turn(5)
    await logins.two.advance()
    after = await logins.one.get(LOCAL_PERSON, record.id)
    assert after.login.state is LoginState.READY and after.user_code == after.page == ""
    assert (after.scopes, after.account, after.token_ref) == (
        ("openid",), "account", record.token_ref,
    )  # fmt: skip


async def test_login_is_off_until_its_owner_turns_it_on(logins: Logins) -> None:
    record = await logins.ready()
    assert (await logins.one.access(record.id)).token.startswith("access-")
    await logins.one.turn(LOCAL_PERSON, record.id, on=False)
    with pytest.raises(Conflict) as refused:
        await logins.two.access(record.id)
    assert refused.value.code == "login_not_ready"


async def test_login_is_its_owners_alone(logins: Logins) -> None:
    record = await logins.ready()
    for act in (
        logins.one.get(OTHER, record.id),
        logins.one.turn(OTHER, record.id, on=True),
        logins.one.revoke(OTHER, record.id),
        logins.one.paste(OTHER, record.id, "x"),
    ):
        with pytest.raises(NotFound):
            await act
    assert await logins.one.list(OTHER) == []
    with pytest.raises(Forbidden):
        await logins.one.list(AGENT)


async def test_tokens_are_no_secret_that_can_be_set_read_or_removed(logins: Logins) -> None:
    record = await logins.ready()
    [secret] = await logins.scene.secrets.list(LOCAL_PERSON)
    assert (secret.id, secret.use.purpose.value) == (record.token_ref, "oauth")
    assert secret.last4 == secret.fingerprint == ""
    for act in (
        logins.scene.secrets.rotate(LOCAL_PERSON, secret.id, KEY),
        logins.scene.secrets.remove(LOCAL_PERSON, secret.id),
    ):
        with pytest.raises(Conflict):
            await act
    await logins.scene.secrets.rotate_master(LOCAL_PERSON)
    assert (await logins.two.access(record.id)).version == 1


async def test_browser_login_takes_its_redirect_once(logins: Logins) -> None:
    request = BegunAgentLogin("codex", LoginMethod.BROWSER)
    record = await logins.one.begin(LOCAL_PERSON, request)
    redirect = logins.issuer.log_in(record.page)
    with pytest.raises(Invalid):
        await logins.one.paste(LOCAL_PERSON, record.id, redirect.replace("state=", "state=x"))
    after = await logins.two.paste(LOCAL_PERSON, record.id, redirect)
    assert after.login.state is LoginState.READY
    with pytest.raises(Conflict):
        await logins.one.paste(LOCAL_PERSON, record.id, redirect)


async def test_key_is_ready_at_once(logins: Logins) -> None:
    request = BegunAgentLogin("codex", LoginMethod.API_KEY, api_key=KEY)
    record = await logins.one.begin(LOCAL_PERSON, request)
    await logins.one.turn(LOCAL_PERSON, record.id, on=True)
    assert (await logins.one.access(record.id)).token == KEY
    with pytest.raises(Forbidden):
        await logins.one.refused(record.id, 1)
    with pytest.raises(Invalid):
        await logins.one.begin(LOCAL_PERSON, replace(request, api_key="password"))


async def test_agent_without_issuer_cannot_log_in(logins: Logins) -> None:
    with pytest.raises(NotFound) as refused:
        await logins.one.begin(LOCAL_PERSON, BegunAgentLogin("opencode"))
    assert refused.value.code == "no_issuer"


async def test_logins_of_a_person_are_bounded(logins: Logins) -> None:
    for _ in range(MAX_LOGINS):
        await logins.waiting()
    with pytest.raises(LimitReached):
        await logins.waiting()


async def test_denied_and_expired_logins_keep_no_code(logins: Logins) -> None:
    denied = await logins.waiting()
    expired = await logins.waiting()
    logins.issuer.confirm(DeviceCode("device-of-the-fake-issuer-000001", "", ""), Denied())
    logins.issuer.confirm(DeviceCode("device-of-the-fake-issuer-000002", "", ""), SlowDown())
    logins.scene.clock.turn(5)
    await logins.one.advance()
    assert await logins.state(denied) is LoginState.DENIED
    logins.scene.clock.turn(3600)
    await logins.one.advance()
    assert await logins.state(expired) is LoginState.EXPIRED
    assert await logins.scene.secrets.list(LOCAL_PERSON) == []


async def test_replicas_refresh_once(logins: Logins) -> None:
    record = await logins.ready()
    logins.scene.clock.turn(DUE)
    await asyncio.gather(*(one.advance() for one in [logins.one, logins.two] * 5))
    assert (await logins.one.access(record.id)).version == 2
    assert logins.issuer.reused == 0


async def test_refused_token_is_refreshed_once_for_all(logins: Logins) -> None:
    record = await logins.ready()
    asked = [one.refused(record.id, 1) for one in [logins.one, logins.two] * 10]
    found = await asyncio.gather(*asked)
    assert {one.version for one in found} == {2} and logins.issuer.reused == 0


async def test_waiting_caller_may_go_away_without_losing_the_answer(logins: Logins) -> None:
    record = await logins.ready()
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        with logins.scene.bus.listen(f"agent-login:{record.id}") as listener:
            waiting = tasks.create_task(logins.one.refused(record.id, 1))
            await listener.wait()  # the refresh is under way
            waiting.cancel()
            while (await logins.two.access(record.id)).version == 1:
                await listener.wait()


@pytest.mark.parametrize("grace", [True, False])
async def test_refresh_whose_answer_was_lost_is_repeated_once(logins: Logins, grace: bool) -> None:
    """An issuer that forgives it gives tokens; at one that revokes, its person logs in anew."""
    record = await logins.ready()
    logins.issuer.lost, logins.issuer.grace = True, grace
    logins.scene.clock.turn(DUE)
    await logins.one.advance()
    assert await logins.state(record) is LoginState.READY
    logins.scene.clock.turn(RESEND.total_seconds())
    await asyncio.gather(*(one.advance() for one in [logins.one, logins.two] * 5))
    await _ended_or_renewed(logins, record, grace=grace)


@pytest.mark.parametrize("grace", [True, False])
async def test_replica_that_dies_on_the_way_has_its_refresh_repeated_once(
    logins: Logins, grace: bool
) -> None:
    record = await logins.ready()
    logins.issuer.lost, logins.issuer.grace = True, grace
    logins.issuer.death = _Death("killed once the issuer had it")
    logins.scene.clock.turn(DUE)
    with pytest.raises(ExceptionGroup):
        await logins.one.advance()
    await logins.two.advance()
    assert await logins.state(record) is LoginState.READY
    logins.scene.clock.turn(ANSWER_TIME.total_seconds())
    await asyncio.gather(*(one.advance() for one in [logins.one, logins.two] * 5))
    await _ended_or_renewed(logins, record, grace=grace)


@pytest.mark.parametrize(
    "failure",
    [
        IssuerBusy("It says 503."),
        IssuerBusy("It says 429.", after=timedelta(seconds=40)),
        Unavailable("It refuses connections.", code="not_sent"),
        Unavailable("It does not answer.", code="answer_lost"),
    ],
    ids=["503", "429", "away", "silent"],
)
async def test_issuer_that_cannot_now_logs_nobody_out(logins: Logins, failure: Unavailable) -> None:
    """Ten minutes long, over replicas that come and go; nobody is told meanwhile."""
    record = await logins.ready()
    logins.scene.clock.turn(DUE)
    logins.issuer.failing, sent = failure, logins.issuer.asked
    for second in range(600):
        await (logins.one, logins.two)[second % 2].advance()
        logins.scene.clock.turn(1)
    assert 5 < logins.issuer.asked - sent < 20, "it is asked ever more rarely"
    found = await logins.two.get(LOCAL_PERSON, record.id)
    assert found.login.state is LoginState.READY and not found.needs_login
    assert found.login.reason and (await logins.one.access(record.id)).version == 1
    logins.issuer.failing = None
    logins.scene.clock.turn(MAX_RETRY.total_seconds())
    await logins.one.advance()
    found = await logins.one.get(LOCAL_PERSON, record.id)
    assert (found.login.version, found.login.reason) == (2, "")


async def test_code_that_a_busy_issuer_did_not_take_is_pasted_again(logins: Logins) -> None:
    record = await logins.one.begin(LOCAL_PERSON, BegunAgentLogin("codex", LoginMethod.BROWSER))
    redirect = logins.issuer.log_in(record.page)
    logins.issuer.failing = IssuerBusy("It says 503.")
    with pytest.raises(IssuerBusy):
        await logins.one.paste(LOCAL_PERSON, record.id, redirect)
    logins.issuer.failing = None
    after = await logins.two.paste(LOCAL_PERSON, record.id, redirect)
    assert after.login.state is LoginState.READY


async def _ended_or_renewed(logins: Logins, record: AgentLoginRecord, *, grace: bool) -> None:
    found = await logins.one.get(LOCAL_PERSON, record.id)
    assert logins.issuer.reused == 1, "a repeat is sent once"
    if grace:
        assert (await logins.one.access(record.id)).version == 2 and not found.needs_login
        logins.scene.clock.turn(DUE)
        await logins.one.advance()
        assert (await logins.one.access(record.id)).version == 3
        return
    assert found.login.state is LoginState.FAILED and found.needs_login
    assert "refused a repeat" in found.login.reason and "log in again" in found.login.reason
    async with logins.scene.store.read() as rows:
        page = await rows.events.page(EventQuery(record.org_id, record.owner))
    told = [one.payload for one in page if one.event_type == "agent_login.changed"][-1]
    assert told["state"] == "failed" and told["reason"] == found.login.reason
    logins.scene.clock.turn(7200)
    await logins.two.advance()
    assert logins.issuer.reused == 1


async def test_refresh_that_did_not_leave_is_sent_again(logins: Logins) -> None:
    record = await logins.ready()
    logins.issuer.failure = Unavailable("It is away.", code="not_sent")
    logins.scene.clock.turn(DUE)
    await logins.one.advance()
    logins.scene.clock.turn(1)
    await logins.two.advance()
    assert (await logins.one.access(record.id)).version == 2


async def test_login_whose_secret_is_gone_has_failed(logins: Logins) -> None:
    record = await logins.ready()
    async with logins.scene.store.begin() as rows:
        await rows.secrets.remove(record.token_ref)
    logins.scene.clock.turn(DUE)
    await logins.one.advance()
    assert await logins.state(record) is LoginState.FAILED


async def test_revoked_login_is_over_at_its_issuer_and_here(logins: Logins) -> None:
    record = await logins.ready()
    for _ in range(2):
        assert (await logins.one.revoke(LOCAL_PERSON, record.id)).login.state is LoginState.REVOKED
    assert await logins.scene.secrets.list(LOCAL_PERSON) == []
    with pytest.raises(Forbidden):
        await logins.issuer.refresh("refresh-of-the-fake-issuer-000003")
    with pytest.raises(Conflict):
        await logins.two.access(record.id)


@dataclass
class Crowd:
    """Workers that call a vendor with one login, some five hundred times and with four tokens one
    after another; a refused call is repeated once."""

    record: AgentLoginRecord
    works: Callable[[str], bool]
    calls: int = 0
    version: int = 0

    @property
    def is_over(self) -> bool:
        return self.calls > 500 and self.version >= 4

    async def advance(self, logins: AgentLogins) -> None:
        """Do what a replica does."""
        while not self.is_over:
            await logins.advance()
            await asyncio.sleep(0.1)  # the pace of a replica's looks

    async def work(self, logins: AgentLogins) -> None:
        """Do what a worker does."""
        while not self.is_over:
            access = await logins.access(self.record.id)
            await asyncio.sleep(0.1)  # the call takes a while
            if not self.works(access.token):
                access = await logins.refused(self.record.id, access.version)
                assert self.works(access.token)
            self.calls += 1
            self.version = access.version

    async def run(self, found: list[AgentLogins], bus: Bus) -> None:
        """Run twenty workers over these replicas."""
        async with asyncio.TaskGroup() as tasks:
            with bus.listen(f"agent-login:{self.record.id}") as listener:
                for one in found:
                    tasks.create_task(self.advance(one))
                while not (await found[0].get(LOCAL_PERSON, self.record.id)).login.version:
                    await listener.wait()
            await found[0].turn(LOCAL_PERSON, self.record.id, on=True)
            for number in range(20):
                tasks.create_task(self.work(found[number % len(found)]))


class _Death(AtollError):
    """A failure that no adapter raises: the process is gone."""


@pytest.mark.timeout(120)
async def test_twenty_workers_share_a_login_whose_tokens_live_five_seconds() -> None:
    """At an issuer that revokes on reuse: none is reused, and no call fails. No token is found in
    the database or in the log."""
    async with login_issuer(life=5, interval="1") as served, scene(run=False) as made:
        http = IssuerHttp(Reach(loopback=True))
        issuer = OpenAIIssuer(IssuerClient(served.url, CLIENT), http, SystemClock())
        async with replicas(made, issuer, 3, SystemClock()) as found:
            record = await found[0].begin(LOCAL_PERSON, BegunAgentLogin("codex"))
            served.confirm(record.user_code)
            crowd = Crowd(record, served.works)
            await crowd.run(found, made.bus)
        await http.close()
        assert served.reused == 0
        async with made.store.read() as rows:
            kept = repr(await rows.secrets.everything()) + repr(
                await rows.agent_logins.get(record.id)
            )
            kept += repr(await made.events.list(LOCAL_PERSON, limit=1000))
        assert served.issued and not [one for one in served.issued if one in kept]


async def test_grant_that_comes_for_a_login_that_was_removed_is_ended(
    logins: Logins, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, refresh = await logins.ready(), logins.issuer.refresh

    async def remove_before(token: str) -> LoginTokens:
        async with logins.scene.store.begin() as rows:
            await logins.one.drop_all(rows, record.org_id, record.owner)
        return await refresh(token)

    monkeypatch.setattr(logins.issuer, "refresh", remove_before)
    logins.scene.clock.turn(DUE)
    await logins.one.advance()
    assert logins.issuer.over == 1
