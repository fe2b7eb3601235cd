"""What a scripted model answers, read from the prompt that is open in a conversation.

    [[tool NAME {json}]]   a call of that tool, until its result is there
    [[hold NAME]]          nothing, until the test releases NAME
    [[fail]]               an error of the provider
    [[say TEXT]]           this text in place of the usual one

Nothing here knows a provider's protocol: the model server passes texts and results in order.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

SCRIPT = re.compile(r"\[\[tool (\w+) (\{.*?\})\]\]", re.DOTALL)
_HOLD = re.compile(r"\[\[hold (\S+)\]\]")
_SAY = re.compile(r"\[\[say (.*?)\]\]", re.DOTALL)
_FAIL = "[[fail]]"
REFUSAL = "The provider refused: this account has no credit left."


@dataclass(frozen=True)
class Cue:
    """What comes next; `tool` is None once its result is there."""

    tool: tuple[str, str] | None = None
    hold: str = ""
    fails: bool = False
    says: str = ""


RESULT = None
"""Stands in `cue_of` for the result of a tool."""


def cue_of(parts: Iterable[str | None]) -> Cue:
    """Return the cue of a conversation: texts of the person's side, and `RESULT`s, in order."""
    cue = Cue()
    for part in parts:
        if part is RESULT:
            cue = Cue(says=cue.says)
        elif "[[" in part:
            cue = _read(part) or cue
    return cue


def _read(text: str) -> Cue | None:
    tools, holds, says = SCRIPT.findall(text), _HOLD.findall(text), _SAY.findall(text)
    if not (tools or holds or says or _FAIL in text):
        return None
    return Cue(
        tools[-1] if tools else None,
        holds[-1] if holds else "",
        _FAIL in text,
        says[-1] if says else "",
    )


def with_scripts(body: str, scripts: dict[str, str]) -> str:
    """Return the body of a request, with each sentence followed by its script."""
    for sentence, script in scripts.items():
        plain, cued = (json.dumps(one)[1:-1] for one in (sentence, f"{sentence} {script}"))
        body = body.replace(plain, cued)
    return body
