"""Menus that agents draw: which questions are read from a screen, and which keys answer them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atoll.domain.agents.card import CardKind
from atoll.domain.agents.screen_question import (
    MAX_ANSWER,
    MAX_WORDS,
    MenuOption,
    ScreenQuestion,
    read_answer,
    read_screen,
)
from atoll.domain.agents.terminal_question import PartAnswer

FIXTURE = Path(__file__).parents[2] / "fixtures" / "questions" / "questions.json"
RECORDED: dict[str, Any] = json.loads(FIXTURE.read_text())
MENU = ("╭──╮", "│ Go?  │", "│ ● 1. Yes │", "│   2. No  │", "╰──╯")


def labels(question: ScreenQuestion) -> list[str]:
    return [option.label for option in question.options]


@pytest.mark.parametrize(
    ("name", "words", "options", "free"),
    [
        (
            "gemini-shell",
            "? Shell  touch /home/dev/atoll/ws/gm/made\ntouch /home/dev/atoll/ws/gm/made\n"
            "Allow execution of [Shell]?",
            ["Allow once", "Allow for this session", "No, suggest changes (esc)"],
            "",
        ),
        (
            "gemini-ask",
            "Answer Questions\nWhich database should the notes use",
            ["SQLite", "Postgres"],
            "3",
        ),
        (
            "qwen-shell",
            "? Shell touch /home/dev/atoll/ws/qw/made ←\ntouch /home/dev/atoll/ws/qw/made\n"
            "Allow execution of: 'touch'?",
            [
                "Yes, allow once",
                "Always allow run 'touch *' commands in this project",
                "Always allow run 'touch *' commands for this user",
                "No, suggest changes (esc)",
            ],
            "",
        ),
        (
            "qwen-ask",
            "(Its beginning is not on the screen: look at the terminal.)\nDatabase\n"
            "Which database should the notes use?",
            ["SQLite", "Postgres"],
            "3",
        ),
        (
            "copilot-shell",
            "scripted call\ntouch /home/dev/atoll/ws/cp/made\nDo you want to run this command?",
            [
                "Yes",
                "Yes, and don't ask again for `touch` in this directory (/home/dev/atoll/ws/cp)",
                "No, and tell Copilot what to do differently (Esc to stop)",
            ],
            "",
        ),
    ],
)
def test_recorded_menu_is_a_question_until_it_was_answered(
    name: str, words: str, options: list[str], free: str
) -> None:
    question = read_screen(RECORDED[name]["question_screen"])
    assert question is not None
    assert (question.words, labels(question), question.free_key) == (words, options, free)
    assert all(read_screen(key["screen"]) is None for key in RECORDED[name]["keys"])


def test_permission_is_posed_with_the_effect_of_each_option() -> None:
    shown = read_screen(RECORDED["gemini-shell"]["question_screen"])
    assert shown is not None
    posed = shown.pose("screen:1")
    effects = [(option.id, option.effect) for option in posed.parts[0].options]
    assert posed.kind is CardKind.APPROVAL
    assert effects == [("1", "allow"), ("2", "allow"), ("3", "deny")]
    assert shown.key_of(replace(posed, answers=(PartAnswer(option="3"),))) == "3"
    assert shown.key_of(replace(posed, answers=(PartAnswer(words="Why?"),))) == ""
    assert shown.key_of(replace(posed, answers=(PartAnswer(option="9"),))) == ""


def test_question_is_posed_with_what_its_options_mean_and_takes_words() -> None:
    shown = read_screen(RECORDED["qwen-ask"]["question_screen"])
    assert shown is not None
    posed = shown.pose("screen:1")
    assert posed.kind is CardKind.QUESTION
    assert posed.parts[0].text.endswith("SQLite: One file\nPostgres: A server")
    assert shown.key_of(replace(posed, answers=(PartAnswer(words="MariaDB"),))) == "3"


@pytest.mark.parametrize(
    "rows",
    [
        (),
        ("Tips:", "1. Create a file", "2. Ask"),
        (*MENU[:2], "│   1. Yes │", *MENU[3:]),
        (*MENU[:2], "│ ● 1. Yes │", "│ ● 2. No │", "╰──╯"),
        (*MENU[:3], "╰──╯"),
        (*MENU[:3], "│   3. No  │", "╰──╯"),
        (*MENU[:3], "│ 2. No  │", "╰──╯"),
        (*MENU[:2], "│ ● 1. [ ] Tests │", "│   2. [x] Docs │", "╰──╯"),
        ("╭──╮", *MENU[2:]),
        (*MENU, *(f"More {n}" for n in range(7))),
        (*MENU[:4], "│ or │", "│   3. Later │", "╰──╯"),
    ],
)
def test_what_is_no_menu_that_waits_for_one_key_is_no_question(rows: tuple[str, ...]) -> None:
    assert read_screen(rows) is None


def test_words_are_those_in_the_frame_and_one_that_began_above_the_screen_says_so() -> None:
    whole = read_screen(("Earlier words", *MENU))
    assert whole == ScreenQuestion("Go?", (MenuOption("1", "Yes"), MenuOption("2", "No")))
    cut = read_screen(("│ rm -rf / │", *MENU[1:]))
    assert cut is not None and cut.words.startswith("(Its beginning is not on the screen")
    long = read_screen(("╭──╮", *(["│ " + "x" * 90 + " │"] * 60), *MENU[1:]))
    assert long is not None and len(long.words) < MAX_WORDS + 100
    assert long.words.startswith("(Its beginning")


def test_words_of_what_an_agent_wants_cannot_pass_for_the_heading() -> None:
    rows = ("  ? Shell a ←", "     rm -rf /", "     ? Shell touch b", "   Go?", *MENU[2:4])
    question = read_screen(rows)
    assert question is not None
    assert question.words == "? Shell a ←\nrm -rf /\n? Shell touch b\nGo?"
    quoted = read_screen(("  > said before", "   Go?", *MENU[2:4]))
    assert quoted is not None and quoted.words.startswith("(Its beginning")


def test_question_is_asked_on_while_somebody_moves_in_its_menu() -> None:
    first = read_screen(MENU)
    moved = read_screen((*MENU[:2], "│   1. Yes │", "│ ● 2. No │", "╰──╯"))
    other = read_screen(("╭──╮", "│ Stop? │", *MENU[2:]))
    assert first is not None and first == moved and first.is_asked_in(moved)
    assert not first.is_asked_in(other) and not first.is_asked_in(None)


def test_words_of_an_answer_are_one_plain_line() -> None:
    assert read_answer("a\x1b[A\r\nb\t\x03c\u0085 ") == "a b c"
    assert len(read_answer("x" * 10_000)) == MAX_ANSWER
