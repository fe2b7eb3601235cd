"""The questions of a Codex at its terminal, as a second client of its app-server reads them.

Pure. The TUI is the first client. Each message of the server goes in; messages for it come out, and
the questions that wait or have been settled. Whoever answers first wins: the server then says
`serverRequest/resolved` to both, and ignores a later answer.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from atoll.domain.agents.card import QUESTION_TITLE, CardKind, Draft, Option, Value
from atoll.domain.agents.codex.cards import DECISIONS
from atoll.domain.agents.codex.items import command_text, item_card
from atoll.domain.agents.conversation import Outgoing
from atoll.domain.agents.lenient_json import (
    Message,
    name_of,
    read_object,
    read_objects,
    read_text,
    remember,
)
from atoll.domain.agents.terminal_question import (
    MAX_PARTS,
    QuestionPart,
    TerminalQuestion,
    question_parts,
)

MAX_THREADS = 64
MAX_WAITING = 8
"""The questions that wait at a time: more are answered at the terminal."""

_INITIALIZE, _LOADED = "atoll:1", "atoll:2"
_INPUT = "item/tool/requestUserInput"
_UNREAD = (
    "item/agentMessage/delta", "item/reasoning/textDelta", "item/reasoning/summaryTextDelta",
    "item/plan/delta", "item/commandExecution/outputDelta", "item/fileChange/outputDelta",
    "thread/tokenUsage/updated", "account/rateLimits/updated", "hook/started", "hook/completed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ServerStep:
    """The result of one message: what to send, the question that it asks, and the id of the card
    that it settles. With `all_settled` no question waits any more."""

    send: tuple[Outgoing, ...] = ()
    asks: TerminalQuestion | None = None
    settles: str = ""
    all_settled: bool = False


@dataclass(frozen=True, slots=True)
class _Request:
    """A request of the server that waits: its id as the server spells it, and its thread."""

    number: Value
    method: str
    params: Message


class CodexServerQuestions:
    """The questions of one server. Every method is total: the server's words may be anything."""

    def __init__(self) -> None:
        self._ready = False
        self._threads: set[str] = set()
        self._requests: dict[str, _Request] = {}
        self._changes: dict[str, str] = {}

    def begin(self) -> tuple[Outgoing, ...]:
        """Return the first message of a connection."""
        client: dict[str, Value] = {"name": "atoll", "title": "Atoll", "version": "1"}
        unread: list[Value] = [*_UNREAD]
        able: dict[str, Value] = {"experimentalApi": True, "optOutNotificationMethods": unread}
        params: dict[str, Value] = {"clientInfo": client, "capabilities": able}
        return ({"id": _INITIALIZE, "method": "initialize", "params": params},)

    def look(self) -> tuple[Outgoing, ...]:
        """Return the messages that look for new threads."""
        return (
            ({"id": _LOADED, "method": "thread/loaded/list", "params": {}},) if self._ready else ()
        )

    def take(self, message: Message) -> ServerStep:
        """Read one message of the server."""
        method, params = read_text(message, "method"), read_object(message, "params")
        if not method:
            return ServerStep(self._replied(message))
        if "id" in message:
            return self._requested(message, method, params)
        match method:
            case "serverRequest/resolved":
                return ServerStep(settles=self._settled(name_of(params, "requestId")))
            case "item/started":
                self._remember(read_object(params, "item"))
                return ServerStep()
            case "turn/completed" | "thread/closed":
                self._requests.clear()
                return ServerStep(all_settled=True)
            case _:
                return ServerStep()

    def reply(self, question: TerminalQuestion) -> Outgoing | None:
        """Return the answer to a question, whose settlement follows; None where it waits no
        longer."""
        request = self._requests.get(question.id)
        if request is None:
            return None
        result: dict[str, Value]
        if request.method == _INPUT:
            names = [read_text(asked, "id") for asked in read_objects(request.params, "questions")]
            answers: dict[str, Value] = {
                name: {"answers": [label]}
                for name, label in zip(names, question.labels(), strict=False)
            }
            result = {"answers": answers}
        else:
            result = {"decision": question.answers[0].option}
        return {"id": request.number, "result": result}

    def _replied(self, message: Message) -> tuple[Outgoing, ...]:
        match name_of(message, "id"):
            case "atoll:1" if "result" in message:
                self._ready = True
                return ({"method": "initialized"}, *self.look())
            case "atoll:2":
                loaded = _texts(read_object(message, "result").get("data"))
                fresh = [thread for thread in loaded if thread not in self._threads][:MAX_THREADS]
                self._threads = {*fresh, *(thread for thread in loaded if thread in self._threads)}
                return tuple(_resume(thread) for thread in fresh)
            case _:
                return ()

    def _requested(self, message: Message, method: str, params: Message) -> ServerStep:
        name = f"server:{name_of(message, 'id')}"
        question = self._question(name, method, params)
        if question is None or (name not in self._requests and len(self._requests) >= MAX_WAITING):
            return ServerStep()  # the TUI has it, too
        self._requests[name] = _Request(message["id"], method, params)
        return ServerStep(asks=question)

    def _question(self, name: str, method: str, params: Message) -> TerminalQuestion | None:
        match method:
            case "item/commandExecution/requestApproval":
                return _approval(name, params, command_text(params))
            case "item/fileChange/requestApproval":
                return _approval(name, params, self._changes.get(read_text(params, "itemId"), ""))
            case "item/tool/requestUserInput":
                asked = question_parts(params)
                whole = len(asked) == len(read_objects(params, "questions")) <= MAX_PARTS
                if not asked or not whole or _is_secret(params):
                    return None
                return TerminalQuestion(name, CardKind.QUESTION, QUESTION_TITLE, asked)
            case _:
                return None

    def _settled(self, request: str) -> str:
        return f"server:{request}" if self._requests.pop(f"server:{request}", None) else ""

    def _remember(self, item: Message) -> None:
        """Remember what an item would change: the request for it does not repeat that."""
        card = item_card(item, done=False)
        if card is not None and card.kind is CardKind.DIFF:
            remember(self._changes, card.id, _lines(card))


