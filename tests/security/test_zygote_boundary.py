"""The control plane's uid as attacker of the one process that keeps root.

Its folders are its own: it may swap anything in them for a link at any moment. Nothing of
root's may change hands, be mounted or be removed by that.
"""

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire import zygote as wire
from atoll.wiring.home_setup import prepare_home

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the boundary is root's")

REFSPECS = ("refs/heads/main:refs/heads/in",)


@pytest.fixture(scope="module")
def prepared() -> Iterator[tuple[ZygoteRig, int]]:
    """A zygote over a home as `atoll up` makes it, and the control plane's uid."""
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as parent:
        Path(parent).chmod(0o711)
        home = Path(parent) / "h"
        uid = prepare_home(home)
        with zygote_rig_keeping_modes(home) as rig:
            yield rig, uid


@contextlib.contextmanager
def zygote_rig_keeping_modes(home: Path) -> Iterator[ZygoteRig]:
    mode = home.stat().st_mode
    with zygote_rig(0, home) as rig:
        home.chmod(mode)
        yield rig


@pytest.fixture
def prize() -> Iterator[Path]:
    """A folder and a file of root's, as tempting as /etc and /etc/shadow."""
    with tempfile.TemporaryDirectory(prefix="atprize", dir="/tmp") as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "empty.git").mkdir(mode=0o755)
        (place / "b").write_text("root's own\n")
        (place / "b").chmod(0o644)
        yield place


def unspoiled(prize: Path) -> bool:
    found = [prize, *prize.rglob("*")]
    return all(each.lstat().st_uid == 0 for each in found) and prize.stat().st_mode & 0o777 == 0o755


def as_control(uid: int, script: str) -> None:
    """Run a shell line as the control plane's uid: what it cannot do, it cannot do."""
    done = subprocess.run(
        ["/bin/sh", "-ec", script], user=uid, group=uid, extra_groups=[], capture_output=True
    )
    assert done.returncode == 0, done.stderr


def import_job(rig: ZygoteRig, uid: int) -> Path:
    folder = rig.home.imports / os.urandom(6).hex()
    as_control(uid, f"mkdir {folder}; git init -q --bare {folder}/r.git; echo junk > {folder}/b")
    return folder


def test_import_through_a_linked_folder_touches_nothing_of_root(
    prepared: tuple[ZygoteRig, int], prize: Path
) -> None:
    rig, uid = prepared
    name = rig.home.imports / os.urandom(6).hex()
    as_control(uid, f"mkdir -p {name}; ln -s {prize} {name}/way; ln -s {prize} {name}.d")
    real = import_job(rig, uid)
    for repo in (f"{name}/way/empty.git", f"{name}.d/empty.git", f"{name}/way", f"{real}/r.git"):
        for bundle in (f"{name}/way/b", f"{name}.d/b", f"{real}/b"):
            answer = rig.ask(wire.Import(repo, bundle, REFSPECS))
            assert isinstance(answer, wire.Refused)
            assert unspoiled(prize), (repo, bundle)


def test_import_with_the_way_swapped_while_it_runs_hands_nothing_of_root_over(
    prepared: tuple[ZygoteRig, int], prize: Path
) -> None:
    rig, uid = prepared
    over = threading.Event()
    folder = import_job(rig, uid)
    away = f"{folder}.away"

    def swap() -> None:
        with subprocess.Popen(
            ["/bin/sh", "-s"],
            stdin=subprocess.PIPE,
            user=uid,
            group=uid,
            extra_groups=[],
            text=True,
        ) as shell:
            assert shell.stdin is not None
            shell.stdin.write(
                f"while :; do mv {folder} {away}; ln -s {prize} {folder}; rm {folder}; "
                f"mv {away} {folder}; done\n"
            )
            shell.stdin.flush()
            over.wait(60)
            shell.kill()

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(25):
            rig.ask(wire.Import(f"{folder}/r.git", f"{folder}/b", REFSPECS))
            assert unspoiled(prize)
    finally:
        over.set()
        swapper.join()


def test_import_of_the_whole_import_folder_replaced_by_a_link_is_refused(
    prize: Path,
) -> None:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as parent:
        Path(parent).chmod(0o711)
        uid = prepare_home(Path(parent) / "h")
        with zygote_rig_keeping_modes(Path(parent) / "h") as rig:
            as_control(uid, f"mv {rig.home.imports} {parent}/h/x; ln -s {prize} {rig.home.imports}")
            answer = rig.ask(
                wire.Import(f"{rig.home.imports}/empty.git", f"{rig.home.imports}/b", REFSPECS)
            )
            assert isinstance(answer, wire.Refused)
            assert unspoiled(prize)


def test_control_uid_cannot_replace_what_root_writes(prepared: tuple[ZygoteRig, int]) -> None:
    rig, uid = prepared
    home = rig.home.root
    for place in ("boxes", "run", "run/b", "run/bin", "run/root"):
        done = subprocess.run(
            ["/bin/mv", str(home / place), str(home / "moved")],
            user=uid, group=uid, extra_groups=[], capture_output=True,
        )  # fmt: skip
        assert done.returncode != 0, place
    for place in ("boxes/x", "run/b/x", "run/bin/x", "run/root/x"):
        with pytest.raises(AssertionError):
            as_control(uid, f"echo > {home / place}")
