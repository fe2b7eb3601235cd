from dataclasses import replace

import pytest

from atoll.domain.sandboxes.farewell import MAX_REASON_BYTES, farewell
from atoll.wire.words.sandboxes import State
from tests.domain.sandboxes.test_lifecycle import new_sandbox


@pytest.mark.parametrize(
    ("state", "reason", "guest"),
    [
        (State.STOPPED, "`atoll start api-fix`", "was stopped"),
        (State.EXPIRED, "has expired: `atoll start api-fix`", "reached its end"),
        (State.FAILED, "tries again", "failed"),
        (State.PROVISIONING, "afresh", "afresh"),
        (State.DESTROYING, "being destroyed", "removed"),
    ],
)
def test_farewell_names_the_sandbox_to_its_people_and_no_command_to_guests(
    state: State, reason: str, guest: str
) -> None:
    told = farewell(replace(new_sandbox(), state=state, name="api-fix"))
    assert "api-fix" in told.reason and reason in told.reason
    assert guest in told.guest_reason and "atoll" not in told.guest_reason


def test_farewell_of_a_long_name_fits_into_a_close_frame() -> None:
    told = farewell(replace(new_sandbox(), state=State.EXPIRED, name="é" * 200))
    assert len(told.reason.encode()) <= MAX_REASON_BYTES
