"""Secrets: values go in and never come out, not to their owner either.

Every change of a value or of what it is for makes a new version, voids what was approved for the
old one in the same transaction, and reaches the runtimes it concerns before the call returns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from atoll.domain.errors import Conflict, Failed, Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.event import Json
from atoll.domain.hooks.hook import bound_to as hook_binding
from atoll.domain.ids import OrgId, PrincipalId, SandboxId, SecretId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.profile.schema import profile_id
from atoll.domain.sandboxes.sandbox import Sandbox, check_not_gone
from atoll.domain.secrets.secret import (
    MAX_SECRETS,
    MAX_TOTAL_BYTES,
    Secret,
    Use,
    bound_to,
    check_look_alikes,
    check_use,
    read_scope,
    read_secret_name,
)
from atoll.domain.secrets.value import check_value, last4
from atoll.domain.ssh.identity import bound_to as ssh_binding
from atoll.domain.webhooks.signature import bound_to as seal_of
from atoll.domain.webhooks.webhook import Webhook
from atoll.domain.workers.dialled import offer_binding
from atoll.ports import Kept, Masters, Transaction, Vault
from atoll.ports.store.webhooks import SealedKey
from atoll.services.approvals.voiding import void_approvals
from atoll.services.contents.organization_keys import rewrap_content_keys
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.library.profiles import Profiles
from atoll.services.lifecycle.runtimes import RuntimeTokens
from atoll.services.policies.network_boundary import NetworkBoundary
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.references import check_profile
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.words.events import ActorKind
from atoll.wire.words.sandboxes import State
from atoll.wire.words.secrets import ORGANIZATION_SCOPE, PERSON_SCOPE, Purpose


@dataclass(frozen=True, slots=True)
class SetSecret:
    """A request to set a secret. `scope` as `domain.secrets.secret.read_scope` takes it, a sandbox
    by name or id. `look_alike`: a person read both spellings of its hosts."""

    name: str
    value: str = field(repr=False)
    use: Use
    scope: str = PERSON_SCOPE
    look_alike: bool = False


@dataclass(frozen=True, slots=True)
class Rotated:
    """Result of a rotation of the master key."""

    key_id: str
    secrets: int
    retired: int


class Secrets:
    """Use cases on secrets. A `ref` is an id, or a name that the caller has in one scope only;
    what the caller may not see is `NotFound`. No error ever holds a value."""

    def __init__(
        self,
        ground: Ground,
        sandboxes: Sandboxes,
        *,
        policy_push: PolicyPush,
        boundary: NetworkBoundary,
        profiles: Profiles,
        vault: Vault,
        masters: Masters,
        check_vendor: Callable[[str], None],
    ) -> None:
        """`check_vendor` raises `Invalid` for an extension whose machines no key pays for."""
        self._ground = ground
        self._sandboxes = sandboxes
        self._policy_push = policy_push
        self._boundary = boundary
        self._profiles = profiles
        self._vault = vault
        self._masters = masters
        self._check_vendor = check_vendor

    async def list(self, caller: Principal) -> Sequence[Secret]:
        """Return the caller's own secrets and the organization's, by name."""
        async with self._ground.store.read() as rows:
            return await rows.secrets.visible(caller.org_id, caller.id)

    async def get(self, caller: Principal, ref: str, *, scope: str | None = None) -> Secret:
        """Return a secret. Raises `Conflict` when several scopes have one of that name and `scope`
        is None."""
        async with self._ground.store.read() as rows:
            return await self._find(rows, caller, ref, scope=await self._scope(caller, scope))

    async def set(self, caller: Principal, request: SetSecret, *, fresh: bool = False) -> Secret:
        """Create or replace a secret; the same value again changes nothing. With `fresh` the secret
        must not exist. Raises `Invalid` with `field`, `Conflict`, `LimitReached`."""
        _check_person(caller)
        name = read_secret_name(request.name)
        use = check_use(request.use)
        if not request.look_alike:
            check_look_alikes(use)
        if use.purpose is Purpose.EXTENSION:
            self._check_vendor(use.target)
        value = check_value(request.value, use.purpose)
        scope = await self._living_scope(caller, request.scope)
        _check_scope(caller, scope)
        async with self._ground.store.begin() as rows:
            if use.base_url is not None:
                await self._boundary.check_gateway(rows, caller, use.base_url)
            await self._drop_orphans(rows, caller)
            entries = await rows.secrets.sealed(caller.org_id, caller.id)
            before = next((k for k in entries if _same_place(k.secret, caller, name, scope)), None)
            if before is not None and fresh:
                raise Conflict(
                    f"There is a secret {name} in scope {scope} already: rotate it, or choose "
                    "another name.",
                    code="name_taken",
                    field="name",
                )
            _check_room(entries, before, caller, scope=scope, size=len(value.encode()))
            if before is not None:
                _check_owner(caller, before.secret)
                if before.secret.use == use and self._open_value(before) == value:
                    return before.secret
            secret = self._make_secret(caller, before, name=name, scope=scope, use=use)
            secret = await self._keep(rows, caller, secret, value=value, kind="secret.set")
        await self._publish(secret)
        return secret

    async def rotate(
        self, caller: Principal, ref: str, value: str, *, scope: str | None = None
    ) -> Secret:
        """Replace the secret's value and keep its use. The same value changes nothing."""
        _check_person(caller)
        wanted = await self._scope(caller, scope)
        async with self._ground.store.begin() as rows:
            secret = await self._find(rows, caller, ref, scope=wanted)
            _check_owner(caller, secret)
            check_value(value, secret.use.purpose)
            entries = await rows.secrets.sealed(caller.org_id, caller.id)
            before = next(entry for entry in entries if entry.secret.id == secret.id)
            if self._open_value(before) == value:
                return secret
            _check_room(entries, before, caller, scope=secret.scope, size=len(value.encode()))
            now = self._ground.clock.now()
            newer = replace(secret, version=secret.version + 1, updated_at=now)
            secret = await self._keep(rows, caller, newer, value=value, kind="secret.rotated")
        await self._publish(secret)
        return secret

    async def remove(self, caller: Principal, ref: str, *, scope: str | None = None) -> None:
        """Remove the secret from every running sandbox at once. Raises `NotFound`."""
        _check_person(caller)
        wanted = await self._scope(caller, scope)
        async with self._ground.store.begin() as rows:
            secret = await self._find(rows, caller, ref, scope=wanted)
            _check_owner(caller, secret)
            await drop_secret(rows, self._ground, secret, actor=caller)
        await self._publish(secret)

    async def drop_all(
        self, rows: Transaction, org_id: OrgId, owner: PrincipalId, *, actor: Principal
    ) -> int:
        """Remove the secrets that somebody holds who is gone, in the caller's transaction; the
        organization's stay. Returns their number."""
        held = [
            secret for secret in await rows.secrets.visible(org_id, owner) if secret.holder == owner
        ]
        for secret in held:
            await drop_secret(rows, self._ground, secret, actor=actor)
        return len(held)

    async def rotate_master(self, caller: Principal) -> Rotated:
        """Make a new master key, put every value under it, forget the old ones. A crash in
        between loses nothing: until the end both keys are kept. Raises `Conflict` when the keys
        are not ours to change, `Failed` naming a value that does not open: nothing changed."""
        _check_person(caller)
        try:
            key_id = self._masters.add()
        except Conflict:
            # Keys from elsewhere: the newest may have been added there already.
            newest = self._vault.seal("which key is the newest", ()).key_id
            if await self._all_under(newest):
                raise
            return Rotated(newest, await self._rewrap_all(caller, newest), 0)
        count = await self._rewrap_all(caller, key_id)
        return Rotated(key_id, count, self._masters.retire())

    async def _all_under(self, key_id: str) -> bool:
        async with self._ground.store.read() as rows:
            sealed = [entry.sealed for entry in await rows.secrets.everything()]
            sealed += [offer.sealed for offer in await rows.host_offers.everything()]
            sealed += [secret for _, secret in await rows.hooks.all()]
            sealed += [key.sealed for key in await rows.content_keys.everything()]
            for webhook in await rows.webhooks.everything():
                sealed += [key.sealed for key in webhook.keys]
            tokens = map(RuntimeTokens(self._vault).key_of, await rows.sandboxes.unfinished())
            keys = {envelope.key_id for envelope in sealed} | {
                key for key in tokens if key is not None
            }
        return keys <= {key_id}

    async def _rewrap_all(self, caller: Principal, key_id: str) -> int:
        async with self._ground.store.begin() as rows:
            entries = await rows.secrets.everything()
            for entry in entries:
                binding = bound_to(entry.secret)
                value = self._open_value(entry)
                mark = self._vault.fingerprint(value, entry.secret.org_id)
                sealed = self._vault.rewrap(entry.sealed, binding)
                await rows.secrets.put(replace(entry.secret, fingerprint=mark), sealed)
            count = len(entries) + await self._rewrap_webhooks(rows)
            await self._rewrap_tokens(rows)
            await self._rewrap_offers(rows)
            await self._rewrap_hooks(rows)
            await rewrap_content_keys(rows, self._vault)
            await self._rewrap_ssh(rows)
            payload: dict[str, Json] = {"key_id": key_id, "secrets": count}
            await self._note(rows, caller, Note("vault", "vault.rotated", payload))
        self._ground.bus.announce(("vault",))
        return count

    async def _rewrap_webhooks(self, rows: Transaction) -> int:
        """Put the secrets of webhooks under the newest master key; returns their number."""
        count = 0
        for record in await rows.webhooks.everything():
            keys = tuple(self._rewrap_key(record.webhook, key) for key in record.keys)
            await rows.webhooks.put(replace(record, keys=keys))
            count += len(keys)
        return count

    async def _rewrap_tokens(self, rows: Transaction) -> None:
        """Put the tokens of runtimes under the newest master key."""
        tokens = RuntimeTokens(self._vault)
        for sandbox in await rows.sandboxes.unfinished():
            again = tokens.rewrapped(sandbox)
            if again is not sandbox:
                await rows.sandboxes.update(again)

    async def _rewrap_offers(self, rows: Transaction) -> None:
        """Put offers to desktops under the newest master key."""
        for offer in await rows.host_offers.everything():
            binding = offer_binding(offer.key, offer.epoch, offer.request_id)
            sealed = self._vault.rewrap(offer.sealed, binding)
            await rows.host_offers.put(replace(offer, sealed=sealed))

    async def _rewrap_hooks(self, rows: Transaction) -> None:
        """Put the secrets of hooks under the newest master key."""
        for hook, sealed in await rows.hooks.all():
            await rows.hooks.put(hook, self._vault.rewrap(sealed, hook_binding(hook)))

    async def _rewrap_ssh(self, rows: Transaction) -> None:
        """Put the installation's own SSH keys under the newest master key."""
        for identity, sealed in await rows.ssh_identities.all():
            again = self._vault.rewrap(sealed, ssh_binding(identity.name))
            await rows.ssh_identities.change(identity, again)

    def _rewrap_key(self, webhook: Webhook, key: SealedKey) -> SealedKey:
        """Return a webhook's key under the vault's current key. Raises `Failed`."""
        try:
            sealed = self._vault.rewrap(key.sealed, seal_of(webhook, key.version))
        except Failed as err:
            raise Failed(
                f"The secret of the webhook {webhook.id} cannot be opened; rotate it, or remove "
                f"the webhook. {err.message}",
                code=err.code,
            ) from err
        return replace(key, sealed=sealed)

    def _make_secret(
        self, caller: Principal, before: Kept | None, *, name: str, scope: str, use: Use
    ) -> Secret:
        now = self._ground.clock.now()
        if before is not None:
            # What the doors may reach with it is bounded by who wrote it last.
            older = replace(before.secret, owner=caller.id)
            return replace(older, use=use, version=older.version + 1, updated_at=now)
        return Secret(
            id=SecretId(self._ground.ids.new("sec")),
            org_id=caller.org_id,
            owner=caller.id,
            name=name,
            scope=scope,
            use=use,
            version=1,
            fingerprint="",
            last4="",
            size=0,
            created_at=now,
            updated_at=now,
        )

    async def _keep(
        self, rows: Transaction, caller: Principal, secret: Secret, *, value: str, kind: str
    ) -> Secret:
        secret = replace(
            secret,
            fingerprint=self._vault.fingerprint(value, secret.org_id),
            last4=last4(value),
            size=len(value.encode()),
        )
        await rows.secrets.put(secret, self._vault.seal(value, bound_to(secret)))
        await void_approvals(rows, self._ground, secret, actor=caller)
        await self._note(rows, caller, _note_of(secret, kind))
        return secret

    async def _drop_orphans(self, rows: Transaction, caller: Principal) -> None:
        """Secrets of sandboxes that are gone go, too."""
        for secret in await rows.secrets.visible(caller.org_id, caller.id):
            kind, _, sandbox_id = secret.scope.partition(":")
            if kind == "sandbox" and secret.owner == caller.id:
                sandbox = await self._sandbox_row(rows, sandbox_id)
                if sandbox in (None, State.DESTROYED):
                    await drop_secret(rows, self._ground, secret, actor=caller)

    async def _sandbox_row(self, rows: Transaction, sandbox_id: str) -> State | None:
        sandbox = await rows.sandboxes.get(SandboxId(sandbox_id))
        return None if sandbox is None else sandbox.state

    async def _find(
        self, rows: Transaction, caller: Principal, ref: str, *, scope: str | None
    ) -> Secret:
        seen = await rows.secrets.visible(caller.org_id, caller.id)
        matches = [
            secret
            for secret in seen
            if ref in (secret.id, secret.name) and scope in (None, secret.scope)
        ]
        if not matches:
            raise NotFound(f"There is no secret {ref[:80]!r}: list them to see which there are.")
        if len(matches) > 1:
            scopes = ", ".join(secret.scope for secret in matches)
            raise Conflict(
                f"There is a secret {ref} in several scopes ({scopes}): say which.",
                code="several_scopes",
                field="scope",
            )
        return matches[0]

    async def _scope(self, caller: Principal, text: str | None) -> str | None:
        """Return a scope that exists for this caller, spelled with ids. Raises `Invalid`."""
        if text is None:
            return None
        kind, colon, ref = text.partition(":")
        if colon and kind == "sandbox":
            try:
                sandbox = await self._sandboxes.get(caller, ref)
            except NotFound as err:
                raise Invalid(err.message, field="scope") from err
            if sandbox.owner != caller.id:
                raise Invalid(f"Sandbox {sandbox.name} is not yours.", field="scope")
            return f"sandbox:{sandbox.id}"
        if colon and kind == "profile":
            return read_scope(f"profile:{profile_id(ref)}")
        return read_scope(text)

    async def _living_scope(self, caller: Principal, text: str) -> str:
        """Return the scope of a secret that is set, in which something can use it. Raises
        `Invalid`, and `Conflict` for a sandbox that is gone."""
        scope = await self._scope(caller, text) or PERSON_SCOPE
        kind, _, ref = scope.partition(":")
        if kind == "sandbox":
            check_not_gone(await self._sandboxes.get(caller, ref), "given a secret")
        elif kind == "profile":
            await check_profile(self._profiles.get, caller, ref, field="scope")
        return scope

    def _open_value(self, entry: Kept) -> str:
        """Return the value of a stored secret. Raises `Failed` when it cannot be opened."""
        try:
            return self._vault.open(entry.sealed, bound_to(entry.secret))
        except Failed as err:
            secret = entry.secret
            raise Failed(
                f"The secret {secret.name} ({secret.id}) cannot be opened; remove it and set it "
                f"again. {err.message}",
                code=err.code,
            ) from err

    async def _note(self, rows: Transaction, caller: Principal, note: Note) -> None:
        ground = self._ground
        draft = draft_of(note, caller, at=ground.clock.now(), event_id=ground.ids.event())
        await rows.events.append((draft,))

    async def _publish(self, secret: Secret) -> None:
        self._ground.bus.announce((f"secret:{secret.id}",))
        shared = secret.scope == ORGANIZATION_SCOPE
        await self._policy_push.push_changes(secret.org_id, None if shared else secret.owner)


