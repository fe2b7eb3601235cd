from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.event import Event, Json
from atoll.domain.ids import EventId, OrgId
from atoll.domain.terminals.softlock import AgentState, Work
from atoll.domain.tools.change import WatchedChange
from atoll.domain.tools.waking import (
    AGAIN,
    AGAIN_LATER,
    MAX_CHANGES,
    MAX_NAMED,
    MAX_SETTLING,
    MAX_WAKES,
    SETTLING,
    WITHIN,
    ChangesCame,
    ChangesRead,
    CountTold,
    GiveWake,
    HoldReason,
    LookAgain,
    SleepingAgent,
    Wake,
    WakeDue,
    WakeGiven,
    WakeRefused,
    Waking,
    WakingStimulus,
    gives_reason,
    hold_of,
    step,
    wake_list,
    wake_title,
    woken_among,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
QUIET = Waking(("gha/run/*",))
SLEEPER = SleepingAgent(
    "t_1",
    AgentState.RUNNING,
    Work.WAITING,
    "done",
    reports=True,
    led=False,
    in_use=False,
)


def change(position: int, path: str = "gha/run/acme/app/1") -> WatchedChange:
    return WatchedChange(path, "gha.run.completed", "success", position)


def came(*changes: WatchedChange, at: datetime = START) -> ChangesCame:
    return ChangesCame(changes, at)


def after(waking: Waking, *stimuli: WakingStimulus) -> Waking:
    for one in stimuli:
        waking, _ = step(waking, one)
    return waking


def test_burst_is_one_wake_of_the_last_change_of_each_uri() -> None:
    first, second, other = change(1), change(2), change(3, "gha/run/acme/app/2")
    waking, look = step(QUIET, came(first))
    assert look == LookAgain(START + SETTLING)
    later = START + SETTLING / 2
    waking, look = step(waking, came(second, other, at=later))
    assert look == LookAgain(later + SETTLING)
    assert step(waking, WakeDue("w", START + SETTLING)) == (waking, look)
    waking, given = step(waking, WakeDue("w", later + SETTLING))
    assert given == GiveWake(Wake("w", (second, other), 0))
    assert waking.untold == 3 and waking.waits


def test_burst_without_an_end_is_a_wake_all_the_same() -> None:
    waking, at = after(QUIET, came(change(1))), START
    for number in range(2, 12):
        at = START + SETTLING / 2 * (number - 1)
        waking, _ = step(waking, came(change(number), at=at))
    assert step(waking, WakeDue("w", at))[1] == GiveWake(Wake("w", (change(11),), 0))


def test_wake_is_given_with_one_id_until_it_is_settled() -> None:
    due = START + SETTLING
    waking = after(QUIET, came(change(1)), WakeDue("w", due), came(change(2), at=due))
    waking, given = step(waking, WakeDue("other", due))
    assert given == GiveWake(Wake("w", (change(1),), 0))
    assert after(waking, WakeGiven("other", due)) == waking
    assert after(waking, WakeRefused("other", due, by_person=False)) == waking
    waking = after(waking, WakeGiven("w", due))
    assert (waking.changes, waking.wake, waking.untold) == ((change(2),), None, 1)
    assert after(waking, WakeGiven("w", due)) == waking


@pytest.mark.parametrize(("by_person", "time"), [(True, AGAIN), (False, AGAIN_LATER)])
def test_refused_wake_is_tried_again_with_all_that_came_since(
    by_person: bool, time: timedelta
) -> None:
    due = START + SETTLING
    waking = after(QUIET, came(change(1)), WakeDue("w", due))
    waking, look = step(waking, WakeRefused("w", due, by_person=by_person))
    assert look == LookAgain(due + time)
    waking = after(waking, came(change(2, "gha/run/acme/app/2"), at=due))
    _, given = step(waking, WakeDue("next", due + time))
    assert given == GiveWake(Wake("next", waking.changes, 0)) and len(waking.changes) == 2
    assert waking.woken_at == ()


def test_seventh_wake_within_an_hour_waits_for_its_end() -> None:
    waking, at = QUIET, START
    for number in range(MAX_WAKES):
        waking = after(waking, came(change(number + 1), at=at))
        at += SETTLING
        waking = after(waking, WakeDue(f"w{number}", at), WakeGiven(f"w{number}", at))
    assert not waking.waits
    waking = after(waking, came(change(99), at=at))
    held, look = step(waking, WakeDue("w", at + SETTLING))
    assert (held, look) == (waking, LookAgain(START + SETTLING + WITHIN))
    assert isinstance(step(waking, WakeDue("w", START + SETTLING + WITHIN))[1], GiveWake)


def test_many_uris_are_named_up_to_a_bound_and_counted_beyond() -> None:
    changes = [change(n, f"gha/run/acme/app/{n}") for n in range(1, MAX_CHANGES + 6)]
    waking = after(QUIET, came(*changes))
    assert (len(waking.changes), waking.unnamed, waking.untold) == (MAX_CHANGES, 5, MAX_CHANGES + 5)
    due = START + SETTLING
    waking = after(waking, WakeDue("w", due))
    assert waking.wake is not None and waking.wake.named == tuple(changes[-MAX_NAMED:])
    lines = wake_list(waking.wake, "atoll").split("\n")
    assert len(lines) == MAX_NAMED + 1
    assert lines[-1] == f"- and {MAX_CHANGES + 5 - MAX_NAMED} more"
    waking = after(waking, WakeGiven("w", due))
    assert (waking.changes, waking.unnamed, waking.untold) == ((), 0, 0)


def test_what_was_read_wakes_nobody_and_what_was_told_still_does() -> None:
    waking = after(QUIET, came(change(1), change(2, "gha/run/acme/app/2")), CountTold())
    assert (waking.untold, waking.waits) == (0, True)
    part = after(waking, ChangesRead(1))
    assert part.changes == (change(2, "gha/run/acme/app/2"),)
    read = after(part, ChangesRead(2))
    assert not read.waits and step(read, WakeDue("w", START + WITHIN)) == (read, None)
    early = after(QUIET, ChangesRead(9))
    assert step(early, came(change(5))) == (early, None)


def test_change_that_is_known_changes_nothing() -> None:
    waking = after(QUIET, came(change(2)))
    assert step(waking, came(change(2), change(1))) == (waking, None)


class Life:
    """A sandbox's waking, and what is expected of it."""

    def __init__(self) -> None:
        self.waking, self.at, self.position = QUIET, START, 0
        self.unread: dict[str, int] = {}
        self.given: set[str] = set()

    def came(self, path: int) -> None:
        self.position += 1
        uri = f"gha/run/acme/app/{path}"
        self.waking = after(self.waking, came(change(self.position, uri), at=self.at))
        self.unread[uri] = self.position

    def due(self, path: int) -> None:
        before = self.waking.wake
        self.waking, found = step(self.waking, WakeDue(f"w{self.at}", self.at))
        if isinstance(found, GiveWake):
            assert before in (None, found.wake)
        elif self.unread:
            # Never is not an outcome: what waits is looked at again.
            assert isinstance(found, LookAgain) and found.at > self.at

    def received(self, path: int) -> None:
        wake = self.waking.wake
        if wake is not None:
            assert wake.id not in self.given
            self.given.add(wake.id)
            self.waking = after(self.waking, WakeGiven(wake.id, self.at))
            self.unread = {k: n for k, n in self.unread.items() if n > wake.position}

    def refused(self, path: int) -> None:
        wake = self.waking.wake
        if wake is not None:
            self.waking = after(self.waking, WakeRefused(wake.id, self.at, by_person=True))

    def read(self, path: int) -> None:
        self.waking = after(self.waking, ChangesRead(self.position))
        self.unread.clear()

    def told(self, path: int) -> None:
        self.waking = after(self.waking, CountTold())
        assert self.waking.untold == 0


ACTS = (Life.came, Life.due, Life.received, Life.refused, Life.read, Life.told)


@given(
    st.lists(st.tuples(st.sampled_from(ACTS), st.integers(1, 4000), st.integers(1, 3)), max_size=60)
)
def test_no_order_of_events_loses_a_change_or_gives_a_wake_twice(
    acts: list[tuple[Callable[[Life, int], None], int, int]],
) -> None:
    life = Life()
    for act, seconds, path in acts:
        life.at += timedelta(seconds=seconds)
        act(life, path)
        assert {one.path: one.position for one in life.waking.changes} == life.unread


@given(st.lists(st.integers(0, 1200), min_size=1, max_size=80))
def test_bound_holds_for_wakes_that_are_given_at_once(pauses: list[int]) -> None:
    waking, at, woken = QUIET, START, list[datetime]()
    for number, seconds in enumerate(pauses):
        at += timedelta(seconds=seconds) + MAX_SETTLING
        waking = after(waking, came(change(number + 1), at=at - SETTLING))
        waking, given = step(waking, WakeDue(f"w{number}", at))
        if isinstance(given, GiveWake):
            waking = after(waking, WakeGiven(given.wake.id, at))
            woken.append(at)
    for first, seventh in zip(woken, woken[MAX_WAKES:], strict=False):
        assert seventh - first >= WITHIN


def test_first_agent_that_reports_its_turns_is_the_one_that_is_woken() -> None:
    others = (
        replace(SLEEPER, id="gone", state=AgentState.STOPPED),
        replace(SLEEPER, id="shell", reports=False),
        replace(SLEEPER, id="worker", led=True),
    )
    assert woken_among(others) is None
    assert woken_among((*others, SLEEPER, replace(SLEEPER, id="second"))) == SLEEPER


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        (SLEEPER, None),
        (replace(SLEEPER, status="idle"), None),
        (replace(SLEEPER, state=AgentState.PAUSED, status="idle"), HoldReason.PAUSED),
        (replace(SLEEPER, status="needs_you"), HoldReason.ASKING),
        (replace(SLEEPER, work=Work.WORKING), HoldReason.WORKING),
        (replace(SLEEPER, status="working"), HoldReason.WORKING),
        (replace(SLEEPER, status="failed"), HoldReason.FAILED),
        (replace(SLEEPER, in_use=True), HoldReason.IN_USE),
    ],
)
def test_agent_is_woken_only_when_idle_or_done_and_undisturbed(
    agent: SleepingAgent, reason: HoldReason | None
) -> None:
    assert hold_of(agent) == reason


