from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.wall import runtime_calls
from atoll.domain.wall.interior import HOME, MASKED, SCRATCH
from atoll.domain.wall.system_calls import (
    ABSENT,
    BITS_REFUSED,
    COUNTED,
    DEBUGGING,
    DENIED,
    JUDGED,
    KNOWN,
    denied_calls,
)


def test_every_call_that_is_denied_or_judged_is_known() -> None:
    assert DENIED.keys() | JUDGED.keys() | ABSENT.keys() <= KNOWN
    assert BITS_REFUSED.keys() <= JUDGED.keys()
    assert COUNTED.keys() <= KNOWN


def test_no_call_is_both_denied_and_judged() -> None:
    assert not DENIED.keys() & JUDGED.keys()
    assert not ABSENT.keys() & (DENIED.keys() | JUDGED.keys())


def test_profile_that_allows_debuggers_allows_nothing_else() -> None:
    assert denied_calls() == DENIED
    assert DENIED.keys() - denied_calls(debug=True).keys() == set(DEBUGGING)


def test_places_inside_are_absolute_and_named_once() -> None:
    places = [place for place, _mode, _size in SCRATCH]
    assert all(place.startswith("/") for place in (*places, *MASKED, HOME))
    assert len(set(places)) == len(places)
    assert len({inside for _name, inside in HOME_STATE}) == len(HOME_STATE)


def test_runtime_may_make_no_call_that_a_sandbox_may_not() -> None:
    listed = runtime_calls.ALLOWED.keys() | runtime_calls.JUDGED.keys()
    assert listed <= KNOWN
    assert not listed & DENIED.keys()
    assert not runtime_calls.ALLOWED.keys() & runtime_calls.JUDGED.keys()


def test_runtime_starts_nothing_and_signals_nobody() -> None:
    others = (
        "execve execveat fork vfork clone clone3 kill tkill tgkill pidfd_open pidfd_send_signal"
    )
    assert not runtime_calls.ALLOWED.keys() & set(others.split())
    assert 1 not in runtime_calls.FAMILIES
