"""Notifications of Codex's app-server as cards, one to one. Its requests become pending cards.

An instance translates one conversation. `codex exec --json` and rollout files are read by
`codex.files`.
"""

from atoll.domain.agents.card import (
    QUESTION_TITLE,
    AgentReport,
    Began,
    CardKind,
    CardState,
    Draft,
    Option,
    Value,
    Yielded,
)
from atoll.domain.agents.codex.items import command_text, item_card, normalize_word, plan_text
from atoll.domain.agents.lenient_json import (
    Message,
    name_of,
    read_int,
    read_object,
    read_objects,
    read_text,
    remember,
    short,
)

DECISIONS = {
    "accept": ("Allow", "allow"),
    "acceptForSession": ("Allow for this session", "allow"),
    "decline": ("Decline", "deny"),
    "cancel": ("Decline and stop", "deny"),
}
_TURN_STATES = {
    "completed": CardState.DONE,
    "failed": CardState.FAILED,
    "interrupted": CardState.DECLINED,
}
_DELTAS = {
    "item/agentMessage/delta": CardKind.TEXT,
    "item/plan/delta": CardKind.PLAN,
    "item/reasoning/summaryTextDelta": CardKind.THINKING,
    "item/reasoning/textDelta": CardKind.THINKING,
    "item/commandExecution/outputDelta": CardKind.BASH,
}


class CodexCards:
    """Translator of one conversation with an app-server."""

    def __init__(self) -> None:
        self._pending: dict[str, CardKind] = {}

    def take(self, message: Message) -> list[AgentReport]:
        """Translate one message of the server."""
        method, params = read_text(message, "method"), read_object(message, "params")
        if not method:
            return []
        if "id" in message:
            return self._request(name_of(message, "id"), method, params)
        kind = _DELTAS.get(method)
        if kind is not None:
            card_id, words = read_text(params, "itemId"), read_text(params, "delta")
            return [Draft(id=card_id, kind=kind, text=words, append=True)]
        return self._read_notification(method, params)

    def answered(self, request: str, *, accepted: bool) -> list[AgentReport]:
        """Record a person's answer to a pending card."""
        kind = self._pending.pop(request, None)
        if kind is None:
            return []
        state = CardState.DONE if accepted else CardState.DECLINED
        return [Draft(id=f"approval:{request}", kind=kind, state=state), Began()]

    def _read_notification(self, method: str, params: Message) -> list[AgentReport]:
        """Return the reports of a notification."""
        match method:
            case "item/started" | "item/completed":
                card = item_card(read_object(params, "item"), done=method.endswith("completed"))
                return [] if card is None else [card]
            case "turn/started":
                return [_turn(read_object(params, "turn"), CardState.RUNNING), Began()]
            case "turn/completed":
                return self._end_turn(read_object(params, "turn"))
            case "turn/plan/updated":
                card_id = f"plan:{read_text(params, 'turnId')}"
                words = plan_text(params)
                return [Draft(card_id, CardKind.PLAN, CardState.RUNNING, title="Plan", text=words)]
            case "serverRequest/resolved":
                return self.answered(name_of(params, "requestId"), accepted=True)
            case "warning" | "error" | "configWarning":
                return [_message_card(method, params)]
            case _:
                return []

    def _end_turn(self, turn: Message) -> list[AgentReport]:
        """Return the end of a turn, with a card for its error."""
        state = _TURN_STATES.get(read_text(turn, "status"), CardState.DONE)
        reports: list[AgentReport] = [_turn(turn, state), Yielded()]
        error = read_text(read_object(turn, "error"), "message")
        if error:
            card_id = f"end:{read_text(turn, 'id')}"
            failed = Draft(
                card_id, CardKind.STATUS, CardState.FAILED, title="The turn failed", text=error
            )
            reports.insert(0, failed)
        return reports

    def _request(self, request: str, method: str, params: Message) -> list[AgentReport]:
        """Add the card of a request that the server waits for."""
        if method == "item/tool/requestUserInput":
            card = _question(request, params)
        elif normalize_word(method).endswith("requestapproval") or "elicitation" in method:
            card = _approval(request, method, params)
        else:
            return []
        remember(self._pending, request, card.kind)
        return [card, Yielded()]


def _turn(turn: Message, state: CardState) -> Draft:
    took = read_int(turn, "durationMs")
    data: dict[str, Value] = {} if took is None else {"milliseconds": took}
    return Draft(f"turn:{read_text(turn, 'id')}", CardKind.TURN, state, data=data)


def _message_card(method: str, params: Message) -> Draft:
    words = read_text(params, "message", "summary") or read_text(
        read_object(params, "error"), "message"
    )
    failed = method == "error"
    # A repeated warning has the same words, and so the same card.
    return Draft(
        id=f"{method}:{short(words, 60)}",
        kind=CardKind.STATUS,
        state=CardState.FAILED if failed else CardState.DONE,
        title="Codex reports an error" if failed else "Codex warns",
        text=words,
    )


def _approval(request: str, method: str, params: Message) -> Draft:
    command = command_text(params)
    title = read_text(params, "reason", "message") or f"Allow {method.partition('/')[2] or 'this'}?"
    offered = params.get("availableDecisions")
    names = [name for name in offered if isinstance(name, str)] if isinstance(offered, list) else []
    if "decline" not in names and "cancel" not in names:
        names = [*(names or ["accept"]), "decline"]
    options = tuple(Option(name, *DECISIONS[name]) for name in names if name in DECISIONS)
    return Draft(
        id=f"approval:{request}",
        kind=CardKind.APPROVAL,
        state=CardState.PENDING,
        title=title,
        text=command,
        options=options,
        data={"answerable": True, "for": read_text(params, "itemId"), "asks": method},
    )


def _question(request: str, params: Message) -> Draft:
    asked = read_objects(params, "questions")
    first = asked[0] if asked else {}
    labels = (read_text(option, "label") for option in read_objects(first, "options"))
    return Draft(
        id=f"approval:{request}",
        kind=CardKind.QUESTION,
        state=CardState.PENDING,
        title=read_text(first, "header") or QUESTION_TITLE,
        text="\n".join(read_text(question, "question") for question in asked),
        options=tuple(Option(label, label) for label in labels if label),
        data={"answerable": True, "question": read_text(first, "id")},
    )
