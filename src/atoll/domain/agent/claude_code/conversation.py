"""Claude Code over stream-json, both ways (`claude -p --input-format stream-json …`)."""

from atoll.domain.agent.card import Card, CardKind, Value
from atoll.domain.agent.claude_code.cards import ALLOW, ClaudeCards
from atoll.domain.agent.claude_code.settings import ClaudeSettings
from atoll.domain.agent.conversation import (
    Outgoing,
    Step,
    Terms,
    busy,
    chosen,
    not_pending,
    unsupported,
)
from atoll.domain.agent.lenient_json import Message, part, parts, remember, text
from atoll.domain.agent.settings import SettingName


class ClaudeConversation:
    """A conversation that keeps permission requests with their input: an answer repeats it."""

    def __init__(self, terms: Terms) -> None:
        self._cards = ClaudeCards()
        self._settings = ClaudeSettings(asks=terms.ask)
        self._requests: dict[str, Message] = {}
        self._sent = 0
        self._working = False

    def begin(self) -> Step:
        """Send `initialize`; Claude accepts prompts at once."""
        send = (self._control({"subtype": "initialize", "hooks": None}),)
        return Step(send=send, settings=self._settings.record)

    def take(self, message: Message) -> Step:
        """Read one line of output."""
        kind = text(message, "type")
        if kind == "control_response":
            settings, settled = self._settings.replied(part(message, "response"))
            return Step(settings=settings, settled=settled)
        request = part(message, "request")
        if kind == "control_request":
            if text(request, "subtype") != "can_use_tool":
                return Step(send=(_refusal(text(message, "request_id")),))
            remember(self._requests, text(message, "request_id"), request)
        if kind == "control_cancel_request":
            name = text(message, "request_id")
            if self._requests.pop(name, None) is not None:
                return Step(said=tuple(self._cards.answered(name, accepted=False)))
        said = tuple(self._cards.take(message))
        if kind == "result":
            self._working = False
            self._requests.clear()
        # Claude repeats its introduction at each prompt.
        introduces = kind == "system" and text(message, "subtype") == "init"
        return Step(
            said=said,
            conversation=text(message, "session_id") if introduces else "",
            settings=self._settings.told(message) if kind == "system" else None,
        )

    def ask(self, words: str) -> Step:
        """Send a prompt."""
        if self._working:
            raise busy()
        self._working = True
        content: list[Value] = [{"type": "text", "text": words}]
        line: Outgoing = {"type": "user", "message": {"role": "user", "content": content}}
        return Step(said=tuple(self._cards.asked(words)), send=(line,))

    def interrupt(self) -> Step:
        """Interrupt the turn."""
        return Step(send=(self._control({"subtype": "interrupt"}),)) if self._working else Step()

    def answer(self, card: Card, option: str | None, words: str | None) -> Step:
        """Allow or deny a tool, or answer its question."""
        name = card.id.removeprefix("approval:")
        request = self._requests.get(name)
        if request is None:
            raise not_pending(card.id)
        if card.kind is CardKind.QUESTION:
            said, accepted = self._answered_question(request, card, option, words=words)
        else:
            said, accepted = self._allowed(request, chosen(card, option), words)
        del self._requests[name]
        response: dict[str, Value] = {"subtype": "success", "request_id": name, "response": said}
        line: Outgoing = {"type": "control_response", "response": response}
        return Step(said=tuple(self._cards.answered(name, accepted=accepted)), send=(line,))

    def _allowed(
        self, request: Message, option: str, words: str | None
    ) -> tuple[dict[str, Value], bool]:
        if option == ALLOW:
            return {"behavior": "allow", "updatedInput": {**part(request, "input")}}, True
        reason = words or "The person declined this."
        return {"behavior": "deny", "message": reason}, False

    def _answered_question(
        self, request: Message, card: Card, option: str | None, *, words: str | None
    ) -> tuple[dict[str, Value], bool]:
        answer = words or chosen(card, option)
        given = part(request, "input")
        answers: dict[str, Value] = {
            text(one, "question"): answer for one in parts(given, "questions")
        }
        return {"behavior": "allow", "updatedInput": {**given, "answers": answers}}, True

    def change(self, name: SettingName, value: str) -> Step:
        """Change the model or the permission mode, for the next turn or the running one."""
        field = "model" if name == "model" else "mode"
        line = self._control({"subtype": f"set_{name}", field: value})
        self._settings.asked(text(line, "request_id"), name, value)
        return Step(send=(line,))

    def request(self, key: str, method: str, params: Message, *, trace: str = "") -> Step:
        """Refuse a request: this protocol serves none yet."""
        del key, params, trace
        raise unsupported(method)

    def _control(self, request: dict[str, Value]) -> Outgoing:
        self._sent += 1
        return {"type": "control_request", "request_id": f"atoll-{self._sent}", "request": request}


def _refusal(name: str) -> Outgoing:
    """Return the error for a request that is not supported; without an answer the agent would wait
    for ever."""
    error = "not supported by this client"
    return {
        "type": "control_response",
        "response": {"subtype": "error", "request_id": name, "error": error},
    }


CONVERSATIONS = {"claude": ClaudeConversation}
