"""The questions that Atoll's plugin of opencode waits with: permissions and the agent's questions.

The plugin runs the command of a hook that waits, with the event as opencode 1.18.33 sends it in
`request`, and passes the reply on to opencode's own server as it is.
"""

from collections.abc import Mapping

import msgspec

from atoll.domain.agents.card import QUESTION_TITLE, CardKind, Option, Value
from atoll.domain.agents.lenient_json import Message, read_object, read_objects, read_text
from atoll.domain.agents.terminal_question import (
    MAX_PARTS,
    QuestionPart,
    TerminalQuestion,
    question_parts,
)

_DECISIONS = (
    Option("once", "Allow once", "allow"),
    Option("always", "Allow always", "allow"),
    Option("reject", "Reject", "deny"),
)


class OpencodeHeld:
    """See `HeldQuestions`."""

    def read(self, card_id: str, message: Message) -> TerminalQuestion | None:
        """Return the question of an event."""
        request = read_object(message, "request")
        if "questions" in request:
            asked = question_parts(request)
            if not asked or len(asked) != len(read_objects(request, "questions")):
                return None
            if len(asked) > MAX_PARTS:
                return None
            return TerminalQuestion(card_id, CardKind.QUESTION, QUESTION_TITLE, asked)
        permission = read_text(request, "permission")
        if not permission:
            return None
        about = QuestionPart(_spell_request(request), _DECISIONS)
        return TerminalQuestion(card_id, CardKind.APPROVAL, f"Allow {permission}?", (about,))

    def reply(self, message: Message, question: TerminalQuestion) -> Mapping[str, object]:
        """Return the body of the reply for opencode's server."""
        if question.kind is CardKind.QUESTION:
            return {"answers": [[label] for label in question.labels()]}
        return {"reply": question.answers[0].option}

    def settles(self, message: Message, line: str) -> bool:
        """Return False: the plugin ends its hook once opencode has a reply."""
        return False


def _spell_request(request: Message) -> str:
    """Return what exactly an answer allows, and what `always` would."""
    more = read_object(request, "metadata")
    known = [read_text(more, name) for name in ("command", "filepath", "diff", "url")]
    about = "\n".join(filter(None, known)) or "\n".join(_texts(request.get("patterns")))
    always = ", ".join(_texts(request.get("always")))
    lines = (
        about or msgspec.json.encode({**more}).decode(),
        f"Allow always covers: {always}" if always else "",
    )
    return "\n".join(line for line in lines if line)


def _texts(given: Value) -> list[str]:
    return [word for word in given if isinstance(word, str)] if isinstance(given, list) else []


HELD_QUESTIONS = {"opencode": OpencodeHeld}
