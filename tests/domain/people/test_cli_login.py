"""Codes of logins of command lines."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import LimitReached
from atoll.domain.ids import PrincipalId
from atoll.domain.people.cli_login import (
    MAX_OF_CLIENT,
    MAX_PENDING,
    CliLogin,
    find_displaced,
    printable_machine,
    read_code,
    spell_code,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_code_has_eight_letters_and_no_vowel() -> None:
    assert spell_code(bytes(range(8))) == "BCDF-GHJK"
    assert spell_code(bytes([19, 20, 255, 0, 0, 0, 0, 0])) == "ZBTB-BBBB"


@pytest.mark.parametrize("typed", ["BCDF-GHJK", "bcdfghjk", " bcdf ghjk ", "BCDF-GHJK-x\x00"])
def test_code_is_read_however_it_is_typed(typed: str) -> None:
    assert read_code(typed) == "BCDF-GHJK"


def test_machine_is_shown_without_what_cannot_be_seen() -> None:
    assert printable_machine("lap\x1btop") == "laptop"
    assert printable_machine("\x1b") == "a command line"
    assert len(printable_machine("x" * 100)) == 60


def test_login_is_confirmed_by_a_person() -> None:
    login = CliLogin("m", "BCDF-GHJK", "192.0.2.1", "laptop", NOW)
    assert not login.confirmed
    assert replace(login, person=PrincipalId("usr_a")).confirmed


def waiting(addresses: Iterable[str]) -> list[CliLogin]:
    return [
        CliLogin(f"m{at}", "", address, "", NOW + timedelta(seconds=at))
        for at, address in enumerate(addresses)
    ]


def test_client_has_a_bound_of_its_own() -> None:
    crowd = waiting(f"2001:db8::{low:x}" for low in range(MAX_OF_CLIENT))
    assert find_displaced(crowd, "2001:db8:0:1::1") is None
    assert find_displaced(crowd[1:], "2001:db8::ffff") is None
    with pytest.raises(LimitReached):
        find_displaced(crowd, "2001:db8::ffff")


def test_login_of_the_client_with_most_gives_way() -> None:
    few = ["192.0.2.1", "192.0.2.2"]
    crowd = waiting([*few, *(f"198.51.100.{at % 15}" for at in range(MAX_PENDING - 2))])
    given = find_displaced(crowd, "203.0.113.1")
    assert given == crowd[2]
    confirmed = [replace(one, person=PrincipalId("usr_a")) for one in crowd]
    assert find_displaced([*confirmed[:-1], crowd[-1]], "203.0.113.1") == crowd[-1]
    with pytest.raises(LimitReached):
        find_displaced(confirmed, "203.0.113.1")
