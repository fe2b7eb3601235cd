"""Cards of a shell's screen: each command with its output, prompts left out."""

from types import SimpleNamespace
from typing import cast

from atoll.domain.agents.card import Card, CardKind, CardState
from atoll.domain.terminals.size import Size
from atoll.runtime.agents.screen import Screen
from atoll.runtime.terminals.marks import Marks
from atoll.runtime.terminals.pty_process import PtyProcess
from atoll.wire.attach import Exited
from atoll.wire.terminal.scrollback import Scrollback

NONCE = "n0nce"


class Shell:
    """A terminal whose shell marks its commands, read as cards from now on or later."""

    def __init__(self, nonce: str = NONCE) -> None:
        self.marks = Marks(nonce)
        self.scrollback = Scrollback(64 * 1024)
        self.screen: Screen | None = None

    def read(self) -> Screen:
        pty = SimpleNamespace(scrollback=self.scrollback, marks=self.marks.log)
        self.screen = Screen(cast(PtyProcess, pty), clean=lambda text: text)
        return self.screen

    def print(self, *pieces: str) -> None:
        for piece in pieces:
            data = piece.encode()
            self.scrollback.append(data)
            self.marks.showed(data)
            if self.screen is not None:
                self.screen.showed(data)

    def run(self, command: str, output: str, code: int = 0) -> None:
        self.print(
            mark("A") + "$ " + mark("B") + command + "\r\n" + mark("E", command) + mark("C"),
            output,
            mark("D", str(code)),
        )


def mark(verb: str, *words: str) -> str:
    return f"\x1b]633;{';'.join((verb, *words, NONCE))}\x07"


def commands(screen: Screen) -> list[Card]:
    return [card for card in screen.cards.since(0) if card.kind is CardKind.BASH]


def test_command_has_its_output_with_colours_and_no_prompt() -> None:
    shell = Shell()
    screen = shell.read()
    shell.run("ls", "\x1b[34msrc\x1b[0m\r\nREADME\r\n")
    shell.run("false", "", 1)
    ls, false = commands(screen)
    assert (ls.title, ls.text, ls.state) == ("ls", "\x1b[34msrc\x1b[0m\nREADME\n", CardState.DONE)
    assert ls.data["coloured"] is True
    assert (false.title, false.text, false.state) == ("false", "", CardState.FAILED)
    assert [card.kind for card in screen.cards.since(0)] == [CardKind.BASH] * 2


def test_commands_that_ran_before_are_read_from_the_ring() -> None:
    shell = Shell()
    shell.run("one", "1\r\n")
    shell.run("two", "2")
    assert [card.text for card in commands(shell.read())] == ["1\n", "2"]


def test_running_command_shows_its_complete_lines() -> None:
    shell = Shell()
    screen = shell.read()
    shell.print(mark("A"), "$ make\r\n", mark("C"), "first\r\nsec")
    (card,) = commands(screen)
    assert (card.text, card.state) == ("first\n", CardState.RUNNING)
    shell.print("ond\r\nlast", mark("D", "0"))
    assert commands(screen)[0].text == "first\nsecond\nlast"


def test_full_screen_program_leaves_no_output() -> None:
    shell = Shell()
    screen = shell.read()
    shell.print(mark("A"), "$ vi\r\n", mark("C"), "\x1b[?1049h", "drawn", "\x1b[?1049l", mark("D"))
    assert [card.text for card in commands(screen)] == [""]


def test_address_in_the_output_is_a_preview() -> None:
    shell = Shell()
    screen = shell.read()
    shell.run("serve", "on http://localhost:5173/\r\n")
    assert CardKind.PREVIEW_LINK in [card.kind for card in screen.cards.since(0)]


def test_marks_of_a_stranger_leave_the_lines_as_they_are() -> None:
    shell = Shell("another")
    screen = shell.read()
    shell.run("ls", "src\r\n")
    kinds = [card.kind for card in screen.cards.since(0)]
    assert CardKind.TEXT in kinds
    assert [card.text for card in commands(screen)] == [""]


def test_end_of_the_terminal_is_a_card() -> None:
    screen = Shell().read()
    screen.resized(Size(80, 24))
    screen.ended(Exited(0, 3, None))
    assert screen.cards.since(0)[-1].text == "exit status 3"
