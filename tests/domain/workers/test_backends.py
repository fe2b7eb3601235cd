"""Places of an organization's workers: counts and health of each, under one name."""

import pytest

from atoll.domain.event import Json
from atoll.domain.routes.health import Health
from atoll.domain.workers.backends import (
    BackendHealth,
    BackendPlace,
    backends_of,
    is_running,
    place_of_start,
    place_of_worker,
)
from atoll.domain.workers.create import WorkerId
from atoll.domain.workers.lifecycle import HostContact, Worker
from atoll.domain.workers.placement import started_facts
from atoll.domain.workers.snapshot import WorkerSandbox
from atoll.wire.words.routes import Breaker
from atoll.wire.words.workers import WorkerStatus

MEASURED = Health(4, 0.75, 300, 900, Breaker.HALF_OPEN)
BOX = BackendPlace("ext.ssh", "box", "eu-1")
VENDOR = BackendPlace("ext.daytona", region="us")


def test_each_place_has_its_counts_and_its_health() -> None:
    empty = BackendPlace("ext.ssh", "idle")
    found = backends_of([(BOX, MEASURED), (empty, MEASURED)], [VENDOR, BOX, BOX], [BOX, VENDOR])
    assert found == [
        BackendHealth(VENDOR, None, 1, 1),
        BackendHealth(BOX, MEASURED, 2, 1),
        BackendHealth(empty, MEASURED, 0, 0),
    ]
    assert backends_of([], [], []) == []


def test_place_of_one_name_is_listed_once_as_its_running_worker_spells_it() -> None:
    moved, removed = BackendPlace("ext.ssh", "box", "eu-2"), BackendPlace("ext.ssh", region="box")
    found = backends_of([(removed, MEASURED)], [moved], [BOX])
    assert found == [BackendHealth(moved, MEASURED, 1, 1)]
    assert backends_of([(removed, MEASURED)], [], [BOX]) == [BackendHealth(BOX, MEASURED, 0, 1)]


@pytest.mark.parametrize(
    ("status", "contact", "expected"),
    [
        (WorkerStatus.RUNNING, HostContact.PRESENT, True),
        (WorkerStatus.RUNNING, HostContact.LOST, False),
        (WorkerStatus.STARTING, HostContact.PRESENT, False),
        (WorkerStatus.STOPPED, HostContact.PRESENT, False),
    ],
)
def test_worker_runs_while_its_host_is_heard(
    status: WorkerStatus, contact: HostContact, expected: bool
) -> None:
    assert is_running(Worker(WorkerId("w"), status=status, contact=contact)) is expected


@pytest.mark.parametrize(
    ("sandbox", "place"),
    [
        (WorkerSandbox("sb_1", "ext.ssh", region="eu-1", host="box"), BOX),
        (WorkerSandbox("sb_1", "ext.daytona", region="us", host=""), VENDOR),
        (WorkerSandbox("sb_1", "ext.desktop"), BackendPlace("ext.desktop")),
    ],
)
def test_place_is_the_same_in_the_row_and_in_the_start(
    sandbox: WorkerSandbox, place: BackendPlace
) -> None:
    assert place_of_worker(sandbox) == place
    assert place_of_start(started_facts("codex", sandbox, None)) == place


@pytest.mark.parametrize(
    "payload", [{}, {"extension": "ext.ssh"}, {"extension": None, "sandbox": {"host": "box"}}]
)
def test_start_that_tells_no_place_has_none(payload: dict[str, Json]) -> None:
    assert place_of_start(payload) is None
