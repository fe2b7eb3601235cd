from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Conflict, NotFound
from atoll.domain.ids import PrincipalId
from atoll.domain.people.login import (
    GUESS_WINDOW,
    LINK_LIFE,
    MAX_GUESSES,
    MAX_LINKS,
    MAX_SESSIONS,
    MAX_TICKETS,
    SESSION_LIFE,
    TICKET_LIFE,
    LoginBook,
    check_link,
    count_guess,
    fingerprint,
    link_login,
    page_key,
    redeem,
    spell_secret,
    wait_seconds,
    with_link,
    with_ticket,
    without_session,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_secret_of_32_bytes_is_43_url_safe_characters() -> None:
    secret = spell_secret(bytes(range(224, 256)))
    assert len(secret) == 43
    assert set(secret) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_secret_of_too_little_entropy_is_refused() -> None:
    with pytest.raises(ValueError, match="32 random bytes"):
        spell_secret(b"x" * 31)


def test_fingerprint_of_lone_surrogate_does_not_fail() -> None:
    assert len(fingerprint("\ud800")) == 64


def test_ticket_redeemed_once_opens_a_session_and_is_gone() -> None:
    book = redeem(with_ticket(LoginBook(), "t", NOW), "t", "s", NOW)
    assert book is not None
    assert book.sessions[0].fingerprint == fingerprint("s")
    assert book.sessions[0].expires_at == NOW + SESSION_LIFE
    assert redeem(book, "t", "s2", NOW) is None


def test_ticket_after_ten_minutes_is_worth_nothing() -> None:
    book = with_ticket(LoginBook(), "t", NOW)
    assert redeem(book, "t", "s", NOW + TICKET_LIFE) is None


def test_ticket_unknown_is_worth_nothing() -> None:
    assert redeem(with_ticket(LoginBook(), "t", NOW), "u", "s", NOW) is None


def test_tickets_past_the_bound_push_the_oldest_out() -> None:
    book = LoginBook()
    for number in range(MAX_TICKETS + 1):
        book = with_ticket(book, f"t{number}", NOW)
    assert len(book.tickets) == MAX_TICKETS
    assert redeem(book, "t0", "s", NOW) is None


def test_sessions_past_the_bound_push_the_oldest_out() -> None:
    book = LoginBook()
    for number in range(MAX_SESSIONS + 1):
        opened = redeem(with_ticket(book, "t", NOW), "t", f"s{number}", NOW)
        assert opened is not None
        book = opened
    assert len(book.sessions) == MAX_SESSIONS
    assert book.sessions[0].fingerprint == fingerprint("s1")


def test_session_ended_is_forgotten_and_an_unknown_one_changes_nothing() -> None:
    book = redeem(with_ticket(LoginBook(), "t", NOW), "t", "s", NOW)
    assert book is not None
    assert without_session(book, "other") == book
    assert without_session(book, "s") == replace(book, sessions=())


def test_guesses_up_to_the_limit_need_no_wait_and_beyond_it_until_the_window_ends() -> None:
    guesses = None
    for _ in range(MAX_GUESSES - 1):
        guesses = count_guess(guesses, NOW)
    assert wait_seconds(guesses, NOW) == 0
    guesses = count_guess(guesses, NOW)
    assert wait_seconds(guesses, NOW) == GUESS_WINDOW.total_seconds()
    assert wait_seconds(guesses, NOW + GUESS_WINDOW) == 0
    assert wait_seconds(None, NOW) == 0


def test_guess_after_the_window_begins_a_new_count() -> None:
    later = NOW + GUESS_WINDOW + timedelta(seconds=1)
    assert count_guess(count_guess(None, NOW), later).count == 1


def test_page_key_is_one_session_s_and_needs_the_server_s_secret() -> None:
    key = page_key(b"secret", "session")
    assert key == page_key(b"secret", "session")
    assert len({key, page_key(b"secret", "other"), page_key(b"other", "session")}) == 3
    assert len(page_key(b"secret", "\ud800")) == 43


def test_link_makes_one_login_the_persons_and_ends_every_other() -> None:
    book = with_link(with_link(LoginBook(), "a", NOW), "b", NOW)
    linked = link_login(book, "a", PrincipalId("usr_1"), NOW)
    assert (linked.login, linked.links) == ("usr_1", ())
    for again in (lambda: with_link(linked, "c", NOW), lambda: check_link(linked, "b", NOW)):
        with pytest.raises(Conflict):
            again()


def test_link_that_is_unknown_or_old_or_pushed_out_is_refused() -> None:
    book = LoginBook()
    for number in range(MAX_LINKS + 1):
        book = with_link(book, str(number), NOW)
    check_link(book, "1", NOW)
    for secret, at in (("0", NOW), ("x", NOW), ("1", NOW + LINK_LIFE)):
        with pytest.raises(NotFound):
            check_link(book, secret, at)
