"""Logins and tokens of a control plane, built from the ports and services they use."""

import asyncio
from dataclasses import dataclass, field

import structlog

from atoll.adapters.signers import Es256Signer
from atoll.domain.errors import AtollError
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.bus import LiveChannels
from atoll.ports.vault import Vault
from atoll.services.ground import Ground
from atoll.services.journals.events import Events, Note
from atoll.services.people.bearers import Bearers, Credentials
from atoll.services.people.logins import Logins
from atoll.services.people.memberships import Memberships
from atoll.services.people.settings import TokenSettings
from atoll.services.people.signing_keys import SigningKeys
from atoll.services.people.token_issuer import Issuer, TokenIssuer
from atoll.services.people.tokens import Owners, TokenBounds, Tokens
from atoll.services.policies.policies import GrantInsideAccess, InsideAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.wakeups import Wakeups
from atoll.wire.contract.policy import ApiAccess, ToolAccess
from atoll.wiring.control.identity import People

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Access:
    """Logins, and the parts of tokens that need no other service. `owners` returns a person as they
    are now. `tools_lent` is set once a sandbox has access to tools."""

    events: Events
    logins: Logins
    memberships: Memberships
    owners: Owners
    keys: SigningKeys
    issuer: TokenIssuer
    settings: TokenSettings
    vault: Vault
    people: People | None = None
    tools_lent: asyncio.Event = field(default_factory=asyncio.Event)

    def credentials(self, ground: Ground, sandboxes: Sandboxes) -> Credentials:
        """Return the services of tokens."""
        tokens = Tokens(ground, sandboxes, TokenBounds(self.owners, self.settings.lives))
        bearers = Bearers(ground, self.keys, tokens, logins=self.logins, issuer=self.issuer)
        return Credentials(tokens, bearers, self.keys)

    def inside(self, url: str | None) -> GrantInsideAccess | None:
        """Return what gives a runtime its access to this control plane, which listens at `url`;
        None where it does not listen. The settings say whether that is also access to the API, the
        profile whether it is access to tools."""
        if url is None:
            return None
        base_url, reads = url.rstrip("/"), self.settings.sandbox_tokens

        async def access(sandbox: Sandbox) -> InsideAccess:
            if not (reads or sandbox.profile.mcp.enabled):
                return InsideAccess()
            try:
                issued = await self.issuer.inside(sandbox)
            except AtollError as error:
                # The sandbox itself does not need it.
                _log.warning("sandbox_token_not_made", sandbox=sandbox.id, reason=error.message)
                issued = None
            if issued is None:
                return InsideAccess()
            api = ApiAccess(base_url=base_url, token=issued.text)
            tools = ToolAccess(base_url=base_url, token=issued.text, ends_at=issued.claims.exp)
            if not sandbox.profile.mcp.enabled:
                return InsideAccess(api)
            self.tools_lent.set()
            return InsideAccess(api if reads else None, tools)

        return access


def build_access(
    ground: Ground,
    vault: Vault,
    *,
    token: str,
    settings: TokenSettings,
    people: People | None = None,
    live: LiveChannels | None = None,
) -> Access:
    """Return logins, each of which is recorded in the log, and the parts of tokens. `token` is the
    person's; `people` are those who log in at a provider. Replicas wake each other over `live`."""
    events = Events(ground.store, ground.bus, clock=ground.clock, identifiers=ground.ids)

    async def record(caller: Principal, how: str) -> None:
        await events.record(caller, Note("auth", "auth.login", {"how": how}))

    logins = Logins(
        ground.store,
        ground.clock,
        token=token,
        record=record,
        people=None if people is None else people.sessions,
        wakeups=Wakeups(live, ground.clock),
    )
    memberships = Memberships(ground)
    owners, keys = _owners(logins, memberships), SigningKeys(ground, vault, Es256Signer())
    names = Issuer(settings.public_url or settings.sovereign_id, settings.sovereign_id)
    issuer = TokenIssuer(keys, ground.clock, owners, issuer=names)
    return Access(events, logins, memberships, owners, keys, issuer, settings, vault, people)


def _owners(logins: Logins, memberships: Memberships) -> Owners:
    async def owner(org_id: OrgId, owner_id: PrincipalId) -> Principal | None:
        """Return the installation's person, or a member."""
        if (org_id, owner_id) == (LOCAL_PERSON.org_id, LOCAL_PERSON.id):
            return logins.person()
        return await memberships.principal(org_id, owner_id)

    return owner
