"""Tokens of logins as policies lend them to the doors of sandboxes.

A login is lent where its owner turned it on, to the sandboxes that may run its agent. Where a
sandbox has no doors nothing is lent, unless its owner exposes the login to it: then the access
token goes inside.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from atoll.domain.agents.login_use import LOGIN_USES, ExposedLogin, LoginInside
from atoll.domain.agents.registry import canonical_name, find
from atoll.domain.errors import Conflict, Invalid, LimitReached
from atoll.domain.ids import SandboxId
from atoll.domain.logins.agent_login import AgentLoginRecord
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import GONE, Sandbox
from atoll.domain.secrets.secret import read_scope
from atoll.ports import Transaction, Vault
from atoll.services.logins.payload import LoginVault
from atoll.services.policies.secret_policies import LentKey, LentLogin
from atoll.services.references import FindProfile, check_profile
from atoll.wire.contract.policy import LoginToken, ProviderKey
from atoll.wire.words.agents import MAX_EXPOSED, LoginMethod, LoginState

HasDoors = Callable[[Sandbox], bool]
"""Reports whether the backend of a sandbox gives it doors."""


def always_doors(_sandbox: Sandbox) -> bool:
    """Report doors: what every backend has unless it says otherwise."""
    return True


@dataclass(frozen=True, slots=True)
class ExposureRules:
    """Rules of where the access token of a login may be put."""

    find_profile: FindProfile
    has_doors: HasDoors = always_doors

    async def check(self, rows: Transaction, caller: Principal, scope: str) -> None:
        """Check a scope. Raises `Invalid` (field `exposed_to`) for one that is none of the
        caller's, `Conflict` (code `doors_serve_it`)."""
        kind, _, ref = read_scope(scope).partition(":")
        if kind == "sandbox":
            sandbox = await rows.sandboxes.get(SandboxId(ref))
            mine = (caller.org_id, caller.id)
            if sandbox is None or (sandbox.org_id, sandbox.owner) != mine or sandbox.state in GONE:
                raise Invalid(f"you have no sandbox {ref}", field="exposed_to")
            if self.has_doors(sandbox):
                raise Conflict(
                    f"{sandbox.name} has doors, which serve the login: nothing of it has to be "
                    "inside.",
                    code="doors_serve_it",
                )
        elif kind == "profile":
            await check_profile(self.find_profile, caller, ref, field="exposed_to")
        else:
            raise Invalid("a login is exposed to a sandbox or a profile", field="exposed_to")


def check_exposable(record: AgentLoginRecord, scopes: Sequence[str]) -> None:
    """Check that the token of a login may be put into sandboxes at all. Raises `Conflict` (code
    `login_not_ready`, `not_short_lived`), `LimitReached`."""
    if not record.login.is_open:
        raise Conflict("This login has ended: log in again.", code="login_not_ready")
    if record.login.method is LoginMethod.API_KEY:
        raise Conflict(
            "A key does not end, so no login exposes it: `atoll secret set --exposed` does.",
            code="not_short_lived",
        )
    if len({*scopes}) > MAX_EXPOSED:
        raise LimitReached(f"A login is exposed to {MAX_EXPOSED} sandboxes and profiles at most.")


class LentLogins:
    """The tokens that are lent to a sandbox, read anew for each policy."""

    def __init__(self, vault: Vault, has_doors: HasDoors = always_doors) -> None:
        self._vault = LoginVault(vault)
        self._has_doors = has_doors

    async def find(self, rows: Transaction, sandbox: Sandbox) -> Sequence[LentLogin]:
        """Return what is lent to a sandbox: a token, or a key. What does not open is not lent."""
        logins: list[LentLogin | None] = []
        for record in await rows.agent_logins.of(sandbox.org_id, sandbox.owner):
            if is_lent(record) and may_run(sandbox, record.agent):
                if self._has_doors(sandbox):
                    logins.append(await self._lend_login(rows, record))
                else:
                    logins.append(await self._expose_login(rows, record, sandbox))
        return [login for login in logins if login is not None]

    async def _expose_login(
        self, rows: Transaction, record: AgentLoginRecord, sandbox: Sandbox
    ) -> ExposedLogin | None:
        """Return the token that a sandbox may hold inside, None when it may hold none."""
        if not is_exposed(record, sandbox):
            return None
        held = await self._vault.read(rows, record)
        if held is None or held.tokens is None:
            return None
        inside = LoginInside(record.account, held.tokens.access_token)
        return ExposedLogin(record.agent, record.secret_name, record.login.version, inside)

    async def _lend_login(
        self, rows: Transaction, record: AgentLoginRecord
    ) -> LoginToken | LentKey | None:
        """Return the token or the key of a login, None when it does not open."""
        held = await self._vault.read(rows, record)
        if held is None:
            return None
        if record.login.method is LoginMethod.API_KEY:
            key = ProviderKey(
                provider=record.provider or find(record.agent).providers[0],
                secret_id=record.token_ref,
                version=record.login.version,
                value=held.api_key,
            )
            return LentKey(record.agent, key)
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


def is_exposed(record: AgentLoginRecord, sandbox: Sandbox) -> bool:
    """Report whether a login's owner exposes it to this sandbox."""
    scopes = {f"sandbox:{sandbox.id}", f"profile:{sandbox.profile.id}"}
    return bool(scopes & {*record.exposed_to})


def may_run(sandbox: Sandbox, agent: str) -> bool:
    """Report whether an agent may run in a sandbox: it is its own, or its catalogue has it."""
    catalogue = sandbox.profile.agent_catalogue
    own = sandbox.agent is not None and canonical_name(sandbox.agent) == agent
    return own or catalogue is None or agent in catalogue
