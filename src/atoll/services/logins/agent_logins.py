"""Logins of agents at their vendors: begun by their owner, refreshed here alone, never shown.

Every use of a code or refresh token is a step (`steps`), committed before it is sent. Writing
transactions come one after another, so of all replicas one sends it. One that dies on the way
leaves a mark, by which another repeats a refresh and no code at all.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from atoll.domain.agents.registry import find
from atoll.domain.errors import (
    Conflict,
    Forbidden,
    Invalid,
    LimitReached,
    Unavailable,
)
from atoll.domain.ids import OrgId, PrincipalId, SecretId
from atoll.domain.logins.agent_login import (
    ANSWER_TIME,
    EARLY,
    MAX_LOGINS,
    AgentLogin,
    AgentLoginId,
    AgentLoginRecord,
    CodePasted,
    LoginCommand,
    RevokeLogin,
    TimePassed,
    TokenRefused,
)
from atoll.domain.logins.redirect import read_redirect
from atoll.domain.people.principal import Principal
from atoll.ports import Transaction, Vault
from atoll.ports.outside.issuer import AgentIssuer
from atoll.services.ground import Ground
from atoll.services.logins.begun import BegunAgentLogin, key_provider, open_login, with_key
from atoll.services.logins.lent import ExposureRules, check_exposable
from atoll.services.logins.payload import LoginVault
from atoll.services.logins.steps import LoginGrant, LoginSteps, Push, channel, missing_login_error
from atoll.services.task_runner import TaskRunner, complete
from atoll.wire.words.agents import LoginMethod, LoginState
from atoll.wire.words.events import ActorKind

MAX_AT_ONCE: Final = 50
"""The logins that one call of `advance` takes up; the others wait for the next."""

_WAKE: Final = 0.5
"""The seconds after which a waiting caller looks again, in case an announcement was lost."""

_RENEWED_WITHIN: Final = 2 * ANSWER_TIME.total_seconds()
"""The seconds in which a refresh is over, with its repeat."""


@dataclass(frozen=True, slots=True)
class LoginAccess:
    """An access token or key that a login gives for a while, and its version. `account` is the
    vendor's id of the account; `expires_at` is None for a key."""

    token: str = field(repr=False)
    version: int
    account: str
    expires_at: datetime | None


