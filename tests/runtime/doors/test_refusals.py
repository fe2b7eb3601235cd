import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from atoll.runtime.doors import refusals
from atoll.runtime.doors.refusals import (
    BURST,
    NEW_PER_MINUTE,
    SAME_AGAIN_SECONDS,
    Refusals,
)
from atoll.runtime.journal.journal import Journal


class Told:
    """A door's audit over a real journal, at a clock of its own."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.noted: list[str] = []
        self.written = asyncio.Event()
        self.journal = Journal(folder, noted=self._note)
        self.audit = Refusals(self.journal, lambda: self.now)

    def _note(self, kind: str) -> None:
        self.noted.append(kind)
        self.written.set()

    async def at_once(self, kind: str = "door.refused", /, **payload: object) -> bool:
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
    assert told.journal.last == 3  # the two between are one entry
    assert entries(told)[1][1]["times"] == 2


async def test_refusal_of_another_kind_is_told_beside_it(told: Told) -> None:
    assert await told.at_once(**REFUSED)
    for other in ({"host": "b.example"}, {"port": 80}, {"code": "denied"}):
        assert await told.at_once(**{**REFUSED, **other})


async def test_refusals_of_ever_new_hosts_are_told_thirty_in_a_row(told: Told) -> None:
    heard = [await told.at_once(**{**REFUSED, "host": f"h{n}.example"}) for n in range(60)]
    assert heard == [True] * BURST + [False] * (60 - BURST)
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


def entries(told: Told) -> list[tuple[str, Mapping[str, object]]]:
    return [(one.kind, one.payload) for one in told.journal.read(0, 1000).entries]


async def test_same_refusal_is_one_entry_a_minute_with_first_last_and_number(told: Told) -> None:
    for _ in range(3600):
        told.audit("door.refused", REFUSED)
        told.now += 1
    told.audit.settle(last=True)
    said = [payload for _kind, payload in entries(told)]
    assert len(said) <= 2 * 60 + 1  # before, 3600
    assert sum(int(str(one.get("times", 1))) for one in said) == 3600
    counted = [one for one in said if "times" in one]
    assert all(str(one["first_at"]) <= str(one["last_at"]) for one in counted)
    assert all(one["host"] == "a.example" and one["code"] == "x" for one in counted)


async def test_refusals_of_ever_new_hosts_are_merged_past_a_burst(told: Told) -> None:
    for number in range(600):
        told.audit("door.refused", {**REFUSED, "host": f"h{number}.example"})
    told.audit.settle(last=True)
    said = [payload for _kind, payload in entries(told)]
    assert len(said) == BURST + 1
    assert said[-1]["times"] == 600 - BURST
    # It is the refusal of no one host, and says which came last.
    assert (said[-1]["code"], said[-1].get("host")) == ("various", None)
    assert said[-1]["last"] == {"host": "h599.example", "port": 443, "code": "x"}


async def test_new_host_each_second_for_a_day_fills_the_log_little_more_than_equal_ones(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Mapping[str, object]] = []

    def append(_kind: str, payload: Mapping[str, object]) -> int:
        written.append(payload)
        return len(written)

    monkeypatch.setattr(told.journal, "append", append)
    day = 24 * 60
    for number in range(day * 60):
        told.audit("door.refused", {**REFUSED, "host": f"h{number}.example"})
        told.now += 1
    told.audit.settle(last=True)
    assert sum(int(str(one.get("times", 1))) for one in written) == day * 60
    assert len(written) <= BURST + day * (NEW_PER_MINUTE + 1)


async def test_broker_refusals_are_merged_with_the_bytes_of_all(told: Told) -> None:
    refused = {"door": "broker", "step": "read", "outcome": "bad_request", "bytes_in": 3}
    for _ in range(5):
        told.audit("door.request", refused)
    told.audit.settle(last=True)
    (_, first), (_, second) = entries(told)
    assert (first["bytes_in"], second["bytes_in"], second["times"]) == (3, 12, 4)
    for number in range(BURST + 9):
        told.audit("door.request", {**refused, "step": "route", "provider": f"p{number}"})
    told.audit.settle(last=True)
    last = entries(told)[-1][1]
    assert (last["outcome"], last["step"], last["times"]) == ("various", "route", 10)


async def test_counted_refusal_is_use_of_the_sandbox_as_a_written_one_is(told: Told) -> None:
    for _ in range(3):
        told.audit("door.refused", REFUSED)
    assert told.noted == ["door.refused"] * 3


async def test_counted_refusals_are_written_when_nothing_follows(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "SAME_AGAIN_SECONDS", 0.0)
    told.audit("door.refused", REFUSED)
    next(iter(told.audit._counts.values())).add(REFUSED)
    told.audit._counted.set()
    told.written.clear()
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(told.audit.run())
        await told.written.wait()
        running.cancel()
    assert entries(told)[1][1]["times"] == 1