@pytest.mark.parametrize(
    ("kind", "payload", "gives"),
    [
        ("agent.status", {"status": "done"}, True),
        ("agent.status", {"status": "working"}, False),
        ("agent.state", {"agent_state": "running"}, True),
        ("agent.state", {"agent_state": "paused"}, False),
        ("sandbox.ready", {}, True),
        ("terminal.control", {"act": "released"}, True),
        ("agent.tool", {}, False),
    ],
)
def test_event_after_which_an_agent_may_be_idle_gives_reason_to_look(
    kind: str, payload: dict[str, Json], gives: bool
) -> None:
    event = Event(
        EventId("ev"),
        1,
        "sandbox:sb_1",
        1,
        kind,
        1,
        START,
        OrgId("acme"),
        "agt",
        "x",
        None,
        payload,
    )
    assert gives_reason(event) is gives


@pytest.mark.parametrize(
    ("changes", "unnamed", "title"),
    [(1, 0, "a change"), (2, 0, "2 changes"), (1, 3, "4 changes")],
)
def test_card_is_titled_with_how_much_changed(changes: int, unnamed: int, title: str) -> None:
    wake = Wake("w", tuple(change(n) for n in range(changes)), unnamed)
    assert wake_title(wake) == f"Woken by Atoll: {title} of what it watches"
