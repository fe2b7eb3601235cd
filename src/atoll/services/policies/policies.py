"""Policies of runtimes: their sandbox's secrets, approvals and network.

Each is composed anew from the store and set whole. Values are opened here, go to the runtime,
and are kept nowhere. A value that does not open is left out, so its door stays closed.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

import msgspec
import structlog

from atoll.domain.agents.login_use import ExposedLogin, LoginInside, agent_of
from atoll.domain.approvals.approval import Approval, SecretAsk, is_in_force
from atoll.domain.errors import AtollError, Conflict, Failed, Invalid
from atoll.domain.ids import SandboxId, SecretId
from atoll.domain.network.address import PrivateReach
from atoll.domain.network.egress import EgressRule as Rule
from atoll.domain.network.switch import rules_of
from atoll.domain.profile.profile import Recording
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.stimulus import Exposed
from atoll.domain.secrets.secret import ScopeSubject, Secret, applicable_secrets, bound_to
from atoll.ports import Kept, RuntimeClient, Transaction, Vault
from atoll.services.ground import Ground
from atoll.services.lifecycle.leases import grant_leases
from atoll.services.lifecycle.transitions import Transitions
from atoll.services.policies.environments import (
    agent_environments,
    environment_of,
    own_agent,
)
from atoll.services.policies.network_boundary import NetworkBoundary
from atoll.services.policies.secret_policies import (
    LentKey,
    LentLogin,
    OpenSecret,
    custom_secret,
    exposed_names,
    git_remote,
    has_purpose,
    is_current,
    list_redacted_values,
    masked_logins,
    place_of_grant,
    places,
    provider_key,
    reaches,
)
from atoll.services.policies.settings import PolicySettings
from atoll.wire.contract.policy import (
    ApiAccess,
    Approved,
    Commands,
    EgressRule,
    LoginToken,
    Network,
    Policy,
    ProviderKey,
    ToolAccess,
    get_policy,
    put_policy,
)
from atoll.wire.words.secrets import Purpose

MEGABYTE = 1_000_000
RENEWED_AFTER = timedelta(minutes=10)
"""The time after which the access of a sandbox to this API is renewed: it lasts 15 minutes."""


@dataclass(frozen=True, slots=True)
class InsideAccess:
    """Access of what runs inside to this control plane: to its API, and to its tools."""

    api: ApiAccess | None = None
    tools: ToolAccess | None = None


GrantInsideAccess = Callable[[Sandbox], Awaitable[InsideAccess]]
"""Returns new access of a sandbox to this control plane, for the policy of its runtime."""

Lent = Callable[[Transaction, Sandbox], Awaitable[Sequence[LentLogin]]]
"""Returns what the logins of a sandbox's owner lend to it."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ComposedPolicy:
    """A policy, and the names of the secrets whose values it puts inside; `exposed_logins` are
    among them. What it lends of this control plane has to be renewed at `renew_at`."""

    policy: Policy = field(repr=False)
    exposed: tuple[str, ...]
    renew_at: datetime | None = None
    exposed_logins: tuple[ExposedLogin, ...] = ()

    @property
    def logins(self) -> Mapping[str, LoginInside]:
        """Return what lies inside of the logins in use, by the agent's name."""
        lent = {
            agent_of(login.provider): LoginInside(login.account) for login in self.policy.logins
        }
        return {**lent, **{login.agent: login.inside for login in self.exposed_logins}}

    @property
    def plain(self) -> bool:
        """Return whether this policy is what a new runtime begins with."""
        return msgspec.structs.replace(self.policy, revision=0) == Policy()


async def _nothing_lent(_rows: Transaction, _sandbox: Sandbox) -> Sequence[LentLogin]:
    return ()


