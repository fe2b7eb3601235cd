"""What an agent does, from the facts a runtime knows."""

from dataclasses import replace

import pytest
from msgspec import structs

from atoll.domain.agents.card import Card, CardKind, CardState, Option, Value
from atoll.domain.agents.status import (
    CALL_SECONDS,
    CALLS,
    MAX_OPTIONS,
    MAX_QUESTION,
    QUIET,
    SHOWS,
    AgentFacts,
    AttentionBudget,
    failure_of,
    first_status,
    headline,
    line_of,
    step,
    when_sandbox_ended,
)
from atoll.domain.terminals.softlock import AgentState, Work

WORKING = AgentFacts(AgentState.RUNNING, Work.WORKING, on="npm test")
WAITING = AgentFacts(AgentState.RUNNING, Work.WAITING)
FIRST = first_status("t0")


def card(kind: CardKind, *, title: str = "", text: str = "", **more: object) -> Card:
    data: dict[str, Value] = {"answerable": True} if more.get("answerable") else {}
    options = more.get("options", ())
    assert isinstance(options, tuple)
    return Card(
        1, 1, "c1", 1, kind, CardState.PENDING, "t", title, text, data=data, options=options
    )


def test_turn_goes_from_working_to_done_and_counts() -> None:
    working = step(FIRST, WORKING, "t1")
    assert (working.status, working.since, working.on) == ("working", "t1", "npm test")
    done = step(working, replace(WAITING, outcome=CardState.DONE), "t2")
    assert (done.status, done.since, done.turns) == ("done", "t2", 1)
    assert step(done, replace(WAITING, outcome=CardState.DONE), "t3") == done


def test_since_stays_while_only_the_tool_changes() -> None:
    working = step(FIRST, WORKING, "t1")
    assert step(working, replace(WORKING, on="ls"), "t2") == step(
        working, replace(WORKING, on="ls"), "t9"
    )


def test_permission_is_asked_by_protocol_with_its_options() -> None:
    asked = card(
        CardKind.APPROVAL,
        title="Allow Bash?",
        text="rm -rf x\x1b[2J\nls",
        answerable=True,
        options=(
            Option("allow", "Allow\x07", "allow"),
            Option("no\n", "No"),
            Option("b", "B", "x"),
        ),
    )
    status = step(FIRST, replace(WORKING, asked=asked), "t1")
    assert (status.status, status.card, status.answer) == ("needs_you", "c1", "protocol")
    assert status.question == "Allow Bash? rm -rf x [2J ls"
    shown = [(one.id, one.label, one.effect) for one in status.options]
    assert shown == [("allow", "Allow", "allow"), ("b", "B", "other")]
    assert status.words is False
    assert step(status, WORKING, "t2").question == ""


def test_question_of_an_agent_is_answered_in_words() -> None:
    asked = card(CardKind.QUESTION, title="The agent asks", text="Which?", answerable=True)
    status = step(FIRST, replace(WAITING, asked=asked), "t1")
    assert (status.words, status.question) == (True, "Which?")


def test_question_at_a_terminal_has_no_options() -> None:
    asked = card(CardKind.STATUS, title="The agent asks to use Bash", text="Answer it there.")
    status = step(FIRST, replace(WAITING, asked=asked), "t1")
    assert (status.answer, status.options) == ("terminal", ())
    assert status.question == "The agent asks to use Bash"


def test_question_and_options_are_bounded() -> None:
    many = tuple(Option(f"o{n}", "x" * 900) for n in range(50))
    asked = card(CardKind.QUESTION, text="y" * 9000, answerable=True, options=many)
    status = step(FIRST, replace(WAITING, asked=asked), "t1")
    assert len(status.question) == MAX_QUESTION
    assert len(status.options) == MAX_OPTIONS


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (WAITING, ("idle", "")),
        (replace(WAITING, outcome=CardState.DECLINED), ("idle", "Its turn was interrupted.")),
        (replace(WAITING, outcome=CardState.FAILED), ("failed", "Its last turn failed.")),
        (replace(WAITING, outcome=CardState.FAILED, failure="no key"), ("failed", "no key")),
        (replace(WORKING, state=AgentState.PAUSED), ("idle", "It is paused.")),
        (replace(WAITING, state=AgentState.STOPPED), ("stopped", "")),
        (replace(WORKING, state=AgentState.STOPPED, failure="KILL"), ("failed", "KILL")),
    ],
)
def test_facts_decide_the_status(facts: AgentFacts, expected: tuple[str, str]) -> None:
    status = step(FIRST, facts, "t1")
    assert (status.status, status.reason) == expected


