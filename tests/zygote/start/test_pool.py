"""Sandboxes that stand ready: what an order gets of them, and what is left of them."""

import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from atoll.domain.interior.identity import machine_id_text
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.zygote.host.home import POOL_PREFIX
from atoll.zygote.records import record
from tests.peers.remains import groups_called, loops_below

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps spares")

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
MEMORY_BYTES = 96 * 2**20
SECONDS = 20.0


@pytest.fixture
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(pool_size=2) as running:
        yield running


def known(rig: ZygoteRig, sandbox_id: str) -> record.SandboxRecord:
    found = record.load(rig.home.box(sandbox_id).record)
    assert found is not None
    return found


def adopted(rig: ZygoteRig, sandbox_id: str) -> bool:
    return known(rig, sandbox_id).group.startswith(POOL_PREFIX)


def shell(rig: ZygoteRig, box: wire.Box, line: str) -> str:
    return rig.inside(box, "/bin/sh", "-c", line)[1].strip()


def all_gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.02)
    return False


def test_zygote_without_a_start_has_no_spare(rig: ZygoteRig) -> None:
    assert isinstance(rig.ask(wire.ListBoxes()), wire.Listed)
    assert not rig.list_pooled()


def test_next_start_of_the_same_shape_gets_a_spare_and_its_own_name(rig: ZygoteRig) -> None:
    rig.start("sb_one", env=ENV)
    spare = next(iter(rig.await_pooled().values()))
    limits = wire.Limits(memory_bytes=MEMORY_BYTES, pids=77)
    request = wire.Start("sb_two", 3, "second", env=(*ENV, ("WHO", "two")), limits=limits)
    answer = rig.ask(request)
    assert isinstance(answer, wire.Started)
    assert known(rig, "sb_two").processes == spare.processes
    assert answer.box.host_uid == spare.sandbox_uid != known(rig, "sb_one").sandbox_uid
    assert (answer.box.generation, answer.box.live) == (3, True)
    seen = shell(rig, answer.box, "hostname; echo $WHO; grep -c second /etc/hosts; id -u")
    assert seen.split() == ["second", "two", "2", "1000"]
    assert not rig.home.box(spare.sandbox_id).folder.exists()


def test_spare_that_is_given_away_has_names_of_its_own(rig: ZygoteRig) -> None:
    line = "cat /etc/machine-id /run/atoll/generation"
    first = shell(rig, rig.start("sb_one", env=ENV), line).split()
    rig.await_pooled()
    second = shell(rig, rig.start("sb_two", env=ENV), line).split()
    assert adopted(rig, "sb_two")
    assert second[0] == machine_id_text("sb_two").strip()
    assert len({*first, *second}) == 4
    rig.ask(wire.Stop("sb_two"))
    third = shell(rig, rig.start("sb_two", env=ENV), line).split()
    assert third[0] == second[0]
    assert third[1] != second[1]


def test_adopted_sandbox_has_the_limits_of_its_order(rig: ZygoteRig) -> None:
    rig.start("sb_one", env=ENV)
    rig.await_pooled()
    limits = wire.Limits(memory_bytes=MEMORY_BYTES, pids=77, cpu_millis=500)
    rig.start("sb_two", env=ENV, limits=limits)
    assert adopted(rig, "sb_two")
    group = known(rig, "sb_two").group
    found = {
        name: (folder / name).read_text().strip()
        for folder in groups_called(group)
        for name in ("memory.limit_in_bytes", "memory.max", "pids.max")
        if (folder / name).exists()
    }
    if not found:
        pytest.skip("no delegated cgroup: the sandbox says `degraded`")
    assert {found[name] for name in found if name != "pids.max"} <= {str(MEMORY_BYTES)}
    assert found.get("pids.max", "77") == "77"


def test_spare_has_no_privilege_no_key_and_no_door_to_the_host(rig: ZygoteRig) -> None:
    rig.home.keys.write_text('[openai]\nkey = "sk-not-for-spares"\n')
    rig.home.keys.chmod(0o600)
    rig.start("sb_one", env=ENV)
    spare = next(iter(rig.await_pooled().values()))
    runtime = Path(f"/proc/{spare.processes[0].pid}")
    words = dict(line.split(":\t", 1) for line in (runtime / "status").read_text().splitlines())
    uid = str(spare.runtime_uid)
    assert words["Uid"].split() == words["Gid"].split() == [uid] * 4
    assert words["CapEff"] == words["CapPrm"] == "0" * 16
    opened = {str(fd.readlink()) for fd in (runtime / "fd").iterdir()}
    assert not any("memfd:keys" in name or "/box" in name for name in opened)
    assert not rig.home.box(spare.sandbox_id).socket.exists()


