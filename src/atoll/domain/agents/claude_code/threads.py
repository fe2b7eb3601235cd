"""The threads of one Claude Code: a process has one session, and another thread another process.

So one thread works at a time. What a session is resumed by is its own id, which Atoll chooses.
"""

from dataclasses import dataclass

from atoll.domain.agents.conversation import Restart, Terms
from atoll.domain.agents.lenient_json import remember
from atoll.domain.agents.threads.questions import Names


@dataclass(frozen=True, slots=True)
class Switch:
    """A change to another session, for the request `key`. With `words` a turn begins there, under
    the id `turn`. `back` is where it came from."""

    key: str
    method: str
    session: str
    back: Restart
    turn: str = ""
    words: str = ""


class ClaudeThreads:
    """The session that the process has, and which threads a worker has opened."""

    def __init__(self, terms: Terms, names: Names) -> None:
        afresh = terms.conversation is None and not terms.resume
        self.session = (terms.fresh if afresh else terms.conversation) or ""
        self.switch: Switch | None = None
        self._named = terms.conversation
        self._names = names
        self._blank: dict[str, None] = {self.session: None} if afresh and self.session else {}
        self._opened: dict[str, None] = {terms.conversation: None} if terms.conversation else {}

    @property
    def open(self) -> list[str]:
        """The threads that a worker has opened, oldest first."""
        return [*self._opened]

    def opens(self, thread: str) -> bool:
        """Report whether a worker has opened this thread."""
        return thread in self._opened

    def may_be_empty(self, thread: str) -> bool:
        """Report whether a thread may have no transcript: one that began here. The one that the
        process was to go on with has one, or nobody knows it."""
        return thread in self._opened and thread != self._named

    def first(self) -> str:
        """Open the present session as a new thread; returns its id, or nothing where it is one
        already."""
        if self.session in self._opened or self.session not in self._blank:
            return ""
        self.opened(self.session)
        return self.session

    def new(self) -> str:
        """Return the id of a new session."""
        name = self._names.fresh()
        remember(self._blank, name, None)
        return name

    def opened(self, thread: str) -> None:
        """Note a thread that a worker has opened."""
        remember(self._opened, thread, None)

    def said(self) -> None:
        """Note that something is said in the present session."""
        self._blank.pop(self.session, None)

    def restart(self, thread: str) -> Restart:
        """Return the start of the process in a thread."""
        return Restart(thread, fresh=thread in self._blank)

    def back(self) -> Restart:
        """Return the start of the process in the present session."""
        return self.restart(self.session or self.new())