def share_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the argv that starts a server beside the TUI of `argv`, which becomes its client.

    The settings of the command line go to both. Without its server the TUI starts alone. The server
    is a child of the terminal's leader, so that a pause and a stop reach it, and ends with the TUI.
    """
    before = argv[: argv.index("--")] if "--" in argv else argv
    settings = [word for flag, value in pairwise(before) if flag == "-c" for word in (flag, value)]
    first = [word for word in before if word == _TRUSTS]
    rest = [word for word in before[1:] if word not in (_TRUSTS, _ALONE)] + [*argv[len(before) :]]
    script = _SHARE.replace("{settings}", shlex.join(settings)).replace("{alone}", _ALONE)
    return ("sh", "-c", script, argv[0], *first, *rest)


_TRUSTS, _ALONE = "--dangerously-bypass-hook-trust", "--no-daemon"
SOCKET_SUFFIX = ".server"
"""Suffix of the socket beside the report pipe at which the server listens."""
_SHARE = (
    f's="$ATOLL_EAR{SOCKET_SUFFIX}"; '
    '"$0" app-server --listen "unix://$s" {settings} </dev/null >/dev/null 2>&1 & p=$!; i=0; '
    'while [ ! -S "$s" ] && [ "$i" -lt 200 ] && kill -0 "$p"; do i=$((i + 1)); sleep 0.05; done; '
    '[ -S "$s" ] || { kill "$p"; exec "$0" {alone} "$@"; }; '
    '"$0" --remote "unix://$s" "$@"; c=$?; kill "$p"; rm -f "$s"; '
    '[ "$c" -le 128 ] || kill -"$((c - 128))" "$$"; exit "$c"'
)
CONNECT_SCRIPT = (
    'i=0; until [ -S "$1" ]; do i=$((i + 1)); [ "$i" -lt 300 ] || exit 1; sleep 0.1; done; '
    'exec codex app-server proxy --sock "$1"'
)
"""A program that passes bytes to the server of the socket that its argument names."""


def _resume(thread: str) -> Mapping[str, Value]:
    params: dict[str, Value] = {"threadId": thread, "excludeTurns": True}
    return {"id": f"atoll:{thread}", "method": "thread/resume", "params": params}


def _approval(name: str, params: Message, about: str) -> TerminalQuestion | None:
    """Return the question of an approval; None where what it allows cannot be spelled out."""
    if not about:
        return None
    names = _texts(params.get("availableDecisions")) or ["accept", "decline"]
    options = tuple(Option(name, *DECISIONS[name]) for name in names if name in DECISIONS)
    reason = read_text(params, "reason") or "Allow this?"
    return TerminalQuestion(name, CardKind.APPROVAL, reason, (QuestionPart(about, options),))


def _texts(given: Value) -> list[str]:
    return [word for word in given if isinstance(word, str)] if isinstance(given, list) else []


def _is_secret(params: Message) -> bool:
    return any(asked.get("isSecret") is True for asked in read_objects(params, "questions"))


def _lines(card: Draft) -> str:
    return "\n".join(line for line in (card.title, card.text) if line)
