"""Tokens of logins as policies lend them to the doors of sandboxes, and to nothing inside.

A login is lent where its owner turned it on, to the sandboxes of its agent.
"""

from collections.abc import Sequence

from atoll.domain.agent.login_use import LOGIN_USES
from atoll.domain.agent.registry import AGENTS, find
from atoll.domain.login.agent_login import AgentLoginRecord, LoginMethod, LoginState
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.ports import Transaction, Vault
from atoll.services.logins.payload import LoginVault
from atoll.wire.contract.policy import LoginToken, ProviderKey


class LentLogins:
    """The tokens that are lent to a sandbox, read anew for each policy."""

    def __init__(self, vault: Vault) -> None:
        self._vault = LoginVault(vault)

    async def find(self, rows: Transaction, sandbox: Sandbox) -> Sequence[LoginToken | ProviderKey]:
        """Return what is lent to a sandbox: a token, or a key of its agent's first provider. What
        does not open is not lent."""
        if sandbox.agent is None:
            return ()
        agent, _, _ = sandbox.agent.partition("@")
        for record in await rows.agent_logins.of(sandbox.org_id, sandbox.owner):
            if is_lent(record) and agent in _names(record.agent):
                lent = await self._lent(rows, record)
                return () if lent is None else (lent,)
        return ()

    async def _lent(
        self, rows: Transaction, record: AgentLoginRecord
    ) -> LoginToken | ProviderKey | None:
        held = await self._vault.read(rows, record)
        if held is None:
            return None
        if record.login.method is LoginMethod.API_KEY:
            return ProviderKey(
                provider=find(record.agent).providers[0],
                secret_id=record.token_ref,
                version=record.login.version,
                value=held.api_key,
            )
        if held.tokens is None:
            return None
        ends_at = record.login.expires_at
        return LoginToken(
            provider=LOGIN_USES[record.agent].provider.name,
            login_id=record.id,
            version=record.login.version,
            value=held.tokens.access_token,
            account=record.account,
            ends_at=None if ends_at is None else ends_at.timestamp(),
        )


def is_lent(record: AgentLoginRecord) -> bool:
    """Report whether a login is ready, and its owner lets it be used."""
    return record.in_use and record.login.state is LoginState.READY


def _names(name: str) -> tuple[str, ...]:
    return next(((one.name, *one.aliases) for one in AGENTS if one.name == name), ())
