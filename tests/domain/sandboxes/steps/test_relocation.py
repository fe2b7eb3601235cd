"""Relocations: one place at every moment, and reports that change nothing when they come late."""

from dataclasses import replace

import pytest

from atoll.domain.errors import Conflict
from atoll.domain.event import Json
from atoll.domain.hosts.relocation import Relocation, RelocationPhase
from atoll.domain.sandboxes.instruction import Append, Relocate, Teardown
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.owed import is_passing, owed_work
from atoll.domain.sandboxes.sandbox import Attachment, Sandbox
from atoll.domain.sandboxes.stimulus import (
    Destroy,
    Evacuate,
    Recreate,
    Relocated,
    RelocationEnded,
    RelocationFailed,
    Start,
    Stimulus,
    Stop,
    TornDown,
)
from atoll.wire.words.sandboxes import State
from tests.domain.sandboxes.test_lifecycle import (
    DESTROYED,
    EXPIRED,
    FAILED,
    NOW,
    PROVISIONING,
    READY,
    STOPPED,
    after,
)

GOING = Relocation("local", "two")
COPYING = after(STOPPED, Evacuate("two"))
CLEARING = after(COPYING, Relocated(GOING))
BETWEEN: dict[str, Json] = {"from": "local", "to": "two"}


@pytest.mark.parametrize("sandbox", [STOPPED, EXPIRED])
def test_files_stay_where_they_are_until_all_are_at_the_new_host(sandbox: Sandbox) -> None:
    copying, instructions = step(sandbox, Evacuate("two"), NOW)
    assert (copying.host, copying.state) == ("local", sandbox.state)
    assert copying.relocation == GOING
    assert instructions == (Append("sandbox.relocation_started", None, BETWEEN), Relocate())
    clearing, instructions = step(copying, Relocated(GOING), NOW)
    assert (clearing.host, clearing.attachment) == ("two", Attachment())
    assert clearing.relocation == replace(GOING, phase=RelocationPhase.CLEARING)
    assert instructions == (Append("sandbox.relocated", None, BETWEEN),)
    over, instructions = step(clearing, RelocationEnded(GOING, ("a copy",)), NOW)
    assert (over.host, over.relocation) == ("two", None)
    told: dict[str, Json] = {**BETWEEN, "leftovers": ["a copy"]}
    assert instructions == (Append("sandbox.relocation_ended", None, told),)


def test_failed_copy_leaves_the_files_where_they_are() -> None:
    failed, instructions = step(COPYING, RelocationFailed(GOING, "no room"), NOW)
    assert (failed.host, failed.relocation) == ("local", None)
    assert failed.attachment == STOPPED.attachment
    told: dict[str, Json] = {**BETWEEN, "leftovers": []}
    assert instructions == (Append("sandbox.relocation_failed", "no room", told),)


@pytest.mark.parametrize("sandbox", [READY, PROVISIONING, FAILED, DESTROYED, COPYING])
def test_only_one_that_keeps_still_is_relocated(sandbox: Sandbox) -> None:
    with pytest.raises(Conflict):
        step(sandbox, Evacuate("three"), NOW)


def test_one_that_is_there_goes_nowhere() -> None:
    with pytest.raises(Conflict, match="its files are on host local"):
        step(STOPPED, Evacuate("local"), NOW)


@pytest.mark.parametrize("act", [Start(), Recreate()])
def test_nothing_starts_while_files_are_copied_and_anything_once_they_are_there(
    act: Stimulus,
) -> None:
    with pytest.raises(Conflict, match="its files go to host two"):
        step(COPYING, act, NOW)
    assert after(CLEARING, act).state is State.PROVISIONING


@pytest.mark.parametrize(
    "report",
    [
        Relocated(Relocation("local", "three")),
        RelocationEnded(Relocation("other", "two")),
        RelocationFailed(Relocation("local", "three"), "late"),
    ],
)
def test_report_of_another_relocation_changes_nothing(report: Stimulus) -> None:
    assert step(COPYING, report, NOW) == (COPYING, ())
    assert step(STOPPED, report, NOW) == (STOPPED, ())


def test_report_that_is_repeated_changes_nothing() -> None:
    assert step(CLEARING, Relocated(GOING), NOW) == (CLEARING, ())


def test_destroyed_meanwhile_its_teardown_has_both_places() -> None:
    going, instructions = step(COPYING, Destroy(), NOW)
    assert instructions[-1] == Teardown(1, keep_state=False)
    assert going.relocation == GOING
    assert GOING.other_place(going.host) == "two"
    assert GOING.other_place("two") == "local"
    assert step(going, Relocated(GOING), NOW) == (going, ())
    assert after(going, TornDown(1)).relocation is None


def test_relocation_is_owed_until_it_ended() -> None:
    assert owed_work(COPYING, ending=False) == ((COPYING, Relocate()),)
    first, second = owed_work(COPYING, ending=True)
    assert first[1] == Teardown(1, keep_state=True)
    assert second == (COPYING, Relocate())
    started = after(CLEARING, Start())
    assert owed_work(started, ending=False)[-1] == (started, Relocate())
    assert is_passing(COPYING) and is_passing(PROVISIONING)
    assert not is_passing(after(CLEARING, RelocationEnded(GOING)))
    stopped = after(READY, Stop())
    assert not is_passing(stopped)
