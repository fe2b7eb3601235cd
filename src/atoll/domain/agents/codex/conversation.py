"""Codex's app-server: JSON-RPC lines without the `jsonrpc` field (`codex app-server`)."""

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
from atoll.domain.agents.codex.cards import CodexCards
from atoll.domain.agents.codex.settings import CodexSettings
from atoll.domain.agents.codex.turns import CodexTurns, opens
from atoll.domain.agents.conversation import (
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
    name_of,
    read_object,
    read_objects,
    read_text,
    remember,
)
from atoll.domain.agents.settings import SettingName
from atoll.domain.errors import Conflict

_UNSUPPORTED = -32601
_MODELS = "models"
"""Id of the one request for the models there are."""
_DENIALS = frozenset({"decline", "cancel"})
_OWN = frozenset({"initialize", "initialized"})
"""The handshake, which belongs to the conversation."""
_RESPOND = "serverRequest/respond"


class CodexConversation:
    """A conversation whose thread starts, or resumes, as soon as the server answers; prompts that
    come before wait for it."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._cards = CodexCards()
        self._settings = CodexSettings(asks=terms.ask)
        self._sent = 0
        self._waits_for: dict[str, str] = {}
        self._requests: dict[str, tuple[Value, str, Message]] = {}
        self._asked: dict[str, tuple[str, str, Message]] = {}
        self._early: list[Outgoing] | None = []
        self._turns = CodexTurns()
        self._prompted = ""
        self._prompt: str | None = None

    def begin(self) -> Step:
        """Send `initialize`."""
        info: dict[str, Value] = {"name": "atoll", "title": "Atoll", "version": "1"}
        capabilities: dict[str, Value] = {"experimentalApi": True}
        params: dict[str, Value] = {"clientInfo": info, "capabilities": capabilities}
        return Step(send=(self._call("initialize", params),), settings=self._settings.record)

    def take(self, message: Message) -> Step:
        """Read one line of output."""
        method = read_text(message, "method")
        if not method:
            return self._receive_response(message)
        params = read_object(message, "params")
        reports = tuple(self._cards.take(message))
        if "id" in message:
            return self._receive_request(message, method, reports)
        durable = not method.casefold().endswith("delta")
        match method:
            case "turn/started":
                thread = self._turns.started(params)
                return Step(said=reports, conversation=thread, durable=True)
            case "turn/completed":
                self._withdraw(self._turns.completed(params))
                # Another thread may still be at its turn: nobody is to type into that.
                reports = (*reports, Began()) if self._turns.working else reports
            case "serverRequest/resolved":
                self._requests.pop(name_of(params, "requestId"), None)
            case _:
                pass
        return Step(said=reports, durable=durable)

    def ask(self, words: str) -> Step:
        """Send a prompt; before the thread is ready it waits."""
        if self._turns.working or self._prompt is not None:
            raise busy_error()
        if not self._turns.thread:
            self._prompt = words
            return Step(said=(Began(),))
        return Step(said=(Began(),), send=(self._start_turn(words),))

    def interrupt(self) -> Step:
        """Interrupt the turn."""
        thread, turn = self._turns.running
        if not turn:
            return Step()
        params: dict[str, Value] = {"threadId": thread, "turnId": turn}
        return Step(send=(self._call("turn/interrupt", params),))

    def answer(self, card: Card, option: str | None, words: str | None) -> Step:
        """Answer a pending request."""
        name = card.id.removeprefix("approval:")
        if name not in self._requests:
            raise not_pending(card.id)
        number, method, params = self._requests[name]
        result, accepted = _build_answer(method, params, card, option=option, words=words)
        del self._requests[name]
        reports = tuple(self._cards.answered(name, accepted=accepted))
        return Step(said=reports, send=({"id": number, "result": result},))

    def change(self, name: SettingName, value: str) -> Step:
        """Change a setting for the next turn; Codex itself receives it then."""
        return Step(settings=self._settings.change(name, value), settled="")

    def request(self, key: str, method: str, params: Message, *, trace: str = "") -> Step:
        """Send a request of a worker, as soon as the handshake is over."""
        if method in _OWN:
            raise unsupported_error(method)
        if method == _RESPOND:
            return self._answer_agent(key, params)
        self._sent += 1
        name = f"w:{self._sent}"
        self._asked[name] = (key, method, params)
        held = self._settings.held(method, params)
        traced: Outgoing = {"trace": {"traceparent": trace}} if trace else {}
        line: Outgoing = {"method": method, "id": name, "params": held, **traced}
        reports: tuple[AgentReport, ...] = ()
        thread = read_text(params, "threadId")
        if method == "turn/start" and thread:
            self._turns.begins(thread)
            reports = (Began(),)
        if self._early is not None:
            self._early.append(line)
            return Step(said=reports)
        return Step(said=reports, send=(line,))

    def _answer_agent(self, key: str, params: Message) -> Step:
        """Answer a request of the agent. Raises `Conflict` when nothing waits for the answer."""
        name = name_of(params, "requestId")
        if name not in self._requests:
            raise Conflict(f"nothing waits for an answer to {name[:80]!r}", code="conflict")
        number, _, _ = self._requests.pop(name)
        if "error" in params:
            reports = tuple(self._cards.answered(name, accepted=False))
            line: Outgoing = {"id": number, "error": params["error"]}
        else:
            decision = read_text(read_object(params, "result"), "decision", "action")
            reports = tuple(self._cards.answered(name, accepted=decision not in _DENIALS))
            line = {"id": number, "result": params.get("result")}
        return Step(said=reports, send=(line,), replies=(Reply(key, {}),))

    def _withdraw(self, thread: str) -> None:
        """Forget what was asked in a thread whose turn ended."""
        for name, (_, _, params) in list(self._requests.items()):
            if self._turns.thread_of(params) == thread:
                del self._requests[name]

    def _receive_request(
        self, message: Message, method: str, reports: tuple[AgentReport, ...]
    ) -> Step:
        """Show a request of the agent as a card, or refuse a method that is not served."""
        number = message["id"]
        if not reports:
            error: dict[str, Value] = {"code": _UNSUPPORTED, "message": f"{method} is not served"}
            return Step(send=({"id": number, "error": error},), durable=True)
        remember(
            self._requests, name_of(message, "id"), (number, method, read_object(message, "params"))
        )
        return Step(said=reports, durable=True)

    def _receive_worker_response(
        self, message: Message, key: str, method: str, params: Message
    ) -> Step:
        """Handle the response to a request of a worker."""
        if "error" in message:
            reports: tuple[AgentReport, ...] = ()
            if method == "turn/start":
                self._turns.refused(read_text(params, "threadId"))
                reports = () if self._turns.working else (Yielded(),)
            return Step(said=reports, replies=(Reply(key, error=read_object(message, "error")),))
        result = read_object(message, "result")
        gone = self._turns.follow(method, params, result)
        replies = (Reply(key, message.get("result")),)
        if gone:
            return Step(send=(self._call("thread/start", self._thread_params()),), replies=replies)
        settings = self._settings.started(result) if opens(method) else None
        return Step(settings=settings, replies=replies)

    def _receive_response(self, message: Message) -> Step:
        """Handle the response to a request."""
        asked = self._asked.pop(name_of(message, "id"), None)
        if asked is not None:
            return self._receive_worker_response(message, *asked)
        call = self._waits_for.pop(name_of(message, "id"), "")
        result, error = (
            read_object(message, "result"),
            read_text(read_object(message, "error"), "message"),
        )
        if error and call:
            return self._handle_error(call, error)
        match call:
            case "initialize":
                early, self._early = self._early or [], None
                return Step(send=({"method": "initialized"}, self._open_thread(), *early))
            case "thread/list":
                last = next(iter(read_objects(result, "data")), {})
                return Step(send=(self._resume_or_start(read_text(last, "id")),))
            case "thread/start" | "thread/resume" | "thread/fork":
                self._turns.thread = read_text(read_object(result, "thread"), "id")
                return self._thread_ready(result)
            case "model/list":
                return Step(settings=self._settings.offered(result))
            case _:
                return Step()

    def _thread_ready(self, result: Message) -> Step:
        """Send the prompt that waited for the thread, and ask which models there are."""
        settings = self._settings.started(result)
        prompt, self._prompt = self._prompt, None
        turn = () if prompt is None else (self._start_turn(prompt),)
        self._waits_for[_MODELS] = "model/list"
        models: Outgoing = {"method": "model/list", "id": _MODELS, "params": {}}
        return Step(send=(*turn, models), settings=settings)

    def _handle_error(self, call: str, error: str) -> Step:
        """Report a call that the agent refused, and continue without it."""
        if call == "model/list":
            return Step()
        title = "Codex refused" if call != "turn/start" else "The turn could not begin"
        card = Draft(
            f"failed:{self._sent}", CardKind.STATUS, CardState.FAILED, title=title, text=error
        )
        if call == "thread/fork":
            return Step(said=(card,), send=(self._resume_or_start(self._terms.conversation or ""),))
        if call == "thread/resume":
            return Step(said=(card,), send=(self._resume_or_start(""),))
        refused = self._refuse_early(error) if call == "initialize" else ()
        if call != "turn/start" and self._prompt is None:
            return Step(said=(card,), replies=refused)
        # Without a thread, the waiting prompt will never be sent.
        self._turns.refused(self._prompted)
        self._prompt = None
        return Step(said=(card, Yielded()), replies=refused)

    def _refuse_early(self, error: str) -> tuple[Reply, ...]:
        """Return the replies to requests that waited for the handshake."""
        held, self._early = self._early or [], None
        asked = [self._asked.pop(name_of(line, "id")) for line in held]
        return tuple(Reply(key, error={"message": error}) for key, _, _ in asked)

    def _open_thread(self) -> Outgoing:
        if self._terms.conversation is None and self._terms.resume:
            return self._call("thread/list", {"limit": 1})
        thread = self._terms.conversation or ""
        if thread and self._terms.fork:
            return self._call("thread/fork", {"threadId": thread, **self._thread_params()})
        return self._resume_or_start(thread)

    def _resume_or_start(self, thread: str) -> Outgoing:
        if not thread:
            return self._call("thread/start", self._thread_params())
        return self._call("thread/resume", {"threadId": thread, **self._thread_params()})

    def _thread_params(self) -> dict[str, Value]:
        return {"cwd": self._terms.cwd, **self._settings.thread_params()}

    def _start_turn(self, words: str) -> Outgoing:
        self._prompted = self._turns.thread
        self._turns.begins(self._prompted)
        content: list[Value] = [{"type": "text", "text": words}]
        params: dict[str, Value] = {"threadId": self._turns.thread, "input": content}
        return self._call("turn/start", {**params, **self._settings.turn_params()})

    def _call(self, method: str, params: dict[str, Value]) -> Outgoing:
        self._sent += 1
        self._waits_for[str(self._sent)] = method
        return {"method": method, "id": self._sent, "params": params}


def _build_answer(
    method: str, params: Message, card: Card, *, option: str | None, words: str | None
) -> tuple[dict[str, Value], bool]:
    """Return the answer that a person's choice gives, and whether it accepts."""
    if method == "item/tool/requestUserInput":
        answer = words or check_option(card, option)
        answers: dict[str, Value] = {
            read_text(question, "id"): {"answers": [answer]}
            for question in read_objects(params, "questions")
        }
        return {"answers": answers}, True
    decision = check_option(card, option)
    accepted = decision not in _DENIALS
    if "elicitation" in method:
        action = "accept" if accepted else "decline"
        return {"action": action, "content": {} if accepted else None}, accepted
    return {"decision": decision}, accepted


CONVERSATIONS = {"codex": CodexConversation}