class Policies:
    """Policies of all sandboxes, composed from the store and set in their runtimes."""

    def __init__(
        self,
        ground: Ground,
        transitions: Transitions,
        *,
        vault: Vault,
        settings: PolicySettings,
        inside: GrantInsideAccess | None = None,
        lent: Lent = _nothing_lent,
    ) -> None:
        self._ground = ground
        self._transitions = transitions
        self._vault = vault
        self._settings = settings
        self.boundary = NetworkBoundary(settings)
        self._inside = inside
        self._lent = lent
        self._renewals: dict[SandboxId, datetime] = {}
        self._revision = 0
        self._told: set[SandboxId] = set()
        self._requesters: set[SandboxId] = set()
        self._changes = 0

    @property
    def changes(self) -> int:
        """Return how many changes this process noted."""
        return self._changes

    @property
    def requesters(self) -> frozenset[SandboxId]:
        """Return the sandboxes whose policy lets them request approvals."""
        return frozenset(self._requesters)

    def note_change(self) -> None:
        """Count a change, which makes a policy composed before it outdated."""
        self._changes += 1

    def drop_requester(self, sandbox_id: SandboxId) -> None:
        """Forget that a sandbox can request approvals: it no longer runs."""
        self._requesters.discard(sandbox_id)

    def due_renewals(self) -> frozenset[SandboxId]:
        """Return the sandboxes whose access to this control plane has to be renewed, each once."""
        now = self._ground.clock.now()
        due = frozenset(sandbox_id for sandbox_id, at in self._renewals.items() if at <= now)
        for sandbox_id in due:
            del self._renewals[sandbox_id]
        return due

    async def compose(self, sandbox: Sandbox) -> ComposedPolicy:
        """Return the policy of this sandbox as of now. Raises `Invalid` when a secret it refers
        to is not there, `Failed` when that one does not open."""
        # The number is taken before the store is read: what is newer by number is newer by
        # content, whoever is faster.
        revision = self._next_revision()
        async with self._ground.store.read() as rows:
            entries = await rows.secrets.sealed(sandbox.org_id, sandbox.owner)
            approvals = await _read_approvals(rows, sandbox) if entries else ()
            lent = await self._lent(rows, sandbox) if entries else ()
            within = await self.boundary.narrowed(rows, sandbox)
            shade = await rows.shades.get(sandbox.org_id, sandbox.owner)
            reaches = {
                entry.secret.id: await self.boundary.reach_of(rows, entry.secret)
                for entry in entries
            }
        check_secrets(sandbox, [entry.secret for entry in entries])
        opened = self._open_secrets(sandbox, entries, reaches)
        mine = _select_narrowest(opened, sandbox)
        settings, access = self._settings, await self._access(sandbox)
        policy = Policy(
            revision=revision,
            providers=_providers(mine, lent, own_agent(sandbox)),
            customs=tuple(
                custom_secret(entry) for entry in mine if has_purpose(entry, Purpose.CUSTOM)
            ),
            approvals=self._list_approved_places(sandbox, mine, approvals),
            network=_network_of(within),
            redacted=(*list_redacted_values(opened), *masked_logins(lent)),
            limits=settings.limits(sandbox.share),
            commands=_commands_of(sandbox),
            remotes=tuple(git_remote(entry) for entry in mine if has_purpose(entry, Purpose.GIT)),
            env=environment_of(sandbox, mine, access.api, lent),
            agent_env=agent_environments(sandbox, lent),
            record=sandbox.profile.recording is Recording.ALWAYS,
            dev=settings.allow_loopback_remotes,
            api=access.api,
            logins=tuple(login for login in lent if isinstance(login, LoginToken)),
            tools=access.tools,
            shade=shade,
            leases=await grant_leases(self._ground, sandbox),
        )
        shown = tuple(login for login in lent if isinstance(login, ExposedLogin))
        renew_at = None if access == InsideAccess() else self._ground.clock.now() + RENEWED_AFTER
        return ComposedPolicy(policy, exposed_names(mine, shown), renew_at, shown)

    async def may_be_open(self, sandbox: Sandbox) -> bool:
        """Return whether a sandbox may stand behind a wall that cannot close its network: its
        caller agreed, and the bounds by now do. Raises `Unavailable` when the store does."""
        if not sandbox.accepts_open_network:
            return False
        async with self._ground.store.read() as rows:
            bounds = await self.boundary.bounds_of(rows, sandbox)
        return all(bound.bounds.open_network for bound in bounds)

    async def put(
        self, client: RuntimeClient, sandbox: Sandbox, composed: ComposedPolicy | None = None
    ) -> ComposedPolicy:
        """Set the policy of a runtime, composed now unless it is given, and return it. A policy
        that allows nothing is not sent to a runtime that has received none. Raises what `compose`
        and the runtime raise."""
        composed = composed or await self.compose(sandbox)
        if composed.plain and sandbox.id not in self._told:
            return composed
        await self._mark_exposed(sandbox, composed)
        self._told.add(sandbox.id)
        if composed.renew_at is not None:
            self._renewals[sandbox.id] = composed.renew_at
        policy = composed.policy
        if policy.customs or policy.commands.operator or policy.logins:
            self._requesters.add(sandbox.id)
        else:
            self._requesters.discard(sandbox.id)
        try:
            await _send(client, composed)
        except Conflict:
            # The runtime was told by a clock that went further than ours.
            self._revision = max(self._revision, await _revision_of(client))
            composed = await self.compose(sandbox)
            await _send(client, composed)
        return composed

    async def mask(self, client: RuntimeClient, sandbox: Sandbox) -> None:
        """Set a policy that allows nothing and names only the values that may not be shown."""
        revision = self._next_revision()
        async with self._ground.store.read() as rows:
            entries = await rows.secrets.sealed(sandbox.org_id, sandbox.owner)
        opened = self._open_secrets(sandbox, entries)
        values = list_redacted_values(opened)
        if values:
            await _send(client, ComposedPolicy(Policy(revision=revision, redacted=values), ()))

    def adopt(self, sandbox: Sandbox) -> None:
        """Have the policy sent in any case: an earlier process may have sent another."""
        self._told.add(sandbox.id)

    def forget(self, sandbox: Sandbox) -> None:
        """Forget what the runtime was sent: it is gone, and the next one begins with nothing."""
        self._told.discard(sandbox.id)
        self._renewals.pop(sandbox.id, None)

    async def _mark_exposed(self, sandbox: Sandbox, composed: ComposedPolicy) -> None:
        """Said on the sandbox before the value is inside, and for as long as that life lasts."""
        if not set(composed.exposed) <= set(sandbox.exposed_secrets):
            await self._transitions.apply(sandbox.id, Exposed(composed.exposed))

    async def _access(self, sandbox: Sandbox) -> InsideAccess:
        if self._inside is None or is_far(sandbox):
            return InsideAccess()
        return await self._inside(sandbox)

    def _open_secrets(
        self,
        sandbox: Sandbox,
        entries: Sequence[Kept],
        reaches: Mapping[SecretId, PrivateReach | None] = MappingProxyType({}),
    ) -> list[OpenSecret]:
        """Return the opened secrets that a runtime uses. Raises `Failed` for one it needs."""
        wanted = set(references(sandbox))
        open_secrets = []
        for entry in entries:
            secret = entry.secret
            if secret.use.purpose in (Purpose.DRIVE, Purpose.EXTENSION, Purpose.OAUTH):
                continue  # no runtime has a use for it
            try:
                value = self._vault.open(entry.sealed, bound_to(secret))
            except AtollError as err:
                _log.error("value_unopened", id=secret.id, name=secret.name, reason=err.message)
                if wanted & {secret.name, secret.id}:
                    raise Failed(
                        f"The secret {secret.name} ({secret.id}) cannot be opened; set it again. "
                        f"{err.message}"
                    ) from err
            else:
                open_secrets.append(OpenSecret(secret, value, reaches.get(secret.id)))
        return open_secrets

    def _list_approved_places(
        self, sandbox: Sandbox, mine: Sequence[OpenSecret], approvals: Sequence[Approval]
    ) -> tuple[Approved, ...]:
        """Return the hosts that secrets may go to: by their owner's setting or by an approval."""
        now = self._ground.clock.now()
        secrets = {entry.secret.id: entry.secret for entry in mine}
        decided = (
            place_of_grant(approval, approval.ask)
            for approval in approvals
            if isinstance(approval.ask, SecretAsk)
            and is_in_force(approval, now)
            and reaches(approval, sandbox)
            and is_current(secrets.get(SecretId(approval.ask.secret_id)), approval.ask)
        )
        return (*(place for secret in secrets.values() for place in places(secret)), *decided)

    def _next_revision(self) -> int:
        now = int(self._ground.clock.now().timestamp() * 1_000_000)
        self._revision = max(self._revision + 1, now)
        return self._revision


