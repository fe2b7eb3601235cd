"""Cards of a terminal where no agent speaks for itself: what its screen says, and links in it.

The last resort among the sources: it knows lines, not meanings. It begins when somebody first
asks for the cards, with what the ring still holds. Where a shell marks its commands, each is
a card of its own beside the lines.
"""

import codecs
import re
from collections.abc import Callable

from atoll.domain.agent.card import CardKind, CardState, Draft, Value
from atoll.domain.agent.card_log import CardLog, Clean
from atoll.domain.agent.previews import previews
from atoll.domain.terminal.size import Size
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
        at = pty.scrollback.start
        while data := pty.scrollback.read(at, READ_BYTES, fresh_from=None):
            at += len(data)
            self.showed(data)

    def put(self, draft: Draft) -> None:
        """Add a card from a better source, such as shell marks."""
        self.cards.put(draft, timestamp())
        self._tell()

    def showed(self, data: bytes) -> None:
        """Receive output, as it went into the ring."""
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
        self._mark()
        self._tell()

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
        """Add the cards of commands that began or ended. What a command prints is shown as lines
        before or after its card, like the rest of the screen: chunks do not end where commands
        do."""
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
        now = timestamp()
        card_id = f"screen:{self._cards}"
        draft = Draft(card_id, CardKind.TEXT, CardState.DONE, text=piece, append=True)
        card = self.cards.put(draft, now)
        if card is not None:
            for preview in previews(card.text):
                self.cards.put(preview, now)
        return rest

    def _tell(self) -> None:
        for listener in tuple(self.listeners):
            listener()
