"""Settings of issuers: the usual ones, and those to which no token may be sent."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from atoll.adapters.clocks import SystemClock
from atoll.adapters.issuers.device_grant import DeviceGrantIssuer
from atoll.adapters.issuers.openai import OpenAIIssuer
from atoll.domain.errors import Invalid
from atoll.domain.logins.redirect import BegunRedirect
from atoll.wiring.control.outside.issuers import open_issuers
from atoll.wiring.control.settings import ControlSettings, read_settings

BEGUN = BegunRedirect("s", "v", "http://localhost/x")


def read(tmp_path: Path, **issuers: dict[str, Any]) -> ControlSettings:
    return read_settings(tmp_path, {}, {"agent_issuers": issuers})


async def test_issuers_are_those_that_the_settings_name(tmp_path: Path) -> None:
    own = {"issuer": "https://id.example/", "client_id": "ours", "authorize_path": "/own"}
    settings = read(tmp_path, codex={"client_id": "app"}, **{"claude-code": own})
    async with AsyncExitStack() as stack:
        found = open_issuers(settings.issuers, SystemClock(), stack)
        assert isinstance(found["codex"], OpenAIIssuer)
        assert found["codex"].page_of(BEGUN).startswith("https://auth.openai.com/oauth/authorize?")
        assert isinstance(found["claude-code"], DeviceGrantIssuer)
        page = found["claude-code"].page_of(BEGUN)
        assert page.startswith("https://id.example/own?") and "client_id=ours" in page
        assert open_issuers(ControlSettings(tmp_path).issuers, SystemClock(), stack) == {}


@pytest.mark.parametrize(
    "issuers",
    [
        {"opencode": {"client_id": "a"}},
        {"claude": {"client_id": "a", "issuer": "https://id.example"}},
        {"claude-code": {"client_id": "a"}},
        {"codex": {}},
        {"codex": {"client_id": ""}},
        {"codex": {"client_id": "a b"}},
        {"codex": {"client_id": "a", "issuer": "http://id.example"}},
        {"codex": {"client_id": "a", "issuer": "https://u:p@id.example"}},
        {"codex": {"client_id": "a", "issuer": "https://id.example?x=1"}},
        {"codex": {"client_id": "a", "flow": "password"}},
        {"codex": {"client_id": "a", "token_path": "oauth/token"}},
        {"codex": {"client_id": "a", "token_path": "/x y"}},
        {"codex": {"client_id": "a", "client_secret": "x"}},
        {"codex": {"client_id": "a", "scopes": "openid"}},
    ],
)
def test_issuer_that_makes_no_sense_stops_the_start(
    tmp_path: Path, issuers: dict[str, dict[str, Any]]
) -> None:
    with pytest.raises(Invalid):
        read(tmp_path, **issuers)


@pytest.mark.parametrize("seconds", [0, -1, 3601])
def test_early_time_is_bounded(tmp_path: Path, seconds: int) -> None:
    with pytest.raises(Invalid):
        read_settings(tmp_path, {}, {"agent_login_early_seconds": seconds})
