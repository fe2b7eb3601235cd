"""Cards of a terminal where no agent speaks for itself: what its screen says, and links in it.

The last resort among the sources: it knows lines, not meanings. It begins when somebody first
asks for the cards, with what the ring still holds. Where the terminal's own shell marks its
commands, each is a card with its output, and prompts are left out.
"""

import codecs
import re
from collections.abc import Callable

from atoll.domain.agents.card import Card, CardKind, CardState, Draft, Value
from atoll.domain.agents.card_log import CardLog, Clean
from atoll.domain.agents.command_output import CommandOutput
from atoll.domain.agents.previews import previews
from atoll.domain.terminals.size import Size
from atoll.runtime.clock import timestamp
from atoll.runtime.terminals.observer import Author
from atoll.runtime.terminals.pty_process import PtyProcess
from atoll.wire.attach import Exited

CARD_CHARACTERS = 4096
READ_BYTES = 64 * 1024
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])"
)
_UNFINISHED = re.compile(r"\x1b[^\x07]{0,512}\Z")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Screen:
    """Observer that turns a screen into cards. It keeps nothing while a full-screen program has the
    terminal."""

    def __init__(self, pty: PtyProcess, *, clean: Clean) -> None:
        self.cards = CardLog(clean=clean)
        self.listeners: set[Callable[[], None]] = set()
        self._pty = pty
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._cards = 0
        self._room = 0
        self._marked = 0
        self._command: int | None = None
        self._outputs = CommandOutput()
        self._at = pty.scrollback.start
        while data := pty.scrollback.read(self._at, READ_BYTES, fresh_from=None):
            self.showed(data)

    def put(self, draft: Draft) -> None:
        """Add a card from a better source, such as shell marks."""
        self.cards.put(draft, timestamp())
        self._tell()

    def showed(self, data: bytes) -> None:
        """Receive output, as it went into the ring."""
        begin, self._at = self._at, self._at + len(data)
        self._mark()
        if self._pty.marks.genuine:
            self._feed_commands(data, begin)
        else:
            self._feed_lines(data)
        self._tell()

    def _feed_lines(self, data: bytes) -> None:
        text = self._rest + self._decoder.decode(data)
        unfinished = _UNFINISHED.search(text)
        self._rest = ""
        if unfinished is not None and not _SEQUENCE.match(text, unfinished.start()):
            text, self._rest = text[: unfinished.start()], unfinished[0]
        if self._pty.scrollback.modes.alternate:
            return
        words = _CONTROL.sub("", _SEQUENCE.sub("", text))
        while words:
            words = self._say(words)

    def _feed_commands(self, data: bytes, begin: int) -> None:
        """Append what lies between the marks of a command to its card."""
        if self._pty.scrollback.modes.alternate:
            return
        for mark in self._pty.marks.from_offset(begin):
            first = max(begin, mark.output)
            last = self._at if mark.end is None else min(self._at, mark.end)
            if first < last:
                self._append(mark.n, self._output(mark.n).feed(data[first - begin : last - begin]))
            if mark.end is not None and mark.n == self._command:
                self._append(mark.n, self._outputs.finish())
                self._command = None

    def _output(self, n: int) -> CommandOutput:
        """Return the stream of command `n`, which is the newest."""
        if self._command != n:
            self._command, self._outputs = n, CommandOutput()
        return self._outputs

    def _append(self, n: int, text: str) -> None:
        if text:
            draft = Draft(f"command:{n}", CardKind.BASH, text=text, append=True)
            self._preview(self.cards.put(draft, timestamp()))

    def typed(self, author: Author, data: bytes) -> None:
        """Ignore input; what it prints comes as output."""

    def resized(self, size: Size) -> None:
        """Ignore the size; lines are not wrapped here."""

    def ended(self, ending: Exited) -> None:
        """Receive the end; nothing follows."""
        words = f"signal {ending.signal}" if ending.signal else f"exit status {ending.code}"
        self.put(
            Draft("ended", CardKind.STATUS, CardState.DONE, title="The terminal ended", text=words)
        )

    def _mark(self) -> None:
        """Add the cards of commands that began or ended."""
        for mark in self._pty.marks.since(self._marked):
            self._marked = mark.seq
            self._room = 0
            state = CardState.RUNNING if mark.end is None else CardState.DONE
            if mark.exit_code:
                state = CardState.FAILED
            data: dict[str, Value] = {
                "command": mark.command,
                "cwd": mark.cwd,
                "exit_code": mark.exit_code,
                "seconds": mark.seconds,
                "genuine": mark.genuine,
                "coloured": mark.genuine,
            }
            title = mark.command or "a command"
            draft = Draft(f"command:{mark.n}", CardKind.BASH, state, title=title, data=data)
            self.cards.put(draft, timestamp())

    def _say(self, words: str) -> str:
        """Append text to the last message, in cards of a bounded size. Returns the rest of the
        text."""
        if self._room <= 0:
            self._cards, self._room = self._cards + 1, CARD_CHARACTERS
        piece, rest = words[: self._room], words[self._room :]
        self._room -= len(piece)
        card_id = f"screen:{self._cards}"
        draft = Draft(card_id, CardKind.TEXT, CardState.DONE, text=piece, append=True)
        self._preview(self.cards.put(draft, timestamp()))
        return rest

    def _preview(self, card: Card | None) -> None:
        for preview in () if card is None else previews(card.text):
            self.cards.put(preview, timestamp())

    def _tell(self) -> None:
        for listener in tuple(self.listeners):
            listener()
