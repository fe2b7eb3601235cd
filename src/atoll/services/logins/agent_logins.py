"""Logins of agents at their vendors: begun by their owner, refreshed here alone, never shown.

Every use of a code or refresh token is decided by `domain.logins.lifecycle.step` and committed
before it is sent. Writing transactions come one after another, so of all replicas one sends it. One
that dies on the way leaves a mark, by which another repeats a refresh and no code at all.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog

from atoll.domain.agents.registry import find
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
    Unavailable,
)
from atoll.domain.event import Json
from atoll.domain.ids import OrgId, PrincipalId, SecretId
from atoll.domain.logins.agent_login import (
    ANSWER_TIME,
    EARLY,
    MAX_LOGINS,
    AgentLogin,
    AgentLoginId,
    AgentLoginRecord,
    AnswerLost,
    CodePasted,
    LoginCommand,
    LoginRefused,
    LoginStimulus,
    PutOff,
    RevokeLogin,
    TimePassed,
    TokenRefused,
    TokensCame,
)
from atoll.domain.logins.lifecycle import SENT, postpone, step
from atoll.domain.logins.redirect import read_redirect
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.ports import Transaction, Vault
from atoll.ports.outside.issuer import AgentIssuer, IssuerBusy, LoginTokens
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.logins.begun import BegunAgentLogin, key_provider, opened, with_key
from atoll.services.logins.lent import ExposureRules, check_exposable, is_lent
from atoll.services.logins.payload import LoginSecrets, LoginVault
from atoll.services.task_runner import TaskRunner, complete
from atoll.wire.words.agents import LoginMethod, LoginState
from atoll.wire.words.events import ActorKind

MAX_AT_ONCE: Final = 50
"""The logins that one call of `advance` takes up; the others wait for the next."""

_WAKE: Final = 0.5
"""The seconds after which a waiting caller looks again, in case an announcement was lost."""

_RENEWED_WITHIN: Final = 2 * ANSWER_TIME.total_seconds()
"""The seconds in which a refresh is over, with its repeat."""

Push = Callable[[OrgId, PrincipalId | None], Awaitable[None]]
"""Sends the policies of this owner's sandboxes anew. Raises nothing."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LoginAccess:
    """An access token or key that a login gives for a while, and its version. `account` is the
    vendor's id of the account; `expires_at` is None for a key."""

    token: str = field(repr=False)
    version: int
    account: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class LoginGrant:
    """The grant of an issuer to a login that was removed here."""

    record: AgentLoginRecord
    refresh_token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A step that was committed: what is to be done, and the secrets of before it."""

    record: AgentLoginRecord
    commands: tuple[LoginCommand, ...]
    secrets: LoginSecrets


async def _unpushed(_org_id: OrgId, _owner: PrincipalId | None) -> None:
    """Send nothing: there are no sandboxes."""


class AgentLogins:
    """Use cases on logins. All raise `Forbidden` for who is no person, `NotFound` for a login that
    is not the caller's. `issuers` are those of the agents that can log in, by the agent's name.
    Tokens are refreshed `early`, and `push` lends them. `exposures` judge where a
    token may be put."""

    def __init__(
        self,
        ground: Ground,
        issuers: Mapping[str, AgentIssuer],
        *,
        vault: Vault,
        runner: TaskRunner,
        early: timedelta = EARLY,
        push: Push = _unpushed,
        exposures: ExposureRules,
    ) -> None:
        self._exposures = exposures
        self._ground = ground
        self._runner = runner
        self._early = early
        self._push = push
        self._issuers = issuers
        self._vault = LoginVault(vault)

    async def list(self, caller: Principal) -> Sequence[AgentLoginRecord]:
        """Return the caller's logins, oldest first."""
        _check_person(caller)
        async with self._ground.store.read() as rows:
            return await rows.agent_logins.of(caller.org_id, caller.id)

    async def get(self, caller: Principal, login_id: AgentLoginId) -> AgentLoginRecord:
        """Return a login of the caller."""
        _check_person(caller)
        async with self._ground.store.read() as rows:
            return await _own(rows, caller, login_id)

    async def broken(self, caller: Principal) -> Sequence[AgentLoginRecord]:
        """Return the caller's logins that broke while they were in use; nobody else has any."""
        if caller.kind is not ActorKind.PERSON or caller.guest_access is not None:
            return ()
        return [record for record in await self.list(caller) if record.needs_login]

    async def dismiss(self, caller: Principal, login_id: AgentLoginId) -> None:
        """Have a login that broke wait for nobody. Raises `NotFound` for any other."""
        if not any(record.id == login_id for record in await self.broken(caller)):
            raise _missing(login_id)
        await self.turn(caller, login_id, on=False)

    async def begin(self, caller: Principal, request: BegunAgentLogin) -> AgentLoginRecord:
        """Begin a login; nothing uses it before its owner turns it on. Raises `NotFound` (code
        `no_issuer`), `Invalid`, `LimitReached`, and what the port does."""
        _check_person(caller)
        agent, now = find(request.agent), self._ground.clock.now()
        record = AgentLoginRecord(
            AgentLoginId(self._ground.ids.new("alg")), caller.org_id, caller.id, agent.name,
            SecretId(self._ground.ids.new("sec")), now, AgentLogin(request.method),
        )  # fmt: skip
        if request.method is LoginMethod.API_KEY:
            record = replace(record, provider=key_provider(agent, request.provider))
            record, held = with_key(record, request.api_key, now)
        elif request.api_key or request.provider:
            wrong = "api_key" if request.api_key else "provider"
            raise Invalid(f"{wrong} goes with method 2 alone", field=wrong)
        else:
            record, held = await opened(record, request, self._issuer(agent.name), now)
        async with self._ground.store.begin() as rows:
            others = await rows.agent_logins.of(caller.org_id, caller.id)
            if sum(other.login.is_open for other in others) >= MAX_LOGINS:
                raise LimitReached(f"There may be {MAX_LOGINS} logins: revoke one.")
            for ended in [other for other in others if not other.login.is_open][:-MAX_LOGINS]:
                await rows.agent_logins.remove(ended.id)
            await rows.agent_logins.put(record)
            await self._vault.write(rows, record, held, now)
            await self._note(rows, record, caller)
        self._announce(record)
        return record

    async def paste(
        self, caller: Principal, login_id: AgentLoginId, redirect: str
    ) -> AgentLoginRecord:
        """Finish a login in a browser by the address that it was sent back to. Raises `Invalid` for
        one of another login, `Forbidden` (code `login_denied`), `Conflict` when none waits, and
        `Unavailable` when the issuer did not take the code: paste it again."""
        record = await self.get(caller, login_id)
        async with self._ground.store.read() as rows:
            held = await self._vault.read(rows, record)
        if held is None or held.begun is None or not record.login.is_open:
            raise Conflict("This login waits for no redirect: begin another.")
        code = read_redirect(redirect, held.begun)
        taken = await self._take(login_id, CodePasted())
        if LoginCommand.TRADE_CODE not in taken.commands:
            raise Conflict("This login waits for no redirect: begin another.")
        await self._send(taken, self._issuer(record.agent).trade(held.begun, code))
        return await self.get(caller, login_id)

    async def turn(self, caller: Principal, login_id: AgentLoginId, *, on: bool) -> None:
        """Turn the use of a login on or off: its owner says that their plan allows it. Of the
        logins of an agent one is on, or a key for each provider. Raises `Conflict` (code
        `login_not_ready`) for one that has ended."""
        _check_person(caller)
        async with self._ground.store.begin() as rows:
            record = await _own(rows, caller, login_id)
            if on and not record.login.is_open:
                raise Conflict("This login has ended: log in again.", code="login_not_ready")
            mine = await rows.agent_logins.of(caller.org_id, caller.id)
            others = [row for row in mine if on and row.id != login_id and record.excludes(row)]
            turned = [(record, on), *((row, False) for row in others)]
            for login, used in turned:
                if login.in_use is not used:
                    await rows.agent_logins.put(replace(login, in_use=used))
                    await self._note(rows, replace(login, in_use=used), caller)
        for login, _ in turned:
            self._announce(login)
        await self._push(record.org_id, record.owner)

    async def expose(
        self, caller: Principal, login_id: AgentLoginId, scopes: Sequence[str]
    ) -> AgentLoginRecord:
        """Have the access token of a login put into these sandboxes without doors, and into no
        other; never its refresh token. Raises `Invalid` (field `exposed_to`) for a scope that is
        none of the caller's, `Conflict` (code `login_not_ready`, `not_short_lived`,
        `doors_serve_it`)."""
        _check_person(caller)
        async with self._ground.store.begin() as rows:
            record = await _own(rows, caller, login_id)
            added = [scope for scope in dict.fromkeys(scopes) if scope not in record.exposed_to]
            if added:
                check_exposable(record, scopes)
            for scope in added:
                await self._exposures.check(rows, caller, scope)
            after = replace(record, exposed_to=tuple(dict.fromkeys(scopes)))
            if after != record:
                await rows.agent_logins.put(after)
                await self._note(rows, after, caller)
        self._announce(after)
        await self._push(record.org_id, record.owner)
        return after

    async def revoke(self, caller: Principal, login_id: AgentLoginId) -> AgentLoginRecord:
        """End a login here and at its issuer, and forget its tokens. Idempotent."""
        await self.get(caller, login_id)
        await self._perform(await self._take(login_id, RevokeLogin()))
        return await self.get(caller, login_id)

    async def drop_all(
        self, rows: Transaction, org_id: OrgId, owner: PrincipalId
    ) -> tuple[LoginGrant, ...]:
        """Remove the logins of somebody who is gone, in the caller's transaction, which also drops
        their secrets. Returns the grants, for `end_grants` after it."""
        grants = []
        for record in await rows.agent_logins.of(org_id, owner):
            held = await self._vault.read(rows, record)
            if record.login.is_open and held is not None and held.tokens is not None:
                grants.append(LoginGrant(record, held.tokens.refresh_token))
            await rows.agent_logins.remove(record.id)
        return tuple(grants)

    def end_grants(self, grants: Sequence[LoginGrant]) -> None:
        """End grants at their issuers, each as a task of its own. Those of an issuer that does not
        answer are logged."""
        for grant in grants:
            self._runner.start(partial(self._end_grant, grant))

    async def advance(self) -> None:
        """Poll, refresh and end what is due. Every replica may call it at any time."""
        async with asyncio.TaskGroup() as tasks:
            for login_id in await self.due():
                tasks.create_task(self.advance_one(login_id))

    async def due(self) -> Sequence[AgentLoginId]:
        """Return the logins to advance now; a bounded number of them."""
        async with self._ground.store.read() as rows:
            return await rows.agent_logins.due(self._ground.clock.now(), MAX_AT_ONCE)

    async def advance_one(self, login_id: AgentLoginId) -> None:
        """Poll, refresh or end a login where that is due. It may be called at any time."""
        await complete(self._perform(await self._take(login_id, TimePassed())))

    async def access(self, login_id: AgentLoginId) -> LoginAccess:
        """Return the token of a login that is ready and turned on. Raises `NotFound`, `Conflict`
        (code `login_not_ready`)."""
        async with self._ground.store.read() as rows:
            record = await rows.agent_logins.get(login_id)
            held = None if record is None else await self._vault.read(rows, record)
        if record is None:
            raise _missing(login_id)
        if held is None or not record.in_use or record.login.state is not LoginState.READY:
            raise Conflict(
                f"The login {login_id} cannot be used: it is {record.login.state.value}, and "
                f"{'on' if record.in_use else 'off'}. {record.login.reason}",
                code="login_not_ready",
            )
        token = held.api_key if held.tokens is None else held.tokens.access_token
        return LoginAccess(token, record.login.version, record.account, record.login.expires_at)

    async def refused(self, login_id: AgentLoginId, version: int) -> LoginAccess:
        """Return a newer token than one that the vendor refused, by the refresh that is under way
        or a new one. Raises as `access` does; `Unavailable` when none came in time."""
        taken = await self._take(login_id, TokenRefused(version))
        if taken.commands:
            self._runner.start(partial(self._settle, taken))
        try:
            async with asyncio.timeout(_RENEWED_WITHIN):
                with self._ground.bus.listen(_channel(login_id)) as listener:
                    while (access := await self.access(login_id)).version == version:
                        if access.expires_at is None:
                            raise Forbidden("The vendor refused the key: log in with another.")
                        await _either(listener.wait(), _WAKE)
                        await self.advance_one(login_id)
        except TimeoutError as error:
            raise Unavailable(f"The login {login_id} was not refreshed in time.") from error
        return access

    async def _take(
        self, login_id: AgentLoginId, stimulus: LoginStimulus, tokens: LoginTokens | None = None
    ) -> _Taken:
        """Commit a step, before anything is sent for it."""
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            record = await rows.agent_logins.get(login_id)
            if record is None:
                raise _missing(login_id)
            held = await self._vault.read(rows, record)
            if held is None and record.login.is_open:
                stimulus = LoginRefused("its secrets are gone: log in again")
            held = held or LoginSecrets()
            login, commands = step(record.login, stimulus, now)
            if record.agent not in self._issuers and {*commands} & SENT:
                login, commands = postpone(record.login, now), ()
            after = _with_tokens(replace(record, login=login), commands, tokens)
            if record.login.is_open and not login.is_open:
                after = replace(after, ended_at=now)
            if after != record:
                await rows.agent_logins.put(after)
            await self._keep(rows, after, commands, tokens)
            if login.state is not record.login.state:
                await self._note(rows, after)
        await self._tell(record, after)
        # What came too late was never kept, and is what there is to revoke.
        return _Taken(after, commands, replace(held, tokens=tokens or held.tokens))

    async def _keep(
        self,
        rows: Transaction,
        record: AgentLoginRecord,
        commands: tuple[LoginCommand, ...],
        tokens: LoginTokens | None,
    ) -> None:
        """Keep or drop secrets in the transaction of a step."""
        if LoginCommand.KEEP_TOKENS in commands:
            now = self._ground.clock.now()
            await self._vault.write(rows, record, LoginSecrets(tokens=tokens), now)
        if LoginCommand.DROP_SECRETS in commands:
            await self._vault.drop(rows, record)

    async def _tell(self, before: AgentLoginRecord, after: AgentLoginRecord) -> None:
        """Wake who waits for a login, and lend what is new of it."""
        if after != before:
            self._announce(after)
        if (is_lent(before), before.login.version) != (is_lent(after), after.login.version):
            await self._push(after.org_id, after.owner)

    async def _perform(self, taken: _Taken) -> None:
        issuer, held = self._issuers.get(taken.record.agent), taken.secrets
        if issuer is None:
            return  # a key has none, and what needs one was put off
        if LoginCommand.POLL in taken.commands and held.device is not None:
            await self._poll(taken, issuer)
        if LoginCommand.REFRESH in taken.commands and held.tokens is not None:
            await self._send(taken, issuer.refresh(held.tokens.refresh_token))
        if LoginCommand.END_GRANT in taken.commands and held.tokens is not None:
            await self._end_grant(LoginGrant(taken.record, held.tokens.refresh_token))

    async def _end_grant(self, grant: LoginGrant) -> None:
        try:
            await self._issuer(grant.record.agent).revoke(grant.refresh_token)
        except AtollError as error:
            _log.warning("login_not_revoked", id=grant.record.id, reason=error.message)

    async def _poll(self, taken: _Taken, issuer: AgentIssuer) -> None:
        device = taken.secrets.device
        assert device is not None  # noqa: S101 - the caller looked
        try:
            outcome = await issuer.poll(device)
        except (Forbidden, Unavailable) as error:
            outcome = LoginRefused(error.message)
        if isinstance(outcome, LoginTokens):
            await self._receive(taken, outcome)
        else:
            await self._take(taken.record.id, outcome)

    async def _send(self, taken: _Taken, sent: Awaitable[LoginTokens]) -> None:
        """Await the answer to a code or token that can be used once."""
        try:
            tokens = await sent
        except Forbidden as error:
            await self._take(taken.record.id, LoginRefused(error.message))
        except Unavailable as error:
            _log.warning("login_put_off", id=taken.record.id, reason=error.message)
            lost = error.code == "answer_lost"
            after = error.after if isinstance(error, IssuerBusy) else None
            put_off = PutOff(error.message, after)
            await self._take(taken.record.id, AnswerLost() if lost else put_off)
            if not lost and taken.record.login.state is LoginState.PENDING:
                raise  # its person pastes the code again
        else:
            await self._receive(taken, tokens)

    async def _receive(self, taken: _Taken, tokens: LoginTokens) -> None:
        try:
            done = await self._take(taken.record.id, TokensCame(tokens.life, self._early), tokens)
        except NotFound:  # it was removed meanwhile, and nobody else knows this grant
            await self._end_grant(LoginGrant(taken.record, tokens.refresh_token))
        else:
            await self._perform(done)

    async def _settle(self, taken: _Taken) -> None:
        """Perform a step as a task of its own: whoever waits for it may go away meanwhile."""
        try:
            await complete(self._perform(taken))
        except AtollError as error:
            _log.warning("login_not_refreshed", id=taken.record.id, reason=error.message)

    def _issuer(self, agent: str) -> AgentIssuer:
        if agent not in self._issuers:
            raise NotFound(
                f"There is no issuer of logins for {agent[:40]!r} here: an administrator sets it.",
                code="no_issuer",
            )
        return self._issuers[agent]

    def _announce(self, record: AgentLoginRecord) -> None:
        self._ground.bus.announce((_channel(record.id),))

    async def _note(
        self, rows: Transaction, record: AgentLoginRecord, actor: Principal = SYSTEM
    ) -> None:
        payload: dict[str, Json] = {
            "agent_login_id": record.id,
            "secret_id": record.token_ref,
            "agent": record.agent,
            "state": record.login.state.value,
            "in_use": record.in_use,
        }
        if record.login.reason:
            payload["reason"] = record.login.reason
        if record.exposed_to:
            payload["exposed_to"] = list(record.exposed_to)
        note = Note(f"secret:{record.token_ref}", "agent_login.changed", payload)
        ground = self._ground
        draft = draft_of(note, actor, at=ground.clock.now(), event_id=ground.ids.event())
        await rows.events.append((replace(draft, org_id=record.org_id, owner=record.owner),))


