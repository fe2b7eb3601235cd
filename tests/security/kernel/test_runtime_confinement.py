"""A runtime that was taken over: what its process is held to, tried in the process itself.

The control is the same program in a process of the same uid, or root's, that nobody confined.
"""

import errno
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.zygote_rig import ZygoteRig
from atoll.wire.zygote import messages as wire
from atoll.wiring.doctor import report as doctor
from atoll.zygote.host import kernel
from atoll.zygote.wall import confinement as confinements
from atoll.zygote.wall import landlock
from atoll.zygote.wall.confinement import plan_confinement
from tests.claims import claim_far_uid
from tests.security.conftest import Walled
from tests.security.kernel import takeover
from tests.security.kernel.pool_walls import walled_pair

SOURCE = Path(takeover.__file__).read_text()
REFUSED = {errno.EPERM, errno.EACCES}
NOBODY = claim_far_uid()

needs_landlock = pytest.mark.skipif(not landlock.abi(), reason="this kernel has no Landlock")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, whom nothing else stops")


@contextmanager
def prizes(rig: ZygoteRig, taker: str, quiet: wire.Box) -> Iterator[dict[str, Any]]:
    """What there is to be had beside one runtime: its neighbour's, Atoll's and the machine's."""
    home = rig.home
    journal = home.box(quiet.sandbox_id).journal
    entry = journal / "kept.jsonl"
    entry.write_text("{}")
    key = home.root / "master.key"
    key.write_text("a key")
    for path in (entry, key):
        path.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(path, rig.uid, rig.uid)
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        name = f"atoll-test-{os.getpid()}"
        abstract.bind("\0" + name)
        abstract.listen(8)
        yield {
            "files": {"the master key": str(key), "a journal": str(entry), "shadow": "/etc/shadow"},
            "folders": {"home": str(home.root), "a neighbour's journal": str(journal)},
            "sockets": {
                quiet.socket: socket.SOCK_STREAM,
                str(home.socket): socket.SOCK_SEQPACKET,
            },
            "name": name,
            "port": listener.getsockname()[1],
            "pid": quiet.runtime_pid,
            "own": str(home.box(taker).journal),
        }


def apart(act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run `act` in a process of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, json.dumps(act()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    found: dict[str, Any] = json.loads(text)
    return found


def refused(results: dict[str, int]) -> set[str]:
    return {name for name, number in results.items() if number in REFUSED}


@needs_landlock
@pytest.mark.parametrize(
    "kind",
    ["root", "rootless", pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.slow])],
)
def test_runtime_taken_over_reaches_nothing_but_its_own(kind: str) -> None:
    with walled_pair(kind) as (rig, taker, quiet), prizes(rig, taker.sandbox_id, quiet) as given:
        found = rig.run(taker, SOURCE, given)
        assert refused(found["attempts"]) == found["attempts"].keys(), found["attempts"]
        assert not any(found["works"].values()), found["works"]
        for box in (taker, quiet):
            assert rig.inside(box, "/bin/echo", "here")[1] == "here\n"
        if kind == "rootless":
            assert_control_of_the_same_uid(rig.uid, given)


def assert_control_of_the_same_uid(uid: int, given: dict[str, Any]) -> None:
    """Without root nothing but the confinement stands between a runtime and these."""

    def alike() -> dict[str, Any]:
        if os.geteuid() == 0:
            kernel.drop_to(uid)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
        return takeover.attempts(given)

    found = apart(alike)
    won = {name for name, number in found.items() if not number}
    assert won >= {
        *("read the master key", "read a journal", "list home", "write to home"),
        *("list a neighbour's journal", "write to a neighbour's journal"),
        *(f"dial {path}" for path in given["sockets"]),
        *("dial an abstract socket", "a pair of datagram sockets", "listen on a port"),
        *("fork", "signal", "hold by pidfd"),
    }, found


@needs_root
@needs_landlock
def test_even_root_is_held_and_without_it_everything_succeeds() -> None:
    with walled_pair("root") as (rig, taker, quiet), prizes(rig, taker.sandbox_id, quiet) as given:
        held = plan_confinement(rig.home.root)

        def confined() -> dict[str, Any]:
            held.prepare()
            held.enter(Path(given["own"]))
            return takeover.tried(given)

        free = apart(lambda: takeover.attempts(given))
        assert not refused(free), free
        found = apart(confined)
        # By the right to read /etc alone, which is what resolving names needs.
        assert found["attempts"].pop("read shadow") == 0
        assert refused(found["attempts"]) == found["attempts"].keys(), found["attempts"]
        assert not any(found["works"].values()), found["works"]


