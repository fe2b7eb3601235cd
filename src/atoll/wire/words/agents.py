"""Words and bounds of agents."""

from enum import StrEnum
from typing import Final

MAX_AGENTS: Final = 256
"""The agents Atoll knows, and those that were added."""

MAX_PROMPT: Final = 256 * 1024


class ReadinessState(StrEnum):
    """The state of an agent. `unavailable`: neither installing it nor a key helps."""

    WORKS = "works"
    KEY_MISSING = "key_missing"
    NOT_INSTALLED = "not_installed"
    UNAVAILABLE = "unavailable"
