"""Threads and turns of an app-server, as its messages tell of them."""

from atoll.domain.agents.lenient_json import Message, read_object, read_text, remember

_OPENING = frozenset({"thread/start", "thread/resume", "thread/fork"})
_CLOSING = frozenset({"thread/archive", "thread/delete"})


class CodexTurns:
    """The turns that begin or run, by thread. `thread` is the present one: where prompts go that
    name none."""

    def __init__(self) -> None:
        self.thread = ""
        self._turns: dict[str, str] = {}

    @property
    def working(self) -> bool:
        """True while a turn begins or runs in any thread."""
        return bool(self._turns)

    @property
    def running(self) -> tuple[str, str]:
        """Thread and id of a running turn, in the present thread if one runs there."""
        turns = {self.thread: self._turns.get(self.thread, ""), **self._turns}
        return next(((thread, turn) for thread, turn in turns.items() if turn), ("", ""))

    def thread_of(self, params: Message) -> str:
        """Return the thread that a message names, else the present one."""
        return read_text(params, "threadId") or self.thread

    def begins(self, thread: str) -> None:
        """Note a turn that was requested."""
        remember(self._turns, thread, self._turns.get(thread, ""))

    def refused(self, thread: str) -> None:
        """Note that a requested turn does not begin; one that runs there goes on."""
        if not self._turns.get(thread):
            self._turns.pop(thread, None)

    def started(self, params: Message) -> str:
        """Note a turn that started; return its thread."""
        thread = self.thread_of(params)
        remember(self._turns, thread, read_text(read_object(params, "turn"), "id"))
        return thread

    def completed(self, params: Message) -> str:
        """Note a turn that ended; return its thread."""
        thread = self.thread_of(params)
        self._turns.pop(thread, None)
        return thread

    def follow(self, method: str, params: Message, result: Message) -> bool:
        """Note the threads that an accepted request opened or closed. Returns whether the present
        thread is gone."""
        if method in _OPENING:
            self.thread = read_text(read_object(result, "thread"), "id") or self.thread
        if method not in _CLOSING:
            return False
        closed = read_text(params, "threadId")
        self._turns.pop(closed, None)
        gone = closed == self.thread
        self.thread = "" if gone else self.thread
        return gone


def opens(method: str) -> bool:
    """Report whether a request opens a thread."""
    return method in _OPENING
