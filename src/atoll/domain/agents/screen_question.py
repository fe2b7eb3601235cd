"""A question of an agent as its screen shows it: a numbered menu, with its words above.

Pure. For agents whose questions take keys only. A program can draw any menu it likes, so the words
are what the screen says and nothing more, and an answer is a digit of that menu, or plain text
where the menu offers a line for it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from atoll.domain.agents.agent import plain_prompt
from atoll.domain.agents.card import CardKind, Option
from atoll.domain.agents.terminal_question import MAX_OPTIONS, QuestionPart, TerminalQuestion

MAX_WORDS = 4000
"""The most characters of the words above a menu."""
MAX_ROWS_BELOW = 6
"""Rows with something in them below a menu that waits: hints and a status line."""
MAX_ANSWER = 2000
MAX_LABEL = 200

_MARKS = "●›❯▸"
_OPTION = re.compile(rf"(?P<before>\s*(?P<mark>[{_MARKS}])?\s*)(?P<key>[1-9])\.\s+(?P<label>\S.*)")
_FREE = re.compile(r"(?:type something|type your (?:own )?answer|enter a custom value)\b.*", re.I)
_SEVERAL = re.compile(r"\[.?\]|[☐☑☒◯◉□■✓✔]")
"""The beginning of an option of which several may be chosen."""
_ALLOWS = re.compile(r"(?:yes|allow|always allow|approve|proceed)\b", re.I)
_DENIES = re.compile(r"(?:no|deny|reject|cancel|decline)\b", re.I)
_LINE = re.compile(r"[\s─━═╌╭╮╰╯┌┐└┘├┤▄▀│┃█]*")
_TOPS = "╭┌"
_HEADING = re.compile(r" {0,3}\?\s+\S")
"""The heading of a question that has no frame. What the agent wants to do is indented more."""
_ELSEWHERE = re.compile(r"\s*[>✦◆✓✔●]\s")
"""The beginning of what stands above a question that has no frame."""


@dataclass(frozen=True, slots=True)
class MenuOption:
    """A line of a menu: the key that chooses it, and what is written beside and below it."""

    key: str
    label: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class ScreenQuestion:
    """A menu that waits. `free_key` chooses the line that takes the person's own words."""

    words: str
    options: tuple[MenuOption, ...]
    free_key: str = ""

    def pose(self, card_id: str) -> TerminalQuestion:
        """Return it as a question that is answered from elsewhere, too."""
        offered = tuple(Option(each.key, each.label, _effect(each.label)) for each in self.options)
        effects = {option.effect for option in offered}
        asks_leave = not self.free_key and {"allow", "deny"} <= effects
        about = [f"{each.label}: {each.about}" for each in self.options if each.about]
        kind = CardKind.APPROVAL if asks_leave else CardKind.QUESTION
        title = "The agent asks whether it may" if asks_leave else "The agent asks"
        part = QuestionPart("\n".join((self.words, *about)), offered[:MAX_OPTIONS])
        return TerminalQuestion(card_id, kind, title, (part,))

    def key_of(self, question: TerminalQuestion) -> str:
        """Return the key that chooses the answer; empty where the menu takes none such."""
        answer = question.answers[0]
        if answer.words is not None:
            return self.free_key
        return next((each.key for each in self.options if each.key == answer.option), "")

    def is_asked_in(self, other: "ScreenQuestion | None") -> bool:
        """Report whether a screen still asks this, perhaps with another line marked or filled
        in."""
        return other is not None and other.words == self.words


def read_answer(words: str) -> str:
    """Return words as one line of plain text, as they may be typed into a menu."""
    return " ".join(plain_prompt(words).split())[:MAX_ANSWER]


def read_screen(rows: Sequence[str]) -> ScreenQuestion | None:
    """Return the question at the end of a screen; None where none waits there. One of which several
    options may be chosen is answered at the terminal."""
    lines = [_unframe(row) for row in rows]
    menu = _find_menu(lines)
    if menu is None:
        return None
    first, options = menu
    words = _words_above(rows, lines, first)
    if not words or any(_SEVERAL.match(option.label) for option in options):
        return None
    free = [option for option in options if _FREE.fullmatch(option.label)]
    return ScreenQuestion(
        words,
        tuple(option for option in options if option not in free),
        free[0].key if len(free) == 1 else "",
    )


def _unframe(row: str) -> str:
    """Return a row without the lines of frames and scrollbars at its sides."""
    while True:
        bare = row.rstrip()
        if bare[-1:] in ("│", "┃", "█") and bare:
            bare = bare[:-1].rstrip()
        begin = bare.lstrip()
        if begin[:1] in ("│", "┃") and begin:
            bare = begin[1:]
        if bare == row:
            return row
        row = bare


def _find_menu(lines: Sequence[str]) -> tuple[int, tuple[MenuOption, ...]] | None:
    """Return the last menu and its first line."""
    for first in range(len(lines) - 1, -1, -1):
        begins = _OPTION.fullmatch(lines[first])
        if begins is not None and begins["key"] == "1":
            options = _read_menu(lines[first:])
            return None if options is None else (first, options)
    return None


def _read_menu(lines: Sequence[str]) -> tuple[MenuOption, ...] | None:
    """Return the options of a menu that begins here: its keys are 1, 2 and so on in one column,
    one line is marked, and little stands below."""
    options: list[MenuOption] = []
    column, marked, below = 0, 0, 0
    for line in lines:
        begins = _OPTION.fullmatch(line)
        if begins is not None:
            column = column or begins.end("before")
            in_order = begins["key"] == str(len(options) + 1)
            if below or not in_order or begins.end("before") != column:
                return None
            marked += begins["mark"] is not None
            options.append(MenuOption(begins["key"], begins["label"].strip()[:MAX_LABEL]))
        elif not below and line.strip() and _indent(line) > column:
            last = options[-1]
            about = f"{last.about} {line.strip()}".strip()[:MAX_LABEL]
            options[-1] = MenuOption(last.key, last.label, about)
        elif not _LINE.fullmatch(line):
            below += 1
    if marked != 1 or len(options) < 2 or below > MAX_ROWS_BELOW:
        return None
    return tuple(options)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _words_above(rows: Sequence[str], lines: Sequence[str], first: int) -> str:
    """Return what stands above a menu, up to its frame or its heading. The rows of a question that
    began above the screen say so."""
    words: list[str] = []
    whole = False
    for n in range(first - 1, -1, -1):
        if rows[n].lstrip()[:1] in _TOPS and rows[n].strip():
            whole = True
            break
        if _ELSEWHERE.match(rows[n]):
            break
        if not _LINE.fullmatch(lines[n]):
            words.append(lines[n].strip())
        if _HEADING.match(rows[n]):
            whole = True
            break
    text = "\n".join(reversed(words))
    if not text:
        return ""
    if len(text) > MAX_WORDS or not whole:
        return "(Its beginning is not on the screen: look at the terminal.)\n" + text[-MAX_WORDS:]
    return text


def _effect(label: str) -> str:
    if _DENIES.match(label):
        return "deny"
    return "allow" if _ALLOWS.match(label) else "other"
