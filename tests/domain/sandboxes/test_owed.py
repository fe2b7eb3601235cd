from dataclasses import replace

import pytest

from atoll.domain.sandboxes.instruction import Provision, Teardown
from atoll.domain.sandboxes.owed import owed_work
from atoll.testing.samples import sandbox
from atoll.wire.words.sandboxes import State

BOX = sandbox("box")
KEEP = Teardown(BOX.generation, keep_state=True)


@pytest.mark.parametrize("ending", [True, False])
def test_sandbox_on_its_way_out_owes_its_removal(ending: bool) -> None:
    going = replace(BOX, state=State.DESTROYING)
    away = Teardown(BOX.generation, keep_state=False)
    assert owed_work(going, ending=ending) == ((going, away),)


@pytest.mark.parametrize("renewing", [True, False])
def test_provisioning_sandbox_owes_its_provision(renewing: bool) -> None:
    coming = replace(BOX, state=State.PROVISIONING, renewing=renewing)
    work = Provision(BOX.generation, renew=renewing)
    assert owed_work(coming, ending=False) == ((coming, work),)


def test_sandbox_stopped_and_started_at_once_is_ended_first_as_a_stopped_one() -> None:
    coming = replace(BOX, state=State.PROVISIONING)
    first, second = owed_work(coming, ending=True)
    assert first == (replace(BOX, state=State.STOPPED), KEEP)
    assert second == (coming, Provision(BOX.generation))


def test_renewal_ends_what_ran_itself() -> None:
    coming = replace(BOX, state=State.PROVISIONING, renewing=True)
    assert owed_work(coming, ending=True) == ((coming, Provision(BOX.generation, renew=True)),)


@pytest.mark.parametrize("state", [State.STOPPED, State.EXPIRED, State.FAILED])
def test_ended_sandbox_owes_the_end_of_its_processes_once(state: State) -> None:
    over = replace(BOX, state=state)
    assert owed_work(over, ending=True) == ((over, KEEP),)
    assert owed_work(over, ending=False) == ()


@pytest.mark.parametrize("state", [State.REQUESTED, State.READY, State.ACTIVE, State.DESTROYED])
def test_sandbox_that_only_a_request_moves_owes_nothing(state: State) -> None:
    assert owed_work(replace(BOX, state=state), ending=True) == ()
