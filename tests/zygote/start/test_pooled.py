"""Sandboxes that a control plane has built before anybody asks for one."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.zygote.records import record
from tests.zygote.start.test_pool import all_gone, known, shell

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps pools")

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
REPOSITORY, LAYER = "/.atoll/repos/1.git", "/opt/atoll/agents/tool-1"


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig() as running:
        yield running


@dataclass(frozen=True, slots=True)
class Folders:
    """A repository and a layer that the control plane may have shown."""

    repository: Path
    layer: Path

    def views(self) -> tuple[wire.View, ...]:
        return (
            wire.View(str(self.repository), REPOSITORY),
            wire.View(str(self.layer), LAYER),
        )


@pytest.fixture
def folders(rig: ZygoteRig) -> Folders:
    made = Folders(rig.home.repositories / "work", rig.home.agents / "tool" / "1")
    for folder, word in ((made.repository, "refs"), (made.layer, "program")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "word").write_text(word)
    return made


def keep_ready(rig: ZygoteRig, sandbox_id: str, **more: object) -> record.SandboxRecord:
    answer = rig.ask(wire.Start(sandbox_id, 1, "waits", pooled=True, **more))  # type: ignore[arg-type]
    assert isinstance(answer, wire.Started), answer
    return known(rig, sandbox_id)


def processes(known: record.SandboxRecord) -> set[int]:
    return {each.pid for each in known.processes}


def test_start_makes_the_sandbox_of_its_spare(rig: ZygoteRig, folders: Folders) -> None:
    spare = keep_ready(rig, "sb_first")
    assert spare.pooled
    assert not rig.home.box("sb_first").socket.exists()
    env = (*ENV, ("WHO", "somebody"))
    box = rig.start("sb_first", env=env, views=folders.views())
    assert processes(known(rig, "sb_first")) == processes(spare)
    assert not known(rig, "sb_first").pooled
    assert shell(rig, box, "hostname; echo $WHO").split() == ["box", "somebody"]
    assert shell(rig, box, f"cat {REPOSITORY}/word {LAYER}/word") == "refsprogram"


def test_nothing_inside_changes_what_a_spare_was_given(rig: ZygoteRig, folders: Folders) -> None:
    keep_ready(rig, "sb_closed")
    box = rig.start("sb_closed", env=ENV, views=folders.views())
    for place in (REPOSITORY, LAYER, "/.atoll/repos", "/opt/atoll/agents"):
        assert "Read-only" in shell(rig, box, f"touch {place}/mine 2>&1")
        assert "nosuid,nodev" in shell(rig, box, f"grep ' {place} ' /proc/self/mounts")
    assert shell(rig, box, f"umount {REPOSITORY} 2>&1; mount -o remount,rw {LAYER} 2>&1; echo $?")
    assert shell(rig, box, f"cat {REPOSITORY}/word") == "refs"
    (folders.repository / "later").write_text("seen")
    assert shell(rig, box, f"cat {REPOSITORY}/later") == "seen"


def test_spare_without_views_is_closed_like_any_other(rig: ZygoteRig) -> None:
    keep_ready(rig, "sb_bare")
    box = rig.start("sb_bare", env=ENV)
    assert "Read-only" in shell(rig, box, "touch /.atoll/repos/mine /opt/atoll/agents/mine 2>&1")


@pytest.mark.parametrize(
    "other", [{"writable": False}, {"limits": wire.Limits(ptys=3)}, {"debug": True}]
)
def test_start_of_another_shape_is_built_anew(rig: ZygoteRig, other: dict[str, object]) -> None:
    name = "sb_other"
    spare = keep_ready(rig, name)
    box = rig.start(name, env=ENV, **other)
    assert processes(known(rig, name)).isdisjoint(processes(spare))
    assert all_gone(sorted(processes(spare)))
    assert shell(rig, box, "echo well") == "well"
    assert isinstance(rig.ask(wire.Destroy(name)), wire.Cleaned)


def test_link_in_place_of_a_view_starts_no_sandbox(rig: ZygoteRig, folders: Folders) -> None:
    keep_ready(rig, "sb_link")
    link = rig.home.repositories / "link"
    link.symlink_to(folders.repository)
    views = (wire.View(str(link), REPOSITORY),)
    answer = rig.ask(wire.Start("sb_link", 1, "box", env=ENV, views=views))
    assert isinstance(answer, wire.Refused)
    link.unlink()


def test_spare_that_is_asked_for_again_stays_unless_its_shape_changed(rig: ZygoteRig) -> None:
    spare = keep_ready(rig, "sb_again")
    assert processes(keep_ready(rig, "sb_again")) == processes(spare)
    changed = keep_ready(rig, "sb_again", limits=wire.Limits(ptys=5))
    assert processes(changed).isdisjoint(processes(spare))
    rig.ask(wire.Destroy("sb_again"))


def test_start_that_comes_while_its_spare_is_built_gets_it(rig: ZygoteRig) -> None:
    with rig.connect() as link:
        link.send(wire.encode_request(7, wire.Start("sb_soon", 1, "waits", pooled=True)))
        link.send(wire.encode_request(8, wire.Start("sb_soon", 1, "soon", env=ENV)))
        answers: dict[int, wire.Answer] = {}
        while len(answers) < 2:
            came = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES))
            answers[came.number] = came.answer
    assert all(isinstance(each, wire.Started) for each in answers.values()), answers
    made = answers[8]
    assert isinstance(made, wire.Started)
    assert shell(rig, made.box, "hostname") == "soon"
    assert not known(rig, "sb_soon").pooled


def test_spare_without_its_init_leaves_nothing_and_says_so(rig: ZygoteRig) -> None:
    with rig.connect() as link:
        link.send(wire.encode_request(1, wire.ListBoxes()))
        link.recv(wire.MAX_MESSAGE_BYTES)
        spare = keep_ready(rig, "sb_dies")
        os.kill(spare.processes[1].pid, signal.SIGKILL)
        ended = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES)).answer
    assert isinstance(ended, wire.Ended)
    # No generation of the sandbox that has this id soon.
    assert (ended.sandbox_id, ended.generation) == ("sb_dies", 0)
    assert all_gone(sorted(processes(spare)))
    box = rig.start("sb_dies", env=ENV)
    assert shell(rig, box, "ls /workspace; echo well") == "well"


def test_stop_of_a_spare_keeps_nothing(rig: ZygoteRig) -> None:
    keep_ready(rig, "sb_stops")
    assert isinstance(rig.ask(wire.Stop("sb_stops")), wire.Cleaned)
    assert not rig.home.box("sb_stops").folder.exists()


def test_no_spare_takes_the_place_of_files(rig: ZygoteRig) -> None:
    rig.start("sb_files", env=ENV)
    rig.ask(wire.Stop("sb_files"))
    answer = rig.ask(wire.Start("sb_files", 2, "waits", pooled=True))
    assert isinstance(answer, wire.Refused) and answer.kind == "conflict"


def test_spares_of_a_killed_zygote_are_swept_by_the_next() -> None:
    with zygote_rig() as rig:
        spare = keep_ready(rig, "sb_waits")
        rig.process.kill()
        rig.process.wait(60)
        assert all_gone(sorted(processes(spare)))
        with zygote_rig(home=rig.home.root) as following:
            listed = following.ask(wire.ListBoxes())
            assert isinstance(listed, wire.Listed) and not listed.boxes
            assert not rig.home.box("sb_waits").folder.exists()
