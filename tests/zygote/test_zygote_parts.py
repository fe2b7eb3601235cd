"""The zygote's parts that need no sandbox."""

from pathlib import Path

import pytest

from atoll.domain.errors import Failed, Invalid, LimitReached
from atoll.domain.interior.etc import hosts_text
from atoll.zygote.daemon.server import bind
from atoll.zygote.disk import image
from atoll.zygote.disk.host_root import etc_tree, files_over_usr
from atoll.zygote.records import record, uids
from atoll.zygote.start import keys
from atoll.zygote.wall import hierarchies
from atoll.zygote.wall.bpf import FilterProgram
from atoll.zygote.wall.seccomp import filter_for


def test_filter_for_both_machines_assembles() -> None:
    for machine in ("x86_64", "aarch64"):
        code = filter_for(machine)
        assert len(code) % 8 == 0
        assert 100 < len(code) // 8 < 512
    with pytest.raises(Failed, match="riscv64"):
        filter_for("riscv64")


def test_program_with_a_label_behind_or_missing_is_refused() -> None:
    program = FilterProgram()
    program.label("here")
    program.give(0)
    program.go("here")
    with pytest.raises(ValueError, match="no such label ahead"):
        program.assemble()
    with pytest.raises(ValueError, match="twice"):
        program.label("here")


def test_hierarchies_of_v1_v2_and_containers_are_understood(tmp_path: Path) -> None:
    mount = tmp_path / "unified"
    (mount / "user").mkdir(parents=True)
    (mount / "user" / "cgroup.controllers").write_text("cpu memory pids rdma\n")
    (tmp_path / "cgroup").write_text("3:memory:/docker/abc/x\n1:name=systemd:/u\n0::/user\n")
    (tmp_path / "mountinfo").write_text(
        f"30 1 0:1 / {mount} rw - cgroup2 cgroup2 rw\n"
        f"31 1 0:2 /docker/abc {tmp_path}/memory rw - cgroup cgroup rw,memory\n"
        f"32 1 0:3 / {tmp_path}/systemd rw - cgroup cgroup rw,name=systemd\n"
        f"33 1 0:4 / /proc rw - proc proc rw\n"
    )
    found = hierarchies.hierarchies(tmp_path)
    assert [(each.version, each.name, each.own) for each in found] == [
        (2, "", "/user"),
        (1, "memory", "/x"),
        (1, "systemd", "/u"),
    ]
    assert found[0].controllers == {"cpu", "memory", "pids"}
    assert found[0].base("tag") == mount / "user" / "tag"
    assert found[0].sibling("tag") == mount / "tag" / "zygote"


def test_uids_are_never_given_twice(tmp_path: Path) -> None:
    machine, home = tmp_path / "machine", tmp_path / "home"
    counter = uids.Counter(home, machine)
    assert [counter.take(2), counter.take(2)] == [uids.FIRST_UID, uids.FIRST_UID + 2]
    machine.unlink()
    assert counter.take(1) == uids.FIRST_UID + 4
    machine.write_text(str(uids.LAST_UID))
    with pytest.raises(LimitReached):
        counter.take(1)


def test_reserved_uids_of_a_process_that_ended_are_not_given_again(tmp_path: Path) -> None:
    counter = uids.Counter(tmp_path / "home", tmp_path / "machine")
    ended, next_one = uids.Reserve(counter, 4), uids.Reserve(counter, 4)
    assert [ended.take(2), ended.take(1)] == [uids.FIRST_UID, uids.FIRST_UID + 2]
    assert next_one.take(2) == uids.FIRST_UID + 4
    assert ended.take(2) == uids.FIRST_UID + 8


