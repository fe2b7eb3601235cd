"""Calls to an agent that speaks ACP, and those that open, load and list its sessions."""

from collections.abc import Callable
from typing import TypeAlias

from atoll.domain.agents.acp.messages import error_of, rpc, servers
from atoll.domain.agents.acp.threads import AcpReplay, AcpThread
from atoll.domain.agents.card import Value
from atoll.domain.agents.conversation import Outgoing, Step, Terms, busy_error
from atoll.domain.agents.lenient_json import Message, name_of, read_object, remember
from atoll.domain.agents.threads.requests import unknown_thread

TakeAnswer: TypeAlias = Callable[[Message, str], Step]
"""Takes the result of a call, or the words of its error."""


class AcpCalls:
    """Numbered calls, each with what takes its answer."""

    def __init__(self) -> None:
        self._sent = 0
        self._waiting: dict[str, TakeAnswer] = {}

    def call(self, method: str, params: dict[str, Value], then: TakeAnswer) -> Outgoing:
        """Return the line of a call."""
        self._sent += 1
        remember(self._waiting, str(self._sent), then)
        return rpc(id=self._sent, method=method, params=params)

    def take(self, message: Message) -> Step:
        """Read an answer; one to no call does nothing."""
        then = self._waiting.pop(name_of(message, "id"), None)
        return Step() if then is None else then(read_object(message, "result"), error_of(message))


class AcpSessions:
    """Sessions as the agent keeps them. `loads` and `lists` say what it can do with them."""

    def __init__(self, terms: Terms, calls: AcpCalls) -> None:
        self.loads = False
        self.lists = False
        self._terms = terms
        self._calls = calls
        self._able: Message = {}
        self._replays: dict[str, AcpReplay] = {}

    def read_abilities(self, able: Message) -> None:
        """Read the capabilities of the agent's greeting."""
        self._able = able
        self.loads = able.get("loadSession") is True
        self.lists = "list" in read_object(able, "sessionCapabilities")

    def start(self, then: TakeAnswer) -> Outgoing:
        """Return the call that opens a new session."""
        return self._calls.call("session/new", self._place(), then)

    def load(self, session: str, then: TakeAnswer, replay: AcpReplay | None = None) -> Outgoing:
        """Return the call that has a session told again; nothing of that is said once more."""
        self._replays[session] = replay or AcpReplay(session)

        def end_replay(result: Message, error: str) -> Step:
            self._replays.pop(session, None)
            return then(result, error)

        place = {"sessionId": session, **self._place()}
        return self._calls.call("session/load", place, end_replay)

    def list(self, then: TakeAnswer) -> Outgoing:
        """Return the call that lists the sessions of the conversation's directory."""
        return self._calls.call("session/list", {"cwd": self._terms.cwd}, then)

    def replay_of(self, session: str) -> AcpReplay | None:
        """Return the reader of a session that is told again now."""
        return self._replays.get(session)

    def is_busy(self, thread: AcpThread) -> bool:
        """Report whether a thread is at its turn, or told again."""
        return thread.working or thread.session in self._replays

    def check_loadable(self, session: str) -> None:
        """Check that a session can be told again. Raises `Invalid`, `Conflict`."""
        if not self.loads:
            raise unknown_thread(session)
        if session in self._replays:
            raise busy_error()

    def _place(self) -> dict[str, Value]:
        return {"cwd": self._terms.cwd, "mcpServers": servers(self._terms, self._able)}