async def drop_within(
    rows: Transaction, ground: Ground, sandbox: Sandbox, *, actor: Principal
) -> None:
    """Remove the secrets that a sandbox's owner has for it alone, in the caller's transaction."""
    for secret in await rows.secrets.visible(sandbox.org_id, sandbox.owner):
        if secret.scope == f"sandbox:{sandbox.id}" and secret.holder == sandbox.owner:
            await drop_secret(rows, ground, secret, actor=actor)


async def drop_secret(
    rows: Transaction, ground: Ground, secret: Secret, *, actor: Principal
) -> None:
    """Remove a secret, and void what was approved for it, in the caller's transaction."""
    await rows.secrets.remove(secret.id)
    gone = replace(secret, version=secret.version + 1)
    await void_approvals(rows, ground, gone, actor=actor)
    note = _note_of(secret, "secret.removed")
    draft = draft_of(note, actor, at=ground.clock.now(), event_id=ground.ids.event())
    await rows.events.append((draft,))


def _check_person(caller: Principal) -> None:
    if caller.kind is not ActorKind.PERSON or caller.guest_access is not None:
        raise Forbidden("only a person may change secrets")


def _check_owner(caller: Principal, secret: Secret) -> None:
    if secret.use.purpose is Purpose.DRIVE:
        raise Conflict(
            f"{secret.name} is a connection to Google Drive: end it with `atoll drive disconnect`."
        )
    if secret.use.purpose is Purpose.OAUTH:
        raise Conflict(f"{secret.name} is a login of {secret.use.target}: revoke that login.")
    if secret.scope == ORGANIZATION_SCOPE:
        _check_scope(caller, secret.scope)
    elif secret.owner != caller.id:
        raise Forbidden(f"The secret {secret.name} was set by somebody else; only they change it.")


