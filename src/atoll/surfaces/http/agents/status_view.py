"""Status of an agent, as the API shows it, everywhere the same."""

from typing import Literal

from atoll.surfaces.http.body.fields import ResponseModel
from atoll.wire.contract.agents import StatusKind


class StatusOptionView(ResponseModel):
    """A possible answer."""

    id: str
    label: str
    effect: str


class StatusView(ResponseModel):
    """Status of an agent. `since` is when that began; `on` is the last tool or sentence. Where it
    needs its person, `question` is on the card `card`, and `answer` says how to answer: by the
    agent's `protocol` (with one of `options`, or in words where `words` is true), or at its
    `terminal`. `commits`, `plus` and `minus` are null where they are not known."""

    status: StatusKind
    since: str
    on: str
    question: str
    card: str
    answer: Literal["", "protocol", "terminal"]
    options: list[StatusOptionView]
    words: bool
    turns: int
    reason: str
    commits: int | None
    plus: int | None
    minus: int | None


class SandboxAgentView(ResponseModel):
    """An agent of a sandbox, and what it does."""

    id: str
    agent: str
    mode: str
    status: StatusView
