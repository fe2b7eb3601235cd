from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.terminal.softlock import REASONS, AgentState, Locked, SoftLock, Work

ACTS = st.lists(st.sampled_from(["began", "yielded", "paused", "resumed", "stopped"]), max_size=40)


@given(ACTS)
def test_lock_refuses_exactly_while_the_agent_works_or_is_paused(acts: list[str]) -> None:
    lock = SoftLock()
    for act in acts:
        before = (lock.state, lock.work)
        changed = getattr(lock, act)()
        assert changed == ((lock.state, lock.work) != before) or act == "stopped"
        match lock.state:
            case AgentState.RUNNING:
                expected = Locked.RUNNING if lock.work is Work.WORKING else None
            case AgentState.PAUSED:
                expected = Locked.PAUSED
            case AgentState.STOPPED:
                expected = None
        assert lock.refusal is expected


@given(ACTS, ACTS)
def test_lock_of_a_stopped_agent_never_changes_again(before: list[str], after: list[str]) -> None:
    lock = SoftLock()
    for act in before:
        getattr(lock, act)()
    lock.stopped()
    changes = [getattr(lock, act)() for act in after]
    assert not any(changes)
    assert (lock.state, lock.work, lock.refusal) == (AgentState.STOPPED, Work.WAITING, None)


@given(ACTS)
def test_pause_and_resume_leave_the_turn_where_it_was(acts: list[str]) -> None:
    lock = SoftLock()
    for act in acts:
        getattr(lock, act)()
    work = lock.work
    lock.paused()
    assert lock.work is work
    lock.resumed()
    assert lock.work is work


def test_every_refusal_has_its_reason() -> None:
    assert set(REASONS) == set(Locked)
