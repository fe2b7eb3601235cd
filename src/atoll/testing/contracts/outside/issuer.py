"""The contract of an AgentIssuer: codes and refresh tokens that can be used once.

Subclass `AgentIssuerContract` in a test module and give it the fixture `issuer`. Implement what a
person and a vendor do at the issuer.
"""

from abc import ABC, abstractmethod

import pytest

from atoll.domain.errors import Forbidden, Unavailable
from atoll.domain.logins.agent_login import LoginRefused, PollUnanswered, StillPending
from atoll.domain.logins.redirect import BegunRedirect, read_redirect
from atoll.ports.outside.issuer import AgentIssuer, DeviceCode, LoginTokens

BEGUN = BegunRedirect("s" * 43, "v" * 43, "http://localhost:1455/auth/callback")


class AgentIssuerContract(ABC):
    """Contract of issuers: a login gives tokens once, and each refresh token works once."""

    @abstractmethod
    def confirm(self, issuer: AgentIssuer, device: DeviceCode) -> None:
        """Confirm the code at the issuer."""

    @abstractmethod
    def refuse(self, issuer: AgentIssuer, device: DeviceCode) -> None:
        """Refuse the code at the issuer."""

    @abstractmethod
    def log_in(self, issuer: AgentIssuer, url: str) -> str:
        """Log in at `url` as a browser does; return where it is sent back to."""

    @abstractmethod
    def lose_answer(self, issuer: AgentIssuer) -> None:
        """Have the next request for tokens carried out, and its answer lost."""

    @abstractmethod
    def turn_away(self, issuer: AgentIssuer) -> None:
        """Have the next request for tokens turned away before it is looked at."""

    async def tokens(self, issuer: AgentIssuer) -> LoginTokens:
        """Log in by device code."""
        device = await issuer.begin()
        self.confirm(issuer, device)
        tokens = await issuer.poll(device)
        assert isinstance(tokens, LoginTokens)
        return tokens

    async def test_device_code_gives_tokens_once_confirmed(self, issuer: AgentIssuer) -> None:
        device = await issuer.begin()
        assert device.user_code and device.page.startswith("http")
        assert await issuer.poll(device) == StillPending()
        self.confirm(issuer, device)
        tokens = await issuer.poll(device)
        assert isinstance(tokens, LoginTokens) and tokens.life.total_seconds() > 0
        assert tokens.access_token != tokens.refresh_token
        assert not isinstance(await issuer.poll(device), LoginTokens)

    async def test_secrets_are_not_shown(self, issuer: AgentIssuer) -> None:
        device = await issuer.begin()
        assert device.device_code not in repr(device)
        tokens = await self.tokens(issuer)
        assert tokens.access_token not in repr(tokens) and tokens.refresh_token not in repr(tokens)

    async def test_refused_code_gives_no_tokens(self, issuer: AgentIssuer) -> None:
        device = await issuer.begin()
        self.refuse(issuer, device)
        outcome = await issuer.poll(device)
        assert not isinstance(outcome, LoginTokens | StillPending | PollUnanswered)

    async def test_unknown_code_is_never_ready(self, issuer: AgentIssuer) -> None:
        outcome = await issuer.poll(DeviceCode("dev-unknown", "NONE-NONE", "https://x.example"))
        assert isinstance(outcome, LoginRefused | StillPending)

    async def test_browser_gives_tokens_once(self, issuer: AgentIssuer) -> None:
        url = issuer.page_of(BEGUN)
        assert BEGUN.verifier not in url
        code = read_redirect(self.log_in(issuer, url), BEGUN)
        assert (await issuer.trade(BEGUN, code)).access_token
        with pytest.raises(Forbidden) as refused:
            await issuer.trade(BEGUN, code)
        assert refused.value.code == "issuer_refused" and code not in refused.value.message

    async def test_code_of_another_verifier_is_refused(self, issuer: AgentIssuer) -> None:
        code = read_redirect(self.log_in(issuer, issuer.page_of(BEGUN)), BEGUN)
        other = BegunRedirect(BEGUN.state, "w" * 43, BEGUN.redirect_uri)
        with pytest.raises(Forbidden):
            await issuer.trade(other, code)

    async def test_refresh_gives_new_tokens(self, issuer: AgentIssuer) -> None:
        first = await self.tokens(issuer)
        second = await issuer.refresh(first.refresh_token)
        assert second.access_token != first.access_token
        assert await issuer.refresh(second.refresh_token)

    async def test_refresh_token_used_again_ends_the_login(self, issuer: AgentIssuer) -> None:
        first = await self.tokens(issuer)
        second = await issuer.refresh(first.refresh_token)
        for token in (first.refresh_token, second.refresh_token):
            with pytest.raises(Forbidden) as refused:
                await issuer.refresh(token)
            assert token not in refused.value.message

    async def test_lost_answer_is_told_apart(self, issuer: AgentIssuer) -> None:
        first = await self.tokens(issuer)
        self.lose_answer(issuer)
        with pytest.raises(Unavailable) as lost:
            await issuer.refresh(first.refresh_token)
        assert lost.value.code == "answer_lost"
        with pytest.raises(Forbidden):
            await issuer.refresh(first.refresh_token)

    async def test_request_that_was_turned_away_can_be_repeated(self, issuer: AgentIssuer) -> None:
        first = await self.tokens(issuer)
        self.turn_away(issuer)
        with pytest.raises(Unavailable) as refused:
            await issuer.refresh(first.refresh_token)
        assert refused.value.code == "issuer_busy"
        assert await issuer.refresh(first.refresh_token)

    async def test_revoked_login_gives_no_tokens(self, issuer: AgentIssuer) -> None:
        first = await self.tokens(issuer)
        await issuer.revoke(first.refresh_token)
        await issuer.revoke(first.refresh_token)
        with pytest.raises(Forbidden):
            await issuer.refresh(first.refresh_token)
