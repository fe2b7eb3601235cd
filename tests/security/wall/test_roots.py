"""Roots of images and layers above a root, attacked: as root and rootless."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.domain.interior.identity import machine_id_text
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.zygote.disk.skeleton import PLACES
from tests.claims import claim_person

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
LIMITS = wire.Limits(memory_bytes=256 * 2**20, pids=64, workspace_bytes=64 * 2**20)
NEEDED = (
    "sh",
    "cat",
    "ls",
    "id",
    "touch",
    "rm",
    "mv",
    "ln",
    "mkdir",
    "stat",
    "dd",
    "chmod",
    "true",
)


@pytest.fixture(scope="module", params=["root", "rootless"])
def rig(request: pytest.FixtureRequest) -> Iterator[ZygoteRig]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    uid = 0 if request.param == "root" else claim_person()
    with zygote_rig(uid) as running:
        yield running


@pytest.fixture(scope="module")
def bait(rig: ZygoteRig) -> Iterator[Path]:
    """A folder of the host's that anybody may write to: where a link might lead out."""
    folder = Path(f"/tmp/at-bait-{os.getpid()}-{rig.uid}")
    folder.mkdir()
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def tree(rig: ZygoteRig, bait: Path) -> Path:
    """A root in which every place of ours is a link that leads out, by two spellings."""
    top = rig.home.images / "hostile"
    (top / "usr" / "bin").mkdir(parents=True)
    top.parent.chmod(0o755)
    for name in NEEDED:
        _with_libraries(Path(str(shutil.which(name))).resolve(), top, name)
    (top / "bin").symlink_to("usr/bin")
    (top / "own").mkdir()
    (top / "own" / "file").write_text("of the image\n")
    for number, name in enumerate(sorted({place.split("/")[0] for place in PLACES} - {"usr"})):
        goal = f"/oldroot{bait}" if number % 2 else f"../../oldroot{bait}"
        (top / name).symlink_to(goal)
    shutil.copy(top / "usr" / "bin" / "id", top / "usr" / "bin" / "setuid-id")
    for folder, _names, files in os.walk(top):
        for path in (Path(folder), *(Path(folder) / name for name in files)):
            os.chown(path, rig.uid, rig.uid, follow_symlinks=False)
    (top / "usr" / "bin" / "setuid-id").chmod(0o6755)
    if rig.uid == 0:
        os.mknod(top / "own" / "disk", 0o60666, os.makedev(7, 0))
        os.mknod(top / "own" / "memory", 0o20666, os.makedev(1, 1))
    return top


