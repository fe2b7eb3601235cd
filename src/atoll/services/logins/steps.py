"""The steps of a login: each is committed before what it sends, and performed once.

Whoever takes a step performs it, on whichever replica that is.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import structlog

from atoll.domain.errors import (
    AtollError,
    Forbidden,
    NotFound,
    Unavailable,
)
from atoll.domain.event import Json
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.logins.agent_login import (
    AgentLoginId,
    AgentLoginRecord,
    AnswerLost,
    LoginCommand,
    LoginRefused,
    LoginStimulus,
    PutOff,
    TokensCame,
)
from atoll.domain.logins.lifecycle import SENT, postpone, step
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.ports import Transaction
from atoll.ports.outside.issuer import AgentIssuer, IssuerBusy, LoginTokens
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.logins.lent import is_lent
from atoll.services.logins.payload import LoginSecrets, LoginVault
from atoll.services.task_runner import complete
from atoll.wire.words.agents import LoginState

Push = Callable[[OrgId, PrincipalId | None], Awaitable[None]]
"""Sends the policies of this owner's sandboxes anew. Raises nothing."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LoginGrant:
    """The grant of an issuer to a login that was removed here."""

    record: AgentLoginRecord
    refresh_token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TakenStep:
    """A step that was committed: what is to be done, and the secrets of before it."""

    record: AgentLoginRecord
    commands: tuple[LoginCommand, ...]
    secrets: LoginSecrets


class LoginSteps:
    """Steps of logins, decided by `domain.logins.lifecycle.step`. Tokens are refreshed `early`, and
    `push` lends them."""

    def __init__(
        self,
        ground: Ground,
        issuers: Mapping[str, AgentIssuer],
        *,
        vault: LoginVault,
        early: timedelta,
        push: Push,
    ) -> None:
        self._ground = ground
        self._issuers = issuers
        self._vault = vault
        self._early = early
        self._push = push

    async def take(
        self, login_id: AgentLoginId, stimulus: LoginStimulus, tokens: LoginTokens | None = None
    ) -> TakenStep:
        """Commit a step, before anything is sent for it."""
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            record = await rows.agent_logins.get(login_id)
            if record is None:
                raise missing_login_error(login_id)
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
                await self.note(rows, after)
        await self._tell(record, after)
        # What came too late was never kept, and is what there is to revoke.
        return TakenStep(after, commands, replace(held, tokens=tokens or held.tokens))

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
            self.announce(after)
        if (is_lent(before), before.login.version) != (is_lent(after), after.login.version):
            await self._push(after.org_id, after.owner)

    async def perform(self, taken: TakenStep) -> None:
        """Do what a step asks for at the issuer. Raises what the port does."""
        issuer, held = self._issuers.get(taken.record.agent), taken.secrets
        if issuer is None:
            return  # a key has none, and what needs one was put off
        if LoginCommand.POLL in taken.commands and held.device is not None:
            await self._poll(taken, issuer)
        if LoginCommand.REFRESH in taken.commands and held.tokens is not None:
            await self.send(taken, issuer.refresh(held.tokens.refresh_token))
        if LoginCommand.END_GRANT in taken.commands and held.tokens is not None:
            await self.end_grant(LoginGrant(taken.record, held.tokens.refresh_token))

    async def end_grant(self, grant: LoginGrant) -> None:
        """End a grant at its issuer; one that does not answer is logged."""
        try:
            await self.issuer(grant.record.agent).revoke(grant.refresh_token)
        except AtollError as error:
            _log.warning("login_not_revoked", id=grant.record.id, reason=error.message)

    async def _poll(self, taken: TakenStep, issuer: AgentIssuer) -> None:
        device = taken.secrets.device
        assert device is not None  # noqa: S101 - the caller looked
        try:
            outcome = await issuer.poll(device)
        except (Forbidden, Unavailable) as error:
            outcome = LoginRefused(error.message)
        if isinstance(outcome, LoginTokens):
            await self._receive(taken, outcome)
        else:
            await self.take(taken.record.id, outcome)

    async def send(self, taken: TakenStep, sent: Awaitable[LoginTokens]) -> None:
        """Await the answer to a code or token that can be used once."""
        try:
            tokens = await sent
        except Forbidden as error:
            await self.take(taken.record.id, LoginRefused(error.message))
        except Unavailable as error:
            _log.warning("login_put_off", id=taken.record.id, reason=error.message)
            lost = error.code == "answer_lost"
            after = error.after if isinstance(error, IssuerBusy) else None
            put_off = PutOff(error.message, after)
            await self.take(taken.record.id, AnswerLost() if lost else put_off)
            if not lost and taken.record.login.state is LoginState.PENDING:
                raise  # its person pastes the code again
        else:
            await self._receive(taken, tokens)

    async def _receive(self, taken: TakenStep, tokens: LoginTokens) -> None:
        try:
            done = await self.take(taken.record.id, TokensCame(tokens.life, self._early), tokens)
        except NotFound:  # it was removed meanwhile, and nobody else knows this grant
            await self.end_grant(LoginGrant(taken.record, tokens.refresh_token))
        else:
            await self.perform(done)

    async def settle(self, taken: TakenStep) -> None:
        """Perform a step as a task of its own: whoever waits for it may go away meanwhile."""
        try:
            await complete(self.perform(taken))
        except AtollError as error:
            _log.warning("login_not_refreshed", id=taken.record.id, reason=error.message)

    def issuer(self, agent: str) -> AgentIssuer:
        """Return the issuer of an agent's logins. Raises `NotFound` (code `no_issuer`)."""
        if agent not in self._issuers:
            raise NotFound(
                f"There is no issuer of logins for {agent[:40]!r} here: an administrator sets it.",
                code="no_issuer",
            )
        return self._issuers[agent]

    def announce(self, record: AgentLoginRecord) -> None:
        """Wake who waits for a login."""
        self._ground.bus.announce((channel(record.id),))

    async def note(
        self, rows: Transaction, record: AgentLoginRecord, actor: Principal = SYSTEM
    ) -> None:
        """Append the event of a changed login."""
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


def missing_login_error(login_id: str) -> NotFound:
    """Return the error for a login that is not there, or not the caller's."""
    return NotFound(f"There is no login {login_id[:80]!r}: list them to see which there are.")


def channel(login_id: AgentLoginId) -> str:
    """Return the bus channel that says when a login changed."""
    return f"agent-login:{login_id}"
