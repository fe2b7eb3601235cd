"""Ends of a runtime: every exit code has a reason of its own, and is no code of Python's."""

from atoll.domain.wall.runtime_end import END_REASONS, RuntimeEnd

PYTHONS = {0, 1, 2}


def test_every_end_has_a_reason_of_its_own() -> None:
    assert set(END_REASONS) == set(RuntimeEnd)
    assert len(set(END_REASONS.values())) == len(RuntimeEnd)


def test_exit_code_of_a_process_leads_to_its_reason() -> None:
    assert "init" in END_REASONS[3]
    assert END_REASONS[3] == END_REASONS[RuntimeEnd.INIT_GONE]
    assert END_REASONS.get(-9) is None


def test_end_is_never_taken_for_one_of_python() -> None:
    assert not PYTHONS & set(RuntimeEnd)
