"""The readiness of an agent: what it lacks is named with what mends it."""

from datetime import UTC, datetime

import pytest

from atoll.domain.agents.readiness import assess
from atoll.domain.agents.registry import find
from atoll.domain.ids import OrgId, PrincipalId, SecretId
from atoll.domain.secrets.secret import Secret, Use
from atoll.wire.words.agents import ReadinessState
from atoll.wire.words.secrets import Purpose

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def secret(use: Use) -> Secret:
    owner = PrincipalId("person")
    return Secret(
        SecretId("sec_1"), OrgId("personal"), owner, "A", "person", use, 1, "f", "l4", 9, NOW, NOW
    )


KEY = secret(Use(Purpose.PROVIDER, "openai"))
OTHER = secret(Use(Purpose.PROVIDER, "anthropic"))
VARIABLE = secret(Use(Purpose.ENV, variable="OPENAI_API_KEY", brokered=False))


@pytest.mark.parametrize(
    ("name", "secrets", "missing", "state", "mend"),
    [
        ("codex", [KEY], None, "works", None),
        ("codex", [VARIABLE], None, "works", None),
        ("codex", [OTHER], None, "key_missing", "atoll secret set openai --provider openai"),
        ("opencode", [OTHER], None, "works", None),
        ("shell", [], None, "works", None),
        ("codex", [KEY], "none", "not_installed", "atoll agent install codex"),
        ("cursor-agent", [], "none", "unavailable", "install it for everyone on this machine"),
    ],
)
def test_agent_that_does_not_work_says_why_and_what_mends_it(
    name: str, secrets: list[Secret], missing: str | None, state: str, mend: str | None
) -> None:
    found = assess(find(name), secrets, missing=missing, forbidden=False)
    assert found.state == state
    assert (found.reason is None) is (state == "works")
    assert (found.mend or "").startswith(mend or "") and (mend is None) is (found.mend is None)


def test_key_of_the_installation_is_a_key() -> None:
    found = assess(find("codex"), [], missing=None, forbidden=False, providers_with_key={"openai"})
    assert found.state == "works"


def test_login_in_use_is_as_good_as_a_key() -> None:
    for name, state in (("codex", "works"), ("claude-code", "key_missing")):
        found = assess(find(name), [], missing=None, forbidden=False, logged_in={"codex"})
        assert found.state == state


def test_agent_that_the_installation_leaves_out_is_not_offered_for_install() -> None:
    found = assess(find("codex"), [KEY], missing="not in the catalogue", forbidden=True)
    assert (found.state, found.reason) == (ReadinessState.UNAVAILABLE, "not in the catalogue")
