"""The readers of what agents say, found where they lie: in the packages beside this module.

Any module there may define `TRANSCRIPTS`, readers of what an agent at a terminal writes down,
`CONVERSATIONS`, the machine modes it speaks, and `HELD_QUESTIONS`, readers of what its hooks wait
with. Their keys are the names that a row of the catalogue gives as `transcript`,
`machine.protocol` and `held`.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Protocol

from atoll.domain import agents as area
from atoll.domain.agents.card import AgentReport
from atoll.domain.agents.conversation import Conversation, Terms
from atoll.domain.agents.held_hooks import HeldQuestions
from atoll.domain.agents.lenient_json import Message

CATALOGUE = "catalogue"
"""The package that holds no readers."""


class Transcript(Protocol):
    """A reader that makes cards of the lines an agent writes down."""

    def take(self, message: Message) -> list[AgentReport]:
        """Return what one line means. Never raises: an agent may write anything."""
        ...


def _modules() -> Iterator[ModuleType]:
    for package in iter_modules(area.__path__):
        if package.ispkg and package.name != CATALOGUE:
            name = f"{area.__name__}.{package.name}"
            for module in iter_modules(import_module(name).__path__):
                yield import_module(f"{name}.{module.name}")


_FOUND = tuple(_modules())

TRANSCRIPTS: Mapping[str, Callable[[], Transcript]] = {
    name: reader for module in _FOUND for name, reader in getattr(module, "TRANSCRIPTS", {}).items()
}

CONVERSATIONS: Mapping[str, Callable[[Terms], Conversation]] = {
    name: conversation
    for module in _FOUND
    for name, conversation in getattr(module, "CONVERSATIONS", {}).items()
}

HELD_QUESTIONS: Mapping[str, Callable[[], HeldQuestions]] = {
    name: reader
    for module in _FOUND
    for name, reader in getattr(module, "HELD_QUESTIONS", {}).items()
}
