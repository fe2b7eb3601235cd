"""Folders of the host's in a sandbox, asked of the zygote itself: as root and rootless."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import atoll
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.zygote.disk.own_places import own_places
from tests.claims import claim_far_uid, claim_person

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
GRANT = "0123456789abcdef" * 2
STRANGER = claim_far_uid()


@pytest.fixture(scope="module", params=["root", "rootless"])
def rig(request: pytest.FixtureRequest) -> Iterator[ZygoteRig]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    uid = 0 if request.param == "root" else claim_person()
    with zygote_rig(uid) as running:
        (running.home.grants).mkdir(mode=0o755)
        os.chown(running.home.grants, running.uid, running.uid)
        yield running


@pytest.fixture
def data(rig: ZygoteRig) -> Iterator[Path]:
    """A private folder of an ordinary user's (rootless: of the caller's)."""
    folder = Path(tempfile.mkdtemp(prefix="atd", dir="/tmp"))
    owner = STRANGER if rig.uid == 0 else rig.uid
    (folder / "d").mkdir(mode=0o700)
    (folder / "d" / "f").write_text("of the host")
    (folder / "d" / "f").chmod(0o600)
    for path in (folder, folder / "d", folder / "d" / "f"):
        os.chown(path, owner, owner)
    yield folder / "d"
    shutil.rmtree(folder)


def grant(
    rig: ZygoteRig,
    source: Path,
    *,
    writable: bool = False,
    private: bool = False,
    owner: int | None = None,
) -> str:
    note = rig.home.grants / GRANT
    note.unlink(missing_ok=True)
    note.write_text(json.dumps({"source": str(source), "writable": writable, "private": private}))
    note.chmod(0o644)
    os.chown(note, rig.uid if owner is None else owner, -1)
    return GRANT


def shell(rig: ZygoteRig, box: wire.Box, line: str) -> str:
    return rig.inside(box, "/bin/sh", "-c", line)[1].strip()


def refused(rig: ZygoteRig, *mounts: wire.HostMount) -> wire.Refused:
    answer = rig.ask(wire.Start("sb_no", 1, "box", env=ENV, mounts=mounts))
    assert isinstance(answer, wire.Refused), answer
    return answer


def test_granted_folder_is_shown_read_only(rig: ZygoteRig, data: Path) -> None:
    mount = wire.HostMount(str(data), "/mnt/in", grant=grant(rig, data))
    box = rig.start("sb_ro", env=ENV, mounts=(mount,))
    assert shell(rig, box, "cat /mnt/in/f") == "of the host"
    assert "Read-only" in shell(rig, box, "touch /mnt/in/x; rm /mnt/in/f")
    assert sorted(path.name for path in data.iterdir()) == ["f"]
    rig.ask(wire.Destroy("sb_ro"))


def test_folder_granted_to_be_written_is_written_as_its_owner(rig: ZygoteRig, data: Path) -> None:
    mount = wire.HostMount(str(data), "/data", True, grant(rig, data, writable=True))
    box = rig.start("sb_rw", env=ENV, mounts=(mount,))
    assert shell(rig, box, "echo new > /data/n && echo more >> /data/f && cat /data/n") == "new"
    assert (data / "n").stat().st_uid == data.stat().st_uid
    assert (data / "f").read_text() == "of the hostmore\n"
    rig.ask(wire.Destroy("sb_rw"))
    assert (data / "n").exists()


def test_root_s_folder_stays_root_s_when_written_to(rig: ZygoteRig, data: Path) -> None:
    if rig.uid != 0:
        pytest.skip("needs root")
    for path in (data.parent, data, data / "f"):
        os.chown(path, 0, 0)
        path.chmod(0o755 if path.is_dir() else 0o644)
    mount = wire.HostMount(str(data), "/data", True, grant(rig, data, writable=True))
    box = rig.start("sb_rr", env=ENV, mounts=(mount,))
    assert shell(rig, box, "cat /data/f") == "of the host"
    assert "denied" in shell(rig, box, "touch /data/x")
    rig.ask(wire.Destroy("sb_rr"))


def test_folder_below_an_allowed_one_needs_no_grant(rig: ZygoteRig, data: Path) -> None:
    settings = rig.home.root / "config.toml"
    settings.write_text(f'mount_roots = ["{data.parent}"]\n')
    os.chown(settings, rig.uid, rig.uid)
    settings.chmod(0o644)
    try:
        box = rig.start("sb_al", env=ENV, mounts=(wire.HostMount(str(data), "/srv/x"),))
        assert shell(rig, box, "cat /srv/x/f") == "of the host"
        rig.ask(wire.Destroy("sb_al"))
        assert refused(rig, wire.HostMount(f"{data.parent}x", "/srv/x")).kind == "forbidden"
        if rig.uid == 0:
            # Settings that the control plane could have written allow nothing.
            os.chown(settings, STRANGER, STRANGER)
            assert refused(rig, wire.HostMount(str(data), "/srv/x")).kind == "forbidden"
    finally:
        settings.unlink()


@pytest.mark.parametrize(
    "source",
    ["/", "/etc", "/etc/ssl", "/proc", "/proc/1", "/sys", "/dev", "/root", "/root/x", "/var",
     "/run", "/var/run/docker.sock", "/usr", "{home}", "{home}/boxes", "{parent}",
     "/tmp/../etc", "//etc",
     "/tmp/./x", "relative", "/tmp/"],
)  # fmt: skip
def test_folder_of_the_system_is_refused_even_when_granted(rig: ZygoteRig, source: str) -> None:
    where = source.format(home=rig.home.root, parent=rig.home.root.parent)
    mount = wire.HostMount(where, "/mnt/x", grant=grant(rig, Path(where)))
    assert refused(rig, mount).kind in ("forbidden", "invalid")


PROGRAM = Path(atoll.__file__).parent
OWN = {
    "the program": PROGRAM,
    "a folder of the program": PROGRAM / "domain",
    "what holds the program": PROGRAM.parents[1],
    "the virtual environment": Path(sys.prefix).resolve(),
    "programs of the virtual environment": Path(sys.prefix).resolve() / "bin",
}


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize("wall", ["bubblewrap", "container"])
@pytest.mark.parametrize("what", OWN)
def test_folder_that_holds_the_running_program_is_refused(
    rig: ZygoteRig, what: str, wall: str, writable: bool
) -> None:
    mount = wire.HostMount(
        str(OWN[what]), "/mnt/x", writable, grant(rig, OWN[what], writable=writable)
    )
    start = wire.Start("sb_own", 1, "box", env=ENV, mounts=(mount,))
    answer = rig.ask(start if wall == "bubblewrap" else wire.Serve(start, 5))
    assert isinstance(answer, wire.Refused), answer
    assert answer.kind == "forbidden"
    assert "Atoll's own" in answer.message


def test_second_name_of_the_program_is_refused(rig: ZygoteRig, data: Path) -> None:
    """A bind mount gives a folder another path; the control shows that it is a real one."""
    if rig.uid != 0:
        pytest.skip("needs root, to bind")
    place = next(one for one in own_places(rig.home.root) if PROGRAM.is_relative_to(one))
    for own in (place, place.parent):
        code = f"""
