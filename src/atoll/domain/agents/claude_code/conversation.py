"""Claude Code over stream-json, both ways (`claude -p --input-format stream-json …`)."""

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from atoll.domain.agents.card import Began, Card, CardKind, Value
from atoll.domain.agents.claude_code import transcripts
from atoll.domain.agents.claude_code.cards import ALLOW, ClaudeCards, message_name
from atoll.domain.agents.claude_code.settings import ClaudeSettings
from atoll.domain.agents.claude_code.threads import ClaudeThreads, Switch
from atoll.domain.agents.conversation import (
    AgentEvent,
    Lookup,
    Outgoing,
    Reply,
    Step,
    Terms,
    busy_error,
    check_option,
    not_pending,
    unsupported_error,
)
from atoll.domain.agents.lenient_json import (
    Message,
    read_int,
    read_object,
    read_objects,
    read_text,
    remember,
)
from atoll.domain.agents.settings import SettingName
from atoll.domain.agents.threads import requests
from atoll.domain.agents.threads.questions import PREFIX, CardAnswer, Names, Questions, decide
from atoll.domain.agents.threads.thread import ThreadEvents, carry_message, thread_of, turn_of
from atoll.domain.errors import Invalid

_LIVE = frozenset({"stream_event", "control_response", "keep_alive"})
"""Pieces of a text, and answers to what was sent."""
_MOVES = ("/clear", "/reset", "/new")
"""Commands that begin another session in place of a thread."""


