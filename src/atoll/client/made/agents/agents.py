"""Agents: those of an installation, what they do, and the shapes of it.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Transport, get, post

ReadinessState = Literal["works", "key_missing", "not_installed", "unavailable"]


class StatusOption(Shape):
    """A possible answer."""

    id = fields.text()
    label = fields.text()
    effect = fields.text()


class AgentStatus(Shape):
    """Status of an agent. `since` is when that began; `on` is the last tool or sentence. Where
    it needs its person, `question` is on the card `card`, and `answer` says how to answer: by
    the agent's `protocol` (with one of `options`, or in words where `words` is true), or at its
    `terminal`. `commits`, `plus` and `minus` are null where they are not known."""

    status: Field[Literal["working", "needs_you", "done", "idle", "stopped", "failed"]] = (
        fields.word()
    )
    since = fields.text()
    on = fields.text()
    question = fields.text()
    card = fields.text()
    answer: Field[Literal["", "protocol", "terminal"]] = fields.word()
    options = fields.many(StatusOption)
    words = fields.flag()
    turns = fields.number()
    reason = fields.text()
    commits = fields.number()
    plus = fields.number()
    minus = fields.number()


class Install(Shape):
    """An install. `expected` is 0 when nobody knows; `failed` says why it ended."""

    bytes = fields.number()
    expected = fields.number()
    failed = fields.text()


class CatalogueEntry(Shape):
    """An agent of this installation. `mend` says what to do about `reason`; `prompts`: it takes
    a task, `machine`: programs may drive it, `asks_at_terminal`: there, too, it can be told to
    ask before it acts."""

    name = fields.text()
    aliases = fields.texts()
    state: Field[ReadinessState] = fields.word()
    reason = fields.text()
    mend = fields.text()
    providers = fields.texts()
    about_mib = fields.number()
    installable = fields.flag()
    prompts = fields.flag()
    machine = fields.flag()
    asks_at_terminal = fields.flag()
    install = fields.one(Install)


class CatalogueList(Shape):
    """Every agent, those that work first."""

    agents = fields.many(CatalogueEntry)


class PlacedAgent(Shape):
    """An agent, its sandbox, and what it does."""

    sandbox_id = fields.text()
    sandbox_name = fields.text()
    sandbox_state = fields.text()
    id = fields.text()
    agent = fields.text()
    mode = fields.text()
    status = fields.one(AgentStatus)


class PlacedAgentList(Shape):
    """The agents of all sandboxes, those that need their person first."""

    agents = fields.many(PlacedAgent)
    next = fields.text()


class PlainAgentCatalogue:
    """The agents of an installation. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> CatalogueList:
        """Return every agent Atoll knows, and whether it works here."""
        return self._transport.read(CatalogueList, get("agent-catalogue"))

    def install(self, name: str) -> Install:
        """Install the pinned version of an agent; the catalogue shows the progress."""
        return self._transport.read(Install, post("agent-catalogue", name, "install"))
