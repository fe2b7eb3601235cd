"""Codes of logins of command lines."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from atoll.domain.ids import PrincipalId
from atoll.domain.people.cli_login import CliLogin, read_code, shown_machine, spell_code

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_code_has_eight_letters_and_no_vowel() -> None:
    assert spell_code(bytes(range(8))) == "BCDF-GHJK"
    assert spell_code(bytes([19, 20, 255, 0, 0, 0, 0, 0])) == "ZBTB-BBBB"


@pytest.mark.parametrize("typed", ["BCDF-GHJK", "bcdfghjk", " bcdf ghjk ", "BCDF-GHJK-x\x00"])
def test_code_is_read_however_it_is_typed(typed: str) -> None:
    assert read_code(typed) == "BCDF-GHJK"


def test_machine_is_shown_without_what_cannot_be_seen() -> None:
    assert shown_machine("lap\x1btop") == "laptop"
    assert shown_machine("\x1b") == "a command line"
    assert len(shown_machine("x" * 100)) == 60


def test_login_is_confirmed_by_a_person() -> None:
    login = CliLogin("m", "BCDF-GHJK", "192.0.2.1", "laptop", NOW)
    assert not login.confirmed
    assert replace(login, person=PrincipalId("usr_a")).confirmed
