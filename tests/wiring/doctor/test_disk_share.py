"""What `atoll doctor` says of weights on the disk, over the kernel's files as written."""

import os
from pathlib import Path

import pytest

from atoll.wiring.doctor.disk_share import Places, finding

DISK = os.makedev(8, 0)
PART = os.makedev(8, 1)
BFQ, DEADLINE = "none [bfq] mq-deadline", "none [mq-deadline] kyber bfq"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    disk = tmp_path / "devices" / "vda"
    (disk / "queue").mkdir(parents=True)
    (disk / "dev").write_text("8:0\n")
    (disk / "vda1").mkdir()
    (disk / "vda1" / "partition").write_text("1\n")
    devices = tmp_path / "block"
    devices.mkdir()
    (devices / "8:0").symlink_to(disk)
    (devices / "8:1").symlink_to(disk / "vda1")
    return Places(devices, (tmp_path / "io.cost.qos",))


def lay(places: Places, scheduler: str, costs: str = "") -> None:
    (places.devices / "8:0" / "queue" / "scheduler").write_text(scheduler + "\n")
    places.costs[0].write_text(costs)


@pytest.mark.parametrize("device", [DISK, PART])
@pytest.mark.parametrize(
    ("scheduler", "costs", "weighed", "level"),
    [
        (BFQ, "", True, "ok"),
        (DEADLINE, "8:0 enable=1 ctrl=auto rpct=95.00\n", True, "ok"),
        (DEADLINE, "8:0 enable=0 ctrl=auto\n8:16 enable=1 ctrl=auto\n", True, "warn"),
        (DEADLINE, "", True, "warn"),
        (BFQ, "", False, "warn"),
    ],
)
def test_share_is_in_force_where_groups_have_it_and_the_disk_heeds_it(
    places: Places, device: int, *, scheduler: str, costs: str, weighed: bool, level: str
) -> None:
    lay(places, scheduler, costs)
    told = finding(device, weighed=weighed, places=places)
    assert told.level == level
    if level == "warn":
        assert "/sys/block/vda/queue/scheduler" in told.fix
        assert ("mq-deadline" if weighed else "no control group") in told.text


def test_disk_that_is_not_shown_is_said_to_be_unknown(places: Places) -> None:
    told = finding(os.makedev(0, 44), weighed=True, places=places)
    assert told.level == "warn" and "unknown" in told.text and "/DISK/" in told.fix
