"""Cards: what an agent does, as small things a phone can show (docs/program/cards.md is the
contract).

A `Draft` is what a translator of one agent's own output says; a `Card` is what readers get.
Nothing here knows any agent, and nothing is sent from here.
"""

from enum import StrEnum
from typing import TypeAlias

import msgspec

VERSION = 1
MAX_TEXT = 64 * 1024
MAX_TITLE = 300
MAX_OPTIONS = 16
MAX_DATA_TEXT = 8 * 1024
QUESTION_TITLE = "The agent asks"
"""The title of a question that has none of its own."""

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"


class CardKind(StrEnum):
    """The kind of a card. A reader that does not know a kind shows title and text."""

    TEXT = "text"
    THINKING = "thinking"
    TOOL_CALL = "tool-call"
    BASH = "bash"
    DIFF = "diff"
    FILE = "file"
    PLAN = "plan"
    QUESTION = "question"
    APPROVAL = "approval"
    PREVIEW_LINK = "preview-link"
    STATUS = "status"
    TURN = "turn"


class CardState(StrEnum):
    """The progress of a card. `pending` waits for a person; the last three are final."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    DECLINED = "declined"


class Option(msgspec.Struct, frozen=True):
    """A possible answer. `effect` decides a button's colour: allow, deny or neither."""

    id: str
    label: str
    effect: str = "other"


class Draft(msgspec.Struct, frozen=True):
    """A card, or what changed of one: None keeps what it had. With `append`, `text` is appended to
    the present text. `data` is merged over the present data."""

    id: str
    kind: CardKind
    state: CardState | None = None
    title: str | None = None
    text: str | None = None
    data: dict[str, Value] | None = None
    options: tuple[Option, ...] | None = None
    append: bool = False


class Card(msgspec.Struct, frozen=True):
    """A card as readers get it. `n` is its place in the order, from 1; `seq` the place of this
    revision among all changes; `rev` counts its revisions. `cut`: the text was too long."""

    seq: int
    n: int
    id: str
    rev: int
    kind: CardKind
    state: CardState
    at: str
    title: str = ""
    text: str = ""
    data: dict[str, Value] = {}
    options: tuple[Option, ...] = ()
    cut: bool = False
    v: int = VERSION


class Began(msgspec.Struct, frozen=True):
    """The agent was given a prompt and works from now on."""


class Worked(msgspec.Struct, frozen=True):
    """An event: the agent acted, in its turn or in background work."""


class Yielded(msgspec.Struct, frozen=True):
    """The agent is done, or waits for its person. Only `Ended` means that its turn is over."""


class Ended(msgspec.Struct, frozen=True):
    """The agent's turn is over, and every other turn that still runs: an agent does not always
    record that one ended."""

    state: CardState = CardState.DONE


class Interrupted(msgspec.Struct, frozen=True):
    """The agent's turn was interrupted. Hooks never report this, so it is a report of its own."""


AgentReport: TypeAlias = Draft | Began | Worked | Yielded | Ended | Interrupted
"""The reports that a translator makes of one message."""


def own_title(title: str, text: str) -> str:
    """Return the title of a question; an empty one where its text says all."""
    return "" if title == QUESTION_TITLE and text else title
