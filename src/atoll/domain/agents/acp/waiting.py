"""Requests of an agent that wait for a person: permissions, and questions, by the protocol's words.

Options of a permission are known by their `kind`: their ids differ from agent to agent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atoll.domain.agents.acp.forms import DECLINE, Form, fill_form
from atoll.domain.agents.acp.messages import rpc
from atoll.domain.agents.acp.threads import AcpThread
from atoll.domain.agents.card import Card, Value
from atoll.domain.agents.conversation import Outgoing, check_option
from atoll.domain.agents.lenient_json import Message, read_text


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """A request that waits: its number, the thread it is of, and the form it shows. `accepting` is
    the option that sends the answers of a form which came as a permission."""

    number: Value
    thread: AcpThread
    form: Form | None = None
    accepting: str = ""

    def reply(
        self, card: Card, option: str | None, words: str | None, answers: Mapping[str, str]
    ) -> tuple[Outgoing, bool]:
        """Return the answer, and whether it accepts. Raises `Invalid`."""
        if self.form is None:
            decision = check_option(card, option)
            effect = next(option.effect for option in card.options if option.id == decision)
            return select(self.number, decision), effect == "allow"
        if option == DECLINE:
            declined = self.cancel() if self.accepting else _act_on_form(self.number, "decline")
            return declined, False
        content = fill_form(self.form, option, words, answers)
        if self.accepting:
            outcome: dict[str, Value] = {"outcome": "selected", "optionId": self.accepting}
            return rpc(id=self.number, result={"outcome": outcome, "answers": content}), True
        result: dict[str, Value] = {"action": "accept", "content": content}
        return rpc(id=self.number, result=result), True

    def cancel(self) -> Outgoing:
        """Return the answer that breaks it off."""
        if self.form is not None and not self.accepting:
            return _act_on_form(self.number, "cancel")
        return rpc(id=self.number, result={"outcome": {"outcome": "cancelled"}})


def find_allowing(options: Sequence[Message]) -> str:
    """Return the option that allows what is asked: once, where it can be; empty without one."""
    kinds = {
        read_text(option, "kind"): read_text(option, "optionId") for option in reversed(options)
    }
    return kinds.get("allow_once") or kinds.get("allow_always") or ""


def select(number: Value, option: str) -> Outgoing:
    """Return the answer that selects an option of a permission."""
    return rpc(id=number, result={"outcome": {"outcome": "selected", "optionId": option}})


def _act_on_form(number: Value, action: str) -> Outgoing:
    return rpc(id=number, result={"action": action})
