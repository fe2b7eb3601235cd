"""Words of the inbox."""

from enum import StrEnum


class ItemKind(StrEnum):
    """The kind of an item: an approval of a secret, a command, a host or a call of a tool, an
    agent's request, a held push, a sandbox's end, a task whose set-up failed, a mention or a todo
    on a dashboard, or an agent's login that broke."""

    SECRET = "secret"  # noqa: S105  # a word, no value
    COMMAND = "command"
    HOST = "host"
    TOOL = "tool"
    AGENT = "agent"
    PUSH = "push"
    END = "end"
    SETUP = "setup"
    MENTION = "mention"
    TODO = "todo"
    LOGIN = "login"


class AnswerBy(StrEnum):
    """The way to answer: a person decides an approval, a held push or an end, an agent takes the
    answer by its protocol, or at its terminal only."""

    PERSON = "person"
    PROTOCOL = "protocol"
    TERMINAL = "terminal"
