"""Lines of people at a terminal: what stays of a stranger's text, and how much of it."""

import pytest

from atoll.domain.terminals.talk import KEPT_LINES, MAX_CHARACTERS, MOST_OF_ALL, MOST_OF_ONE, Talk
from atoll.domain.terminals.turn import Party
from atoll.wire.words.terminals import Role


def party(name: str) -> Party:
    return Party(name.lower(), name, f"c_{name}", Role.VIEWER)


ANN = party("Ann")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("  hello  ", "hello"),
        ("two\nlines\r\tand", "two lines  and"),
        ("\x1b]52;c;aGk=\x07red", "]52;c;aGk=red"),
        ("\u202eevil\u2066\u200b", "evil"),
        ("x" * 4000, "x" * MAX_CHARACTERS),
    ],
)
def test_line_of_a_stranger_is_one_harmless_line(text: str, shown: str) -> None:
    talk = Talk()
    assert talk.say(ANN, text, 0.0) is None
    assert [(one.number, one.name, one.text) for one in talk.lines] == [(1, "Ann", shown)]


@pytest.mark.parametrize("text", ["", "   ", "\x1b\x07", "\u200b", "\u3164\u2800"])
def test_line_that_shows_nothing_is_refused(text: str) -> None:
    talk = Talk()
    refusal = talk.say(ANN, text, 0.0)
    assert refusal is not None
    assert (refusal.code, talk.lines) == ("empty", ())


def test_one_person_and_all_together_are_paced() -> None:
    talk = Talk()
    for number in range(MOST_OF_ONE):
        assert talk.say(ANN, f"line {number}", 0.0) is None
    refusal = talk.say(ANN, "one more", 9.9)
    assert refusal is not None
    assert refusal.code == "too_fast"
    assert talk.say(party("Bob"), "mine", 9.9) is None
    assert talk.say(ANN, "later", 10.0) is None
    for number in range(MOST_OF_ALL):
        talk.say(party(f"Guest {number}"), "hi", 10.0)
    refusal = talk.say(party("Eve"), "hi", 10.0)
    assert refusal is not None
    assert refusal.code == "too_fast"


def test_only_the_newest_lines_are_kept() -> None:
    talk = Talk()
    for number in range(KEPT_LINES + 3):
        assert talk.say(ANN, f"line {number}", number * 10.0) is None
    assert len(talk.lines) == KEPT_LINES
    assert talk.lines[0].text == "line 3"
    assert talk.lines[-1].number == KEPT_LINES + 3
