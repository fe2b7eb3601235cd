"""The secrets of a login: one value of the vault, of kind `oauth`, that nobody can read or set.

It holds the code of a login that waits, or the tokens of one that is ready. Each change of it is
sealed anew, bound to its owner and version.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from atoll.domain.errors import AtollError
from atoll.domain.logins.agent_login import AgentLoginRecord
from atoll.domain.logins.redirect import BegunRedirect
from atoll.domain.secrets.secret import Secret, Use, bound_to
from atoll.ports import Kept, Transaction, Vault
from atoll.ports.outside.issuer import DeviceCode, LoginTokens
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.secrets import PERSON_SCOPE, Purpose


@dataclass(frozen=True, slots=True)
class LoginSecrets:
    """The code or tokens of a login; what it does not have is None, or an empty key."""

    device: DeviceCode | None = None
    begun: BegunRedirect | None = None
    tokens: LoginTokens | None = None
    api_key: str = field(default="", repr=False)


class LoginVault:
    """The secrets of logins, sealed beside those of people."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def read(self, rows: Transaction, record: AgentLoginRecord) -> LoginSecrets | None:
        """Return the secrets of a login; None when they are gone or do not open."""
        entry = await self._find_stored_secret(rows, record)
        if entry is None:
            return None
        try:
            value = self._vault.open(entry.sealed, bound_to(entry.secret))
            return msgspec.json.decode(value, type=LoginSecrets)
        except (AtollError, *UNREADABLE):
            return None

    async def write(
        self, rows: Transaction, record: AgentLoginRecord, secrets: LoginSecrets, now: datetime
    ) -> None:
        """Seal the secrets of a login, in the caller's transaction."""
        value = msgspec.json.encode(secrets).decode()
        entry = await self._find_stored_secret(rows, record)
        before = _new_secret(record) if entry is None else entry.secret
        secret = replace(
            before,
            version=before.version + 1,
            # Tokens change on their own: a mark of each would say when they are used.
            size=len(value.encode()),
            updated_at=now,
        )
        await rows.secrets.put(secret, self._vault.seal(value, bound_to(secret)))

    async def drop(self, rows: Transaction, record: AgentLoginRecord) -> None:
        """Remove the secrets of a login, in the caller's transaction."""
        await rows.secrets.remove(record.token_ref)

    async def _find_stored_secret(self, rows: Transaction, record: AgentLoginRecord) -> Kept | None:
        """Return the stored secret of a login, None when there is none."""
        for entry in await rows.secrets.sealed(record.org_id, record.owner):
            if entry.secret.id == record.token_ref and entry.secret.use.purpose is Purpose.OAUTH:
                return entry
        return None


def _new_secret(record: AgentLoginRecord) -> Secret:
    """Return the description of a login's secret before its first value."""
    return Secret(
        id=record.token_ref,
        org_id=record.org_id,
        owner=record.owner,
        name=record.secret_name,
        scope=PERSON_SCOPE,
        use=Use(Purpose.OAUTH, target=record.agent),
        version=0,
        fingerprint="",
        last4="",
        size=0,
        created_at=record.created_at,
        updated_at=record.created_at,
    )
