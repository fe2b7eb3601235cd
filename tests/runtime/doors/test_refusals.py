import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from atoll.runtime.doors.refusals import MAX_NEW_PER_MINUTE, SAME_AGAIN_SECONDS, Refusals
from atoll.runtime.journal import Journal


class Told:
    """A door's audit over a real journal, at a clock of its own."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.journal = Journal(folder)
        self.audit = Refusals(self.journal, lambda: self.now)

    async def at_once(self, kind: str = "door.refused", **payload: object) -> bool:
        """Whether whoever waits hears of this entry now."""
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(self.journal.urgent(self.journal.last, 60))
            await asyncio.sleep(0)
            self.audit(kind, payload)
            for _ in range(3):
                await asyncio.sleep(0)
            heard = waiting.done()
            waiting.cancel()
        return heard


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


REFUSED: Mapping[str, object] = {"door": "egress", "host": "a.example", "port": 443, "code": "x"}


async def test_refusal_is_told_at_once_and_again_only_after_a_while(told: Told) -> None:
    assert await told.at_once(**REFUSED)
    assert not await told.at_once(**REFUSED)
    told.now = SAME_AGAIN_SECONDS - 1
    assert not await told.at_once(**REFUSED)
    told.now = SAME_AGAIN_SECONDS
    assert await told.at_once(**REFUSED)
    assert told.journal.last == 4  # written down each time


async def test_refusal_of_another_kind_is_told_beside_it(told: Told) -> None:
    assert await told.at_once(**REFUSED)
    for other in ({"host": "b.example"}, {"port": 80}, {"code": "denied"}):
        assert await told.at_once(**{**REFUSED, **other})


async def test_refusals_of_ever_new_hosts_are_told_thirty_a_minute(told: Told) -> None:
    heard = [await told.at_once(**{**REFUSED, "host": f"h{n}.example"}) for n in range(60)]
    assert heard == [True] * MAX_NEW_PER_MINUTE + [False] * (60 - MAX_NEW_PER_MINUTE)
    told.now = SAME_AGAIN_SECONDS
    assert await told.at_once(**{**REFUSED, "host": "h59.example"})


@pytest.mark.parametrize(
    ("payload", "heard"),
    [
        ({"door": "broker", "step": "judge", "outcome": "not_allowed"}, True),
        ({"door": "broker", "step": "admit", "outcome": "limit_reached"}, True),
        ({"door": "broker", "step": "pass", "outcome": "passed"}, False),
        ({"door": "broker", "step": "read", "outcome": "bad_request"}, False),
        ({"door": "egress", "host": "a.example", "outcome": "passed"}, False),
    ],
)
async def test_request_is_told_at_once_when_the_broker_itself_refused_it(
    told: Told, payload: Mapping[str, object], heard: bool
) -> None:
    assert await told.at_once("door.request", **payload) is heard