class ClaudeConversation:
    """A conversation that keeps permission requests with their input: an answer repeats it."""

    def __init__(self, terms: Terms) -> None:
        names = Names(terms.fresh)
        self._terms = terms
        self._cards = ClaudeCards()
        self._settings = ClaudeSettings(asks=terms.ask)
        self._requests: dict[str, Message] = {}
        self._sent = 0
        self._working = False
        self._names = names
        self._threads = ClaudeThreads(terms, names)
        self._questions = Questions(names)
        self._thread = ThreadEvents(self._threads.session, self._questions)
        self._greeting = ""
        self._interrupts: dict[str, str] = {}
        self._interrupted = False
        self._steers: list[str] = []
        self._written = ""

    def begin(self) -> Step:
        """Send `initialize`; Claude accepts prompts at once. What a person has changed is set
        again, and a turn of the process before is over."""
        hello = self._control({"subtype": "initialize", "hooks": None})
        self._greeting = read_text(hello, "request_id")
        changed = [self._setting(name, value) for name, value in self._settings.changed.items()]
        events = self._end_turn() if self._working else ()
        return Step(send=(hello, *changed), settings=self._settings.record, events=events)

    def take(self, message: Message) -> Step:
        """Read one line of output."""
        kind = read_text(message, "type")
        if kind == "control_response":
            return self._receive_response(read_object(message, "response"))
        switch = self._threads.switch
        if kind == "result" and switch is not None and self._greeting:
            return self._not_there(switch)
        step = self._receive_message(message, kind)
        own = (
            not read_text(message, "parent_tool_use_id") and message.get("isSidechain") is not True
        )
        events = step.events
        if own:
            given = read_object(read_object(message, "request"), "input")
            events += self._thread.heard(step.said, name=self._name_of(message), given=given)
        if kind == "result":
            events += self._end_turn()
        carried_events = carry_message(events, self._thread.thread, durable=kind not in _LIVE)
        return replace(
            step,
            events=(*carried_events, *self._follow_session())
            if kind == "result"
            else carried_events,
        )

    def _name_of(self, message: Message) -> str:
        """Return the name of a message. Pieces have the one of the message that they are of."""
        event = read_object(message, "event")
        if read_text(event, "type") == "message_start":
            self._written = read_text(read_object(event, "message"), "id")
        return message_name(message, self._thread.turn, self._written)

    def ask(self, words: str) -> Step:
        """Send a prompt."""
        if self._working or self._threads.switch is not None:
            raise busy_error()
        return self._prompt(words, self._names.fresh())

    def interrupt(self) -> Step:
        """Interrupt the turn."""
        if not self._working:
            return Step()
        self._interrupted = True
        return Step(send=(self._control({"subtype": "interrupt"}),))

    def answer(self, card: Card, option: str | None, words: str | None) -> Step:
        """Allow or deny a tool, or answer its question."""
        return self._answer(card, CardAnswer(option, words))

    def change(self, name: SettingName, value: str) -> Step:
        """Change the model or the permission mode, for the next turn or the running one."""
        line = self._setting(name, value)
        self._settings.asked(read_text(line, "request_id"), name, value)
        return Step(send=(line,))

    def request(self, key: str, method: str, params: Message, *, trace: str = "") -> Step:
        """Serve a request in Codex's words."""
        del trace
        if method == requests.RESPOND:
            return self._respond(key, params)
        serve = _SERVED.get(method)
        if serve is None:
            raise unsupported_error(method)
        return serve(self, key, params)

    # What Claude says.

    def _receive_message(self, message: Message, kind: str) -> Step:
        """Return the cards of a message, and what it means for the conversation."""
        name = read_text(message, "request_id")
        if kind == "control_request":
            request = read_object(message, "request")
            if read_text(request, "subtype") != "can_use_tool":
                return Step(send=(_refusal(name),))
            remember(self._requests, name, request)
        if kind == "control_cancel_request" and self._requests.pop(name, None) is not None:
            return Step(said=tuple(self._cards.answered(name, accepted=False)))
        reports = tuple(self._cards.take(message))
        if kind != "system":
            return Step(said=reports)
        # Claude repeats its introduction at each prompt.
        introduces = read_text(message, "subtype") == "init"
        session = read_text(message, "session_id") if introduces else ""
        # An interrupt that came before, while Claude waited for its tools, is lost.
        send = self.interrupt().send if introduces and self._interrupted else ()
        events = self._begin_session(session) if session else ()
        return Step(
            said=(*reports, Began()) if events else reports,
            send=send,
            conversation=session,
            settings=self._settings.told(message),
            events=events,
        )

    def _begin_session(self, session: str) -> tuple[AgentEvent, ...]:
        """Note the session in use; begin a turn when no prompt began one."""
        self._threads.session = session
        if not self._thread.thread:
            self._thread.thread = session
        if self._working:
            return ()
        self._working = True
        turn = self._steers.pop(0) if self._steers else self._names.fresh()
        return self._thread.begins(turn)

    def _end_turn(self) -> tuple[AgentEvent, ...]:
        self._working = False
        self._requests.clear()
        interrupted, self._interrupted = self._interrupted, False
        return self._thread.ends(interrupted=interrupted)

    def _follow_session(self) -> tuple[AgentEvent, ...]:
        """Return the event of a session that Claude began in place of another."""
        if self._threads.session == self._thread.thread:
            return ()
        self._thread = ThreadEvents(self._threads.session, self._questions)
        self._threads.opened(self._threads.session)
        return (self._thread.opened(self._terms.cwd),)

    def _receive_response(self, response: Message) -> Step:
        """Handle the response to a control request."""
        name, failed = (
            read_text(response, "request_id"),
            read_text(response, "subtype") != "success",
        )
        settings, settled = self._settings.replied(response)
        step = Step(settings=settings, settled=settled)
        key = self._interrupts.pop(name, None)
        if key is not None:
            error = Reply(key, error={"message": read_text(response, "error")})
            return Step(replies=(error,) if failed else requests.answer_request(key))
        if name == self._greeting and self._threads.switch is not None:
            there = self._enter_session(self._threads.switch)
            return replace(there, settings=settings, settled=settled)
        return step

    # Threads.

    def _enter_session(self, switch: Switch) -> Step:
        """Continue in the session that was switched to."""
        self._threads.switch = None
        self._threads.session = switch.session
        self._threads.opened(switch.session)
        self._thread = ThreadEvents(switch.session, self._questions)
        if switch.words:
            step = self._prompt(switch.words, switch.turn)
            return replace(
                step, replies=requests.answer_request(switch.key, turn=turn_of(switch.turn))
            )
        return self._answer_open(switch.key, switch.method)

    def _not_there(self, switch: Switch) -> Step:
        """Go back, where a session cannot be resumed."""
        self._threads.switch = None
        reply = requests.no_such_thread(switch.key, switch.session)
        return Step(replies=(reply,), restart=switch.back)

    def _answer_open(self, key: str, method: str) -> Step:
        """Answer a request that opened the current thread."""
        shown = thread_of(self._thread.thread, self._terms.cwd)
        replies = requests.answer_request(key, thread=shown, cwd=self._terms.cwd)
        new = method == "thread/start"
        return Step(replies=replies, events=(self._thread.opened(self._terms.cwd),) if new else ())

    def _switch(self, switch: Switch) -> Step:
        self._threads.switch, self._greeting = switch, ""
        return Step(restart=self._threads.restart(switch.session))

    def _check_idle(self) -> None:
        """Check that the process may be given another session. Raises `Conflict`."""
        if self._working or self._threads.switch is not None:
            raise busy_error()

    def _thread_start(self, key: str, params: Message) -> Step:
        del params
        self._check_idle()
        if self._threads.first():
            return self._answer_open(key, "thread/start")
        back = self._threads.back()
        return self._switch(Switch(key, "thread/start", self._threads.new(), back))

    def _thread_resume(self, key: str, params: Message) -> Step:
        thread = read_text(params, "threadId")
        if not transcripts.is_thread(thread):
            raise requests.bad_thread_id()
        if thread == self._threads.session and self._threads.switch is None:
            self._threads.opened(thread)
            return self._answer_open(key, "thread/resume")
        self._check_idle()
        return self._switch(Switch(key, "thread/resume", thread, self._threads.back()))

    def _thread_list(self, key: str, params: Message) -> Step:
        most = min(read_int(params, "limit") or transcripts.MAX_THREADS, transcripts.MAX_THREADS)

        def read(messages: Sequence[Message]) -> Step:
            data: list[Value] = [*transcripts.list_threads(messages, self._terms.cwd)]
            return Step(replies=requests.answer_request(key, data=data, nextCursor=None))

        return Step(lookup=Lookup(transcripts.list_argv(self._terms.cwd, max(1, most)), read))

    def _thread_loaded_list(self, key: str, params: Message) -> Step:
        del params
        return Step(replies=requests.answer_thread_ids(key, self._threads.open))

    def _thread_read(self, key: str, params: Message) -> Step:
        thread = read_text(params, "threadId")
        if not transcripts.is_thread(thread):
            raise requests.bad_thread_id()

        def read(messages: Sequence[Message]) -> Step:
            if not messages and not self._threads.may_be_empty(thread):
                return Step(replies=(requests.no_such_thread(key, thread),))
            turns = transcripts.turns(messages, thread)
            shown = thread_of(thread, self._terms.cwd, transcripts.preview(messages))
            if params.get("includeTurns") is True:
                shown["turns"] = requests.fitting(turns)
            return Step(replies=requests.answer_request(key, thread=shown))

        return Step(lookup=Lookup(transcripts.read_argv(self._terms.cwd, thread), read))

    # Turns.

    def _turn_start(self, key: str, params: Message) -> Step:
        thread, words = read_text(params, "threadId"), _prompt_of(params)
        if not self._threads.opens(thread):
            raise requests.unknown_thread(thread)
        self._check_idle()
        turn = self._names.fresh()
        if thread == self._threads.session:
            step = self._prompt(words, turn)
            return replace(step, replies=requests.answer_request(key, turn=turn_of(turn)))
        back = self._threads.back()
        return self._switch(Switch(key, "turn/start", thread, back, turn, words))

    def _turn_steer(self, key: str, params: Message) -> Step:
        """Send words into the turn. Claude reads them after its next tool, or as a turn."""
        words = _prompt_of(params)
        requests.check_turn(params, "expectedTurnId", self._thread.thread, self._thread.turn)
        name = self._names.fresh()
        self._steers.append(name)
        reports = tuple(self._cards.steered(words))
        return Step(
            said=reports,
            send=(_user(words, name),),
            replies=requests.answer_request(key, turnId=self._thread.turn),
            events=self._thread.heard(reports, name=name),
        )

    def _turn_interrupt(self, key: str, params: Message) -> Step:
        requests.check_turn(params, "turnId", self._thread.thread, self._thread.turn)
        step = self.interrupt()
        for line in step.send:
            remember(self._interrupts, read_text(line, "request_id"), key)
        return step

    def _prompt(self, words: str, turn: str) -> Step:
        """Begin a turn in the present session."""
        self._working, self._interrupted = True, False
        self._steers.clear()
        self._threads.said()
        reports = tuple(self._cards.asked(words))
        events = self._thread.begins(turn) + self._thread.heard(reports, name=turn)
        return Step(said=reports, send=(_user(words, turn),), events=events)

    # Questions.

    def _respond(self, key: str, params: Message) -> Step:
        """Answer a question, unless its card was answered before."""
        question = self._questions.find(read_text(params, "requestId"))
        decision = decide(question, params)
        step = self._answer(question.card, decision)
        more = self.interrupt() if decision.ends else Step()
        return replace(step, send=(*step.send, *more.send), replies=requests.answer_request(key))

    def _answer(self, card: Card, decision: CardAnswer) -> Step:
        name = card.id.removeprefix(PREFIX)
        request = self._requests.get(name)
        if request is None:
            raise not_pending(card.id)
        if card.kind is CardKind.QUESTION:
            response_body, accepted = _answered_question(request, card, decision)
        else:
            response_body, accepted = _answer_permission(
                request, check_option(card, decision.option), decision.words
            )
        del self._requests[name]
        response: dict[str, Value] = {
            "subtype": "success",
            "request_id": name,
            "response": response_body,
        }
        line: Outgoing = {"type": "control_response", "response": response}
        reports = tuple(self._cards.answered(name, accepted=accepted))
        return Step(said=reports, send=(line,), events=self._thread.heard(reports))

    def _setting(self, name: SettingName, value: str) -> Outgoing:
        field = "model" if name == "model" else "mode"
        return self._control({"subtype": f"set_{name}", field: value})

    def _control(self, request: dict[str, Value]) -> Outgoing:
        self._sent += 1
        return {"type": "control_request", "request_id": f"atoll-{self._sent}", "request": request}


