from dataclasses import replace

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import SYSTEM
from atoll.domain.sandboxes.consumer import (
    ConsumerFilter,
    acting_consumer,
    check_end,
    consumer_facts,
    ends_with,
)
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.sandbox import Consumer, Sandbox
from atoll.domain.sandboxes.stimulus import ConsumerEnded
from atoll.wire.words.events import ActorKind
from atoll.wire.words.sandboxes import Scope, State
from tests.domain.sandboxes.test_lifecycle import NOW, new_sandbox

THEIRS = Consumer(harness="nightly", session_id="s-1", run_id="r-1", job_id="j-1")


def made(scope: Scope = Scope.SESSION, state: State = State.READY) -> Sandbox:
    return replace(new_sandbox(), scope=scope, state=state, consumer=THEIRS)


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (ConsumerFilter("nightly", session_id="s-1"), True),
        (ConsumerFilter("nightly", run_id="r-1"), True),
        (ConsumerFilter("nightly", job_id="j-1"), True),
        (ConsumerFilter("nightly", session_id="s-2"), False),
        (ConsumerFilter("nightly", run_id="s-1"), False),
        (ConsumerFilter("nightly", job_id="s-1"), False),
        (ConsumerFilter("other", session_id="s-1"), False),
    ],
)
def test_sandbox_ends_with_the_consumer_it_was_made_for(
    end: ConsumerFilter, expected: bool
) -> None:
    assert ends_with(made(), end) is expected


@pytest.mark.parametrize(
    "other",
    [made(Scope.AGENT), made(Scope.SHARED), made(state=State.EXPIRED), made(state=State.DESTROYED)],
)
def test_sandbox_of_another_scope_or_ended_already_is_left_alone(other: Sandbox) -> None:
    assert not ends_with(other, ConsumerFilter("nightly", session_id="s-1"))
    assert step(other, ConsumerEnded(), NOW) == (other, ())


@pytest.mark.parametrize(
    ("end", "field"),
    [
        (ConsumerFilter("nightly"), "session_id"),
        (ConsumerFilter("nightly", session_id="s", run_id="r"), "session_id"),
        (ConsumerFilter("nightly", session_id="s", run_id="r", job_id="j"), "session_id"),
        (ConsumerFilter(run_id="r"), "harness"),
    ],
)
def test_end_names_a_harness_and_exactly_one_id(end: ConsumerFilter, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_end(end)
    assert refused.value.field == field
    check_end(ConsumerFilter("nightly", job_id="j"))


@pytest.mark.parametrize("field", ["harness", "session_id", "run_id", "job_id"])
@pytest.mark.parametrize("name", ["", "a\0b", "a\nb", "\x1b[2J", "\u202ea"])
def test_name_that_no_create_accepts_selects_nobody(field: str, name: str) -> None:
    with pytest.raises(Invalid) as refused:
        ConsumerFilter(**{field: name})
    assert refused.value.field == field


@pytest.mark.parametrize("state", [State.READY, State.ACTIVE, State.STOPPED])
def test_sandbox_whose_session_ended_expires_and_is_kept(state: State) -> None:
    ended, _ = step(made(state=state), ConsumerEnded(), NOW)
    assert (ended.state, ended.reason) == (State.EXPIRED, "Its consumer's session ended.")
    assert ended.retained_until is not None and ended.retained_until > NOW


def test_harness_acts_where_a_program_of_a_person_names_it() -> None:
    ada = replace(SYSTEM, id=PrincipalId("ada"), kind=ActorKind.PERSON)
    nightly = replace(THEIRS, actor=ActorKind.AUTOMATION)
    acting = acting_consumer(ada, nightly)
    assert (acting.id, acting.kind, acting.name) == ("nightly", ActorKind.AUTOMATION, "nightly")
    facts = consumer_facts(ada, nightly)
    assert facts["by"] == "ada"
    assert facts["consumer"] == {
        "actor": ActorKind.AUTOMATION.value, "harness": "nightly",
        "session_id": "s-1", "run_id": "r-1", "job_id": "j-1",
    }  # fmt: skip


def test_nobody_acts_as_atoll_a_person_or_another_program() -> None:
    ada = replace(SYSTEM, id=PrincipalId("ada"), kind=ActorKind.PERSON)
    nightly = replace(THEIRS, actor=ActorKind.AUTOMATION)
    agent = replace(ada, kind=ActorKind.AGENT)
    assert acting_consumer(ada, replace(nightly, harness=SYSTEM.id)) is ada
    assert acting_consumer(ada, replace(nightly, harness=None)) is ada
    assert acting_consumer(ada, replace(THEIRS, actor=ActorKind.PERSON)) is ada
    assert acting_consumer(agent, nightly) is agent
    assert consumer_facts(ada, Consumer()) == {}
