"""Personal access tokens: their text, their bounds, and what no sandbox's token may do."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.ids import PERSONAL_ORG, PrincipalId
from atoll.domain.people.capability import EVERY_CAPABILITY, Capability
from atoll.domain.people.token import (
    NEVER_INSIDE,
    PREFIX,
    Token,
    TokenId,
    TokenLives,
    TokenRequest,
    expiry_of,
    granted_capabilities,
    is_token,
    is_use_fresh,
    spell_token,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIVES = TokenLives(timedelta(days=30), timedelta(days=90))


def test_text_has_a_prefix_and_check_digits() -> None:
    for entropy in (bytes(32), b"\xff" * 32, bytes(range(32))):
        text = spell_token(entropy)
        assert text.startswith(PREFIX) and len(text) == len(PREFIX) + 49 and text.isascii()
        assert is_token(text)
    assert spell_token(bytes(32)) != spell_token(bytes(31) + b"\x01")


def test_changed_cut_or_lengthened_text_is_no_token() -> None:
    text = spell_token(bytes(range(32)))
    last = "0" if text[-1] != "0" else "1"
    for other in (text[:-1], text + "0", text[:-1] + last, text.upper(), f" {text}", f"{text}\n",
                  text.replace(PREFIX, "atoll_pat-"), "", PREFIX):  # fmt: skip
        assert not is_token(other)
    # A digit of the secret that is mistyped.
    at = len(PREFIX) + 5
    assert not is_token(text[:at] + ("a" if text[at] != "a" else "b") + text[at + 1 :])


def test_token_has_what_its_maker_has_or_less() -> None:
    own = frozenset({Capability.SANDBOX_READ, Capability.TOKEN_MANAGE})
    assert granted_capabilities(own, None, inside=False) == own
    assert granted_capabilities(own, ["sandbox.read"], inside=False) == {Capability.SANDBOX_READ}
    for word in ("sandbox.create", "no.such", "SANDBOX.READ", ""):
        with pytest.raises(Forbidden):
            granted_capabilities(own, [word], inside=False)


def test_token_of_a_sandbox_never_reaches_approvals_tokens_or_secrets() -> None:
    inside = granted_capabilities(EVERY_CAPABILITY, None, inside=True)
    assert inside == EVERY_CAPABILITY - NEVER_INSIDE and Capability.SANDBOX_READ in inside
    for one in ("approval.decide", "token.manage", "secret.read", "system.manage", "org.manage"):
        with pytest.raises(Forbidden):
            granted_capabilities(EVERY_CAPABILITY, [one], inside=True)


def test_life_is_the_default_or_what_the_administrator_allows() -> None:
    def ends(seconds: int | None, maker: datetime | None = None) -> datetime:
        return expiry_of(TokenRequest("x", seconds=seconds), LIVES, now=NOW, maker_ends=maker)

    assert ends(None) == NOW + timedelta(days=30)
    assert ends(90 * 86400) == NOW + timedelta(days=90)
    with pytest.raises(Invalid):
        ends(90 * 86400 + 1)
    soon = NOW + timedelta(hours=1)
    assert ends(None, soon) == soon and ends(60, soon) == NOW + timedelta(seconds=60)
    short = TokenLives(timedelta(days=30), timedelta(days=1))
    request = TokenRequest("x")
    assert expiry_of(request, short, now=NOW, maker_ends=None) == NOW + timedelta(days=1)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\u202e", "x" * 200])
def test_name_that_cannot_be_shown_is_refused(name: str) -> None:
    with pytest.raises(Invalid):
        TokenRequest(name)


def test_use_is_noted_once_a_minute() -> None:
    token = Token(
        TokenId("t"), PERSONAL_ORG, PrincipalId("p"), "x", "m", (), NOW, NOW + timedelta(days=1)
    )
    assert not is_use_fresh(token, NOW)
    used = replace(token, used_at=NOW)
    assert is_use_fresh(used, NOW + timedelta(seconds=59))
    assert not is_use_fresh(used, NOW + timedelta(seconds=60))
