import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.terminals.softlock import (
    REASONS,
    UNPROMPTED_SECONDS,
    AgentState,
    LockReason,
    SoftLock,
    Work,
    is_interrupt,
)
from atoll.wire.words.terminals import Strictness

ACTS = st.lists(
    st.sampled_from([
        "began", "worked", "supposed", "yielded", "ended", "tick", "paused", "resumed", "stopped",
    ]),
    max_size=40,
)  # fmt: skip
TIMED = {"worked", "supposed", "tick"}


def do(lock: SoftLock, act: str, now: float) -> bool:
    method = getattr(lock, act)
    changed: bool = method(now) if act in TIMED else method()
    return changed


def expected_refusal(lock: SoftLock) -> LockReason | None:
    match lock.state:
        case AgentState.RUNNING:
            return LockReason.RUNNING if lock.work is Work.WORKING else None
        case AgentState.PAUSED:
            return LockReason.PAUSED
        case AgentState.STOPPED:
            return None


@given(ACTS)
def test_lock_refuses_exactly_while_the_agent_works_or_is_paused(acts: list[str]) -> None:
    lock = SoftLock()
    for now, act in enumerate(acts):
        before = (lock.state, lock.work)
        changed = do(lock, act, now)
        assert changed == ((lock.state, lock.work) != before) or act == "stopped"
        assert lock.refusal is expected_refusal(lock)


@given(ACTS, ACTS)
def test_lock_of_a_stopped_agent_never_changes_again(before: list[str], after: list[str]) -> None:
    lock = SoftLock()
    for now, act in enumerate(before):
        do(lock, act, now)
    lock.stopped()
    changes = [do(lock, act, 100 + now) for now, act in enumerate(after)]
    assert not any(changes)
    assert (lock.state, lock.work, lock.refusal) == (AgentState.STOPPED, Work.WAITING, None)
    assert lock.deadline is None


@given(ACTS)
def test_pause_and_resume_leave_the_turn_where_it_was(acts: list[str]) -> None:
    lock = SoftLock()
    for now, act in enumerate(acts):
        do(lock, act, now)
    work = lock.work
    lock.paused()
    assert lock.work is work
    lock.resumed()
    assert lock.work is work


@given(ACTS)
def test_lock_that_no_prompt_closed_is_open_again_in_time(acts: list[str]) -> None:
    lock, prompted = SoftLock(), False
    for now, act in enumerate(acts):
        do(lock, act, now)
        prompted = act == "began" or (prompted and act != "ended")
    lock.tick(len(acts) + UNPROMPTED_SECONDS)
    if not prompted:
        assert lock.work is Work.WAITING


def test_work_in_the_background_after_the_turn_closes_nothing() -> None:
    lock = SoftLock()
    assert lock.began()
    assert lock.ended()
    assert not lock.worked(1.0)
    assert (lock.work, lock.deadline) == (Work.WAITING, None)


def test_turn_goes_on_when_its_question_was_answered() -> None:
    lock = SoftLock()
    assert not lock.asking
    lock.began()
    lock.yielded()
    assert lock.asking
    assert lock.worked(1.0)
    assert (lock.work, lock.deadline, lock.asking) == (Work.WORKING, None, False)


def test_work_of_an_agent_that_never_reported_a_prompt_ends_by_itself() -> None:
    lock = SoftLock()
    assert lock.worked(1.0)
    assert not lock.worked(2.0)
    assert lock.deadline == 2.0 + UNPROMPTED_SECONDS
    assert not lock.tick(1.0 + UNPROMPTED_SECONDS)
    assert lock.tick(2.0 + UNPROMPTED_SECONDS)
    assert lock.work is Work.WAITING


def test_prompt_that_was_asked_for_is_confirmed_by_its_report_or_ends_by_itself() -> None:
    lock = SoftLock()
    assert lock.supposed(1.0)
    assert not lock.began()
    assert not lock.tick(99.0)
    assert not lock.supposed(100.0)
    assert (lock.work, lock.deadline) == (Work.WORKING, None)


def test_answer_that_is_supposed_is_confirmed_by_work() -> None:
    lock = SoftLock()
    lock.began()
    lock.yielded()
    assert lock.supposed(1.0)
    assert not lock.worked(2.0)
    assert not lock.tick(99.0)
    assert lock.work is Work.WORKING


@pytest.mark.parametrize(
    ("strictness", "owner", "keys", "expected"),
    [
        (Strictness.OWNER, True, b"and then", None),
        (Strictness.OWNER, False, b"and then", LockReason.RUNNING),
        (Strictness.STRICT, True, b"and then", LockReason.RUNNING),
        (Strictness.OWNER, False, b"\x1b", None),
        (Strictness.STRICT, True, b"\x03", None),
        (Strictness.STRICT, False, b"\x03rm -rf .\r", LockReason.RUNNING),
        (Strictness.STRICT, False, b"\x1bx", LockReason.RUNNING),
    ],
)
def test_keys_at_a_working_agent_pass_the_owner_and_interrupts_pass_any_driver(
    strictness: Strictness, owner: bool, keys: bytes, expected: LockReason | None
) -> None:
    lock = SoftLock(strictness)
    lock.began()
    assert lock.refusal_of(keys, owner=owner) is expected
    lock.paused()
    assert lock.refusal_of(keys, owner=owner) is LockReason.PAUSED
    lock.stopped()
    assert lock.refusal_of(keys, owner=owner) is None


def test_interrupts_are_esc_and_ctrl_c_in_a_frame_of_their_own() -> None:
    spelled = [b"\x1b", b"\x03", b"\x1b[27u", b"\x1b[27;1:1u", b"\x1b[99;5u", b"\x1b[27;5;99~"]
    assert all(map(is_interrupt, [*spelled, b"\x1b[27;129u", b"\x1b[99;133:3u"]))
    others = [
        b"",
        b"\x1b\x1b",
        b"\x03\x03",
        b"\x1b[A",
        b"\x1b[27;5;13~",
        b"\x03" * 20,
        b"\x1b[98;5u",
    ]
    assert not any(map(is_interrupt, others))


def test_every_refusal_has_its_reason() -> None:
    assert set(REASONS) == set(LockReason)


def test_strict_lock_that_is_lifted_stops_its_owner_no_more() -> None:
    lock = SoftLock(Strictness.STRICT)
    lock.began()
    assert lock.refusal_of(b"x", owner=True) is LockReason.RUNNING
    assert lock.loosened()
    assert not lock.loosened()
    assert lock.refusal_of(b"x", owner=True) is None
    assert lock.refusal_of(b"x", owner=False) is LockReason.RUNNING


def test_stopped_agent_begins_nothing_and_refuses_nothing() -> None:
    lock = SoftLock()
    assert lock.stopped()
    assert not lock.stopped()
    assert (lock.refusal, lock.began(), lock.supposed(0.0), lock.yielded()) == (None, *[False] * 3)


def test_turn_that_was_only_supposed_ends_by_itself() -> None:
    lock = SoftLock()
    assert not lock.tick(0.0)
    assert lock.worked(0.0)
    assert not lock.tick(UNPROMPTED_SECONDS - 0.1)
    assert lock.tick(UNPROMPTED_SECONDS)
    assert lock.began()
    assert not lock.supposed(0.0)


def test_agent_is_paused_and_resumed_once() -> None:
    lock = SoftLock()
    assert lock.paused()
    assert not lock.paused()
    assert lock.refusal is LockReason.PAUSED
    assert lock.resumed()
    assert not lock.resumed()