def test_copy_sparse_copies_all_data_and_no_hole(tmp_path: Path) -> None:
    source = tmp_path / "a"
    with source.open("wb") as file:
        file.write(b"begin")
        file.seek(50 * 2**20)
        file.write(b"middle")
        file.truncate(100 * 2**20)
    image.clone(source, tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == source.read_bytes()
    assert (tmp_path / "b").stat().st_blocks * 512 < 2**20


def test_keys_that_are_a_link_or_too_long_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    assert keys.sealed_copy(path, 0) is None
    path.symlink_to("/etc/passwd")
    with pytest.raises(Failed, match="cannot be read"):
        keys.sealed_copy(path, 0)
    path.unlink()
    path.write_bytes(b"x" * (keys.MAX_BYTES + 1))
    path.chmod(0o600)
    with pytest.raises(Failed, match="longer"):
        keys.sealed_copy(path, path.stat().st_uid)


def test_keys_are_known_by_their_providers_alone(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    assert keys.keyed_providers(path, 0) == ()
    path.write_text('[openai]\nkey = "sk-1"\n [gemini] # mine\nkey = "a]\\n[b"\n')
    path.chmod(0o600)
    assert keys.keyed_providers(path, path.stat().st_uid) == ("openai", "gemini")
    path.chmod(0o644)
    assert keys.keyed_providers(path, path.stat().st_uid) == ()


def test_record_that_is_garbage_is_named(tmp_path: Path) -> None:
    path = tmp_path / "box.json"
    assert record.load(path) is None
    path.write_text("{")
    with pytest.raises(Failed, match="cannot be read"):
        record.load(path)


def test_etc_tree_holds_no_account_of_the_host(tmp_path: Path) -> None:
    etc = tmp_path / "etc"
    (etc / "ssl" / "certs").mkdir(parents=True)
    (etc / "ssl" / "certs" / "ca.pem").write_text("cert")
    (etc / "ssl" / "certs" / "private.key").write_text("key")
    (etc / "ssl" / "certs" / "private.key").chmod(0o600)
    (etc / "shadow").write_text("root:x")
    (etc / "passwd").write_text("person:x")
    tree = etc_tree(tmp_path / "roots", etc)
    assert etc_tree(tmp_path / "roots", etc) == tree
    assert (tree / "ssl/certs/ca.pem").read_text() == "cert"
    assert not (tree / "ssl/certs/private.key").exists()
    assert not (tree / "shadow").exists()
    assert "person" not in (tree / "passwd").read_text()
    assert "--no-sandbox" in (tree / "chromium.d" / "atoll").read_text()
    policy = tree / "claude-code" / "managed-settings.d" / "50-atoll.json"
    assert "disableAutoMode" in policy.read_text() and policy.stat().st_mode & 0o777 == 0o644
    (etc / "timezone").write_text("UTC")
    assert etc_tree(tmp_path / "roots", etc) != tree


def test_etc_tree_names_the_door_to_every_jdk(tmp_path: Path) -> None:
    etc, usr = tmp_path / "etc", tmp_path / "usr"
    (etc / "java-21-openjdk").mkdir(parents=True)
    (etc / "java-21-openjdk" / "net.properties").write_text("of.debian=1")
    (etc / "maven").mkdir()
    (etc / "maven" / "settings.xml").write_text("a password")
    (etc / "maven" / "m2.conf").write_text("main is")
    conf = usr / "lib/jvm/temurin-25/conf"
    conf.mkdir(parents=True)
    (conf / "net.properties").write_text("of.temurin=1")
    debian = usr / "lib/jvm/java-21/conf"
    debian.mkdir(parents=True)
    (debian / "net.properties").symlink_to(etc / "java-21-openjdk" / "net.properties")
    tree = etc_tree(tmp_path / "roots", etc, usr)
    ((source, place),) = files_over_usr(tree)
    assert place == "/usr/lib/jvm/temurin-25/conf/net.properties"
    for file, first in (
        (source, "of.temurin=1"),
        (tree / "java-21-openjdk/net.properties", "of.debian=1"),
    ):
        lines = file.read_text().splitlines()
        assert lines[0] == first and "https.proxyHost=127.0.0.1" in lines
    assert (tree / "maven/m2.conf").read_text() == "main is"
    settings = (tree / "maven/settings.xml").read_text()
    assert "password" not in settings and "<port>3128</port>" in settings
    (conf / "net.properties").write_text("of.temurin=another")
    assert etc_tree(tmp_path / "roots", etc, usr) != tree


def test_hosts_name_localhost_in_both_families() -> None:
    lines = hosts_text("box").splitlines()
    assert all("localhost" in line and "box" in line for line in lines)
    assert [line.split()[0] for line in lines] == ["127.0.0.1", "::1"]


def test_socket_path_that_is_too_long_is_refused() -> None:
    with pytest.raises(Invalid, match="choose a shorter"):
        bind("/" + "x" * 200, 0)
