"""Probes of walls: what holds is silent, what is missing or unknown is a note, and nothing that was
printed breaks the reading."""

import subprocess
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.wall.isolation import Isolation
from atoll.domain.wall.probe import PROBE, apply_probe, open_network
from atoll.wire.words.walls import IsolationLevel

CLOSED = {
    "status": "Name:\tsh\nUid:\t1000\t1000\t1000\t1000\nCapPrm:\t0\nCapEff:\t0000000000000000\n"
    "NoNewPrivs:\t1\nSeccomp:\t2",
    "uid_map": "1000 20000 1",
    "dev": "Inter-|   Receive\n face |bytes\n    lo:       0       0",
    "route": "Iface\tDestination\tGateway",
    "memory": "max\n1073741824",
    "pids": "512",
}
WALL = Isolation(IsolationLevel.CONTAINER, "a wall")
HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n"
TWO = CLOSED["dev"] + "\n  eth0: 1 2"
NEIGHBOURS = HEAD + "eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0"
DEFAULT = HEAD + "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0"
ON_LINK = HEAD + "eth0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0"
NOWHERE6 = f"{'0' * 32} 00 {'0' * 32} 00 {'0' * 32} ffffffff 00000001 00000000 00200200 lo"
LINK6 = f"fe80{'0' * 28} 40 {'0' * 32} 00 {'0' * 32} 00000100 00000001 00000000 00000001 eth0"
DEFAULT6 = f"{'0' * 32} 00 {'0' * 32} 00 fd{'0' * 29}1 00000400 00000001 00000000 00000003 eth0"
REJECT6 = f"{'0' * 32} 00 {'0' * 32} 00 {'0' * 32} 00000400 00000001 00000000 00200200 eth0"


def printed(files: Mapping[str, str]) -> bytes:
    lines = [f"{name} {line}" for name, text in files.items() for line in text.split("\n")]
    return "\n".join(lines).encode()


def notes(
    change: Mapping[str, str | None], level: IsolationLevel = IsolationLevel.CONTAINER
) -> list[str]:
    files = {name: text for name, text in {**CLOSED, **change}.items() if text is not None}
    found = apply_probe(Isolation(level, "a wall"), printed(files))
    return [note.partition(":")[0] for note in found.degraded]


def test_wall_without_a_fault_has_no_note() -> None:
    assert apply_probe(WALL, printed(CLOSED)) == WALL
    assert not apply_probe(WALL, printed(CLOSED)).weak
    assert open_network(WALL) == ""


def status(name: str, value: str) -> dict[str, str | None]:
    lines = [line for line in CLOSED["status"].split("\n") if not line.startswith(name)]
    return {"status": "\n".join([*lines, f"{name}:\t{value}"])}


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({**status("Uid", "0\t0\t0\t0"), "uid_map": "0 0 4294967295"}, "uid"),
        ({**status("Uid", "1000\t0\t0\t0"), "uid_map": None}, "uid"),
        (status("CapEff", "00000000a80425fb"), "capabilities"),
        (status("CapPrm", "1"), "capabilities"),
        (status("CapEff", "much"), "capabilities"),
        (status("NoNewPrivs", "0"), "privileges"),
        (status("Seccomp", "0"), "seccomp"),
        ({"memory": None}, "memory"),
        ({"memory": "max"}, "memory"),
        ({"memory": "9223372036854771712"}, "memory"),
        ({"pids": "5 12"}, "pids"),
        ({"dev": None}, "network"),
        ({"dev": "eth0: 1"}, "network"),
        ({"dev": TWO, "route": None}, "network"),
        ({"dev": TWO, "route": DEFAULT}, "network"),
        ({"dev": TWO, "route": ON_LINK}, "network"),
        ({"dev": TWO, "route": HEAD + "eth0"}, "network"),
        ({"dev": TWO, "route": HEAD + "\n"}, "network"),
        ({"dev": TWO, "route": NEIGHBOURS, "route6": DEFAULT6}, "network"),
        ({"dev": TWO, "route": NEIGHBOURS, "route6": "short"}, "network"),
        ({"dev": TWO, "route": NEIGHBOURS, "route6": ""}, "network"),
    ],
)
def test_each_fault_is_one_note(change: dict[str, str | None], note: str) -> None:
    assert notes(change) == [note]


@pytest.mark.parametrize(
    "change",
    [
        {**status("Uid", "0\t0\t0\t0"), "uid_map": "0 20000 1"},
        {"dev": TWO, "route": NEIGHBOURS},
        {"dev": TWO, "route": NEIGHBOURS, "route6": f"{NOWHERE6}\n{LINK6}\n{REJECT6}"},
    ],
)
def test_root_of_nothing_and_neighbours_of_its_own_are_no_fault(
    change: dict[str, str | None],
) -> None:
    assert notes(change) == []


def test_nothing_printed_is_every_fault_and_an_open_network() -> None:
    found = apply_probe(WALL, b"")
    names = ["uid", "capabilities", "privileges", "seccomp", "network", "memory", "pids"]
    assert [note.partition(":")[0] for note in found.degraded] == names
    assert found.weak
    assert open_network(found) == "what it reaches could not be found out"


def test_network_that_a_bridge_closes_is_not_judged_by_its_routes() -> None:
    seen = printed({**CLOSED, "dev": TWO, "route": DEFAULT, "pids": "max"})
    found = [note.partition(":")[0] for note in apply_probe(WALL, seen, bridged=True).degraded]
    assert found == ["pids"]


def test_machine_is_the_bound_of_a_virtual_one() -> None:
    assert notes({"memory": None, "pids": None}, IsolationLevel.MICROVM) == []


def test_backend_says_it_better_than_the_probe() -> None:
    wall = Isolation(IsolationLevel.CONTAINER, "a wall", ("memory: no control group", "disk: one"))
    found = apply_probe(wall, printed({**CLOSED, "memory": "max", "pids": "max"}))
    assert found.degraded == (*wall.degraded, "pids: no bound was found inside")


@given(st.binary(max_size=400))
def test_whatever_is_printed_is_read_and_closes_nothing(text: bytes) -> None:
    found = apply_probe(WALL, text)
    assert found.weak or b"status" in text
    assert all(note.isprintable() for note in found.degraded)


def test_probe_is_shells_own_words_and_says_what_the_kernel_says() -> None:
    script = ["env", "-i", "PATH=/nonexistent", "/bin/sh", "-c", PROBE]
    ran = subprocess.run(script, capture_output=True, check=True)
    assert ran.stderr == b""
    assert b"status Uid:" in ran.stdout and b"\ndev " in ran.stdout
