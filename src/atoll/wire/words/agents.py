"""Words and bounds of agents, their logins and tools, and of the inbox."""

from enum import IntEnum, StrEnum
from typing import Final

MAX_AGENTS: Final = 256
"""The agents Atoll knows, and those that were added."""

MAX_PROMPT: Final = 256 * 1024

MAX_PASTED: Final = 8192

MAX_EXPOSED: Final = 20
"""The bound on the sandboxes and profiles that one login is exposed to."""

MAX_TOOLS: Final = 1000

MAX_CARDS: Final = 2000
"""The cards of an agent that are kept."""


class ReadinessState(StrEnum):
    """The state of an agent. `unavailable`: neither installing it nor a key helps."""

    WORKS = "works"
    KEY_MISSING = "key_missing"
    NOT_INSTALLED = "not_installed"
    UNAVAILABLE = "unavailable"


class ItemKind(StrEnum):
    """The kind of an item: an approval of a secret, a command, a host or a call of a tool, an
    agent's request, a held push, a sandbox's end, a task whose set-up failed, a rebase or merge
    that stopped at a conflict, a mention or a todo on a dashboard, or an agent's login that
    broke."""

    SECRET = "secret"  # noqa: S105  # a word, no value
    COMMAND = "command"
    HOST = "host"
    TOOL = "tool"
    AGENT = "agent"
    PUSH = "push"
    END = "end"
    SETUP = "setup"
    CONFLICT = "conflict"
    MENTION = "mention"
    TODO = "todo"
    LOGIN = "login"


class AnswerBy(StrEnum):
    """The way to answer: a person decides an approval, a held push or an end, an agent takes the
    answer by its protocol, or at its terminal only."""

    PERSON = "person"
    PROTOCOL = "protocol"
    TERMINAL = "terminal"


class LoginMethod(IntEnum):
    """The method of a login, by the numbers that clients send."""

    BROWSER = 0
    DEVICE = 1
    API_KEY = 2


class LoginState(StrEnum):
    """The state of a login. Of the first three each can change; the others are final."""

    REQUESTED = "requested"
    PENDING = "pending"
    READY = "ready"
    DENIED = "denied"
    EXPIRED = "expired"
    FAILED = "failed"
    REVOKED = "revoked"


class ToolMissing(StrEnum):
    """The reason why agents inside do not have a tool."""

    NOT_INSIDE = "not_inside"
    NOT_CONFIGURED = "not_configured"
    TOOLS_OFF = "tools_off"
    DENIED_BY_PROFILE = "denied_by_profile"
    NOT_IN_PROFILE = "not_in_profile"
    NO_PERMISSION = "no_permission"


class ToolRule(StrEnum):
    """The answer to a call of a tool by an agent inside."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"
