"""The Agent Client Protocol, version 1: JSON-RPC lines (`opencode acp`, `gemini --acp`, …).

The agent reads and writes files itself inside the sandbox, so no file methods are offered.
"""

from collections.abc import Callable
from dataclasses import replace

from atoll.domain.agents.acp.cards import FORM, PERMISSION
from atoll.domain.agents.acp.forms import read_form, read_questions
from atoll.domain.agents.acp.messages import join_steps, rpc
from atoll.domain.agents.acp.sessions import AcpCalls, AcpSessions
from atoll.domain.agents.acp.settings import AcpSettings, update_of
from atoll.domain.agents.acp.thread_requests import AcpThreadRequests
from atoll.domain.agents.acp.threads import AcpThread, AcpThreads, is_live, message_name
from atoll.domain.agents.acp.waiting import WaitingRequest, find_allowing, select
from atoll.domain.agents.card import (
    AgentReport,
    Began,
    Card,
    CardKind,
    CardState,
    Draft,
    Value,
    Yielded,
)
from atoll.domain.agents.conversation import (
    Outgoing,
    Reply,
    Step,
    Terms,
    busy_error,
    not_pending,
    unsupported_error,
)
from atoll.domain.agents.lenient_json import (
    Message,
    name_of,
    read_object,
    read_objects,
    read_text,
    remember,
    short,
)
from atoll.domain.agents.settings import SettingName
from atoll.domain.agents.threads import requests
from atoll.domain.agents.threads.questions import PREFIX, CardAnswer, Names, Questions, decide
from atoll.domain.agents.threads.thread import carry_message, turn_of
from atoll.domain.errors import AtollError, Conflict, Invalid

_UNSUPPORTED = -32601
PROTOCOL = 1


