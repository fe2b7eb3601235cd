import base64
import json
import tomllib

from atoll.domain.agents.catalogue import codex
from atoll.domain.agents.login_use import (
    FAR,
    LOGIN_USES,
    PLACEHOLDER_REFRESH,
    LoginInside,
    agent_of,
    placeholder_tokens,
)
from atoll.domain.agents.registry import find
from atoll.domain.broker.provider import LOGIN_PROVIDERS, PROVIDERS

ACCOUNT = LoginInside("acct-1")
TOKEN = "access-canary-5f1c"
BROKER = "http://127.0.0.1:8082/broker"


def claims(token: str) -> dict[str, object]:
    head, body, mark = token.split(".")
    assert json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))) == {"alg": "none"}
    assert mark == "placeholder"
    found: dict[str, object] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return found


def test_placeholder_tokens_name_the_account_and_end_far_away() -> None:
    tokens = placeholder_tokens("acct-1")
    assert tokens["refresh_token"] == PLACEHOLDER_REFRESH
    for name in ("id_token", "access_token"):
        found = claims(tokens[name])
        auth = found["https://api.openai.com/auth"]
        assert isinstance(auth, dict) and auth["chatgpt_account_id"] == "acct-1"
        assert found["exp"] == FAR


def test_codex_finds_itself_logged_in_and_the_broker_behind_every_address() -> None:
    auth, config = LOGIN_USES["codex"].files
    held = json.loads(auth.of(ACCOUNT))
    assert held["auth_mode"] == "chatgpt" and held["tokens"]["account_id"] == "acct-1"
    assert PLACEHOLDER_REFRESH in auth.of(ACCOUNT) and auth.without is None
    found = tomllib.loads(config.of(ACCOUNT))
    provider = found["model_providers"]["atoll"]
    assert provider["requires_openai_auth"] is True and "env_key" not in provider
    assert provider["base_url"] == f"{BROKER}/chatgpt/backend-api/codex"
    assert found["chatgpt_base_url"] == f"{BROKER}/chatgpt/backend-api/"
    assert config.without == codex.CONFIG
    usual = tomllib.loads(codex.CONFIG)
    assert usual["model_providers"]["atoll"]["env_key"] == "OPENAI_API_KEY"
    del found["chatgpt_base_url"], found["model_providers"], usual["model_providers"]
    assert found == usual


def test_variables_lead_to_the_broker_and_hold_no_token() -> None:
    assert LOGIN_USES["codex"].environment(BROKER) == (
        ("CODEX_REFRESH_TOKEN_URL_OVERRIDE", f"{BROKER}/chatgpt/oauth/token"),
    )
    assert dict(LOGIN_USES["claude-code"].environment(BROKER)) == {
        "ANTHROPIC_API_KEY": "",
        "ANTHROPIC_BASE_URL": f"{BROKER}/claude",
        "CLAUDE_CODE_OAUTH_TOKEN": "atoll-placeholder-claude-no-key-inside",
    }


def test_codex_without_doors_has_the_token_and_calls_its_vendor() -> None:
    auth, config = LOGIN_USES["codex"].files
    exposed = LoginInside("acct-1", TOKEN)
    assert TOKEN not in repr(exposed)
    tokens = json.loads(auth.of(exposed))["tokens"]
    assert tokens["access_token"] == TOKEN and tokens["refresh_token"] == PLACEHOLDER_REFRESH
    assert claims(tokens["id_token"])["exp"] == FAR and tokens["account_id"] == "acct-1"
    found = tomllib.loads(config.of(exposed))
    assert "model_provider" not in found and "8082" not in config.of(exposed)
    usual = tomllib.loads(codex.CONFIG)
    del usual["model_provider"], usual["model_providers"]
    assert found == usual
    assert config.forms == (codex.LOGIN_CONFIG, codex.EXPOSED_CONFIG)


def test_variables_without_doors_hold_the_token_and_no_address_of_the_broker() -> None:
    uses = {name: use.exposed_environment(BROKER, TOKEN) for name, use in LOGIN_USES.items()}
    assert dict(uses["claude-code"]) == {
        "ANTHROPIC_API_KEY": "",
        "CLAUDE_CODE_OAUTH_TOKEN": TOKEN,
    }
    assert dict(uses["codex"]) == {
        "CODEX_REFRESH_TOKEN_URL_OVERRIDE": f"{BROKER}/chatgpt/oauth/token"
    }


def test_every_login_is_of_an_agent_and_no_provider_of_keys() -> None:
    for name, use in LOGIN_USES.items():
        assert find(name).name == name and LOGIN_PROVIDERS[use.provider.name] is use.provider
    assert not LOGIN_PROVIDERS.keys() & PROVIDERS.keys()


def test_agent_is_known_by_the_row_of_its_login() -> None:
    assert {agent_of(use.provider.name) for use in LOGIN_USES.values()} == LOGIN_USES.keys()
    assert agent_of("openai") == ""
