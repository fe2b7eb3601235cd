"""Checks of the rows of the logins of agents."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SecretId
from atoll.domain.logins.agent_login import AgentLogin, AgentLoginId, AgentLoginRecord
from atoll.ports import Store
from atoll.testing.samples import NOW
from atoll.wire.words.agents import LoginMethod, LoginState

ADA = PrincipalId("ada")
LOGIN = AgentLogin(
    LoginMethod.DEVICE,
    LoginState.READY,
    "why",
    timedelta(seconds=7),
    NOW + timedelta(minutes=3),
    NOW + timedelta(minutes=2),
    NOW + timedelta(minutes=1),
    2,
    NOW + timedelta(hours=1),
    True,
)


def record(login_id: str, login: AgentLogin = LOGIN) -> AgentLoginRecord:
    """Return a login with something in every field."""
    return AgentLoginRecord(
        AgentLoginId(login_id),
        PERSONAL_ORG,
        ADA,
        "codex",
        SecretId("sec_a"),
        NOW,
        login,
        "https://issuer.example/device",
        "ABCD-EFGH",
        ("openid",),
        "account",
        True,
        "openai",
        ("sandbox:sb_a", "profile:profile.a"),
        NOW + timedelta(hours=2),
    )


async def check_agent_logins_come_back_as_they_were_put_last(store: Store) -> None:
    """Every field comes back; a missing login is None."""
    async with store.begin() as rows:
        await rows.agent_logins.put(record("alg_a", AgentLogin(LoginMethod.API_KEY)))
        await rows.agent_logins.put(record("alg_a"))
    async with store.read() as rows:
        assert await rows.agent_logins.get(AgentLoginId("alg_a")) == record("alg_a")
        assert await rows.agent_logins.get(AgentLoginId("alg_b")) is None


async def check_agent_logins_are_listed_by_owner(store: Store) -> None:
    """Nobody else's are among them."""
    async with store.begin() as rows:
        for one in (
            replace(record("alg_a"), created_at=NOW + timedelta(seconds=1)),
            record("alg_b"),
            replace(record("alg_c"), owner=PrincipalId("bob")),
            replace(record("alg_d"), org_id=OrgId("org_other")),
        ):
            await rows.agent_logins.put(one)
        await rows.agent_logins.put(record("alg_e"))
        await rows.agent_logins.remove(AgentLoginId("alg_e"))
        await rows.agent_logins.remove(AgentLoginId("alg_e"))
    async with store.read() as rows:
        found = await rows.agent_logins.of(PERSONAL_ORG, ADA)
    assert [one.id for one in found] == ["alg_b", "alg_a"]


async def check_agent_logins_are_due_by_time(store: Store) -> None:
    """The longest due comes first; one that waits for nothing is never due."""
    waiting = replace(LOGIN, sent_at=None)
    async with store.begin() as rows:
        await rows.agent_logins.put(record("alg_a", waiting))
        await rows.agent_logins.put(
            record("alg_b", replace(waiting, next_at=NOW + timedelta(minutes=1)))
        )
        await rows.agent_logins.put(record("alg_c", AgentLogin(LoginMethod.API_KEY)))
    async with store.read() as rows:
        due = rows.agent_logins.due
        assert await due(NOW, 9) == []
        assert await due(NOW + timedelta(minutes=1), 9) == ["alg_b"]
        assert await due(NOW + timedelta(hours=9), 9) == ["alg_b", "alg_a"]
        assert await due(NOW + timedelta(hours=9), 1) == ["alg_b"]