def _with_tokens(
    record: AgentLoginRecord, commands: tuple[LoginCommand, ...], tokens: LoginTokens | None
) -> AgentLoginRecord:
    """Return the record without what was for its person, and with what the tokens say."""
    if LoginCommand.DROP_SECRETS in commands:
        return replace(record, page="", user_code="")
    if LoginCommand.KEEP_TOKENS not in commands or tokens is None:
        return record
    account = tokens.account or record.account
    return replace(record, page="", user_code="", scopes=tokens.scopes, account=account)


async def _own(rows: Transaction, caller: Principal, login_id: AgentLoginId) -> AgentLoginRecord:
    record = await rows.agent_logins.get(login_id)
    if record is None or (record.org_id, record.owner) != (caller.org_id, caller.id):
        raise _missing(login_id)
    return record


async def _either(waited: Awaitable[None], seconds: float) -> None:
    """Wait for something, or for a time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await waited


def _check_person(caller: Principal) -> None:
    if caller.kind is not ActorKind.PERSON or caller.guest_access is not None:
        raise Forbidden("only a person may log an agent in")


def _missing(login_id: str) -> NotFound:
    return NotFound(f"There is no login {login_id[:80]!r}: list them to see which there are.")


def _channel(login_id: AgentLoginId) -> str:
    return f"agent-login:{login_id}"