def _network_of(sandbox: Sandbox) -> Network:
    """Return the egress door's policy of this sandbox."""
    network = sandbox.profile.network
    return Network(
        mode=network.mode.value,
        rules=tuple(_egress_rule(rule) for rule in rules_of(network)),
        denied=network.denied,
        host_ports=network.host_ports,
        ranges=network.ranges,
        ports=network.ports,
        bytes_out_per_hour=_bytes(network.out_mb_per_hour),
        bytes_in_per_hour=_bytes(network.in_mb_per_hour),
    )


def _commands_of(sandbox: Sandbox) -> Commands:
    """Return the commands that may run with privilege, and those that need an approval."""
    safety = sandbox.profile.safety
    return Commands(sudo=safety.sudo, operator=safety.operator)


def _egress_rule(rule: Rule) -> EgressRule:
    return EgressRule(
        host=rule.host,
        ports=rule.ports,
        methods=rule.methods,
        paths=rule.paths,
        origin=rule.origin,
    )


def _bytes(megabytes: int | None) -> int | None:
    return None if megabytes is None else megabytes * MEGABYTE


async def _read_approvals(rows: Transaction, sandbox: Sandbox) -> Sequence[Approval]:
    return await rows.approvals.open(sandbox.org_id, sandbox_id=sandbox.id, owner=sandbox.owner)


