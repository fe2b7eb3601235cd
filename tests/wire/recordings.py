"""Terminal sessions of real agents, recorded: their output as one stream of bytes."""

import json

from tests.places import TESTS

FOLDER = TESTS / "fixtures"
NAMES = ("claude-tui", "codex-tui", "opencode-tui", "qwen-tui")


def output(name: str) -> bytes:
    """Everything the recorded program printed."""
    lines = (FOLDER / f"{name}.cast").read_text("utf-8").splitlines()[1:]
    events = [json.loads(line) for line in lines]
    return "".join(text for _, kind, text in events if kind == "o").encode()
