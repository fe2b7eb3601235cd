"""What a runtime reports about an agent, and how often."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest
from msgspec.structs import replace

from atoll.domain.agents.card import Began, CardKind, CardState, Draft, Ended, Option, Yielded
from atoll.domain.agents.status import CALLS, QUIET, SHOWS, AttentionBudget
from atoll.ports.spawner import Process
from atoll.runtime.agents import reporting
from atoll.runtime.agents.neighbours import AgentChannel
from atoll.runtime.agents.session import AgentSession, SessionContext
from atoll.runtime.agents.status import AgentStatus, Identity

START = "2026-01-02T00:00:00Z"
ASKS = Draft(
    "approval:1",
    CardKind.APPROVAL,
    CardState.PENDING,
    title="Allow Bash?",
    text="npm publish",
    options=(Option("allow", "Allow", "allow"),),
    data={"answerable": True},
)
TURN = Draft("turn:1", CardKind.TURN, CardState.RUNNING)


class Reported:
    """A session of an agent, and the statuses it wrote into the journal."""

    def __init__(self, *, attention: AttentionBudget | None = None, name: str = "t_1") -> None:
        self.entries: list[Mapping[str, Any]] = []
        self.wrote = asyncio.Event()
        context = SessionContext(
            self._record,
            lambda text: text,
            lambda *_: None,
            lambda _: None,
            attention=attention or AttentionBudget(),
        )
        status = AgentStatus(Identity(name, "codex", "machine", START), reports_turns=True)
        self.session = AgentSession(status, cast(Process, None), cast(AgentChannel, None), context)

    def _record(self, kind: str, payload: Mapping[str, object]) -> None:
        if kind == "agent.status":
            self.entries.append(payload)
            self.wrote.set()

    @property
    def kinds(self) -> list[str]:
        return [entry["status"] for entry in self.entries]


async def test_turn_that_asks_is_reported_at_each_change() -> None:
    one = Reported()
    one.session.heard([Began(), TURN])
    one.session.heard([ASKS, Yielded()])
    one.session.heard([replace(ASKS, state=CardState.DONE), Began()])
    one.session.heard([replace(TURN, state=CardState.DONE), Yielded()])
    assert one.kinds == ["working", "needs_you", "working", "done"]
    asked = one.entries[1]
    assert (asked["id"], asked["agent"], asked["mode"]) == ("t_1", "codex", "machine")
    assert (asked["question"], asked["card"]) == ("Allow Bash? npm publish", "approval:1")
    assert list(asked["options"]) == [{"id": "allow", "label": "Allow", "effect": "allow"}]
    shown = one.session.shown().status
    assert shown is not None and (shown.status, shown.turns) == ("done", 1)


async def test_output_of_an_agent_that_reports_nothing_is_working_and_silence_idle() -> None:
    one = Reported()
    one.session.shows(active=True)
    one.session.shows(active=False)
    assert one.kinds == ["working", "idle"]
    assert one.entries[0]["on"] == SHOWS and one.entries[1]["reason"] == QUIET
    # What a person says of it counts while the output goes on.
    one.session.shows(active=True)
    one.session.give()
    one.session.shows(active=False)
    assert one.kinds[2:] == ["working", "done"]
    assert one.session.lock.state == "running"


async def test_question_at_the_terminal_ends_with_its_turn() -> None:
    # Hooks report no interrupt: the card of the question stays as it was.
    one = Reported()
    asks = Draft("asking:1", CardKind.STATUS, CardState.PENDING, title="The agent asks for you")
    one.session.heard([Began()])
    one.session.heard([asks, Yielded()])
    one.session.heard([Ended(CardState.DECLINED)])
    assert one.kinds == ["working", "needs_you", "idle"]


async def test_killed_agent_failed_and_a_stopped_one_did_not() -> None:
    killed, left = Reported(), Reported()
    for one in (killed, left):
        one.session.heard([Began(), ASKS, Yielded()])
    killed.session.ended("Signal KILL ended it.")
    left.session.ended()
    assert (killed.kinds[-1], killed.entries[-1]["reason"]) == ("failed", "Signal KILL ended it.")
    assert (left.kinds[-1], left.entries[-1]["question"]) == ("stopped", "")


async def test_failed_turn_gives_its_reason() -> None:
    one = Reported()
    failed = Draft("end:1", CardKind.STATUS, CardState.FAILED, title="Failed", text="no key")
    one.session.heard([Began(), failed, replace(TURN, state=CardState.FAILED), Yielded()])
    assert (one.entries[-1]["status"], one.entries[-1]["reason"]) == ("failed", "no key")


async def test_turn_begins_with_its_prompt_and_without_what_the_last_one_did() -> None:
    one = Reported()
    asked = Draft("user:1", CardKind.TEXT, CardState.DONE, text="Fix it", data={"role": "person"})
    one.session.heard([Began(), asked])
    one.session.heard([Draft("c1", CardKind.BASH, CardState.DONE, title="npm test"), Ended()])
    one.session.heard([Began()])
    assert [(entry["status"], entry["on"]) for entry in one.entries] == [
        ("working", "Fix it"),
        ("done", "npm test"),
        ("working", ""),
    ]


async def test_agent_started_with_a_prompt_works_before_its_hook_reports_that() -> None:
    one = Reported()
    one.session.prompted("Fix it\nand test it")
    one.session.heard([Yielded()])  # the hook of its start
    assert (one.kinds, one.entries[0]["on"]) == (["working"], "Fix it")
    one.session.heard([Began()])
    one.session.heard([Ended()])
    assert one.kinds == ["working", "done"]


async def test_failed_turn_stays_failed_where_another_source_says_that_it_is_over() -> None:
    one = Reported()
    failed = Draft("end:1", CardKind.STATUS, CardState.FAILED, title="Failed", text="no key")
    one.session.heard([Began()])
    one.session.heard([failed, replace(TURN, state=CardState.FAILED)], turns=False)
    one.session.heard([Ended()])
    assert (one.entries[-1]["status"], one.entries[-1]["reason"]) == ("failed", "no key")
    one.session.heard([Began()])
    one.session.heard([Ended()])
    assert one.kinds[-1] == "done"


async def test_cards_of_an_earlier_conversation_say_nothing() -> None:
    one = Reported()
    old = "2026-01-01T00:00:00Z"
    one.session.heard([ASKS, replace(TURN, state=CardState.FAILED)], turns=False, at=old)
    assert one.kinds == []


async def test_tools_alone_are_reported_at_most_every_few_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reporting, "HEADLINE_SECONDS", 0.05)
    one = Reported()
    one.session.heard([Began()])
    for number in range(50):
        one.session.heard([Draft(f"c{number}", CardKind.BASH, CardState.DONE, title=f"{number}")])
    assert one.kinds == ["working"]
    one.wrote.clear()
    async with asyncio.timeout(10):
        await one.wrote.wait()
    assert one.entries[1]["on"] == "49"
    assert one.entries[1]["since"] == one.entries[0]["since"]
    assert [entry["begins"] for entry in one.entries] == [True, False]


async def test_agents_of_one_sandbox_call_a_bounded_number_of_times_a_minute() -> None:
    attention = AttentionBudget()
    first, second = Reported(attention=attention), Reported(attention=attention, name="t_2")
    for one in (first, second):
        for number in range(2 * CALLS):
            one.session.heard([Began(), replace(ASKS, id=f"approval:{number}"), Yielded()])
            done = replace(ASKS, id=f"approval:{number}", state=CardState.DONE)
            one.session.heard([done, Began()])
    calls = [*first.kinds, *second.kinds].count("needs_you")
    assert calls == CALLS
    assert (first.kinds[-1], set(second.kinds)) == ("working", {"working"})


async def test_question_at_a_terminal_that_two_sources_report_is_one_call() -> None:
    one = Reported()
    hook = Draft("asking:1", CardKind.STATUS, CardState.PENDING, title="The agent asks you")
    own = Draft("call:1", CardKind.QUESTION, CardState.PENDING, title="The agent asks", text="A?")
    one.session.heard([Began()])
    one.session.heard([hook, Yielded()])
    one.session.heard([own], turns=False)
    assert one.kinds == ["working", "needs_you", "needs_you"]
    assert [entry["begins"] for entry in one.entries] == [True, True, False]
    assert one.entries[-1]["question"] == "A?"