def _with_libraries(program: Path, top: Path, name: str) -> None:
    shutil.copy(program, top / "usr" / "bin" / name)
    needed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True)
    for word in needed.stdout.split():
        if word.startswith("/") and not (top / word[1:]).exists():
            (top / word[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, top / word[1:])


def shell(rig: ZygoteRig, box: wire.Box, line: str) -> str:
    return rig.inside(box, "/bin/sh", "-c", line)[1].strip()


@pytest.mark.parametrize("overlay", [False, True], ids=["readonly", "overlay"])
def test_root_of_links_that_lead_out_leads_nowhere(
    rig: ZygoteRig, tree: Path, bait: Path, overlay: bool
) -> None:
    box = rig.start(f"sb_links{int(overlay)}", env=ENV, tree=str(tree), overlay=overlay)
    assert "agent:x:1000" in shell(rig, box, "cat /etc/passwd")
    assert "localhost box" in shell(rig, box, "cat /etc/hosts")
    # An image's own would be that of every sandbox that is made of it.
    assert shell(rig, box, "cat /etc/machine-id") == machine_id_text(box.sandbox_id).strip()
    assert len(shell(rig, box, "cat /run/atoll/generation")) == 32
    assert shell(rig, box, "cat /own/file") == "of the image"
    for place in PLACES:
        assert shell(rig, box, f"test -L /{place.split('/')[0]} && echo LINK") == ""
    assert shell(rig, box, "echo mine > /workspace/a && cat /workspace/a") == "mine"
    assert shell(rig, box, "echo mine > /tmp/a && echo x > /dev/null && cat /tmp/a") == "mine"
    assert list(bait.iterdir()) == []


def test_root_of_an_image_cannot_be_written(rig: ZygoteRig, tree: Path) -> None:
    box = rig.start("sb_ro", env=ENV, tree=str(tree))
    for place in ("/x", "/own/x", "/own/file", "/etc/x", "/usr/bin/x", "/home/x", "/.atoll/x"):
        assert "ESCAPE" not in shell(rig, box, f"(echo x >> {place}) && echo ESCAPE")
    assert (tree / "own" / "file").read_text() == "of the image\n"


def test_root_with_a_layer_is_written_beside_the_image_and_kept(rig: ZygoteRig, tree: Path) -> None:
    line = "echo more >> /own/file && touch /own/new /etc/new /usr/bin/new && rm /usr/bin/ln"
    box = rig.start("sb_layer", env=ENV, tree=str(tree), overlay=True, limits=LIMITS)
    assert box.degraded == rig.start("sb_plain", env=ENV, tree=str(tree), limits=LIMITS).degraded
    assert shell(rig, box, f"{line} && echo done") == "done"
    assert (tree / "own" / "file").read_text() == "of the image\n"
    assert (tree / "usr" / "bin" / "ln").exists()
    rig.ask(wire.Stop("sb_layer"))
    again = rig.start("sb_layer", env=ENV, tree=str(tree), overlay=True, limits=LIMITS)
    assert shell(rig, again, "cat /own/file") == "of the image\nmore"
    assert shell(rig, again, "ls /usr/bin/ln 2>&1 >/dev/null") != ""
    assert shell(rig, again, "ls /.atoll") == "init\nstate"


def test_root_with_a_layer_counts_against_the_quota(rig: ZygoteRig, tree: Path) -> None:
    if rig.uid != 0:
        pytest.skip("rootless workspaces are not bounded, which is said")
    box = rig.start("sb_full", env=ENV, tree=str(tree), overlay=True, limits=LIMITS)
    said = shell(rig, box, "dd if=/dev/zero of=/own/big bs=1M count=200 2>&1")
    assert "No space left" in said


def test_root_with_a_layer_keeps_our_places_from_the_agent(
    rig: ZygoteRig, tree: Path, bait: Path
) -> None:
    box = rig.start("sb_places", env=ENV, tree=str(tree), overlay=True)
    shell(rig, box, f"for p in opt var etc home mnt srv data root; do rm -rf /$p; mv /$p /old-$p; "
                    f"ln -s /oldroot{bait} /$p; ln -sf /oldroot{bait} /$p; done; true")  # fmt: skip
    rig.ask(wire.Stop("sb_places"))
    answer = rig.ask(wire.Start("sb_places", 1, "box", env=ENV, tree=str(tree), overlay=True))
    # Either the kernel kept every place, or the second lock says which one was replaced.
    if isinstance(answer, wire.Started):
        assert "localhost box" in shell(rig, answer.box, "cat /etc/hosts")
        assert shell(rig, answer.box, "cat /etc/machine-id") == machine_id_text("sb_places").strip()
    else:
        assert isinstance(answer, wire.Refused) and "recreate" in answer.message
    assert list(bait.iterdir()) == []


@pytest.mark.parametrize("overlay", [False, True], ids=["readonly", "overlay"])
def test_root_s_setuid_programs_and_devices_give_nothing(
    rig: ZygoteRig, tree: Path, overlay: bool
) -> None:
    box = rig.start(f"sb_setuid{int(overlay)}", env=ENV, tree=str(tree), overlay=overlay)
    assert shell(rig, box, "setuid-id -u") == "1000"
    assert "CapEff:\t0000000000000000" in shell(rig, box, "cat /proc/self/status")
    for device in ("disk", "memory"):
        assert (
            shell(rig, box, f"dd if=/own/{device} of=/tmp/x count=1 2>/dev/null && echo BAD") == ""
        )


@pytest.mark.parametrize("place", ["/", "/etc", "{home}/boxes", "{home}/images/../boxes", "{home}"])
def test_root_outside_the_images_is_refused(rig: ZygoteRig, place: str) -> None:
    wanted = place.format(home=rig.home.root)
    answer = rig.ask(wire.Start("sb_else", 1, "box", tree=wanted))
    assert isinstance(answer, wire.Refused) and answer.kind == "invalid"


def test_root_that_became_a_link_is_refused(rig: ZygoteRig, tree: Path) -> None:
    if rig.uid != 0:
        pytest.skip("rootless, whoever can put the link has the same uid as the sandbox")
    (rig.home.images / "link").symlink_to("/")
    answer = rig.ask(wire.Start("sb_link", 1, "box", env=ENV, tree=str(rig.home.images / "link")))
    assert isinstance(answer, wire.Refused) and "no plain folder" in answer.message


def test_host_s_usr_with_a_layer_takes_programs_and_shows_nothing_private(rig: ZygoteRig) -> None:
    box = rig.start("sb_usr", env=ENV, overlay=True)
    assert not any(each.startswith("root:") for each in box.degraded)
    line = "echo '#!/bin/sh\necho hi' > /usr/local/bin/hi && chmod +x /usr/local/bin/hi && hi"
    assert shell(rig, box, f"PATH=/usr/local/bin:$PATH; {line}") == "hi"
    assert shell(rig, box, "rm /usr/bin/yes && test ! -e /usr/bin/yes && echo gone") == "gone"
    assert not Path("/usr/local/bin/hi").exists()
    assert Path("/usr/bin/yes").exists()
    # A file of the host's stays the host's: it can be replaced here, and not changed.
    assert shell(rig, box, "(echo x >> /usr/bin/env) 2>/dev/null && echo BAD") == ""
    assert shell(rig, box, "stat -c %u /usr/bin/env") == "65534"
