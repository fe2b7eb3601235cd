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
from atoll.wire.zygote import messages as wire
from atoll.wiring.launch.home_setup import prepare_home

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


def test_view_through_a_link_is_refused_and_a_plain_one_is_shown(
    prepared: tuple[ZygoteRig, int], prize: Path
) -> None:
    rig, uid = prepared
    repos = rig.home.repositories
    as_control(
        uid,
        f"mkdir -p {repos}/h/o/a.git; echo shared > {repos}/h/o/a.git/f; "
        f"ln -s {prize} {repos}/link.git; ln -s {prize} {repos}/way; ln -s / {repos}/h/root",
    )
    for source in (f"{repos}/link.git", f"{repos}/way/empty.git", f"{repos}/h/root/etc"):
        answer = rig.ask(
            wire.Start("sb_links", 1, "box", views=(wire.View(source, "/.atoll/repos/0.git"),))
        )
        assert isinstance(answer, wire.Refused)
        assert "no plain folder" in answer.message
    view = wire.View(f"{repos}/h/o/a.git", "/.atoll/repos/0.git")
    box = rig.start("sb_views", views=(view,), env=(("PATH", "/usr/bin:/bin"),))
    status, said = rig.inside(box, "/bin/sh", "-c", "cat /.atoll/repos/0.git/f; ls /proc/self/fd")
    assert (status, said.split()) == (0, ["shared", "0", "1", "2", "3"])
    status, _said = rig.inside(box, "/bin/sh", "-c", "echo x > /.atoll/repos/0.git/g")
    assert status != 0
    rig.ask(wire.Destroy("sb_views"))


HARMLESS = ("socket:", "pipe:", "anon_inode:", "/dev/null", "/workspace", "/proc/1/fdinfo/")


def status_of(pid: int) -> dict[str, list[str]]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.split() for name, _colon, value in (x.partition(":") for x in lines)}


def test_runtime_has_given_up_every_way_back_to_root(prepared: tuple[ZygoteRig, int]) -> None:
    rig, _uid = prepared
    box = rig.start("sb_drop")
    found = status_of(box.runtime_pid)
    assert len(set(found["Uid"])) == len(set(found["Gid"])) == 1
    assert "0" not in (*found["Uid"], *found["Gid"], *found["Groups"])
    assert {found[name][0].strip("0") for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {""}
    assert found["NoNewPrivs"] == ["1"]
    assert box.degraded == ()
    inside = Path(f"/proc/{box.runtime_pid}/task/{box.runtime_pid}/children").read_text().split()
    for pid in inside:
        assert set(status_of(int(pid))["Uid"]) == {str(box.host_uid)}
    rig.ask(wire.Destroy("sb_drop"))


def test_init_holds_no_descriptor_of_the_host(prepared: tuple[ZygoteRig, int]) -> None:
    rig, uid = prepared
    repos = rig.home.repositories
    as_control(uid, f"mkdir -p {repos}/h/o/b.git")
    view = wire.View(f"{repos}/h/o/b.git", "/.atoll/repos/0.git")
    box = rig.start("sb_fds", views=(view,))
    runtime = Path(f"/proc/{box.runtime_pid}/task/{box.runtime_pid}/children").read_text()
    for bwrap in runtime.split():
        for init in Path(f"/proc/{bwrap}/task/{bwrap}/children").read_text().split():
            held = [str(each.readlink()) for each in Path(f"/proc/{init}/fd").iterdir()]
            assert [each for each in held if not each.startswith(HARMLESS)] == []
    rig.ask(wire.Destroy("sb_fds"))


MESSAGES = [
    b"{}",
    b"\xff\xfe",
    b"[" * 60_000,
    b"x" * 66_000,
    b'{"number":1}',
    b'{"number":0,"request":{"verb":"report"}}',
    b'{"number":1e400,"request":{"verb":"report"}}',
    b'{"number":1,"request":{"verb":"exec","argv":["id"]}}',
    b'{"number":1,"request":{"verb":"report","uid":0}}',
    b'{"number":1,"request":{"verb":"\\ud800"}}',
    b'{"number":1,"request":{"verb":"list","after":"' + b"z" * 65 + b'"}}',
]


@pytest.mark.parametrize("message", MESSAGES)
def test_message_that_is_no_request_is_refused_and_the_zygote_lives(
    prepared: tuple[ZygoteRig, int], message: bytes
) -> None:
    rig, _uid = prepared
    with rig.connect() as link:
        link.send(message)
        answer = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES)).answer
    assert isinstance(answer, wire.Refused)
    assert answer.kind == "invalid"
    assert isinstance(rig.ask(wire.Report()), wire.Reported)


@pytest.mark.parametrize(
    "name",
    ["../x", "sb_/../x", "zygote", "next-uid", "probe", "template-1", "sb_a\n", "sb_A", "sb_"],
)
def test_sandbox_named_like_something_else_is_refused(
    prepared: tuple[ZygoteRig, int], name: str
) -> None:
    rig, _uid = prepared
    for verb in (wire.Start(name, 1, "box"), wire.Stop(name), wire.Destroy(name)):
        answer = rig.ask(verb)
        assert isinstance(answer, wire.Refused)
        assert answer.kind == "invalid"


def test_thousand_unread_questions_cost_only_their_asker(prepared: tuple[ZygoteRig, int]) -> None:
    rig, _uid = prepared
    with rig.connect() as link:
        link.setblocking(False)
        with contextlib.suppress(OSError):
            for number in range(1, 100_000):
                link.send(wire.encode_request(number, wire.ListBoxes()))
        assert isinstance(rig.ask(wire.Report()), wire.Reported)
    # Whoever goes with answers unread takes nobody along.
    assert isinstance(rig.ask(wire.Report()), wire.Reported)


def test_start_stop_and_destroy_at_once_leave_nothing(prepared: tuple[ZygoteRig, int]) -> None:
    rig, _uid = prepared
    verbs: list[wire.Request] = [
        wire.Start("sb_race", 1, "box"),
        wire.Stop("sb_race"),
        wire.Destroy("sb_race"),
    ]
    with rig.connect() as link:
        for number in range(1, 31):
            link.send(wire.encode_request(number, verbs[number * 7 % 3]))
        answered: set[int] = set()
        while len(answered) < 30:
            answered.add(wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES)).number)
    assert isinstance(rig.ask(wire.Destroy("sb_race")), wire.Cleaned)
    listed = rig.ask(wire.ListBoxes())
    assert isinstance(listed, wire.Listed)
    assert "sb_race" not in [box.sandbox_id for box in listed.boxes]
    assert not rig.home.box("sb_race").folder.exists()


def test_keys_file_that_is_a_link_to_a_secret_of_root_is_not_read(
    prepared: tuple[ZygoteRig, int], prize: Path
) -> None:
    rig, uid = prepared
    secret = prize / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    as_control(uid, f"ln -s {secret} {rig.home.keys}")
    answer = rig.ask(wire.Start("sb_keys", 1, "box"))
    assert isinstance(answer, wire.Refused)
    rig.home.keys.unlink()
    os.link(secret, rig.home.keys)
    answer = rig.ask(wire.Start("sb_keys", 1, "box"))
    assert isinstance(answer, wire.Refused)
    rig.home.keys.unlink()
    rig.ask(wire.Destroy("sb_keys"))
