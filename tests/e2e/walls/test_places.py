"""What a person puts beside and into a sandbox: images, mounts, copies, mirrors; and how far
a workspace is open. As root, and as a person without rights."""

import json
import os
import pty
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.walls.test_rootless import person
from tests.peers.api import Api, api_of

PROGRAMS = ("sh", "bash", "cat", "ls", "id", "mkdir", "rm", "env", "true", "head")
PROFILES = {
    "image": "image: small\n",
    "layered": "image: small\nroot: overlay\n",
    "absent": "image: nowhere.example/x:1\n",
    "nodeless": "image: small\nagent: codex\n",
    "closed": "workspace: {access: ro}\n",
}


@pytest.fixture(scope="module", params=["root", pytest.param("rootless", marks=pytest.mark.slow)])
def atoll(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    started = test_server() if request.param == "root" else person()
    with started as server:
        for name, text in PROFILES.items():
            head = f'id: profile.{name}\nversion: "1.0.0"\n'
            place = server.home / "profiles" / f"{name}.yaml"
            place.write_text(head + text)
            place.chmod(0o644)
        yield server


def ok(atoll: TestServer, *words: str, **more: object) -> str:
    done = atoll.run(*words, **more)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout.strip()


def new(atoll: TestServer, name: str, *words: str) -> str:
    ok(atoll, "new", "--detach", "--name", name, *words)
    return name


def inside(atoll: TestServer, name: str, line: str) -> str:
    done = atoll.run("exec", name, "--shell", line, stdin=subprocess.DEVNULL)
    return (done.stdout + done.stderr).strip()


@pytest.fixture
def folder(atoll: TestServer) -> Iterator[Path]:
    """A folder of the person's whose command line this is."""
    place = atoll.home.parent / "own-data"
    place.mkdir()
    (place / "a.txt").write_text("one\n")
    (place / "sub").mkdir()
    (place / "sub" / "b.txt").write_text("two\n")
    (place / ".git" / "hooks").mkdir(parents=True)
    (place / ".git" / "hooks" / "post-checkout").write_text("stays here")
    owner = atoll.home.stat().st_uid
    for path in (place, *place.rglob("*")):
        os.chown(path, owner, owner)
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def small(atoll: TestServer) -> str:
    """An image of a few programs, imported."""
    tree = atoll.home.parent / "tree"
    (tree / "usr" / "bin").mkdir(parents=True)
    (tree / "bin").symlink_to("usr/bin")
    for name in PROGRAMS:
        program = Path(str(shutil.which(name))).resolve()
        shutil.copy(program, tree / "usr" / "bin" / name)
        told = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True)
        for word in told.stdout.split():
            if word.startswith("/") and not (tree / word[1:]).exists():
                (tree / word[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(word, tree / word[1:])
    with tarfile.open(atoll.home.parent / "small.tar.gz", "w:gz") as archive:
        archive.add(tree, ".")
    (atoll.home.parent / "small.tar.gz").chmod(0o644)
    ok(atoll, "image", "import", "small", str(atoll.home.parent / "small.tar.gz"))
    return "small"


def test_image_is_the_root_of_a_sandbox(atoll: TestServer, small: str) -> None:
    new(atoll, "im", "--profile", "image")
    assert inside(atoll, "im", "ls /usr/bin | head -1; test -e /usr/lib/python3 || echo none") == (
        "bash\nnone"
    )
    assert inside(atoll, "im", "id") == "uid=1000(agent) gid=1000(agent) groups=1000(agent)"
    assert "Read-only" in inside(atoll, "im", "mkdir /x")
    refused = atoll.run("image", "rm", small, "--yes")
    assert refused.returncode != 0 and "im" in refused.stderr
    ok(atoll, "stop", "im")
    ok(atoll, "start", "im")
    assert inside(atoll, "im", "echo /usr/bin/*").startswith("/usr/bin/bash")
    ok(atoll, "destroy", "im", "--yes")


def test_image_with_a_layer_keeps_what_was_installed(atoll: TestServer, small: str) -> None:
    new(atoll, "la", "--profile", "layered")
    assert (
        inside(atoll, "la", "mkdir -p /usr/local/x && echo hi > /etc/mine && cat /etc/mine") == "hi"
    )
    ok(atoll, "stop", "la")
    ok(atoll, "start", "la")
    assert inside(atoll, "la", "cat /etc/mine") == "hi"
    shown = json.loads(ok(atoll, "info", "la", "--json"))
    assert not any(each.startswith("root:") for each in shown["isolation"]["degraded"])
    ok(atoll, "destroy", "la", "--yes")


def test_layers_of_two_sandboxes_are_their_own(atoll: TestServer, small: str) -> None:
    # The second may be one that stood ready; either way it starts with nothing of the first's.
    for name in ("l1", "l2", "l3"):
        new(atoll, name, "--profile", "layered")
        assert (
            inside(atoll, name, f"ls -A /root /srv; echo {name} > /root/mine") == "/root:\n\n/srv:"
        )
    ok(atoll, "stop", "l2")
    ok(atoll, "start", "l2")
    for name in ("l1", "l2", "l3"):
        assert inside(atoll, name, "cat /root/mine") == name
        ok(atoll, "destroy", name, "--yes")


def test_image_that_is_not_here_says_how_to_get_it(atoll: TestServer) -> None:
    done = atoll.run("new", "--detach", "--name", "ab", "--profile", "absent")
    assert done.returncode != 0
    assert "atoll image pull nowhere.example/x:1" in done.stderr
    assert atoll.run("info", "ab").returncode != 0  # refused, not made and failed


def test_mount_copy_and_what_is_shown_of_them(atoll: TestServer, folder: Path) -> None:
    (folder / "c.txt").write_text("three\n")
    new(atoll, "mo", "--mount", f"{folder}:/data/in", "--copy", f"{folder}/c.txt:here/c.txt",
        "--copy", f"{folder}/sub:/workspace/")  # fmt: skip
    line = "cat /data/in/a.txt here/c.txt sub/b.txt; touch /data/in/x 2>/dev/null || echo closed"
    assert inside(atoll, "mo", line) == "one\nthree\ntwo\nclosed"
    shown = json.loads(ok(atoll, "info", "mo", "--json"))["metadata"]
    assert shown["mounts"] == [f"{folder}:/data/in:ro"]
    assert shown["copies"] == [f"{folder}/c.txt:here/c.txt", f"{folder}/sub:/workspace/"]
    ok(atoll, "stop", "mo")
    ok(atoll, "start", "mo")
    assert inside(atoll, "mo", "cat /data/in/a.txt") == "one"
    ok(atoll, "destroy", "mo", "--yes")


def test_mount_of_the_system_or_without_a_place_is_refused(atoll: TestServer, folder: Path) -> None:
    for spec in ("/etc:/mnt/x", "/:/mnt/x", f"{folder}:/workspace/x", f"{folder}", f"{folder}:x:rw",
                 f"{atoll.home}:/mnt/x"):  # fmt: skip
        done = atoll.run("new", "--detach", "--name", "bad", "--mount", spec)
        assert done.returncode != 0, spec
        atoll.run("destroy", "bad", "--yes")


def test_mount_of_a_folder_with_keys_asks_and_needs_an_option_where_nobody_answers(
    atoll: TestServer, folder: Path
) -> None:
    (folder / "id_ed25519").write_text("a key\n")
    words = ("--detach", "--name", "mk", "--mount", f"{folder}:/data/in")
    refused = atoll.run("new", *words)
    assert refused.returncode != 0
    assert "holds id_ed25519" in refused.stderr and "--mount-private" in refused.stderr
    assert atoll.run("info", "mk").returncode != 0, "nothing was made"
    new(atoll, "mk", "--mount", f"{folder}:/data/in", "--mount-private")
    assert inside(atoll, "mk", "cat /data/in/id_ed25519") == "a key"
    ok(atoll, "destroy", "mk", "--yes")


@pytest.mark.parametrize(("answer", "made"), [(b"n\r", False), (b"y\r", True)])
def test_mount_of_a_folder_with_keys_is_asked_about_at_a_terminal(
    atoll: TestServer, folder: Path, answer: bytes, made: bool
) -> None:
    (folder / ".netrc").write_text("a key\n")
    ours, theirs = pty.openpty()
    seen = b""

    def answered() -> None:
        nonlocal seen
        while b"anyway?" not in seen:
            seen += os.read(ours, 4096)
        os.write(ours, answer)

    person = threading.Thread(target=answered, daemon=True)
    person.start()
    ends = {"stdin": theirs, "stderr": theirs, "stdout": subprocess.DEVNULL}
    words = ("new", "--detach", "--name", "mq", "--mount", f"{folder}:/data/in")
    done = atoll.run(*words, capture_output=False, **ends)
    person.join(60)
    assert b"holds .netrc" in seen
    assert (done.returncode == 0) == made
    assert (atoll.run("info", "mq").returncode == 0) == made
    if made:
        ok(atoll, "destroy", "mq", "--yes")
    os.close(ours)
    os.close(theirs)


def test_mirror_brings_back_what_changed_inside_and_nothing_else(
    atoll: TestServer, folder: Path
) -> None:
    new(atoll, "mi", "--mirror", str(folder))
    assert inside(atoll, "mi", "ls -A; cat sub/b.txt") == "a.txt\nsub\ntwo"
    line = (
        "echo more >> a.txt; mkdir -p new/deep; echo n > new/deep/f; rm sub/b.txt; "
        "ln -s /etc/passwd out; ln -s a.txt in; mkdir .git; echo evil > .git/config"
    )
    inside(atoll, "mi", line)
    said = ok(atoll, "pull", "mi")
    assert sorted(said.splitlines()) == [
        "removed sub/b.txt", "wrote a.txt", "wrote in", "wrote new/deep/f",
    ]  # fmt: skip
    assert (folder / "a.txt").read_text() == "one\nmore\n"
    assert not (folder / ".git" / "config").exists()
    assert not (folder / "out").is_symlink()
    assert (folder / "in").readlink() == Path("a.txt")
    assert ok(atoll, "pull", "mi") == ""
    # Changed on both sides: nothing is written unless the person insists.
    (folder / "a.txt").write_text("mine\n")
    inside(atoll, "mi", "echo theirs > a.txt; echo other > other")
    refused = atoll.run("pull", "mi")
    assert refused.returncode != 0 and "a.txt" in refused.stderr
    assert not (folder / "other").exists()
    ok(atoll, "pull", "mi", "--force")
    assert (folder / "a.txt").read_text() == "theirs\n"
    ok(atoll, "destroy", "mi", "--yes")


def test_mirror_made_through_the_api_is_filled_and_pulled(atoll: TestServer, folder: Path) -> None:
    with api_of(atoll) as api:
        made = api.create(name="ma", workspace={"mode": "mirror"})
        assert made["workspace"]["mode"] == "mirror"
        refused = api.client.post(
            "/v1/sandboxes", json={"workspace": {"mode": "mirror"}, "repos": [{"repo_url": "o/r"}]}
        )
        assert (refused.status_code, refused.json()["field"]) == (422, "workspace.mode")
    ok(atoll, "cp", f"{folder}/a.txt", "ma:a.txt")
    inside(atoll, "ma", "echo new > new")
    asked = atoll.run("pull", "ma")
    assert asked.returncode != 0 and "-C FOLDER" in asked.stderr
    assert ok(atoll, "pull", "ma", "-C", str(folder)) == "wrote new"
    assert (folder / "new").read_text() == "new\n"
    inside(atoll, "ma", "rm new; echo more >> a.txt")
    assert ok(atoll, "pull", "ma").splitlines() == ["wrote a.txt", "removed new"]
    ok(atoll, "destroy", "ma", "--yes")


def test_mirror_never_writes_through_a_link_of_this_machine(
    atoll: TestServer, folder: Path
) -> None:
    new(atoll, "ml", "--mirror", str(folder))
    away = folder.parent / "away"
    away.mkdir()
    os.chown(away, folder.stat().st_uid, -1)
    shutil.rmtree(folder / "sub")
    (folder / "sub").symlink_to(away)
    inside(atoll, "ml", "echo x > sub/b.txt; echo y > sub/c.txt")
    done = atoll.run("pull", "ml", "--force")
    assert done.returncode != 0
    assert list(away.iterdir()) == []
    ok(atoll, "destroy", "ml", "--yes")
    away.rmdir()


def test_workspace_of_each_access_is_what_it_says(atoll: TestServer, repository: Path) -> None:
    repository.parent.chmod(0o755)
    for path in (repository, *repository.rglob("*")):
        os.chown(path, atoll.home.stat().st_uid, -1)
    source = atoll.home.parent / "project"
    shutil.copytree(repository, source, dirs_exist_ok=True)
    for path in (source, *source.rglob("*")):
        os.chown(path, atoll.home.stat().st_uid, atoll.home.stat().st_uid)
    new(atoll, "ro", str(source), "--access", "ro")
    assert inside(atoll, "ro", "cat README.md; touch x") == (
        "# project\ntouch: cannot touch 'x': Read-only file system"
    )
    ok(atoll, "stop", "ro")
    ok(atoll, "start", "ro")
    assert inside(atoll, "ro", "cat README.md") == "# project"
    ok(atoll, "recreate", "ro", "--yes")
    assert inside(atoll, "ro", "cat README.md") == "# project"
    new(atoll, "no", "--access", "none")
    assert inside(atoll, "no", "ls -A; touch x && ls") == "x"
    ok(atoll, "stop", "no")
    ok(atoll, "start", "no")
    assert inside(atoll, "no", "ls -A") == ""
    done = atoll.run("new", "--detach", str(source), "--access", "none")
    assert done.returncode != 0 and "repositories" in done.stderr
    for name in ("ro", "no"):
        ok(atoll, "destroy", name, "--yes")
    shutil.rmtree(source)


def test_second_sandbox_of_a_large_repository_takes_next_to_nothing(atoll: TestServer) -> None:
    source = atoll.home.parent / "large"
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.invalid", "-C", str(source)]
    subprocess.run(["git", "init", "-q", "-b", "main", str(source)], check=True)
    for number in range(3):
        (source / "big").write_bytes(os.urandom(5 * 2**20))
        subprocess.run([*git, "add", "big"], check=True)
        subprocess.run([*git, "commit", "-qm", f"big {number}"], check=True)
    (source / "big").write_text("small at last\n")
    subprocess.run([*git, "commit", "-qam", "small"], check=True)
    owner = atoll.home.stat().st_uid
    for path in (source, *source.rglob("*")):
        os.chown(path, owner, owner, follow_symlinks=False)
    for name in ("l-1", "l-2"):
        new(atoll, name, str(source), "fix")
        assert inside(atoll, name, "git rev-list --count HEAD; cat big") == "4\nsmall at last"
        # Every object of the history is readable, and lies outside.
        assert inside(atoll, name, "git fsck --full 2>&1 | grep -v '^dangling' || echo whole") == (
            "whole"
        )
        inside(atoll, name, "echo more >> big; git add big; git -c user.name=A "
               "-c user.email=a@b.invalid commit -qm more; git gc -q")  # fmt: skip
        assert int(inside(atoll, name, "du -sk . | cut -f1")) < 1024
        ok(atoll, "stop", name)
        ok(atoll, "start", name)
        assert int(inside(atoll, name, "du -sk . | cut -f1")) < 1024
    kept = sum(
        path.lstat().st_size
        for path in (atoll.home / "repos").rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    assert 15 * 2**20 < kept < 25 * 2**20
    for name in ("l-1", "l-2"):
        ok(atoll, "destroy", name, "--yes")
    shutil.rmtree(source)


def test_prefixes_of_pip_and_npm_take_what_is_installed(atoll: TestServer, tmp_path: Path) -> None:
    new(atoll, "px")
    wheel = tmp_path / "atolltry-1-py3-none-any.whl"
    import zipfile

    with zipfile.ZipFile(wheel, "w") as archive:
        meta = "atolltry-1.dist-info"
        archive.writestr("atolltry.py", "def main(): print('pip works')\n")
        archive.writestr(f"{meta}/METADATA", "Metadata-Version: 2.1\nName: atolltry\nVersion: 1\n")
        archive.writestr(
            f"{meta}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{meta}/entry_points.txt", "[console_scripts]\natolltry=atolltry:main\n")
        archive.writestr(f"{meta}/RECORD", "")
    package = tmp_path / "package"
    package.mkdir()
    (package / "package.json").write_text(
        '{"name": "atolltry-npm", "version": "1.0.0", "bin": {"atolltry-npm": "x.sh"}}'
    )
    (package / "x.sh").write_text("#!/bin/sh\necho npm works\n")
    (package / "x.sh").chmod(0o755)
    with tarfile.open(tmp_path / "p.tgz", "w:gz") as archive:
        archive.add(package, "package")
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755)
    tmp_path.parent.chmod(0o755)
    for name in (wheel.name, "p.tgz"):
        with (tmp_path / name).open("rb") as data:
            ok(atoll, "cp", "-", f"px:{name}", stdin=data)
    if shutil.which("pip3", path="/usr/bin:/usr/local/bin"):
        line = f"pip3 install -q --user --no-index ./{wheel.name} >/dev/null 2>&1; atolltry"
        assert inside(atoll, "px", line) == "pip works"
    if shutil.which("npm", path="/usr/bin:/usr/local/bin"):
        line = "npm i -g --offline --silent ./p.tgz >/dev/null 2>&1; atolltry-npm"
        assert inside(atoll, "px", line) == "npm works"
    assert inside(
        atoll, "px", 'for d in "$CARGO_HOME" "$GOPATH"; do mkdir -p "$d" && echo ok; done'
    ) == ("ok\nok")
    ok(atoll, "destroy", "px", "--yes")


def test_mounts_through_the_api_need_an_allowed_folder() -> None:
    with test_server(start=False) as server:
        allowed = server.home.parent / "allowed"
        for name in ("x", "secret"):
            (allowed / name).mkdir(parents=True)
        (allowed / "x" / "f").write_text("allowed")
        beside = server.home.parent / "beside"
        beside.mkdir()
        (server.home / "config.toml").write_text(f'mount_roots = ["{allowed}"]\n')
        server.start()
        api = Api(server)
        made = api.create(mounts=[{"source": str(allowed / "x"), "target": "/data"}])
        assert made["metadata"]["mounts"] == [f"{allowed / 'x'}:/data:ro"]
        assert api.run(made["sandbox_id"], "cat /data/f") == "allowed"
        for source, target, status in (
            (beside, "/data", 403),
            (allowed.parent, "/data", 403),
            ("/etc", "/data", 403),
            (f"{allowed}/../beside", "/data", 422),
            (allowed, "/workspace", 422),
            (allowed, "/data/../etc", 422),
        ):
            body = {"mounts": [{"source": str(source), "target": target}]}
            answer = api.client.post("/v1/sandboxes", json=body)
            assert answer.status_code == status, (source, target, answer.text)
        # Folders of keys need a field of their own: judged by name at once, by content at start.
        (allowed / ".ssh").mkdir()
        (allowed / "secret" / ".netrc").write_text("a key")
        body = {"mounts": [{"source": str(allowed / ".ssh"), "target": "/data"}]}
        answer = api.client.post("/v1/sandboxes", json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "private_folder")
        mount = {"source": str(allowed / "secret"), "target": "/data"}
        failed = api.call("POST", "/v1/sandboxes?wait=ready", json={"mounts": [mount]})
        assert failed["state"] == "failed" and "holds .netrc" in failed["reason"]
        made = api.create(mounts=[{**mount, "private": True}])
        assert api.run(made["sandbox_id"], "cat /data/.netrc") == "a key"
        # A grant nobody wrote passes the control plane, which cannot read them, and no further.
        body = {"mounts": [{"source": str(beside), "target": "/data", "grant": "0" * 32}]}
        failed = api.call("POST", "/v1/sandboxes?wait=ready", json=body)
        assert failed["state"] == "failed" and "granted" in failed["reason"]
        # A link put below an allowed folder later leads nowhere.
        (allowed / "away").symlink_to("/root")
        body = {"mounts": [{"source": str(allowed / "away"), "target": "/data"}]}
        failed = api.call("POST", "/v1/sandboxes?wait=ready", json=body)
        assert failed["state"] == "failed" and "link" in failed["reason"]
        api.client.close()