def test_agent_without_outcome_is_done_once_it_had_a_turn() -> None:
    done = step(step(FIRST, WORKING, "t1"), replace(WAITING, outcome=CardState.DONE), "t2")
    again = step(step(done, WORKING, "t3"), WAITING, "t4")
    assert (again.status, again.turns) == ("done", 1)


def test_end_of_the_sandbox_ends_what_worked_and_keeps_what_had_ended() -> None:
    working = step(FIRST, WORKING, "t1")
    ended = when_sandbox_ended(working, failed=True, reason="runtime lost", at="t2")
    assert (ended.status, ended.reason, ended.since) == ("failed", "runtime lost", "t2")
    stopped = step(FIRST, replace(WAITING, state=AgentState.STOPPED), "t1")
    assert when_sandbox_ended(stopped, failed=True, reason="x", at="t2") == stopped
    asking = step(FIRST, replace(WAITING, asked=card(CardKind.QUESTION)), "t1")
    ended = when_sandbox_ended(asking, failed=False, reason="", at="t2")
    assert (ended.status, ended.question, ended.card) == ("stopped", "", "")


def test_headline_is_the_tool_the_last_line_the_agent_said_or_the_first_of_its_prompt() -> None:
    assert headline(card(CardKind.BASH, title="npm test")) == "npm test"
    assert headline(card(CardKind.TEXT, text="One.\n\nTwo.\n")) == "Two."
    assert headline(card(CardKind.THINKING, text="hm")) == ""
    person: dict[str, Value] = {"role": "person"}
    prompt = Card(
        1, 1, "c", 1, CardKind.TEXT, CardState.DONE, "t", text="\nFix it.\nSo.", data=person
    )
    assert headline(prompt) == "Fix it."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\x1b[31mb\x9b\u202ec", "a [31mb c"),
        ("  a \n\t b ", "a b"),
        ("x" * 500, "x" * 159 + "…"),
        ("\u200b\u2800", ""),
    ],
)
def test_line_has_no_invisible_character(text: str, line: str) -> None:
    assert line_of(text) == line


def test_calls_are_bounded_in_any_minute() -> None:
    budget = AttentionBudget()
    for second in range(CALLS):
        assert budget.wait(second) == 0.0
        budget.call(second)
    assert budget.wait(10.0) == CALL_SECONDS - 10
    assert budget.wait(CALL_SECONDS) == 0.0
    budget.call(CALL_SECONDS)
    assert budget.wait(CALL_SECONDS) == 1.0


def test_agent_that_reports_nothing_works_while_its_terminal_shows_output() -> None:
    shows = AgentFacts(AgentState.RUNNING, Work.WAITING, on=SHOWS, shows=True)
    working = step(FIRST, shows, "t1")
    assert (working.status, working.since, working.on) == ("working", "t1", SHOWS)
    quiet = step(working, replace(shows, on="", shows=False), "t2")
    assert (quiet.status, quiet.reason, quiet.turns) == ("idle", QUIET, 0)
    done = step(quiet, replace(shows, on="", shows=False, outcome=CardState.DONE), "t3")
    assert done.status == "done"


def test_same_question_by_another_card_is_the_same_at_a_terminal_only() -> None:
    asked = step(FIRST, replace(WAITING, asked=card(CardKind.APPROVAL, title="Run?")), "t1")
    other = structs.replace(card(CardKind.APPROVAL, title="Run?"), id="c2")
    assert step(asked, replace(WAITING, asked=other), "t2").since == "t1"
    protocol = card(CardKind.APPROVAL, title="Run?", answerable=True)
    first = step(FIRST, replace(WAITING, asked=protocol), "t1")
    again = replace(WAITING, asked=structs.replace(protocol, id="c2"))
    assert step(first, again, "t2").since == "t2"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"error": {"type": "x", "message": "No \\"credit\\".\\nPay"}}', 'No "credit". Pay'),
        ('{"error": {"message": "bad \\q"}}', '{"error": {"message": "bad \\q"}}'),
        ('{"error": "x"}', '{"error": "x"}'),
        ('[API Error: {"error":{"message":"No credit."}}]', "No credit."),
        ('It said: {"message": "x"}', 'It said: {"message": "x"}'),
    ],
)
def test_failure_that_a_provider_gives_as_json_is_its_message(text: str, reason: str) -> None:
    assert failure_of(text) == reason
