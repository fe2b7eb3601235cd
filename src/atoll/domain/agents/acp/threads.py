"""The sessions of one agent that speaks ACP, each a thread with its own turn, cards and events."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from atoll.domain.agents.acp.cards import AcpCards
from atoll.domain.agents.card import AgentReport, Draft, Value
from atoll.domain.agents.conversation import AgentEvent
from atoll.domain.agents.lenient_json import Message, read_object, read_objects, read_text
from atoll.domain.agents.threads.items import is_prompt
from atoll.domain.agents.threads.questions import PREFIX, Names, Questions
from atoll.domain.agents.threads.requests import unknown_thread
from atoll.domain.agents.threads.thread import ThreadEvents, thread_of


@dataclass(slots=True)
class AcpThread:
    """A session. `working`: a prompt of its own waits for its end, `cancelled`: it is to end soon.
    `steers` are words that follow it in the same turn. Cards of every session but the first have
    ids that begin with `prefix`."""

    session: str
    events: ThreadEvents
    prefix: str = ""
    cards: AcpCards = field(default_factory=AcpCards)
    working: bool = False
    cancelled: bool = False
    steers: list[str] = field(default_factory=list)
    preview: str = ""

    def prefix_cards(self, reports: Iterable[AgentReport]) -> tuple[AgentReport, ...]:
        """Return reports for the cards of the whole conversation."""
        if not self.prefix:
            return tuple(reports)
        return tuple(
            _add_prefix(report, self.prefix) if isinstance(report, Draft) else report
            for report in reports
        )


class AcpThreads:
    """The sessions by id. `present` is where prompts go that name none."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._threads: dict[str, AcpThread] = {}
        self._given: dict[str, None] = {}
        self.present = AcpThread("", ThreadEvents("", questions))

    @property
    def ready(self) -> bool:
        """True once there is a session."""
        return bool(self._threads)

    @property
    def open(self) -> list[str]:
        """The threads that a worker has, oldest first."""
        return [*self._given]

    @property
    def working(self) -> AcpThread | None:
        """The thread whose turn runs, the present one if that does."""
        busy = [thread for thread in (self.present, *self._threads.values()) if thread.working]
        return next(iter(busy), None)

    def opened(self, session: str) -> AcpThread:
        """Note a session that the agent has opened; it is the present one."""
        number = len(self._threads) + 1
        prefix = "" if number == 1 else f"s{number}:"
        thread = AcpThread(session, ThreadEvents(session, self._questions), prefix)
        self._threads[session] = self.present = thread
        return thread

    def find(self, session: str) -> AcpThread | None:
        """Return a session that is open."""
        return self._threads.get(session)

    def of(self, params: Message) -> AcpThread:
        """Return the session that a message of the agent is about. One of a sub-agent counts as
        the present one."""
        return self._threads.get(read_text(params, "sessionId"), self.present)

    def of_request(self, params: Message) -> AcpThread:
        """Return the thread that a request names. Raises `Invalid` for one that is not open."""
        session = read_text(params, "threadId")
        thread = self._threads.get(session)
        if thread is None:
            raise unknown_thread(session)
        return thread

    def first(self) -> AcpThread | None:
        """Return the session that the conversation began with, for the first thread of a worker;
        None where it is one already, or something was said in it."""
        first = next(iter(self._threads.values()), None)
        if first is None or first.preview or first.session in self._given:
            return None
        return first

    def give(self, thread: AcpThread) -> None:
        """Let a worker have a thread."""
        self._given[thread.session] = None
        self.present = thread

    def given(self, session: str) -> AcpThread | None:
        """Return a thread that a worker has."""
        return self._threads.get(session) if session in self._given else None

    def listed(self, cwd: str) -> list[Value]:
        """Return the threads in which something was said."""
        listed = [thread for thread in self._threads.values() if thread.preview]
        return [thread_of(thread.session, cwd, thread.preview) for thread in reversed(listed)]


class AcpReplay:
    """Reader of a session that the agent tells again from its beginning."""

    def __init__(self, session: str) -> None:
        self._names = Names(session)
        self._cards = AcpCards()
        self._events = ThreadEvents(session, Questions(self._names))
        self._message = ""
        self._told: list[AgentEvent] = []

    def take(self, message: Message) -> None:
        """Read one update."""
        name = message_name(message)
        for draft in (report for report in self._cards.take(message) if isinstance(report, Draft)):
            prompt = is_prompt(draft)
            if prompt and (self._message != draft.id or not self._events.turn):
                self._told += self._events.ends()
                self._told += self._events.begins(name or self._names.fresh())
            self._message = draft.id
            if self._events.turn:
                self._told += self._events.heard([draft], name=name)

    def ends(self) -> list[AgentEvent]:
        """Return the events of all that was told."""
        return [*self._told, *self._events.ends()]


def message_name(message: Message) -> str:
    """Return the agent's own id of the message that a piece is of."""
    return read_text(read_object(read_object(message, "params"), "update"), "messageId")


def sessions_of(result: Message, cwd: str) -> list[Value]:
    """Return the threads of an answer to `session/list`."""
    threads: list[Value] = []
    for session in read_objects(result, "sessions"):
        shown = thread_of(
            read_text(session, "sessionId"),
            read_text(session, "cwd") or cwd,
            read_text(session, "title"),
        )
        threads.append({**shown, "updatedAt": _seconds(read_text(session, "updatedAt"))})
    return threads


def is_live(update: Message, events: Sequence[AgentEvent]) -> bool:
    """Report whether an update is only a piece: of a text, or of a tool's progress."""
    name = read_text(update, "sessionUpdate")
    return name.endswith("_chunk") or (name == "tool_call_update" and not events)


def _add_prefix(draft: Draft, prefix: str) -> Draft:
    """Return a card with a prefix before its id and the id that it refers to."""
    data = draft.data
    about = None if data is None else data.get("for")
    if data is not None and isinstance(about, str) and about:
        data = {**data, "for": prefix + about}
    own = draft.id.startswith(PREFIX)
    return replace(draft, id=draft.id if own else prefix + draft.id, data=data)


def _seconds(moment: str) -> int | None:
    try:
        return int(datetime.fromisoformat(moment).timestamp())
    except (ValueError, OverflowError, OSError):
        return None