def _check_scope(caller: Principal, scope: str) -> None:
    if scope == ORGANIZATION_SCOPE and not caller.may(Capability.ORG_MANAGE):
        raise Forbidden("the organization's secrets are its administrators' to set and remove")


def _same_place(secret: Secret, caller: Principal, name: str, scope: str) -> bool:
    mine = secret.scope == ORGANIZATION_SCOPE or secret.owner == caller.id
    return mine and (secret.name, secret.scope) == (name, scope)


def _check_room(
    entries: Sequence[Kept], before: Kept | None, caller: Principal, *, scope: str, size: int
) -> None:
    """Raises `LimitReached`: too many secrets of one holder, or too many bytes of them."""
    holder = "" if scope == ORGANIZATION_SCOPE else caller.id
    others = [
        entry.secret for entry in entries if entry.secret.holder == holder and entry is not before
    ]
    if len(others) >= MAX_SECRETS:
        raise LimitReached(f"There may be {MAX_SECRETS} secrets: remove one.")
    if sum(secret.size for secret in others) + size > MAX_TOTAL_BYTES:
        raise LimitReached(f"Secrets may have {MAX_TOTAL_BYTES} bytes together: remove one.")


def _note_of(secret: Secret, kind: str) -> Note:
    payload: dict[str, Json] = {
        "secret_id": secret.id,
        "name": secret.name,
        "scope": secret.scope,
        "purpose": secret.use.purpose.value,
        "version": secret.version,
        "exposed": secret.exposed,
    }
    if secret.use.purpose is Purpose.PROVIDER:
        payload["provider"] = secret.use.target
    return Note(f"secret:{secret.id}", kind, payload)