_SERVED: Final = MappingProxyType(
    {
        "thread/start": ClaudeConversation._thread_start,
        "thread/resume": ClaudeConversation._thread_resume,
        "thread/list": ClaudeConversation._thread_list,
        "thread/loaded/list": ClaudeConversation._thread_loaded_list,
        "thread/read": ClaudeConversation._thread_read,
        "turn/start": ClaudeConversation._turn_start,
        "turn/steer": ClaudeConversation._turn_steer,
        "turn/interrupt": ClaudeConversation._turn_interrupt,
    }
)


def _user(words: str, name: str) -> Outgoing:
    content: list[Value] = [{"type": "text", "text": words}]
    return {"type": "user", "message": {"role": "user", "content": content}, "uuid": name}


def _prompt_of(params: Message) -> str:
    words = requests.words_of(params)
    if words.strip().partition(" ")[0] in _MOVES:
        raise Invalid(
            "this command would replace the thread: request thread/start instead",
            code="invalid_request",
            field="request.params.input",
        )
    return words


def _answer_permission(
    request: Message, option: str, words: str | None
) -> tuple[dict[str, Value], bool]:
    """Return the answer to a tool's permission request, and whether it allows the tool."""
    if option == ALLOW:
        return {"behavior": "allow", "updatedInput": {**read_object(request, "input")}}, True
    reason = words or "The person declined this."
    return {"behavior": "deny", "message": reason}, False


def _answered_question(
    request: Message, card: Card, decision: CardAnswer
) -> tuple[dict[str, Value], bool]:
    """Return the answers to its questions: one for each, or one for all."""
    given, replies = read_object(request, "input"), dict(decision.answers)
    answer = "" if replies else decision.words or check_option(card, decision.option)
    answers: dict[str, Value] = {
        read_text(question, "question"): replies.get(f"q{n}", answer)
        for n, question in enumerate(read_objects(given, "questions"), 1)
    }
    return {"behavior": "allow", "updatedInput": {**given, "answers": answers}}, True


def _refusal(name: str) -> Outgoing:
    """Return the error for a request that is not supported; without an answer the agent would wait
    for ever."""
    error = "not supported by this client"
    return {
        "type": "control_response",
        "response": {"subtype": "error", "request_id": name, "error": error},
    }


CONVERSATIONS = {"claude": ClaudeConversation}