class AcpConversation:
    """A conversation with a session for each thread; what comes before the first one exists waits
    for it."""

    def __init__(self, terms: Terms) -> None:
        names = Names(terms.fresh)
        self._terms = terms
        self._settings = AcpSettings(asks=terms.ask)
        self._change: tuple[SettingName, str] | None = None
        self._calls = AcpCalls()
        self._sessions = AcpSessions(terms, self._calls)
        self._requests: dict[str, WaitingRequest] = {}
        self._names = names
        self._questions = Questions(names)
        self._threads = AcpThreads(self._questions)
        self._prompt: str | None = None
        self._broken = ""
        self._early: list[tuple[str, str, Message]] | None = []
        threads = AcpThreadRequests(terms.cwd, self._sessions, self._threads, self._settings)
        self._serves: dict[str, Callable[[str, Message], Step]] = {
            requests.RESPOND: self._respond,
            "thread/start": threads.start,
            "thread/resume": threads.resume,
            "thread/list": threads.list,
            "thread/loaded/list": threads.list_loaded,
            "thread/read": threads.read,
            "turn/start": self._turn_start,
            "turn/steer": self._turn_steer,
            "turn/interrupt": self._turn_interrupt,
        }

    def begin(self) -> Step:
        """Send `initialize`. Raises `Invalid` when the last conversation is to be resumed: the
        protocol needs a conversation's id."""
        if self._terms.resume and self._terms.conversation is None:
            raise Invalid(
                "in machine mode this agent resumes a conversation by its id only",
                field="resume",
            )
        files: dict[str, Value] = {"readTextFile": False, "writeTextFile": False}
        params: dict[str, Value] = {
            "protocolVersion": PROTOCOL,
            "clientCapabilities": {"fs": files, "terminal": False, "elicitation": {"form": {}}},
            "clientInfo": {"name": "atoll", "version": "1"},
        }
        return Step(send=(self._calls.call("initialize", params, self._take_greeting),))

    def take(self, message: Message) -> Step:
        """Read one line of output."""
        method = read_text(message, "method")
        if not method:
            return self._calls.take(message)
        params = read_object(message, "params")
        replay = self._sessions.replay_of(read_text(params, "sessionId"))
        if method == "session/update" and (replay is not None or not self._threads.ready):
            # A resumed session is replayed from its beginning, before it is ready.
            if replay is not None:
                replay.take(message)
            return Step()
        thread = self._threads.of(params)
        reports = thread.cards.take(message)
        if "id" in message:
            return self._take_request(message, method, thread, reports)
        update = update_of(message)
        events = thread.events.heard(reports, name=message_name(message))
        carried_events = carry_message(events, thread.session, durable=not is_live(update, events))
        return Step(
            thread.prefix_cards(reports),
            settings=self._settings.told(update),
            events=carried_events,
        )

    def ask(self, words: str) -> Step:
        """Send a prompt; before the session is ready it waits."""
        thread = self._threads.present
        if self._broken:
            raise Conflict(f"the agent has no session: {self._broken}", code="agent_failed")
        if self._sessions.is_busy(thread) or self._prompt is not None:
            raise busy_error()
        if not self._threads.ready:
            self._prompt = words
            return Step(said=(Began(),))
        return self._start(thread, words, self._names.fresh())

    def interrupt(self) -> Step:
        """Interrupt the turn. Requests that wait for an answer are cancelled with it."""
        thread = self._threads.working
        return Step() if thread is None else self._cancel(thread)

    def answer(self, card: Card, option: str | None, words: str | None) -> Step:
        """Answer with one of the options the agent offered, or a form in words."""
        return self._answer(card, CardAnswer(option, words))

    def change(self, name: SettingName, value: str) -> Step:
        """Change the session's model or mode. What is Atoll's own holds at once."""
        call = self._settings.request(name, value)
        if call is None:
            return Step(settings=self._settings.changed(name, value), settled="")
        method, params = call
        self._change = name, value
        place: dict[str, Value] = {"sessionId": self._threads.present.session}
        return Step(send=(self._calls.call(method, {**place, **params}, self._settle_change),))

    def request(self, key: str, method: str, params: Message, *, trace: str = "") -> Step:
        """Serve a request in Codex's words, once the first session is ready."""
        del trace
        serve = self._serves.get(method)
        if serve is None:
            raise unsupported_error(method)
        if self._early is not None:
            self._early.append((key, method, params))
            return Step()
        return serve(key, params)

    # What the agent answers.

    def _take_greeting(self, result: Message, error: str) -> Step:
        if error:
            return self._report_failure("initialize", error)
        self._sessions.read_abilities(read_object(result, "agentCapabilities"))
        return self._open_session()

    def _open_session(self) -> Step:
        wanted = self._terms.conversation
        if wanted is None:
            return Step(send=(self._sessions.start(self._take_session),))
        if not self._sessions.loads:
            return self._new_session("This agent cannot take up a conversation.")

        def finish_load(result: Message, error: str) -> Step:
            return self._new_session(error) if error else self._session_ready(wanted, result)

        return Step(send=(self._sessions.load(wanted, finish_load),))

    def _take_session(self, result: Message, error: str) -> Step:
        if error:
            return self._report_failure("session/new", error)
        return self._session_ready(read_text(result, "sessionId"), result)

    def _new_session(self, instead: str) -> Step:
        """Start a new session where the old one could not be resumed, and report that."""
        title = "A new conversation begins"
        card = Draft("failed:load", CardKind.STATUS, CardState.FAILED, title, instead)
        return Step(said=(card,), send=(self._sessions.start(self._take_session),))

    def _session_ready(self, session: str, result: Message) -> Step:
        """Take the first session as ready, and do what waited for it."""
        thread = self._threads.opened(session)
        if session == self._terms.conversation:
            self._threads.give(thread)
        settings = self._settings.opened(result)
        prompt, self._prompt = self._prompt, None
        step = Step() if prompt is None else self._start(thread, prompt, self._names.fresh())
        early, self._early = self._early or [], None
        for waiting in early:
            step = join_steps(step, self._serve_late(*waiting))
        return replace(step, settings=settings)

    def _serve_late(self, key: str, method: str, params: Message) -> Step:
        """Serve a request that waited."""
        try:
            return self._serves[method](key, params)
        except AtollError as error:
            return Step(replies=(requests.refuse_request(key, error.message),))

    def _report_failure(self, call: str, error: str) -> Step:
        card = Draft(f"failed:{call}", CardKind.STATUS, CardState.FAILED, f"{call} failed", error)
        # Without a session, no prompt will ever be sent.
        self._broken = f"{call} failed: {error}"
        waited, self._prompt = self._prompt is not None, None
        early, self._early = self._early or [], None
        replies = tuple(Reply(key, error={"message": error}) for key, _, _ in early)
        return Step(said=(card, Yielded()) if waited else (card,), replies=replies)

    def _settle_change(self, result: Message, error: str) -> Step:
        """Settle a change, as the agent answered it."""
        del result
        change, self._change = self._change, None
        if change is None:
            return Step()
        if error:
            return Step(settled=error)
        return Step(settings=self._settings.changed(*change), settled="")

    # Turns.

    def _turn_start(self, key: str, params: Message) -> Step:
        words, thread = (
            requests.words_of(params),
            self._threads.given(read_text(params, "threadId")),
        )
        if thread is None:
            raise requests.unknown_thread(read_text(params, "threadId"))
        if self._sessions.is_busy(thread):
            raise busy_error()
        turn = self._names.fresh()
        step = self._start(thread, words, turn)
        return replace(step, replies=requests.answer_request(key, turn=turn_of(turn)))

    def _turn_steer(self, key: str, params: Message) -> Step:
        """Break the prompt off, and go on with these words in the same turn."""
        words, thread = requests.words_of(params), self._threads.of_request(params)
        requests.check_turn(params, "expectedTurnId", thread.session, thread.events.turn)
        cancelled = self._cancel(thread) if not thread.steers else Step()
        thread.steers.append(words)
        reports = thread.cards.steered(words)
        return Step(
            said=(*cancelled.said, *thread.prefix_cards(reports)),
            send=cancelled.send,
            replies=requests.answer_request(key, turnId=thread.events.turn),
            events=cancelled.events + thread.events.heard(reports, name=self._names.fresh()),
        )

    def _turn_interrupt(self, key: str, params: Message) -> Step:
        thread = self._threads.of_request(params)
        requests.check_turn(params, "turnId", thread.session, thread.events.turn)
        return replace(self._cancel(thread), replies=requests.answer_request(key))

    def _start(self, thread: AcpThread, words: str, turn: str) -> Step:
        """Begin a turn."""
        thread.working = True
        thread.preview = thread.preview or short(words)
        reports = thread.cards.asked(words)
        events = thread.events.begins(turn) + thread.events.heard(reports, name=turn)
        named = thread.session if self._sessions.loads else ""
        return Step(
            thread.prefix_cards(reports), (self._send_prompt(thread, words),), named, events=events
        )  # fmt: skip

    def _send_prompt(self, thread: AcpThread, words: str) -> Outgoing:
        thread.cancelled = False
        prompt: list[Value] = [{"type": "text", "text": words}]
        params: dict[str, Value] = {"sessionId": thread.session, "prompt": prompt}

        def finish_prompt(result: Message, error: str) -> Step:
            return self._end_prompt(thread, read_text(result, "stopReason"), error)

        return self._calls.call("session/prompt", params, finish_prompt)

    def _end_prompt(self, thread: AcpThread, reason: str, error: str) -> Step:
        self._requests = {
            name: request
            for name, request in self._requests.items()
            if request.thread is not thread
        }
        if error and thread.cancelled:
            # Some answer a cancelled prompt with an error.
            reason, error = "cancelled", ""
        steers, thread.steers = "\n".join(thread.steers), []
        if steers and not error:
            carried_events = carry_message((), thread.session, durable=True)
            return Step(send=(self._send_prompt(thread, steers),), events=carried_events)
        thread.working = False
        reports = thread.cards.ended(reason, error)
        events = thread.events.heard(reports) + thread.events.ends()
        # Another thread may still be at its turn: nobody is to type into that.
        more = () if self._threads.working is None else (Began(),)
        return Step(
            said=(*thread.prefix_cards(reports), *more),
            events=carry_message(events, thread.session, durable=True),
        )

    def _cancel(self, thread: AcpThread) -> Step:
        """Break off a thread's turn, with what waits in it."""
        thread.cancelled = True
        thread.steers.clear()
        reports: list[AgentReport] = []
        send: list[Outgoing] = [rpc(method="session/cancel", params={"sessionId": thread.session})]
        for name, asked in list(self._requests.items()):
            if asked.thread is thread:
                del self._requests[name]
                send.append(asked.cancel())
                reports += thread.cards.answered(name, accepted=False)
        return Step(said=tuple(reports), send=tuple(send), events=thread.events.heard(reports))

    # Questions.

    def _take_request(
        self, message: Message, method: str, thread: AcpThread, reports: list[AgentReport]
    ) -> Step:
        number, name, params = message["id"], name_of(message, "id"), read_object(message, "params")
        if method not in (PERMISSION, FORM):
            error: dict[str, Value] = {"code": _UNSUPPORTED, "message": f"{method} is not served"}
            carried_events = carry_message((), thread.session, durable=True)
            return Step(send=(rpc(id=number, error=error),), events=carried_events)
        allows = find_allowing(read_objects(params, "options"))
        form = read_form(params) if method == FORM else read_questions(params)
        accepting = "" if method == FORM or form is None else allows
        remember(self._requests, name, WaitingRequest(number, thread, form, accepting))
        cards = thread.prefix_cards(reports)
        if self._settings.asks or form is not None or not allows:
            questions = None if form is None else form.worker_questions()
            events = thread.events.heard(reports, given=questions)
            return Step(said=cards, events=carry_message(events, thread.session, durable=True))
        # Approve at once where everything is allowed; the card shows the request.
        del self._requests[name]
        answered = thread.cards.answered(name, accepted=True)
        tool = [
            report
            for report in reports
            if isinstance(report, Draft) and not report.id.startswith(PREFIX)
        ]
        carried_events = carry_message(thread.events.heard(tool), thread.session, durable=True)
        return Step((*cards, *answered), (select(number, allows),), events=carried_events)

    def _respond(self, key: str, params: Message) -> Step:
        """Answer a question, unless its card was answered before."""
        question = self._questions.find(read_text(params, "requestId"))
        answer = decide(question, params)
        step = self._answer(question.card, answer)
        thread = self._threads.find(question.thread)
        more = self._cancel(thread) if answer.ends and thread is not None else Step()
        return replace(join_steps(step, more), replies=requests.answer_request(key))

    def _answer(self, card: Card, answer: CardAnswer) -> Step:
        name = card.id.removeprefix(PREFIX)
        asked = self._requests.get(name)
        if asked is None:
            raise not_pending(card.id)
        line, accepted = asked.reply(card, answer.option, answer.words, dict(answer.answers))
        del self._requests[name]
        reports = asked.thread.cards.answered(name, accepted=accepted)
        return Step(said=tuple(reports), send=(line,), events=asked.thread.events.heard(reports))


CONVERSATIONS = {"acp": AcpConversation}
