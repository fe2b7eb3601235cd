"""The Agent Client Protocol, version 1: JSON-RPC lines (`opencode acp`, `gemini --acp`, …).

The agent reads and writes files itself inside the sandbox, so no file methods are offered.
"""

from dataclasses import replace

from atoll.domain.agent.acp.cards import AcpCards
from atoll.domain.agent.acp.settings import AcpSettings, update_of
from atoll.domain.agent.card import Began, Card, CardKind, CardState, Draft, Said, Value, Yielded
from atoll.domain.agent.conversation import (
    Outgoing,
    Step,
    Terms,
    busy,
    chosen,
    not_pending,
    unsupported,
)
from atoll.domain.agent.lenient_json import Message, name_of, part, remember, text
from atoll.domain.agent.settings import SettingName
from atoll.domain.errors import Invalid

_UNSUPPORTED = -32601
PROTOCOL = 1


class AcpConversation:
    """A conversation in one session; a prompt that comes before the session exists waits for it."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._cards = AcpCards()
        self._settings = AcpSettings(asks=terms.ask)
        self._change: tuple[SettingName, str] | None = None
        self._sent = 0
        self._waits_for: dict[str, str] = {}
        self._requests: dict[str, Value] = {}
        self._session = ""
        self._prompt: str | None = None
        self._working = False
        self._loads = False

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
            "clientCapabilities": {"fs": files, "terminal": False},
            "clientInfo": {"name": "atoll", "version": "1"},
        }
        return Step(send=(self._call("initialize", params),))

    def take(self, message: Message) -> Step:
        """Read one line of output."""
        method = text(message, "method")
        if not method:
            return self._replied(message)
        if method == "session/update" and not self._session:
            # A resumed session is replayed from its beginning, before it is ready.
            return Step()
        said = tuple(self._cards.take(message))
        if "id" not in message:
            return Step(said=said, settings=self._settings.told(update_of(message)))
        number, name = message["id"], name_of(message, "id")
        if method != "session/request_permission":
            error: dict[str, Value] = {"code": _UNSUPPORTED, "message": f"{method} is not served"}
            return Step(send=(_rpc(id=number, error=error),))
        remember(self._requests, name, number)
        if self._settings.asks:
            return Step(said=said)
        return self._allow(name, said)

    def ask(self, words: str) -> Step:
        """Send a prompt; before the session is ready it waits."""
        if self._working or self._prompt is not None:
            raise busy()
        if not self._session:
            self._prompt = words
            return Step(said=(Began(),))
        return self._start(words)

    def interrupt(self) -> Step:
        """Interrupt the turn. Requests that wait for an answer are cancelled with it."""
        if not self._working:
            return Step()
        said: list[Said] = []
        send: list[Outgoing] = [_rpc(method="session/cancel", params={"sessionId": self._session})]
        for name, number in self._requests.items():
            send.append(_rpc(id=number, result={"outcome": {"outcome": "cancelled"}}))
            said += self._cards.answered(name, accepted=False)
        self._requests.clear()
        return Step(said=tuple(said), send=tuple(send))

    def answer(self, card: Card, option: str | None, words: str | None) -> Step:
        """Answer with one of the options the agent offered."""
        del words
        name = card.id.removeprefix("approval:")
        if name not in self._requests:
            raise not_pending(card.id)
        decision = chosen(card, option)
        effect = next(one.effect for one in card.options if one.id == decision)
        number = self._requests.pop(name)
        said = tuple(self._cards.answered(name, accepted=effect == "allow"))
        return Step(said=said, send=(_selected(number, decision),))

    def change(self, name: SettingName, value: str) -> Step:
        """Change the session's model or mode. What is Atoll's own holds at once."""
        call = self._settings.request(name, value)
        if call is None:
            return Step(settings=self._settings.changed(name, value), settled="")
        method, params = call
        self._change = name, value
        return Step(send=(self._call(method, {"sessionId": self._session, **params}),))

    def request(self, key: str, method: str, params: Message, *, trace: str = "") -> Step:
        """Refuse a request: this protocol serves none yet."""
        del key, params, trace
        raise unsupported(method)

    def _changed(self, error: str) -> Step:
        """Settle a change, as the agent answered it."""
        change, self._change = self._change, None
        if change is None:
            return Step()
        if error:
            return Step(settled=error)
        return Step(settings=self._settings.changed(*change), settled="")

    def _allow(self, name: str, said: tuple[Said, ...]) -> Step:
        """Approve at once where everything is allowed; the card shows the request."""
        options = next((one.options for one in said if isinstance(one, Draft)), None) or ()
        allowing = [one.id for one in options if one.effect == "allow"]
        if not allowing:
            return Step(said=said)
        number = self._requests.pop(name)
        answered = tuple(self._cards.answered(name, accepted=True))
        return Step(said=(*said, *answered), send=(_selected(number, allowing[0]),))

    def _replied(self, message: Message) -> Step:
        call = self._waits_for.pop(name_of(message, "id"), "")
        result, error = part(message, "result"), _error(message)
        match call:
            case "initialize" if not error:
                self._loads = part(result, "agentCapabilities").get("loadSession") is True
                return self._open_session()
            case "session/new" if not error:
                return self._session_ready(text(result, "sessionId"), result)
            case "session/load" if not error:
                return self._session_ready(self._terms.conversation or "", result)
            case "session/set_mode" | "session/set_model" | "session/set_config_option":
                return self._changed(error)
            case "session/load":
                return self._new_session(error)
            case "session/prompt":
                self._working = False
                self._requests.clear()
                return Step(said=tuple(self._cards.ended(text(result, "stopReason"), error)))
            case "":
                return Step()
            case _:
                card = Draft(
                    f"failed:{call}", CardKind.STATUS, CardState.FAILED, f"{call} failed", error
                )
                # Without a session, the waiting prompt will never be sent.
                waited, self._prompt = self._prompt is not None, None
                return Step(said=(card, Yielded()) if waited else (card,))

    def _open_session(self) -> Step:
        wanted = self._terms.conversation
        if wanted is None:
            return Step(send=(self._call("session/new", self._place()),))
        if not self._loads:
            return self._new_session("This agent cannot take up a conversation.")
        params: dict[str, Value] = {"sessionId": wanted, **self._place()}
        return Step(send=(self._call("session/load", params),))

    def _new_session(self, instead: str) -> Step:
        """Start a new session where the old one could not be resumed, and report that."""
        title = "A new conversation begins"
        card = Draft("failed:load", CardKind.STATUS, CardState.FAILED, title, instead)
        return Step(said=(card,), send=(self._call("session/new", self._place()),))

    def _place(self) -> dict[str, Value]:
        return {"cwd": self._terms.cwd, "mcpServers": []}

    def _session_ready(self, session: str, result: Message) -> Step:
        """Take the session as ready, and send the prompt that waited for it."""
        self._session = session
        settings = self._settings.opened(result)
        prompt, self._prompt = self._prompt, None
        step = Step() if prompt is None else self._start(prompt)
        return replace(step, settings=settings)

    def _start(self, words: str) -> Step:
        self._working = True
        prompt: list[Value] = [{"type": "text", "text": words}]
        params: dict[str, Value] = {"sessionId": self._session, "prompt": prompt}
        said = tuple(self._cards.asked(words))
        named = self._session if self._loads else ""
        return Step(said, (self._call("session/prompt", params),), named)

    def _call(self, method: str, params: dict[str, Value]) -> Outgoing:
        self._sent += 1
        self._waits_for[str(self._sent)] = method
        return _rpc(id=self._sent, method=method, params=params)


def _error(message: Message) -> str:
    """Return the text of an error, with the reason that its data gives."""
    error = part(message, "error")
    more = text(part(error, "data"), "message", "details")
    return ": ".join(filter(None, (text(error, "message"), more)))


def _selected(number: Value, option: str) -> Outgoing:
    return _rpc(id=number, result={"outcome": {"outcome": "selected", "optionId": option}})


def _rpc(**fields: Value) -> Outgoing:
    return {"jsonrpc": "2.0", **fields}


CONVERSATIONS = {"acp": AcpConversation}
