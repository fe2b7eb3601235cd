"""Personal access tokens: made, listed, revoked, and traded for the caller they stand for.

A token is shown once and kept as a fingerprint. What it may do is what it was given and its owner
still may: a person who lost a right lost it in their tokens, too.
"""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import structlog

from atoll.domain.errors import Forbidden, LimitReached, NotFound, Unavailable
from atoll.domain.event import EventDraft, Json
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.bearer import read_capabilities
from atoll.domain.people.capability import Capability
from atoll.domain.people.login import SECRET_BYTES, fingerprint
from atoll.domain.people.name import printable_name
from atoll.domain.people.organization import check_may_set
from atoll.domain.people.principal import Principal, TokenAccess
from atoll.domain.people.token import (
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
from atoll.domain.sandboxes.sandbox import Sandbox, check_not_gone
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.people.memberships import organization_for
from atoll.services.people.rosters import check_team
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import MAX_TOKENS, OrgRole

ORIGIN = "token:"
"""The beginning of the origin of what was made from a token; its id follows."""

Owners = Callable[[OrgId, PrincipalId], Awaitable[Principal | None]]
"""Returns the person or service account of an organization as they are now; None when they are
gone, and every token of theirs with them."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TokenBounds:
    """Bounds of tokens: whom they may stand for, and how long they live."""

    owners: Owners
    lives: TokenLives


class Tokens:
    """Use cases on personal access tokens."""

    def __init__(self, ground: Ground, sandboxes: Sandboxes, bounds: TokenBounds) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._bounds = bounds

    async def create(self, caller: Principal, request: TokenRequest) -> tuple[Token, str]:
        """Return a new token and its text, which is never seen again. Raises `Forbidden` for a
        capability that the caller has not, `NotFound` for a sandbox or a service account that is
        not theirs, `Invalid` for a life beyond the bound, `LimitReached` beyond 100 tokens."""
        _check(caller)
        owner = await self._owner(caller, request.account)
        sandbox_id = await self._sandbox(owner, request)
        now, text = self._ground.clock.now(), spell_token(secrets.token_bytes(SECRET_BYTES))
        own = caller.capabilities & owner.capabilities
        given = granted_capabilities(own, request.capabilities, inside=sandbox_id is not None)
        maker = caller.token
        token = Token(
            id=TokenId(self._ground.ids.new("tok")),
            org_id=owner.org_id,
            owner=owner.id,
            name=printable_name(request.name),
            mark=fingerprint(text),
            capabilities=tuple(sorted(given)),
            created_at=now,
            expires_at=expiry_of(
                request,
                self._bounds.lives,
                now=now,
                maker_ends=None if maker is None else maker.expires_at,
            ),
            sandbox_id=sandbox_id,
            parent=None if maker is None else parent_of(maker.origin),
        )
        async with self._ground.store.begin() as rows:
            await rows.tokens.forget(now)
            if token.parent is not None and await rows.tokens.get(token.parent) is None:
                raise NotFound("The token that this one is made from was revoked.")
            if len(await rows.tokens.of(owner.org_id, owner.id)) >= MAX_TOKENS:
                raise LimitReached(f"There are {MAX_TOKENS} tokens already: revoke one first.")
            await rows.tokens.add(token)
            await rows.events.append((_token_event(self._ground, "token.created", token, caller),))
        self._ground.bus.announce(("auth",))
        return token, text

    async def list(self, caller: Principal, *, account: str | None = None) -> list[Token]:
        """Return the living tokens of the caller, or of a service account of theirs, oldest first.
        Raises `NotFound`."""
        _check(caller)
        owner, now = await self._owner(caller, account), self._ground.clock.now()
        async with self._ground.store.read() as rows:
            tokens = await rows.tokens.of(owner.org_id, owner.id)
        return [token for token in tokens if token.expires_at > now]

    async def revoke(self, caller: Principal, token_id: str) -> None:
        """End a token of the caller or of a service account of theirs, what was made from it, and
        within 5 seconds their open connections. Raises `NotFound`."""
        _check(caller)
        async with self._ground.store.read() as rows:
            token = await rows.tokens.get(TokenId(token_id))
        if token is None or not await self._is_theirs(caller, token):
            raise NotFound(f"You have no token {token_id[:80]!r}: list them to see.")
        async with self._ground.store.begin() as rows:
            await rows.tokens.remove(token.id)
            await rows.events.append((_token_event(self._ground, "token.revoked", token, caller),))
        self._ground.bus.announce(("auth",))

    async def by_text(self, text: str) -> Principal | None:
        """Return the caller that a token's text stands for, None when it does not hold. Its use is
        noted, at most once a minute."""
        if not is_token(text):
            return None
        async with self._ground.store.read() as rows:
            token = await rows.tokens.marked(fingerprint(text))
        principal = None if token is None else await self._principal(token)
        if token is not None and principal is not None:
            await self._note_use(token)
        return principal

    async def by_id(self, token_id: TokenId) -> Principal | None:
        """Return the caller that a token stands for, None when it does not hold any more."""
        async with self._ground.store.read() as rows:
            token = await rows.tokens.get(token_id)
        return None if token is None else await self._principal(token)

    async def current(self, text: str) -> Principal | None:
        """Return the caller that a token's text stands for now. Called while a connection lasts: it
        is no use."""
        async with self._ground.store.read() as rows:
            token = await rows.tokens.marked(fingerprint(text))
        return None if token is None else await self._principal(token)

    async def owner(self, org_id: OrgId, owner: PrincipalId) -> Principal | None:
        """Return the person or service account as they are now, None when they are gone."""
        return await self._bounds.owners(org_id, owner)

    async def _principal(self, token: Token) -> Principal | None:
        if token.expires_at <= self._ground.clock.now():
            return None
        owner = await self._bounds.owners(token.org_id, token.owner)
        if owner is None:
            return None
        access = TokenAccess(f"{ORIGIN}{token.id}", token.expires_at, token.sandbox_id)
        return standing_for(owner, read_capabilities(token.capabilities), access)

    async def _owner(self, caller: Principal, account: str | None) -> Principal:
        """Return the caller, or a service account that they manage."""
        if account is None:
            return caller
        owner = None
        if caller.may(Capability.ORG_MANAGE):
            async with self._ground.store.read() as rows:
                members = await rows.members.of(caller.org_id)
            named = [member.id for member in members if account in (member.id, member.name)]
            owner = await self._bounds.owners(caller.org_id, named[0]) if named else None
        if owner is None or owner.kind is not ActorKind.AUTOMATION:
            raise NotFound(f"You manage no service account {account[:80]!r}: list the members.")
        return owner

    async def _is_theirs(self, caller: Principal, token: Token) -> bool:
        if token.org_id != caller.org_id:
            return False
        if token.owner == caller.id:
            return True
        owner = await self._bounds.owners(token.org_id, token.owner)
        managed = owner is not None and owner.kind is ActorKind.AUTOMATION
        return managed and caller.may(Capability.ORG_MANAGE)

    async def _sandbox(self, caller: Principal, request: TokenRequest) -> SandboxId | None:
        if request.sandbox is None:
            return None
        sandbox = await self._sandboxes.get(caller, request.sandbox)
        if (sandbox.org_id, sandbox.owner) != (caller.org_id, caller.id):
            raise Forbidden(f"Sandbox {sandbox.name} is shared with you; only its owner may do so.")
        check_not_gone(sandbox, "given a token")
        return sandbox.id

    async def _note_use(self, token: Token) -> None:
        now = self._ground.clock.now()
        if is_use_fresh(token, now):
            return
        try:
            async with self._ground.store.begin() as rows:
                await rows.tokens.used(token.id, now)
        except Unavailable as error:
            # The request itself may only read; the next one notes its own use.
            _log.info("token_use_not_noted", token=token.id, reason=error.message)


class TeamTokens:
    """Use cases on the tokens of all members and service accounts of an organization."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def list(self, caller: Principal, ref: str, page: PageQuery) -> RowPage[Token]:
        """Return a page of living tokens, the first to end first. Raises `NotFound`, `Forbidden`,
        and `Conflict` for a single person's home."""
        async with self._ground.store.read() as rows:
            organization, own = await organization_for(rows, caller, ref)
            check_may_set(own, OrgRole.MEMBER)
            check_team(organization)
            return await rows.tokens.living(organization.id, self._ground.clock.now(), page)

    async def revoke(self, caller: Principal, ref: str, token_id: str) -> None:
        """End a token, what was made from it, and within 5 seconds their open connections. Raises
        `NotFound`, and `Forbidden` for who is no administrator, and for a token of an owner who is
        somebody else, unless an owner asks."""
        async with self._ground.store.begin() as rows:
            organization, own = await organization_for(rows, caller, ref)
            check_team(organization)
            token = await rows.tokens.get(TokenId(token_id))
            if token is None or token.org_id != organization.id:
                raise NotFound(f"There is no token {token_id[:80]!r}: list them to see.")
            member = await rows.members.get(organization.id, token.owner)
            theirs = member is not None and token.owner != caller.id
            before = member.role if member is not None and theirs else None
            check_may_set(own, OrgRole.MEMBER, before)
            await rows.tokens.remove(token.id)
            payload = {"token_id": token.id, "name": token.name, "account": token.owner}
            draft = draft_of(
                Note("auth", "token.revoked", payload),
                caller,
                at=self._ground.clock.now(),
                event_id=self._ground.ids.event(),
            )
            # Whose token it was should read who ended it.
            await rows.events.append((replace(draft, org_id=organization.id, owner=token.owner),))
        self._ground.bus.announce(("auth",))


async def revoke_bound(
    rows: Transaction, ground: Ground, sandbox: Sandbox, *, actor: Principal
) -> None:
    """End the tokens that are bound to a sandbox, in the caller's transaction."""
    for token in await rows.tokens.of(sandbox.org_id, sandbox.owner):
        if token.sandbox_id == sandbox.id:
            await rows.tokens.remove(token.id)
            draft = replace(_token_event(ground, "token.revoked", token, actor), owner=token.owner)
            await rows.events.append((draft,))


def _token_event(ground: Ground, kind: str, token: Token, caller: Principal) -> EventDraft:
    payload: dict[str, Json] = {"token_id": token.id, "name": token.name}
    if token.sandbox_id is not None:
        payload["sandbox_id"] = token.sandbox_id
    if token.owner != caller.id:
        payload["account"] = token.owner
    if kind == "token.created":
        payload["capabilities"] = list(token.capabilities)
        payload["expires_at"] = token.expires_at.isoformat()
    note = Note("auth", kind, payload)
    at = ground.clock.now()
    return draft_of(note, caller, at=at, event_id=ground.ids.event())


def standing_for(owner: Principal, given: frozenset[Capability], access: TokenAccess) -> Principal:
    """Return the caller of a token: its owner, within these bounds, and never interactive. What
    runs inside a sandbox is an agent, and so is a worker's host."""
    agent = access.sandbox_id is not None or access.worker is not None
    return replace(
        owner,
        kind=ActorKind.AGENT if agent else owner.kind,
        interactive=False,
        capabilities=given & owner.capabilities,
        token=access,
    )


def parent_of(origin: str) -> TokenId | None:
    """Return the token that something was made from, None for a login."""
    return TokenId(origin.removeprefix(ORIGIN)) if origin.startswith(ORIGIN) else None


def is_bound(caller: Principal) -> bool:
    """Return whether the caller is a guest, or has a token that is bound to a sandbox, to streams
    or to a worker: nobody like that makes, sees or exchanges tokens."""
    access = caller.token
    bound = access is not None and (
        access.sandbox_id is not None or access.subscribed or access.worker is not None
    )
    return bound or caller.guest_access is not None


def _check(caller: Principal) -> None:
    if is_bound(caller) or not caller.may(Capability.TOKEN_MANAGE):
        raise Forbidden("you may not make, see or revoke tokens")
