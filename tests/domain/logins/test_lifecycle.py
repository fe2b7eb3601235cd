from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.logins.agent_login import (
    ANSWER_TIME,
    EARLY,
    MAX_ASKED,
    MAX_INTERVAL,
    MAX_RETRY,
    OPEN,
    POLL_INTERVAL,
    REQUEST_LIFE,
    RESEND,
    RETRY,
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
from atoll.domain.logins.lifecycle import AWAY, due_at, postpone, refresh_time, step
from atoll.wire.words.agents import LoginMethod, LoginState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DEVICE, BROWSER, KEY = (
    AgentLogin(one) for one in (LoginMethod.DEVICE, LoginMethod.BROWSER, LoginMethod.API_KEY)
)
HOUR = timedelta(hours=1)
SHORT = timedelta(seconds=5)
STIMULI: tuple[LoginStimulus, ...] = (
    Opened(),
    TimePassed(),
    StillPending(),
    SlowDown(),
    PollUnanswered(),
    CodePasted(),
    TokensCame(SHORT),
    TokensCame(),
    Denied(),
    CodeExpired(),
    LoginRefused("no"),
    PutOff(),
    AnswerLost(),
    TokenRefused(1),
    RevokeLogin(),
)


def after(login: AgentLogin, *stimuli: LoginStimulus, now: datetime = NOW) -> AgentLogin:
    for stimulus in stimuli:
        login, _ = step(login, stimulus, now)
    return login


PENDING = after(DEVICE, Opened())
READY = after(PENDING, TokensCame(HOUR))


def test_device_login_opened_waits_for_its_person() -> None:
    login, commands = step(DEVICE, Opened(HOUR, timedelta(seconds=7)), NOW)
    assert login.state is LoginState.PENDING and commands == ()
    assert login.ends_at == NOW + REQUEST_LIFE and login.next_at == NOW + timedelta(seconds=7)


def test_interval_of_no_time_is_a_second() -> None:
    assert after(DEVICE, Opened(None, timedelta(milliseconds=1))).interval == RETRY


def test_browser_login_is_never_polled() -> None:
    login = after(BROWSER, Opened())
    assert step(login, TimePassed(), NOW + timedelta(minutes=1)) == (login, ())


def test_poll_before_its_time_is_not_sent() -> None:
    early = NOW + POLL_INTERVAL - timedelta(milliseconds=1)
    assert step(PENDING, TimePassed(), early) == (PENDING, ())


def test_poll_at_its_time_is_sent_once() -> None:
    due = NOW + POLL_INTERVAL
    login, commands = step(PENDING, TimePassed(), due)
    assert commands == (LoginCommand.POLL,)
    assert step(login, TimePassed(), due) == (login, ())


@pytest.mark.parametrize(
    ("answer", "interval"),
    [
        (StillPending(), timedelta(seconds=5)),
        (SlowDown(), timedelta(seconds=10)),
        (PollUnanswered(), timedelta(seconds=10)),
    ],
)
def test_answer_to_a_poll_sets_the_next_time(answer: LoginStimulus, interval: timedelta) -> None:
    login = after(PENDING, answer)
    assert login.interval == interval and login.next_at == NOW + interval


def test_interval_has_a_bound() -> None:
    assert after(PENDING, *[SlowDown()] * 99).interval == MAX_INTERVAL


def test_request_that_nobody_confirms_expires() -> None:
    login, commands = step(PENDING, TimePassed(), NOW + REQUEST_LIFE)
    assert login.state is LoginState.EXPIRED and commands == (LoginCommand.DROP_SECRETS,)


@pytest.mark.parametrize(
    ("stimulus", "state"),
    [
        (Denied(), LoginState.DENIED),
        (CodeExpired(), LoginState.EXPIRED),
        (LoginRefused("no"), LoginState.FAILED),
        (RevokeLogin(), LoginState.REVOKED),
    ],
)
def test_end_of_a_request_forgets_its_codes(stimulus: LoginStimulus, state: LoginState) -> None:
    login, commands = step(PENDING, stimulus, NOW)
    assert login.state is state and commands == (LoginCommand.DROP_SECRETS,)
    assert login.next_at is login.ends_at is None and not login.is_open


def test_tokens_make_a_login_ready() -> None:
    login, commands = step(PENDING, TokensCame(HOUR), NOW)
    assert login.state is LoginState.READY and commands == (LoginCommand.KEEP_TOKENS,)
    assert (login.version, login.expires_at) == (1, NOW + HOUR)
    assert login.next_at == NOW + HOUR - EARLY and login.ends_at is None


def test_key_is_ready_at_once_and_has_no_end() -> None:
    login, commands = step(KEY, TokensCame(), NOW)
    assert commands == (LoginCommand.KEEP_TOKENS,) and login.next_at is login.expires_at is None
    assert step(login, TokenRefused(1), NOW) == (login, ())


def test_short_token_is_refreshed_at_half_its_life() -> None:
    assert refresh_time(SHORT, EARLY, NOW) == NOW + SHORT / 2


def test_token_is_refreshed_as_early_as_is_set() -> None:
    early = timedelta(minutes=2)
    assert after(PENDING, TokensCame(HOUR, early)).next_at == NOW + HOUR - early


def test_login_without_an_issuer_waits_and_uses_nothing_up() -> None:
    due = NOW + HOUR
    assert postpone(READY, due) == replace(READY, next_at=due + AWAY)
    assert postpone(after(KEY, TokensCame()), due) == after(KEY, TokensCame())


def test_pasted_code_is_traded_once() -> None:
    login, commands = step(after(BROWSER, Opened()), CodePasted(), NOW)
    assert commands == (LoginCommand.TRADE_CODE,)
    assert step(login, CodePasted(), NOW) == (login, ())


def test_device_login_takes_no_pasted_code() -> None:
    assert step(PENDING, CodePasted(), NOW) == (PENDING, ())


def test_code_that_did_not_leave_can_be_pasted_again() -> None:
    login = after(BROWSER, Opened(), CodePasted(), PutOff())
    assert step(login, CodePasted(), NOW)[1] == (LoginCommand.TRADE_CODE,)


def test_refresh_is_sent_early_and_one_at_a_time() -> None:
    due = NOW + HOUR - EARLY
    login, commands = step(READY, TimePassed(), due)
    assert commands == (LoginCommand.REFRESH,)
    for stimulus in (TimePassed(), TokenRefused(1)):
        assert step(login, stimulus, due) == (login, ())


def test_refused_token_is_refreshed_before_its_time() -> None:
    assert step(READY, TokenRefused(1), NOW)[1] == (LoginCommand.REFRESH,)


def test_refused_token_of_an_older_version_refreshes_nothing() -> None:
    login = after(READY, TokenRefused(1), TokensCame(HOUR))
    assert login.version == 2 and step(login, TokenRefused(1), NOW) == (login, ())


def test_refresh_that_was_put_off_is_tried_again() -> None:
    login = after(READY, TokenRefused(1), PutOff("it is busy"))
    assert login.state is LoginState.READY and login.reason == "it is busy"
    for stimulus in (TimePassed(), TokenRefused(1)):
        assert step(login, stimulus, NOW) == (login, ()), "whoever needs a token does not hurry it"
    assert step(login, TimePassed(), NOW + RETRY)[1] == (LoginCommand.REFRESH,)


@pytest.mark.parametrize("answer", [PutOff(), AnswerLost()])
def test_refresh_is_tried_ever_more_rarely_and_never_given_up(answer: LoginStimulus) -> None:
    login, now, waits = after(READY, TokenRefused(1)), NOW, []
    for _ in range(300):
        login = after(login, answer, now=now)
        assert login.next_at is not None and login.is_open
        waits.append(login.next_at - now)
        now = login.next_at
        login, commands = step(login, TimePassed(), now)
        assert commands == (LoginCommand.REFRESH,)
    assert waits == sorted(waits) and waits[0] <= RESEND and waits[-1] == MAX_RETRY
    renewed = after(login, TokensCame(HOUR), now=now)
    assert renewed.version == 2 and (renewed.tries, renewed.reason) == (0, "")


@pytest.mark.parametrize(
    ("asked", "waited"),
    [(timedelta(minutes=7), timedelta(minutes=7)), (timedelta(days=9), MAX_ASKED), (None, RETRY)],
)
def test_time_that_an_issuer_asks_for_is_kept(asked: timedelta | None, waited: timedelta) -> None:
    login = after(READY, TokenRefused(1), PutOff("busy", asked))
    assert login.next_at == NOW + waited


def test_refresh_whose_answer_was_lost_is_repeated() -> None:
    lost = after(READY, TokenRefused(1), AnswerLost())
    assert lost.state is LoginState.READY and lost.sent_at is None
    assert step(lost, TimePassed(), NOW) == (lost, ())
    again, commands = step(lost, TimePassed(), NOW + RESEND)
    assert commands == (LoginCommand.REFRESH,)
    assert after(again, AnswerLost()).state is LoginState.READY


def test_answer_to_a_repeat_makes_the_next_refresh_a_first_one() -> None:
    lost = after(READY, TokenRefused(1), AnswerLost())
    renewed = after(after(lost, TokenRefused(1), now=NOW + RESEND), TokensCame(HOUR))
    assert renewed.version == 2 and not renewed.resent
    assert after(renewed, TokenRefused(2), AnswerLost()).state is LoginState.READY


def test_repeat_that_is_refused_says_so() -> None:
    lost = after(READY, TokenRefused(1), AnswerLost())
    repeated = after(lost, TokenRefused(1), now=NOW + RESEND)
    ended = after(repeated, LoginRefused("it refused the login: log in again"))
    assert ended.state is LoginState.FAILED
    assert "refused a repeat" in ended.reason and "log in again" in ended.reason


def test_repeat_that_did_not_leave_is_still_due() -> None:
    lost = after(READY, TokenRefused(1), AnswerLost())
    unsent = after(lost, TokenRefused(1), PutOff(), now=NOW + RESEND)
    due = due_at(unsent)
    assert due is not None and step(unsent, TimePassed(), due)[1] == (LoginCommand.REFRESH,)


def test_refresh_of_a_process_that_is_gone_is_repeated_in_time() -> None:
    sent = after(READY, TokenRefused(1))
    again, commands = step(sent, TimePassed(), NOW + ANSWER_TIME)
    assert commands == (LoginCommand.REFRESH,) and again.sent_at == NOW + ANSWER_TIME
    again, commands = step(again, TimePassed(), NOW + 2 * ANSWER_TIME)
    assert commands == (LoginCommand.REFRESH,) and again.is_open


def test_code_whose_answer_was_lost_is_never_repeated() -> None:
    sent = after(BROWSER, Opened(), CodePasted())
    for login, commands in (
        step(sent, AnswerLost(), NOW),
        step(sent, TimePassed(), NOW + ANSWER_TIME),
    ):
        assert login.state is LoginState.FAILED and commands == (LoginCommand.DROP_SECRETS,)


def test_repeat_without_an_issuer_waits() -> None:
    sent = after(READY, TokenRefused(1))
    waiting = postpone(sent, NOW)
    assert waiting.resent and waiting.sent_at is None and waiting.next_at == NOW + AWAY


def test_nothing_on_its_way_is_not_lost() -> None:
    for stimulus in (AnswerLost(), PutOff()):
        assert step(READY, stimulus, NOW) == (READY, ())


def test_revoked_login_ends_its_grant() -> None:
    login, commands = step(READY, RevokeLogin(), NOW)
    assert login.state is LoginState.REVOKED
    assert commands == (LoginCommand.END_GRANT, LoginCommand.DROP_SECRETS)


def test_revoked_key_has_no_grant() -> None:
    assert step(after(KEY, TokensCame()), RevokeLogin(), NOW)[1] == (LoginCommand.DROP_SECRETS,)


def test_tokens_that_come_after_the_end_are_revoked() -> None:
    login = after(READY, TokenRefused(1), RevokeLogin())
    assert step(login, TokensCame(HOUR), NOW) == (
        login,
        (LoginCommand.END_GRANT, LoginCommand.DROP_SECRETS),
    )
    assert step(after(KEY, RevokeLogin()), TokensCame(), NOW)[1] == ()


def test_stimulus_of_another_state_changes_nothing() -> None:
    for stimulus in (Opened(), Denied(), CodeExpired(), SlowDown(), StillPending()):
        assert step(READY, stimulus, NOW) == (READY, ())
    assert step(PENDING, TokenRefused(0), NOW) == (PENDING, ())


def test_login_is_due_when_time_changes_it() -> None:
    assert due_at(PENDING) == NOW + POLL_INTERVAL
    assert due_at(after(BROWSER, Opened())) == NOW + REQUEST_LIFE
    assert due_at(after(READY, TokenRefused(1))) == NOW + ANSWER_TIME
    assert due_at(after(KEY, TokensCame())) is None


@given(st.sampled_from([DEVICE, BROWSER, KEY]), st.data())
def test_no_token_leaves_while_another_is_on_its_way(
    login: AgentLogin, data: st.DataObject
) -> None:
    """A code leaves once, unless it did not arrive at the issuer; a version of a refresh token
    again only after it was put off or its answer was lost."""
    now, sent = NOW, 0
    for stimulus in data.draw(st.lists(st.sampled_from(STIMULI), max_size=30)):
        now += data.draw(st.sampled_from([timedelta(), timedelta(seconds=2), HOUR]))
        before = login
        login, commands = step(login, stimulus, now)
        if login.version != before.version:
            sent = 0
        if isinstance(stimulus, PutOff) and before.sent_at is not None:
            sent -= 1
        if {LoginCommand.REFRESH, LoginCommand.TRADE_CODE} & {*commands}:
            assert before.sent_at is None or now - before.sent_at >= ANSWER_TIME
            sent += 1
            assert sent == 1 or login.resent
        if before.state not in OPEN:
            assert login == before
        if LoginCommand.DROP_SECRETS in commands:
            assert not login.is_open
        assert replace(login, state=before.state).version - before.version in (0, 1)
