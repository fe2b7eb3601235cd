"""Lines of the Agent Client Protocol as a conversation writes and reads them, and steps of it."""

from collections.abc import Sequence
from dataclasses import replace

from atoll.domain.agent.card import Draft, Said, Value
from atoll.domain.agent.conversation import Outgoing, Step
from atoll.domain.agent.lenient_json import Message, part, text


def after(first: Step, then: Step) -> Step:
    """Return two steps as one."""
    return replace(
        first,
        said=first.said + then.said,
        send=first.send + then.send,
        replies=first.replies + then.replies,
        events=first.events + then.events,
    )


def allowing(said: Sequence[Said]) -> list[str]:
    """Return the options that allow what a permission is about."""
    drafts = [one for one in said if isinstance(one, Draft)]
    return [one.id for draft in drafts for one in draft.options or () if one.effect == "allow"]


def error_of(message: Message) -> str:
    """Return the text of an error, with the reason that its data gives."""
    error = part(message, "error")
    more = text(part(error, "data"), "message", "details")
    return ": ".join(filter(None, (text(error, "message"), more)))


def selected(number: Value, option: str) -> Outgoing:
    return rpc(id=number, result={"outcome": {"outcome": "selected", "optionId": option}})


def rpc(**fields: Value) -> Outgoing:
    return {"jsonrpc": "2.0", **fields}


def servers(tools_url: str, able: Message) -> list[Value]:
    """Return the servers of a session: that of Atoll's tools, for an agent that is `able` to dial
    one."""
    if not tools_url or part(able, "mcpCapabilities").get("http") is not True:
        return []
    return [{"type": "http", "name": "atoll", "url": tools_url, "headers": []}]
