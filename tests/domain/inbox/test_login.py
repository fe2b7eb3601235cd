"""Items of the inbox for logins that broke."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SecretId
from atoll.domain.inbox.item import DISMISSED
from atoll.domain.inbox.login import PREFIX, item_of_login
from atoll.domain.logins.agent_login import AgentLogin, AgentLoginId, AgentLoginRecord
from atoll.wire.words.agents import ItemKind, LoginMethod, LoginState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BROKEN = AgentLoginRecord(
    AgentLoginId("alg_1"), PERSONAL_ORG, PrincipalId("ada"), "codex", SecretId("sec_1"), NOW,
    AgentLogin(LoginMethod.DEVICE, LoginState.FAILED, "refused \x1b[2J", version=3),
    in_use=True, ended_at=NOW + timedelta(hours=1),
)  # fmt: skip


def test_item_of_a_login_says_why_and_what_to_do() -> None:
    item = item_of_login(BROKEN)
    assert item.id == "alg_1" and item.id.startswith(PREFIX) and item.kind in DISMISSED
    assert (item.kind, item.agent, item.options) == (ItemKind.LOGIN, "codex", ())
    assert item.since == "2026-01-01T01:00:00.000Z"
    assert item.lines[1:] == ("refused \\x1b[2J", "atoll agent login codex --use")
    assert item_of_login(replace(BROKEN, ended_at=None)).since == "2026-01-01T00:00:00.000Z"


def test_keys_for_two_providers_go_together_and_nothing_else() -> None:
    key = replace(BROKEN, provider="openai")
    assert not key.excludes(replace(key, provider="anthropic"))
    for other in (key, BROKEN):
        assert key.excludes(other) and other.excludes(key)
    assert not key.excludes(replace(key, agent="opencode"))


def test_only_a_login_that_worked_and_was_in_use_needs_a_new_one() -> None:
    assert BROKEN.needs_login and BROKEN.secret_name == "login_alg_1"
    ready = replace(BROKEN.login, state=LoginState.READY)
    for other in (
        replace(BROKEN, in_use=False),
        replace(BROKEN, login=ready),
        replace(BROKEN, login=replace(BROKEN.login, version=0)),
    ):
        assert not other.needs_login
