"""Lines of the Agent Client Protocol as a conversation writes and reads them, and steps of it."""

from dataclasses import replace

from atoll.domain.agents.card import Value
from atoll.domain.agents.conversation import Outgoing, Step, Terms
from atoll.domain.agents.lenient_json import Message, read_object, read_text


def join_steps(first: Step, then: Step) -> Step:
    """Return two steps as one."""
    return replace(
        first,
        said=first.said + then.said,
        send=first.send + then.send,
        replies=first.replies + then.replies,
        events=first.events + then.events,
    )


def error_of(message: Message) -> str:
    """Return the text of an error, with the reason that its data gives."""
    error = read_object(message, "error")
    more = read_text(read_object(error, "data"), "message", "details")
    return ": ".join(filter(None, (read_text(error, "message"), more)))


def rpc(**fields: Value) -> Outgoing:
    return {"jsonrpc": "2.0", **fields}


def servers(terms: Terms, able: Message) -> list[Value]:
    """Return the servers of a session: that of Atoll's tools, by its address for an agent that is
    `able` to dial one, else by a program, which every agent can start."""
    if terms.tools_url and read_object(able, "mcpCapabilities").get("http") is True:
        return [{"type": "http", "name": "atoll", "url": terms.tools_url, "headers": []}]
    if terms.tools_argv:
        command, *words = terms.tools_argv
        return [{"name": "atoll", "command": command, "args": [*words], "env": []}]
    return []