def is_far(sandbox: Sandbox) -> bool:
    """Report whether a runtime may be on another machine, where the address of this control plane
    leads to others. It gets no access."""
    return (sandbox.attachment.address or "").startswith(("http://", "https://"))


def references(sandbox: Sandbox) -> tuple[str, ...]:
    """Return the secrets a sandbox cannot do without, by name or id."""
    return (*sandbox.profile.setup.secret_refs, *sandbox.setup_metadata.secret_refs)


def check_secrets(sandbox: Sandbox, secrets: Sequence[Secret]) -> None:
    """Raises `Invalid` naming the references that nothing in scope answers to."""
    wanted = references(sandbox)
    if not wanted:
        return
    here = applicable_secrets(secrets, scope_subject(sandbox))
    known = {secret.name for secret in here} | {str(secret.id) for secret in here}
    missing = [ref for ref in dict.fromkeys(wanted) if ref not in known]
    if missing:
        raise Invalid(
            f"There is no secret {', '.join(missing)} for this sandbox: set it with "
            f"`atoll secret set {missing[0]}`, or leave it out of secret_refs.",
            code="unknown_secret",
            field="setup_metadata.secret_refs",
        )


def scope_subject(sandbox: Sandbox) -> ScopeSubject:
    """Return everything a secret's scope can mean to it."""
    return ScopeSubject(sandbox.org_id, sandbox.owner, sandbox.id, sandbox.profile.id)


def _select_narrowest(opened: Sequence[OpenSecret], sandbox: Sandbox) -> list[OpenSecret]:
    """Return the secrets that a sandbox uses: of several for one purpose the narrowest."""
    chosen = {
        secret.id
        for secret in applicable_secrets((each.secret for each in opened), scope_subject(sandbox))
    }
    return [entry for entry in opened if entry.secret.id in chosen]


def _providers(
    mine: Sequence[OpenSecret], lent: Sequence[LentLogin], own: str
) -> tuple[ProviderKey, ...]:
    """Return the keys of providers. The login of the sandbox's own agent takes precedence over its
    owner's keys, and these over the logins of other agents."""
    keys = [provider_key(entry) for entry in mine if has_purpose(entry, Purpose.PROVIDER)]
    named = {key.provider for key in keys}
    first = [login.key for login in lent if isinstance(login, LentKey) and login.agent == own]
    named |= {key.provider for key in first}
    others = {
        login.key.provider: login.key
        for login in lent
        if isinstance(login, LentKey) and login.key.provider not in named
    }
    return (*keys, *first, *others.values())


async def _send(client: RuntimeClient, composed: ComposedPolicy) -> None:
    policy = composed.policy
    try:
        await client.call(put_policy(policy))
    except Invalid:
        bounded = any(provider.reach is not None for provider in policy.providers)
        newer = policy.tools, policy.agent_env, policy.shade
        if not (any(newer) or bounded):
            raise
        # A runtime of an earlier version refuses what it does not know. It would dial a gateway
        # wherever that leads.
        providers = tuple(provider for provider in policy.providers if provider.reach is None)
        plain = msgspec.structs.replace(
            policy, tools=None, agent_env=(), shade=None, providers=providers
        )
        await client.call(put_policy(plain))


async def _revision_of(client: RuntimeClient) -> int:
    """Return the revision of a runtime's policy."""
    return (await client.call(get_policy())).revision
