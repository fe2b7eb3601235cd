"""What the Engine is asked for, read as the Engine would: no daemon is needed."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from atoll.adapters.extensions.docker.container import ContainerPlan, body
from atoll.adapters.extensions.docker.engine import Engine, socket_path
from atoll.adapters.extensions.docker.images import ResolvedImage
from atoll.adapters.extensions.docker.pulls import is_reference, split_reference
from atoll.adapters.extensions.docker.seccomp_profile import all_but, profile_for
from atoll.adapters.zygote.environment import environment_with_image
from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.domain.files.host_mount import HostMount
from atoll.domain.interior.etc import AGENT_FILES
from atoll.domain.wall.interior import SCRATCH
from atoll.domain.wall.system_calls import DENIED, TERMINAL_REQUESTS
from atoll.ports.extension import Mount
from atoll.wire.zygote.messages import Awaited, Box

AWAITED = Awaited(
    box=Box("sb_a", 1, True, "/h/run/b/sb_a/rt.sock", 1_900_000_007),
    rendezvous="/h/run/b/sb_a/init.sock",
    init_file="/h/run/bin/init",
    init=("/.atoll/init",),
    workspace="/h/boxes/sb_a/mnt/workspace",
    state="/h/boxes/sb_a/mnt/state",
    etc="/h/boxes/sb_a/etc",
    own_run="/h/boxes/sb_a/own-run",
)


def plan(**more: object) -> ContainerPlan:
    fields: dict[str, object] = {
        "image": ResolvedImage("sha256:1", volumes=("/data", "/workspace")),
        "awaited": AWAITED,
        "hostname": "box",
        "labels": (("atoll.home", "t"),),
        "seccomp": "{}",
        "memory_bytes": 1 << 30,
        "pids": 64,
        "cpu_millis": 1500,
        "files": 512,
        "netlink": 7,
        "writable": True,
        "views": (Mount("/h/repos/a.git", "/.atoll/repos/0.git"),),
    }
    return ContainerPlan(**{**fields, **more})  # type: ignore[arg-type]


def test_policy_of_agents_is_bound_read_only_below_etc() -> None:
    mounts = {one["Target"]: one for one in json.loads(body(plan()))["HostConfig"]["Mounts"]}
    for name in AGENT_FILES:
        bound = mounts[f"/etc/{name}"]
        assert (bound["Source"], bound["ReadOnly"]) == (f"/h/boxes/sb_a/etc/{name}", True)


def test_container_is_closed_on_every_side() -> None:
    asked = json.loads(body(plan()))
    host = asked["HostConfig"]
    assert asked["User"] == "1900000007:1900000007"
    assert asked["NetworkDisabled"] is True and host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True and host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges:true", "seccomp={}"]
    assert host["MemorySwap"] == host["Memory"] == 1 << 30
    assert (host["PidsLimit"], host["NanoCpus"]) == (64, 1_500_000_000)
    assert {"Name": "nofile", "Soft": 512, "Hard": 512} in host["Ulimits"]
    assert {"/sys", "/proc/kcore", "/proc/kallsyms", "/sys/firmware"} <= set(host["MaskedPaths"])
    assert "/proc/sys" in host["ReadonlyPaths"]
    assert not {"Privileged", "CapAdd", "Devices", "Binds", "VolumesFrom"} & host.keys()
    assert asked["Healthcheck"] == {"Test": ["NONE"]}


def test_container_s_mounts_are_these_and_read_only_where_nothing_is_written() -> None:
    mounts = {each["Target"]: each for each in json.loads(body(plan()))["HostConfig"]["Mounts"]}
    writable = {target for target, each in mounts.items() if not each["ReadOnly"]}
    homes = {f"/home/agent/{inside}" for _name, inside in HOME_STATE}
    assert writable == {"/workspace", "/.atoll/state", *homes}
    assert mounts["/.atoll/repos/0.git"]["Source"] == "/h/repos/a.git"
    assert not any("docker.sock" in each["Source"] for each in mounts.values())
    closed = json.loads(body(plan(writable=False)))["HostConfig"]["Mounts"]
    assert {each["Target"]: each["ReadOnly"] for each in closed}["/workspace"] is True


def test_container_s_memory_places_are_the_table_s_and_the_image_s_volumes() -> None:
    places = json.loads(body(plan()))["HostConfig"]["Tmpfs"]
    assert {place for place, _mode, _size in SCRATCH} <= places.keys()
    assert {"/data", "/home/agent/.config", "/home/agent/.local/share"} <= places.keys()
    assert "/workspace" not in places
    assert all("nosuid,nodev" in text and "uid=1900000007" in text for text in places.values())


@given(st.sets(st.integers(0, 255)), st.integers(0, 255))
def test_cubes_hold_everything_but_the_values(values: set[int], number: int) -> None:
    hits = [1 for mask, bits in all_but(values, bits=8) if number & mask == bits]
    assert len(hits) == (number not in values)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_profile_allows_nothing_that_is_denied(machine: str) -> None:
    profile = json.loads(profile_for(machine))
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    allowed = {
        name
        for rule in profile["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW"
        for name in rule["names"]
    }
    assert not allowed & DENIED.keys()
    assert {"read", "execve", "openat2", "futex"} <= allowed
    ioctl = [rule["args"][0] for rule in profile["syscalls"] if rule["names"] == ["ioctl"]]
    for request in TERMINAL_REQUESTS:
        for high in (0, 1 << 32):
            assert not any((request | high) & each["value"] == each["valueTwo"] for each in ioctl)
    assert any(0x5401 & each["value"] == each["valueTwo"] for each in ioctl)


def test_profile_for_an_unknown_machine_is_refused() -> None:
    with pytest.raises(Failed, match="riscv64"):
        profile_for("riscv64")


@pytest.mark.parametrize(
    ("reference", "split"),
    [
        ("debian", ("debian", "latest")),
        ("debian:12", ("debian", "12")),
        ("localhost:5000/a/b", ("localhost:5000/a/b", "latest")),
        ("localhost:5000/a/b:c", ("localhost:5000/a/b", "c")),
        ("a/b@sha256:00", ("a/b@sha256:00", "")),
    ],
)
def test_reference_is_split_so_that_one_tag_is_pulled(
    reference: str, split: tuple[str, str]
) -> None:
    assert split_reference(reference) == split


@pytest.mark.parametrize(
    "text",
    ["../containers/x", "a/../b", "/a", "a//b", "a?b", "A", "a:b:c", "", "a" * 300, "a@sha256:1"],
)
def test_what_is_no_reference_never_reaches_the_engine(text: str) -> None:
    assert not is_reference(text)


@pytest.mark.parametrize(
    "text", ["debian", "debian:12", "localhost:5000/a/b:c", "ghcr.io/o/i@sha256:" + "0" * 64]
)
def test_reference_of_an_image_is_one(text: str) -> None:
    assert is_reference(text)


def test_environment_keeps_what_the_image_brings_and_ours_wins() -> None:
    image = ResolvedImage(
        "sha256:1",
        env=(
            ("PATH", "/usr/local/go/bin:/usr/bin"),
            ("GOVERSION", "1"),
            ("HTTP_PROXY", "http://x"),
            ("ATOLL_SANDBOX_ID", "sb_other"),
            ("ATOLL_ANYTHING", "1"),
        ),
    )
    env = dict(environment_with_image("sb_a", image.env, (("WISH", "1"),)))
    assert env["GOVERSION"] == "1" and env["WISH"] == "1"
    assert env["HTTP_PROXY"] == "http://127.0.0.1:3128"
    assert {k: v for k, v in env.items() if k.startswith("ATOLL_")} == {"ATOLL_SANDBOX_ID": "sb_a"}
    words = env["PATH"].split(":")
    assert words[0].startswith("/home/agent/")
    assert words.index("/usr/local/go/bin") < words.index("/usr/bin")


@pytest.mark.parametrize("host", ["tcp://10.0.0.1:2375", "http://x", "/var/run/docker.sock"])
def test_daemon_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(Invalid, match="this machine"):
        socket_path(host)


async def test_daemon_that_is_not_there_is_told(tmp_path: Path) -> None:
    engine = Engine(f"unix://{tmp_path}/none.sock")
    with pytest.raises(Unavailable, match="cannot be reached"):
        await engine.version()
    await engine.close()


def test_container_shows_the_host_s_folders_as_allowed() -> None:
    mounts = (HostMount("/srv/x", "/mnt/x"), HostMount("/srv/y", "/data", True))
    lent = structs.replace(AWAITED, folders=("/h/boxes/lent/0", "/h/boxes/lent/1"))
    asked = plan(awaited=lent, host_mounts=mounts)
    binds = {each["Target"]: each for each in json.loads(body(asked))["HostConfig"]["Mounts"]}
    shown = [(binds[at]["Source"], binds[at]["ReadOnly"]) for at in ("/mnt/x", "/data")]
    assert shown == [("/h/boxes/lent/0", True), ("/h/boxes/lent/1", False)]
    # A volume of the image at the same place would be mounted twice.
    assert "/data" not in json.loads(body(asked))["HostConfig"]["Tmpfs"]


@pytest.mark.parametrize(
    "volume",
    [
        "/",
        "/.atoll",
        "/.atoll/x",
        "/dev",
        "/dev/shm/x",
        "/proc",
        "/proc/sys",
        "/sys",
        "/etc",
        "data",
    ],
)
def test_volume_where_the_sandbox_has_its_own_is_refused(volume: str) -> None:
    with pytest.raises(Invalid, match="VOLUME"):
        body(plan(image=ResolvedImage("sha256:1", volumes=(volume,))))


def test_volume_beside_the_sandbox_s_own_is_memory() -> None:
    volumes = ("/etc/app", "/devices", "/tmp", "/.atoll/state")
    asked = json.loads(body(plan(image=ResolvedImage("sha256:1", volumes=volumes))))
    tmpfs = asked["HostConfig"]["Tmpfs"]
    assert {"/etc/app", "/devices", "/tmp"} <= tmpfs.keys()
    assert "/.atoll/state" not in tmpfs


def test_container_of_a_bare_workspace_shows_an_empty_place() -> None:
    host = json.loads(body(plan(bare=True)))["HostConfig"]
    assert "/workspace" not in {each["Target"] for each in host["Mounts"]}
    assert "size=67108864" in host["Tmpfs"]["/workspace"]
