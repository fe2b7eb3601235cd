"""The life of an agent's login, as a pure state machine.

A code and a refresh token can be used once (RFC 9700 §4.14): an issuer that sees one again ends the
whole login. So at most one is on its way. A refresh token whose answer was lost, or that the issuer
put off, is sent again, ever more rarely: many issuers forgive that, and without an answer the login
is over anyway. Only an issuer that refuses the token ends the login. A code is never sent again.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from atoll.domain.logins.agent_login import (
    ANSWER_TIME,
    MAX_ASKED,
    MAX_INTERVAL,
    MAX_RETRY,
    POLL_INTERVAL,
    REQUEST_LIFE,
    RESEND,
    RETRY,
    SLOW_DOWN,
    AgentLogin,
    AnswerLost,
    CodeExpired,
    CodePasted,
    Denied,
    LoginCommand,
    LoginRefused,
    LoginStimulus,
    Opened,
    PollUnanswered,
    PutOff,
    RevokeLogin,
    SlowDown,
    StillPending,
    TimePassed,
    TokenRefused,
    TokensCame,
)
from atoll.wire.words.agents import LoginMethod, LoginState

AWAY: Final = timedelta(minutes=1)
"""The time after which a login is taken up again whose issuer is not set up any more."""

SENT: Final = frozenset({LoginCommand.POLL, LoginCommand.TRADE_CODE, LoginCommand.REFRESH})
"""The commands that need an issuer."""

Step: TypeAlias = tuple[AgentLogin, tuple[LoginCommand, ...]]

_CODE_LOST: Final = "the issuer's answer to a code that can be used once was lost: log in again"
_LOST: Final = "the issuer's answer to a refresh was lost: it is tried again"
_REPEAT_REFUSED: Final = "the issuer's answer to a refresh was lost, and it refused a repeat"


def step(login: AgentLogin, stimulus: LoginStimulus, now: datetime) -> Step:
    """Return the login after `stimulus`, and what is to be done. A stimulus that does not fit the
    state changes nothing."""
    if not login.is_open:
        return login, _late(login, stimulus)
    match stimulus:
        case RevokeLogin() | LoginRefused() | AnswerLost():
            return _ending(login, stimulus, now)
        case TokensCame():
            return _accept_tokens(login, stimulus, now)
        case Opened() | CodePasted() | Denied() | CodeExpired():
            return _confirmed_by_person(login, stimulus, now)
        case StillPending() | SlowDown() | PollUnanswered():
            return _step_poll(login, stimulus, now)
        case PutOff() | TokenRefused() | TimePassed():  # pragma: no branch - the cases are all
            return _step_refresh(login, stimulus, now)


def refresh_time(life: timedelta, early: timedelta, now: datetime) -> datetime:
    """Return the time at which an access token of this life, received now, is refreshed."""
    return now + life - min(early, life / 2)


def postpone(login: AgentLogin, now: datetime) -> AgentLogin:
    """Return the login as it waits for its issuer: nothing was sent, so nothing is used up. A
    refresh that an earlier process sent is repeated then."""
    if login.next_at is None and login.sent_at is None:
        return login
    return replace(login, sent_at=None, next_at=now + AWAY, resent=login.sent_at is not None)


def due_at(login: AgentLogin) -> datetime | None:
    """Return the time at which `TimePassed` changes a login; None where it never does."""
    if login.sent_at is not None:
        return login.sent_at + ANSWER_TIME
    times = [one for one in (login.ends_at, login.next_at) if one is not None]
    return min(times, default=None)


def _late(login: AgentLogin, stimulus: LoginStimulus) -> tuple[LoginCommand, ...]:
    """Tokens that come after the end belong to nobody."""
    if not isinstance(stimulus, TokensCame) or login.method is LoginMethod.API_KEY:
        return ()
    return LoginCommand.END_GRANT, LoginCommand.DROP_SECRETS


def _ending(
    login: AgentLogin, stimulus: RevokeLogin | LoginRefused | AnswerLost, now: datetime
) -> Step:
    match stimulus:
        case RevokeLogin():
            return _revoke_login(login)
        case LoginRefused(reason):
            said = f"{_REPEAT_REFUSED}: {reason}" if login.resent and login.sent_at else reason
            return _end_login(login, LoginState.FAILED, said)
        case AnswerLost():  # pragma: no branch - the cases are all
            return _handle_lost_answer(login, now) if login.sent_at else (login, ())


def _handle_lost_answer(login: AgentLogin, now: datetime) -> Step:
    """Repeat a refresh whose answer was lost; fail a login that was not ready yet."""
    if login.state is not LoginState.READY:
        return _end_login(login, LoginState.FAILED, _CODE_LOST)
    return replace(_schedule_retry(login, now, RESEND), reason=_LOST, resent=True), ()


def _schedule_retry(login: AgentLogin, now: datetime, least: timedelta) -> AgentLogin:
    """Return the login with its next refresh due after twice the time of before."""
    backoff = min(RETRY * 2 ** min(login.tries, 20), MAX_RETRY)
    wait = max(backoff, min(least, MAX_ASKED))
    return replace(login, sent_at=None, next_at=now + wait, tries=login.tries + 1)


def _step_refresh(
    login: AgentLogin, stimulus: PutOff | TokenRefused | TimePassed, now: datetime
) -> Step:
    """Return the login after a stimulus about its tokens, or after time passed."""
    match stimulus:
        case PutOff():
            return _put_off(login, stimulus, now)
        case TokenRefused(version):
            current = login.state is LoginState.READY and version == login.version
            waits = login.tries and login.next_at is not None and now < login.next_at
            wanted = current and login.expires_at is not None and not waits
            return _refresh(login, now) if wanted else (login, ())
        case TimePassed():  # pragma: no branch - the cases are all
            return _step_time(login, now)


def _revoke_login(login: AgentLogin) -> Step:
    """Return the login as revoked, and the commands that end its grant and secrets."""
    ended, dropped = _end_login(login, LoginState.REVOKED, "")
    granted = login.state is LoginState.READY and login.method is not LoginMethod.API_KEY
    return ended, (LoginCommand.END_GRANT, *dropped) if granted else dropped


def _end_login(login: AgentLogin, state: LoginState, reason: str) -> Step:
    """Return the login in a final state, and the command that drops its secrets."""
    ended = replace(
        login, state=state, reason=reason, ends_at=None, next_at=None, sent_at=None, expires_at=None
    )
    return ended, (LoginCommand.DROP_SECRETS,)


def _accept_tokens(login: AgentLogin, tokens: TokensCame, now: datetime) -> Step:
    """Return the login as ready with its new tokens."""
    life = tokens.life
    ready = replace(
        login,
        state=LoginState.READY,
        ends_at=None,
        next_at=None if life is None else refresh_time(life, tokens.early, now),
        sent_at=None,
        reason="",
        version=login.version + 1,
        expires_at=None if life is None else now + life,
        resent=False,
        tries=0,
    )
    return ready, (LoginCommand.KEEP_TOKENS,)


def _confirmed_by_person(
    login: AgentLogin, stimulus: Opened | CodePasted | Denied | CodeExpired, now: datetime
) -> Step:
    match stimulus:
        case Opened() if login.state is LoginState.REQUESTED:
            return _make_pending(login, stimulus, now), ()
        case CodePasted() if _takes_code(login):
            return replace(login, sent_at=now), (LoginCommand.TRADE_CODE,)
        case Denied() if login.state is LoginState.PENDING:
            return _end_login(login, LoginState.DENIED, "the person refused it at the issuer")
        case CodeExpired() if login.state is LoginState.PENDING:
            return _end_login(login, LoginState.EXPIRED, "nobody confirmed it in time")
    return login, ()


def _takes_code(login: AgentLogin) -> bool:
    pending = login.state is LoginState.PENDING and login.sent_at is None
    return pending and login.method is LoginMethod.BROWSER


def _make_pending(login: AgentLogin, stimulus: Opened, now: datetime) -> AgentLogin:
    """Return the login as pending: it expires unless a person confirms it."""
    interval = min(max(stimulus.interval or POLL_INTERVAL, RETRY), MAX_INTERVAL)
    polls = login.method is LoginMethod.DEVICE
    return replace(
        login,
        state=LoginState.PENDING,
        interval=interval,
        ends_at=now + min(stimulus.life or REQUEST_LIFE, REQUEST_LIFE),
        next_at=now + interval if polls else None,
    )


def _step_poll(
    login: AgentLogin, stimulus: StillPending | SlowDown | PollUnanswered, now: datetime
) -> Step:
    """Return the login after a poll, with the time of the next one."""
    if login.state is not LoginState.PENDING:
        return login, ()
    match stimulus:
        case StillPending():
            interval = login.interval
        case SlowDown():
            interval = login.interval + SLOW_DOWN
        case PollUnanswered():  # pragma: no branch - the cases are all
            interval = login.interval * 2
    interval = min(interval, MAX_INTERVAL)
    return replace(login, interval=interval, next_at=now + interval), ()


def _put_off(login: AgentLogin, stimulus: PutOff, now: datetime) -> Step:
    """A code that was not taken can be pasted again; a refresh is tried again."""
    if login.sent_at is None:
        return login, ()
    if login.state is not LoginState.READY:
        return replace(login, sent_at=None), ()
    again = _schedule_retry(login, now, stimulus.after or RETRY)
    return replace(again, reason=stimulus.reason), ()


def _step_time(login: AgentLogin, now: datetime) -> Step:
    """Return the login after time passed: it expires, polls or refreshes when that is due."""
    if login.sent_at is not None:
        return _overdue(login, now) if now - login.sent_at >= ANSWER_TIME else (login, ())
    if login.ends_at is not None and now >= login.ends_at:
        return _end_login(login, LoginState.EXPIRED, "nobody confirmed it in time")
    if login.next_at is None or now < login.next_at:
        return login, ()
    if login.state is LoginState.READY:
        return _refresh(login, now)
    return replace(login, next_at=now + login.interval), (LoginCommand.POLL,)


def _overdue(login: AgentLogin, now: datetime) -> Step:
    """The process that sent this is gone: a repeat is due at once."""
    lost, commands = _handle_lost_answer(login, now)
    return _refresh(lost, now) if lost.is_open else (lost, commands)


def _refresh(login: AgentLogin, now: datetime) -> Step:
    """Only one is on its way, so whoever needs a fresh token waits for that one."""
    if login.sent_at is not None:
        return login, ()
    return replace(login, sent_at=now, next_at=None), (LoginCommand.REFRESH,)
