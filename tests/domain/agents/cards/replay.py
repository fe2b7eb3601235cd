"""Recorded conversations of real agents as cards, the way a runtime would make them.

`python -m tests.domain.agents.cards.replay` writes the golden files anew; read the difference.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

from atoll.domain.agents.acp.cards import AcpCards
from atoll.domain.agents.card import AgentReport, Began, Card, Draft, Interrupted, Yielded
from atoll.domain.agents.card_log import CardLog
from atoll.domain.agents.claude_code.cards import ClaudeCards
from atoll.domain.agents.codex.cards import CodexCards
from atoll.domain.agents.codex.files import CodexExecCards, CodexRolloutCards
from atoll.domain.agents.conversation import Step
from atoll.domain.agents.lenient_json import Message
from atoll.domain.agents.message_parts.cards import GeminiCards, QwenCards
from atoll.domain.agents.opencode.cards import OpencodeCards
from tests.places import TESTS

FIXTURES = TESTS / "fixtures" / "agents"
AT = "2026-01-01T00:00:00.000Z"


def fields(message: Message, *path: str) -> Message:
    """Return the object inside a message at this path."""
    for name in path:
        inner = message[name]
        assert isinstance(inner, dict)
        message = inner
    return message


def first_draft(step: Step) -> Draft:
    """Return the first thing a step says, a card's draft."""
    draft = step.said[0]
    assert isinstance(draft, Draft)
    return draft


def claude_stream(lines: list[Any]) -> Iterator[AgentReport]:
    cards = ClaudeCards()
    for line in lines:
        message = line["msg"]
        if line["dir"] == "out":
            yield from cards.take(message)
        elif message["type"] == "user":
            yield from cards.asked(message["message"]["content"][0]["text"])
        elif message["type"] == "control_response":
            response = message["response"]
            accepted = response["response"]["behavior"] == "allow"
            yield from cards.answered(response["request_id"], accepted=accepted)


def codex_server(lines: list[Any]) -> Iterator[AgentReport]:
    cards = CodexCards()
    for line in lines:
        if line["dir"] == "out":
            yield from cards.take(line["msg"])
        elif "result" in line["msg"]:
            yield from cards.answered(str(line["msg"]["id"]), accepted=True)


def acp(lines: list[Any]) -> Iterator[AgentReport]:
    cards, prompt = AcpCards(), None
    for line in lines:
        message = line["msg"]
        if line["dir"] == "out" and "result" in message and message["id"] == prompt:
            yield from cards.ended(message["result"]["stopReason"])
        elif line["dir"] == "out":
            yield from cards.take(message)
        elif message.get("method") == "session/prompt":
            prompt = message["id"]
            yield from cards.asked(message["params"]["prompt"][0]["text"])
        elif "result" in message:
            yield from cards.answered(str(message["id"]), accepted=True)


class Plain(Protocol):
    def take(self, message: Message) -> list[AgentReport]: ...


PLAIN: dict[str, Callable[[], Plain]] = {
    "claude-transcript": ClaudeCards,
    "codex-exec": CodexExecCards,
    "codex-rollout": CodexRolloutCards,
    "gemini-transcript": GeminiCards,
    "opencode-events": OpencodeCards,
    "qwen-transcript": QwenCards,
}


def plain(cards: Plain, lines: list[Any]) -> Iterator[AgentReport]:
    for line in lines:
        yield from cards.take(line)


def said(name: str) -> list[AgentReport]:
    """Everything a recording says."""
    lines = [json.loads(line) for line in (FIXTURES / f"{name}.jsonl").read_text().splitlines()]
    match name:
        case "claude-stream-json":
            return list(claude_stream(lines))
        case "codex-app-server":
            return list(codex_server(lines))
        case _ if name in PLAIN:
            return list(plain(PLAIN[name](), lines))
        case _:
            return list(acp(lines))


NAMES = sorted(path.stem for path in FIXTURES.glob("*.jsonl"))


def cards(name: str) -> list[Card]:
    """The cards of a recording at its end."""
    log = CardLog()
    for one in said(name):
        if isinstance(one, Draft):
            log.put(one, AT)
    return log.all()


def story(name: str) -> dict[str, Any]:
    """Cards at the end, and the way the lock went."""
    words = {Began: "began", Yielded: "yielded", Interrupted: "interrupted"}
    went = [words[type(one)] for one in said(name) if not isinstance(one, Draft)]
    shown = [
        {key: value for key, value in msgspec.to_builtins(card).items() if key not in ("at", "v")}
        for card in cards(name)
    ]
    turns = [word for at, word in enumerate(went) if at == 0 or went[at - 1] != word]
    return {"lock": turns, "cards": shown}


def golden(name: str) -> Path:
    """Where the expected story stands."""
    return FIXTURES / f"{name}.cards.json"


if __name__ == "__main__":
    for each in NAMES:
        golden(each).write_text(json.dumps(story(each), indent=1, ensure_ascii=False) + "\n")