from pathlib import Path
from atoll.zygote.disk.own_places import own_place_at, own_places
places, alias = own_places(Path({str(rig.home.root)!r})), Path({str(data)!r})
print(own_place_at(alias, places), any(alias.iterdir()))
"""
        line = f'mount --bind "{own}" "{data}" && exec "$0" -c "$1"'
        done = subprocess.run(
            ["unshare", "--mount", "/bin/sh", "-c", line, sys.executable, code],
            env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
        )
        found, listed = done.stdout.split()
        assert found != "None", (own, done.stderr)
        assert listed == "True"


@pytest.mark.parametrize(
    "target",
    ["/", "/workspace", "/workspace/x", "/home/agent", "/etc", "/.atoll", "/.atoll/x",
     "/mnt/../etc", "/opt/atoll/agents/codex", "/usr/local", "/mntx", "/mnt//x"],
)  # fmt: skip
def test_place_of_a_mount_that_is_ours_is_refused(rig: ZygoteRig, data: Path, target: str) -> None:
    assert refused(rig, wire.HostMount(str(data), target, grant=grant(rig, data))).kind == "invalid"


def test_grant_is_for_what_it_says_alone(rig: ZygoteRig, data: Path) -> None:
    other = data.parent / "other"
    other.mkdir()
    key = grant(rig, data)
    for mount in (
        wire.HostMount(str(other), "/mnt/x", grant=key),
        wire.HostMount(str(data), "/mnt/x", True, key),
        wire.HostMount(str(data), "/mnt/x", grant="f" * 32),
        wire.HostMount(str(data), "/mnt/x", grant="../" + key),
        wire.HostMount(str(data), "/mnt/x"),
    ):
        assert refused(rig, mount).kind in ("forbidden", "invalid")
    if rig.uid == 0:
        # A file that whoever holds the control plane's uid could have put there is no grant.
        mount = wire.HostMount(str(data), "/mnt/x", grant=grant(rig, data, owner=STRANGER))
        assert refused(rig, mount).kind == "forbidden"


def test_link_on_the_way_to_a_folder_is_not_followed(rig: ZygoteRig, data: Path) -> None:
    (data.parent / "link").symlink_to("/etc")
    (data.parent / "way").symlink_to(data.parent)
    for path in (data.parent / "link", data.parent / "link" / "ssl", data.parent / "way" / "d"):
        answer = refused(rig, wire.HostMount(str(path), "/mnt/x", grant=grant(rig, path)))
        assert "link" in answer.message or "folder" in answer.message


def test_link_in_a_mounted_folder_leads_into_the_sandbox(rig: ZygoteRig, data: Path) -> None:
    (data / "shadow").symlink_to("/etc/shadow")
    mount = wire.HostMount(str(data), "/mnt/in", grant=grant(rig, data))
    box = rig.start("sb_in", env=ENV, mounts=(mount,))
    assert "No such file" in shell(rig, box, "cat /mnt/in/shadow")
    rig.ask(wire.Destroy("sb_in"))


def test_workspace_that_is_bare_is_empty_and_forgotten(rig: ZygoteRig) -> None:
    box = rig.start("sb_bare", env=ENV)
    shell(rig, box, "echo kept > /workspace/kept")
    rig.ask(wire.Stop("sb_bare"))
    box = rig.start("sb_bare", env=ENV, bare=True)
    assert shell(rig, box, "ls -A /workspace; echo x > /workspace/x && cat /workspace/x") == "x"
    rig.ask(wire.Stop("sb_bare"))
    assert shell(rig, rig.start("sb_bare", env=ENV), "ls /workspace") == "kept"
    rig.ask(wire.Destroy("sb_bare"))


def test_workspace_that_is_read_only_gives_erofs(rig: ZygoteRig) -> None:
    box = rig.start("sb_wro", env=ENV, writable=False)
    assert "Read-only file system" in shell(rig, box, "echo x > /workspace/x")
    rig.ask(wire.Destroy("sb_wro"))


def test_folder_for_a_container_is_refused_without_root(rig: ZygoteRig, data: Path) -> None:
    if rig.uid == 0:
        pytest.skip("as root it is lent: see test_docker_mounts")
    mount = wire.HostMount(str(data), "/mnt/in", grant=grant(rig, data))
    answer = rig.ask(wire.Serve(wire.Start("sb_lend", 1, "box", mounts=(mount,)), seconds=5))
    assert isinstance(answer, wire.Refused), answer
    assert answer.kind == "forbidden" and "runs as root" in answer.message


@pytest.mark.parametrize(
    "name", ["id_ed25519", ".netrc", ".ssh/config", "me/.aws/x", "credentials"]
)
def test_folder_that_holds_keys_is_shown_only_when_its_person_agreed_to_it(
    rig: ZygoteRig, data: Path, name: str
) -> None:
    (data / name).parent.mkdir(parents=True, exist_ok=True)
    (data / name).write_text("a key")
    for path in data.rglob("*"):
        os.chown(path, *[data.stat().st_uid] * 2)
    plain = wire.HostMount(str(data), "/mnt/in", grant=grant(rig, data))
    asking = wire.HostMount(str(data), "/mnt/in", grant=GRANT, private=True)
    agreed = wire.HostMount(str(data), "/mnt/in", grant=grant(rig, data, private=True))
    for mount in (plain, agreed):
        # What the control plane asks for counts, and what the person wrote: one is not enough.
        said = refused(rig, mount)
        assert said.kind == "forbidden" and "--mount-private" in said.message, said
    grant(rig, data)
    assert refused(rig, asking).kind == "forbidden"
    grant(rig, data, private=True)
    box = rig.start("sb_keyed", env=ENV, mounts=(asking,))
    assert shell(rig, box, f"cat /mnt/in/{name}") == "a key", "the attack is a real one"
    rig.ask(wire.Destroy("sb_keyed"))


def test_folder_for_keys_is_refused_by_its_name_however_empty(rig: ZygoteRig, data: Path) -> None:
    for name in (".ssh", ".gnupg", ".aws/sso", ".config/gcloud", ".kube", ".docker", ".mozilla/x"):
        place = data / name
        place.mkdir(parents=True)
        mount = wire.HostMount(str(place), "/mnt/in", grant=grant(rig, place))
        assert "--mount-private" in refused(rig, mount).message, name


def test_grants_are_removed_by_name_alone(rig: ZygoteRig, data: Path) -> None:
    grant(rig, data)
    other = rig.home.grants / ("f" * 32)
    other.write_text("{}")
    for name in ("../boxes", "..", "", "F" * 32, "0" * 31, "a/" + "0" * 30):
        with pytest.raises(wire.Malformed):
            wire.decode_request(wire.encode_request(1, wire.RemoveGrants((name,))))
    assert rig.ask(wire.RemoveGrants((GRANT, "e" * 32))) == wire.Cleaned((GRANT,))
    assert [one.name for one in rig.home.grants.iterdir()] == [other.name]
    other.unlink()


def test_grants_are_removed_through_no_link(rig: ZygoteRig, data: Path) -> None:
    moved = rig.home.grants.with_name("moved")
    rig.home.grants.rename(moved)
    (data / GRANT).write_text("somebody's")
    rig.home.grants.symlink_to(data)
    answer = rig.ask(wire.RemoveGrants((GRANT,)))
    rig.home.grants.unlink()
    moved.rename(rig.home.grants)
    assert isinstance(answer, wire.Refused) and (data / GRANT).exists()