@pytest.mark.parametrize(
    "other",
    [
        {"writable": False},
        {"limits": wire.Limits(ptys=3)},
        {"limits": wire.Limits(workspace_bytes=64 * 2**20)},
    ],
)
def test_order_of_another_shape_is_built_as_ever(rig: ZygoteRig, other: dict[str, object]) -> None:
    rig.start("sb_one", env=ENV)
    rig.await_pooled()
    rig.start("sb_other", env=ENV, **other)
    assert not adopted(rig, "sb_other")


def test_folder_replaced_since_is_shown_as_it_is_now(rig: ZygoteRig) -> None:
    shelf = rig.home.agents / "tool" / "1"
    shelf.mkdir(parents=True)
    (shelf / "note").write_text("old")
    views = (wire.View(str(shelf), "/opt/tool"),)
    rig.start("sb_one", env=ENV, views=views)
    rig.await_pooled()
    same = rig.start("sb_same", env=ENV, views=views)
    assert adopted(rig, "sb_same")
    assert shell(rig, same, "cat /opt/tool/note") == "old"
    rig.await_pooled(2)
    shelf.rename(shelf.with_name("gone"))
    shelf.mkdir()
    (shelf / "note").write_text("new")
    after = rig.start("sb_after", env=ENV, views=views)
    assert not adopted(rig, "sb_after")
    assert shell(rig, after, "cat /opt/tool/note") == "new"


def test_adopted_sandbox_keeps_its_files_over_a_stop_and_leaves_none(rig: ZygoteRig) -> None:
    rig.start("sb_one", env=ENV)
    rig.await_pooled()
    box = rig.start("sb_two", env=ENV)
    assert adopted(rig, "sb_two")
    group = known(rig, "sb_two").group
    shell(rig, box, "echo kept >/workspace/file")
    assert isinstance(rig.ask(wire.Stop("sb_two")), wire.Cleaned)
    assert not groups_called(group)
    again = rig.start("sb_two", env=ENV)
    assert shell(rig, again, "cat /workspace/file") == "kept"
    cleaned = rig.ask(wire.Destroy("sb_two"))
    assert isinstance(cleaned, wire.Cleaned) and not cleaned.leftovers
    assert not rig.home.box("sb_two").folder.exists()


def test_spare_that_died_is_not_given_out(rig: ZygoteRig) -> None:
    rig.start("sb_one", env=ENV)
    dead = next(iter(rig.await_pooled().values()))
    # A signal takes a while to kill; who asks meanwhile gets what lives still.
    watched = os.pidfd_open(dead.processes[0].pid)
    os.kill(dead.processes[0].pid, signal.SIGKILL)
    assert select.select([watched], [], [], SECONDS)[0]
    os.close(watched)
    box = rig.start("sb_two", env=ENV)
    assert shell(rig, box, "echo well") == "well"
    assert all_gone([each.pid for each in dead.processes])


def test_spare_without_its_init_is_not_given_out(rig: ZygoteRig) -> None:
    rig.start("sb_one", env=ENV)
    dead = next(iter(rig.await_pooled().values()))
    os.kill(dead.processes[1].pid, signal.SIGKILL)
    assert all_gone([each.pid for each in dead.processes])
    box = rig.start("sb_two", env=ENV)
    assert shell(rig, box, "echo well") == "well"


def test_zygote_that_ends_takes_its_spares_with_it() -> None:
    with zygote_rig(pool_size=2) as rig:
        rig.start("sb_one", env=ENV)
        pids = [each.pid for spare in rig.await_pooled().values() for each in spare.processes]
        rig.process.terminate()
        assert rig.process.wait(SECONDS) == 0
        assert all_gone(pids)
        assert not [*rig.home.boxes.glob(f"{POOL_PREFIX}*")]


def test_spares_of_a_killed_zygote_are_swept_by_the_next() -> None:
    with zygote_rig(pool_size=2) as rig:
        rig.start("sb_one", env=ENV)
        spares = rig.await_pooled()
        # As if it had died between naming a spare and moving its folder.
        half = next(iter(spares.values()))
        named = msgspec.structs.replace(half, sandbox_id="sb_half", group=half.sandbox_id)
        record.save(rig.home.box(half.sandbox_id).record, named)
        rig.process.kill()
        rig.process.wait(SECONDS)
        assert all_gone([each.pid for spare in spares.values() for each in spare.processes])
        with zygote_rig(home=rig.home.root) as following:
            assert not [*rig.home.boxes.glob(f"{POOL_PREFIX}*")]
            listed = following.ask(wire.ListBoxes())
            assert isinstance(listed, wire.Listed)
            assert [box.sandbox_id for box in listed.boxes] == ["sb_one"]
            mine = f"{rig.home.boxes}/{POOL_PREFIX}"
            assert not [each for each in loops_below(rig.home.root) if each.startswith(mine)]