@needs_root
@pytest.mark.skipif(landlock.abi() < landlock.SCOPES_SINCE, reason="Landlock is too old for it")
def test_rules_hold_without_the_filter_of_system_calls() -> None:
    with walled_pair("root") as (rig, taker, quiet), prizes(rig, taker.sandbox_id, quiet) as given:

        def ruled() -> dict[str, Any]:
            kernel.set_no_new_privileges()
            rules = landlock.Ruleset(landlock.abi())
            rules.enforce()
            return takeover.attempts(given)

        assert refused(apart(ruled)) >= {
            *("read the master key", "read a journal", "read shadow", "list home"),
            *("write to home", "dial an abstract socket", "listen on a port", "signal", "trace"),
        }


@needs_landlock
@pytest.mark.parametrize("version", range(1, 8))
def test_rules_of_every_version_leave_only_what_was_allowed(version: int, tmp_path: Path) -> None:
    if version > landlock.abi():
        pytest.skip("this kernel does not know it yet")
    allowed, other = tmp_path / "allowed", tmp_path / "other"
    for folder in (allowed, other):
        folder.mkdir()
        (folder / "file").write_text("x")

    def ruled() -> dict[str, Any]:
        kernel.set_no_new_privileges()
        rules = landlock.Ruleset(version)
        assert rules.allow(str(allowed), landlock.FileRights.READ_FILE)
        assert rules.allow(
            "/dev/null", landlock.FileRights.READ_FILE | landlock.FileRights.READ_DIR
        )
        assert not rules.allow(str(tmp_path / "none"), landlock.FileRights.READ_FILE)
        rules.enforce()
        rules.close()
        return {
            "allowed": takeover.outcome((allowed / "file").read_bytes),
            "null": takeover.outcome(Path("/dev/null").read_bytes),
            "listed": takeover.outcome(lambda: next(allowed.iterdir())),
            "written": takeover.outcome(lambda: (allowed / "file").write_text("y")),
            "other": takeover.outcome((other / "file").read_bytes),
        }

    free = {"allowed": 0, "null": 0}
    refused = dict.fromkeys(("listed", "written", "other"), errno.EACCES)
    assert apart(ruled) == {**free, **refused}


@needs_landlock
def test_every_real_runtime_is_confined(walled: Walled) -> None:
    api = walled.api
    box = api.create(profile="attacked")["sandbox_id"]
    try:
        pid = api.box(box).runtime_pid
        facts = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        )
        assert facts["Seccomp"].split() == ["2"]
        assert int(facts["Seccomp_filters"]) == 2
        assert facts["NoNewPrivs"].split() == ["1"]
        # A runtime may start no program; its sandbox does.
        assert api.run(box, "sh -c 'echo $((6 * 7))'").strip() == "42"
    finally:
        api.act(box, "destroy")


def test_places_above_the_home_are_no_places_of_a_runtime() -> None:
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder, "h")
        inner.mkdir()
        usual = {path for path, _access in plan_confinement(inner).places}
        assert "/usr" in usual
        assert not [path for path in usual if inner.is_relative_to(path)]
    assert "/usr" not in {
        path for path, _access in plan_confinement(Path("/usr/local/atoll")).places
    }


@pytest.mark.parametrize(
    ("version", "running", "levels", "said"),
    [
        (0, False, ["warn"], "has none"),
        (0, True, [], ""),
        (1, True, ["ok"], "without rules for ports to listen on or signals and abstract sockets"),
        (5, True, ["ok"], "without rules for signals and abstract sockets"),
        (7, True, ["ok"], "Landlock (version 7) and"),
    ],
)
def test_doctor_says_what_holds_a_runtime(
    monkeypatch: pytest.MonkeyPatch, version: int, running: bool, levels: list[str], said: str
) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: version)
    report = wire.Reported(root=True, pid=1, bwrap="0.11.0", init="c") if running else None
    told = list(doctor._confinement(report))
    assert [each.level for each in told] == levels
    assert all(said in each.text for each in told)


def test_kernel_without_landlock_is_said_by_the_zygote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    assert plan_confinement(Path("/nowhere")).lacking == (confinements.MISSING,)
    report = wire.Reported(
        root=True, pid=1, bwrap="0.11.0", init="c", degraded=(confinements.MISSING,)
    )
    told = {each.name: each.level for each in doctor._limits(report)}
    assert told["limit: landlock"] == "warn"


@needs_root
def test_kernel_without_landlock_still_has_the_filter() -> None:
    with tempfile.TemporaryDirectory() as folder:
        without = plan_confinement(Path(folder))
        object.__setattr__(without, "version", 0)

        def confined() -> dict[str, Any]:
            without.prepare()
            without.enter(Path(folder))
            return {
                "fork": takeover.outcome(takeover.forked),
                "read": takeover.outcome(Path("/etc/shadow").read_bytes),
            }

        assert apart(confined) == {"fork": errno.EPERM, "read": 0}