async def _push_nothing(_org_id: OrgId, _owner: PrincipalId | None) -> None:
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
        push: Push = _push_nothing,
        exposures: ExposureRules,
    ) -> None:
        self._exposures = exposures
        self._ground = ground
        self._runner = runner
        self._push = push
        self._vault = LoginVault(vault)
        self._steps = LoginSteps(ground, issuers, vault=self._vault, early=early, push=push)

    async def list(self, caller: Principal) -> Sequence[AgentLoginRecord]:
        """Return the caller's logins, oldest first."""
        _check_person(caller)
        async with self._ground.store.read() as rows:
            return await rows.agent_logins.of(caller.org_id, caller.id)

    async def get(self, caller: Principal, login_id: AgentLoginId) -> AgentLoginRecord:
        """Return a login of the caller."""
        _check_person(caller)
        async with self._ground.store.read() as rows:
            return await _find_own_login(rows, caller, login_id)

    async def broken(self, caller: Principal) -> Sequence[AgentLoginRecord]:
        """Return the caller's logins that broke while they were in use; nobody else has any."""
        if caller.kind is not ActorKind.PERSON or caller.guest_access is not None:
            return ()
        return [record for record in await self.list(caller) if record.needs_login]

    async def dismiss(self, caller: Principal, login_id: AgentLoginId) -> None:
        """Have a login that broke wait for nobody. Raises `NotFound` for any other."""
        if not any(record.id == login_id for record in await self.broken(caller)):
            raise missing_login_error(login_id)
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
            record, held = await open_login(record, request, self._steps.issuer(agent.name), now)
        async with self._ground.store.begin() as rows:
            others = await rows.agent_logins.of(caller.org_id, caller.id)
            if sum(other.login.is_open for other in others) >= MAX_LOGINS:
                raise LimitReached(f"There may be {MAX_LOGINS} logins: revoke one.")
            for ended in [other for other in others if not other.login.is_open][:-MAX_LOGINS]:
                await rows.agent_logins.remove(ended.id)
            await rows.agent_logins.put(record)
            await self._vault.write(rows, record, held, now)
            await self._steps.note(rows, record, caller)
        self._steps.announce(record)
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
        taken = await self._steps.take(login_id, CodePasted())
        if LoginCommand.TRADE_CODE not in taken.commands:
            raise Conflict("This login waits for no redirect: begin another.")
        await self._steps.send(taken, self._steps.issuer(record.agent).trade(held.begun, code))
        return await self.get(caller, login_id)

    async def turn(self, caller: Principal, login_id: AgentLoginId, *, on: bool) -> None:
        """Turn the use of a login on or off: its owner says that their plan allows it. Of the
        logins of an agent one is on, or a key for each provider. Raises `Conflict` (code
        `login_not_ready`) for one that has ended."""
        _check_person(caller)
        async with self._ground.store.begin() as rows:
            record = await _find_own_login(rows, caller, login_id)
            if on and not record.login.is_open:
                raise Conflict("This login has ended: log in again.", code="login_not_ready")
            mine = await rows.agent_logins.of(caller.org_id, caller.id)
            others = [row for row in mine if on and row.id != login_id and record.excludes(row)]
            turned = [(record, on), *((row, False) for row in others)]
            for login, used in turned:
                if login.in_use is not used:
                    await rows.agent_logins.put(replace(login, in_use=used))
                    await self._steps.note(rows, replace(login, in_use=used), caller)
        for login, _ in turned:
            self._steps.announce(login)
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
            record = await _find_own_login(rows, caller, login_id)
            added = [scope for scope in dict.fromkeys(scopes) if scope not in record.exposed_to]
            if added:
                check_exposable(record, scopes)
            for scope in added:
                await self._exposures.check(rows, caller, scope)
            after = replace(record, exposed_to=tuple(dict.fromkeys(scopes)))
            if after != record:
                await rows.agent_logins.put(after)
                await self._steps.note(rows, after, caller)
        self._steps.announce(after)
        await self._push(record.org_id, record.owner)
        return after

    async def revoke(self, caller: Principal, login_id: AgentLoginId) -> AgentLoginRecord:
        """End a login here and at its issuer, and forget its tokens. Idempotent."""
        await self.get(caller, login_id)
        await self._steps.perform(await self._steps.take(login_id, RevokeLogin()))
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
            self._runner.start(partial(self._steps.end_grant, grant))

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
        await complete(self._steps.perform(await self._steps.take(login_id, TimePassed())))

    async def access(self, login_id: AgentLoginId) -> LoginAccess:
        """Return the token of a login that is ready and turned on. Raises `NotFound`, `Conflict`
        (code `login_not_ready`)."""
        async with self._ground.store.read() as rows:
            record = await rows.agent_logins.get(login_id)
            held = None if record is None else await self._vault.read(rows, record)
        if record is None:
            raise missing_login_error(login_id)
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
        taken = await self._steps.take(login_id, TokenRefused(version))
        if taken.commands:
            self._runner.start(partial(self._steps.settle, taken))
        try:
            async with asyncio.timeout(_RENEWED_WITHIN):
                with self._ground.bus.listen(channel(login_id)) as listener:
                    while (access := await self.access(login_id)).version == version:
                        if access.expires_at is None:
                            raise Forbidden("The vendor refused the key: log in with another.")
                        await _either(listener.wait(), _WAKE)
                        await self.advance_one(login_id)
        except TimeoutError as error:
            raise Unavailable(f"The login {login_id} was not refreshed in time.") from error
        return access


async def _find_own_login(
    rows: Transaction, caller: Principal, login_id: AgentLoginId
) -> AgentLoginRecord:
    """Return a login of the caller's. Raises `NotFound`."""
    record = await rows.agent_logins.get(login_id)
    if record is None or (record.org_id, record.owner) != (caller.org_id, caller.id):
        raise missing_login_error(login_id)
    return record


async def _either(waited: Awaitable[None], seconds: float) -> None:
    """Wait for something, or for a time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await waited


def _check_person(caller: Principal) -> None:
    if caller.kind is not ActorKind.PERSON or caller.guest_access is not None:
        raise Forbidden("only a person may log an agent in")
