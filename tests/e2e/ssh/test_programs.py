"""OpenSSH's programs at a sandbox: commands, copies and git, byte for byte."""

import hashlib
import os
import signal
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.claims import free_port
from tests.e2e.ssh.client import SECONDS, SshClient
from tests.peers.api import Api, until

EVERY_BYTE = bytes(range(256)) * 300


def copied(words: list[str]) -> None:
    """Run a program that copies, which must succeed."""
    done = subprocess.run(words, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, (words, done.stderr, done.stdout)


def test_a_command_has_its_own_streams_and_exit(ada: SshClient, box: str) -> None:
    told = ada.run(box, "echo out; echo err >&2; exit 42")
    assert (told.stdout, told.stderr, told.returncode) == (b"out\n", b"err\n", 42)
    for code in (0, 1, 255):
        assert ada.run(box, f"exit {code}").returncode == code


def test_every_exit_code_and_signal_is_the_programs(ada: SshClient, box: str) -> None:
    """All over one connection; a signal's end is 255 to OpenSSH, which names it."""
    with shared(ada, box) as options:
        for code in range(256):
            assert ada.run(box, f"exit {code}", options=options).returncode == code
    assert ada.run(box, "kill -TERM $$").returncode == 255


def test_every_byte_passes_both_ways(ada: SshClient, box: str) -> None:
    told = ada.run(box, "cat; echo ended >&2", stdin=EVERY_BYTE)
    assert told.stdout == EVERY_BYTE
    assert told.stderr == b"ended\n"


def test_a_program_may_end_its_output_and_read_on(ada: SshClient, box: str) -> None:
    told = ada.run(box, "exec 1>&-; wc -c >&2", stdin=EVERY_BYTE)
    assert (told.stdout, told.stderr.strip()) == (b"", str(len(EVERY_BYTE)).encode())


def test_variables_are_those_of_language_alone(ada: SshClient, box: str) -> None:
    sent = ("-o", "SetEnv=LC_TIME=C.UTF-8", "-o", "SetEnv=LD_PRELOAD=/x", "-o", "SetEnv=BASH_ENV=x")
    for one in range(0, len(sent), 2):
        told = ada.run(
            box, "echo ${LC_TIME}-${LD_PRELOAD}-${BASH_ENV}", options=sent[one : one + 2]
        )
        assert told.stdout in (b"C.UTF-8--\n", b"--\n")


def test_a_client_that_goes_ends_its_program(ada: SshClient, box: str, calls: Api) -> None:
    words = [*ada.words(), f"{box}@gateway", "echo begun; exec sleep 4242"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == b"begun\n"
        client.send_signal(signal.SIGKILL)
    shown = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'sleep 424[2]' || true"
    until(lambda: calls.run(box, shown).strip(), lambda found: found == "0")


@contextmanager
def shared(ada: SshClient, box: str) -> Iterator[tuple[str, ...]]:
    """Hold a connection that clients with these options share."""
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        path = Path(folder) / "s"
        options = ("-o", f"ControlPath={path}", "-o", "ControlMaster=auto")
        master = [*ada.words("ssh", *options, "-N"), f"{box}@gateway"]
        with subprocess.Popen(master, stdin=subprocess.DEVNULL) as held:
            try:
                until(path.exists, bool)
                yield options
            finally:
                held.terminate()


def test_twenty_channels_share_a_connection(ada: SshClient, box: str) -> None:
    with shared(ada, box) as options:
        words = [*ada.words("ssh", *options), f"{box}@gateway"]
        running = [
            subprocess.Popen([*words, f"echo {one}"], stdout=subprocess.PIPE) for one in range(20)
        ]
        told = [each.communicate(timeout=SECONDS)[0] for each in running]
        assert sorted(int(each) for each in told) == list(range(20))


def test_scp_sftp_and_rsync_copy_a_tree(
    ada: SshClient, box: str, calls: Api, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "bytes").write_bytes(EVERY_BYTE)
    (tree / "deep" / "er" / "name with spaces").write_text("x")
    (tree / "deep" / "script").write_text("#!/bin/sh\n")
    (tree / "deep" / "script").chmod(0o755)
    copied([*ada.words("scp", "-r", "-p"), str(tree), f"{box}@gateway:copied"])
    assert calls.run(box, "cat copied/deep/er/*; stat -c %a copied/deep/script") == "x755\n"
    digest = hashlib.sha256(EVERY_BYTE).hexdigest()
    assert calls.run(box, "sha256sum < copied/bytes").split()[0] == digest
    copied([*ada.words("scp", "-r"), f"{box}@gateway:copied", str(tmp_path / "back")])
    assert (tmp_path / "back" / "bytes").read_bytes() == EVERY_BYTE
    batch = tmp_path / "batch"
    batch.write_text(f"mkdir by\nput {tree}/bytes by/sftp\nrename by/sftp by/moved\nls -l by\n")
    copied([*ada.words("sftp", "-b", str(batch)), f"{box}@gateway"])
    assert calls.run(box, "sha256sum < by/moved").split()[0] == digest
    if calls.run(box, "command -v rsync || true"):
        over = " ".join(ada.words())
        copied(["rsync", "-a", "-e", over, f"{tree}/", f"{box}@gateway:synced/"])
        assert calls.run(box, "sha256sum < synced/bytes").split()[0] == digest


def test_sftp_serves_workspace_and_state_and_nothing_else(
    ada: SshClient, box: str, tmp_path: Path
) -> None:
    for path in ("/etc/passwd", "/proc/self/environ", "/workspace/../etc/passwd"):
        words = [*ada.words("sftp", "-b", "-"), f"{box}@gateway"]
        told = subprocess.run(
            words,
            input=f"get {path} {tmp_path}/got\n".encode(),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        assert told.returncode != 0
        assert not (tmp_path / "got").exists()


def test_git_clones_and_pushes_over_ssh(
    ada: SshClient, box: str, calls: Api, tmp_path: Path
) -> None:
    calls.run(
        box,
        "git init -q -b main r && cd r && git config receive.denyCurrentBranch updateInstead && "
        "echo 1 > a && git add a && git -c user.name=a -c user.email=a@b commit -qm one",
    )
    env = {**os.environ, "GIT_SSH_COMMAND": " ".join(ada.words())}
    clone = tmp_path / "clone"

    def git(*words: str) -> None:
        subprocess.run(["git", *words], env=env, check=True, timeout=SECONDS, capture_output=True)

    git("clone", "-q", f"{box}@gateway:r", str(clone))
    assert (clone / "a").read_text() == "1\n"
    (clone / "a").write_text("2\n")
    git("-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "two")
    git("-C", str(clone), "push", "-q", "origin", "main")
    assert calls.run(box, "cat r/a") == "2\n"


def test_forwards_reach_the_sandbox_and_nothing_else(
    ada: SshClient, box: str, calls: Api, gateway_port: int
) -> None:
    calls.run(
        box,
        "printf '#!/bin/sh\\nwhile :; do printf \"hello\" | busybox nc -l -p 8811; done\\n' > l; "
        "command -v python3 >/dev/null && (setsid python3 -m http.server 8811 "
        "--bind 127.0.0.1 >/dev/null 2>&1 &)",
    )
    until(
        lambda: calls.call("GET", f"/v1/sandboxes/{box}/ports")["ports"],
        lambda ports: any(each["port"] == 8811 for each in ports),
    )
    asked = b"GET / HTTP/1.0\r\n\r\n"
    words = [*ada.words("ssh", "-W", "localhost:8811"), f"{box}@gateway"]
    told = subprocess.run(words, input=asked, capture_output=True, timeout=SECONDS, check=False)
    assert told.stdout.startswith(b"HTTP/1.0 200 OK")
    for place in (
        f"127.0.0.1:{gateway_port}",
        "169.254.169.254:80",
        "example.org:80",
        "10.0.0.1:22",
    ):
        words = [*ada.words("ssh", "-W", place), f"{box}@gateway"]
        told = subprocess.run(words, input=asked, capture_output=True, timeout=SECONDS, check=False)
        assert b"SSH-" not in told.stdout
        assert told.stdout == b""
    # As by OpenSSH's own server: the channel is not opened, and closed then.
    words = [*ada.words("ssh", "-o", "LogLevel=INFO", "-W", "localhost:9"), f"{box}@gateway"]
    told = subprocess.run(words, input=asked, capture_output=True, timeout=SECONDS, check=False)
    assert b"open failed: connect failed" in told.stderr
    assert b"nothing listens there" in told.stderr


@contextmanager
def forwarding(ada: SshClient, box: str, port: int, *options: str) -> Iterator[None]:
    """Hold an `ssh -N` that listens at a port of this machine."""
    words = [*ada.words("ssh", "-N", *options), f"{box}@gateway"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as client:
        try:
            until(lambda: reached(port), bool)
            yield
        finally:
            client.terminate()


def reached(port: int) -> bool:
    """Report whether something listens at a port of this machine."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def test_ports_inside_are_reached_by_forwards(ada: SshClient, box: str, calls: Api) -> None:
    """By `-L`, and by `-D` as an editor does: a connection of SOCKS to a port of any number."""
    calls.run(
        box,
        "echo inside > index.html; (setsid python3 -m http.server 8812 --bind 127.0.0.1 "
        ">/dev/null 2>&1 &)",
    )
    until(
        lambda: calls.call("GET", f"/v1/sandboxes/{box}/ports")["ports"],
        lambda ports: any(each["port"] == 8812 for each in ports),
    )
    port = free_port()
    with (
        forwarding(ada, box, port, f"-L127.0.0.1:{port}:localhost:8812"),
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=SECONDS) as page,
    ):
        assert page.read() == b"inside\n"
    port = free_port()
    with (
        forwarding(ada, box, port, f"-D127.0.0.1:{port}"),
        socket.create_connection(("127.0.0.1", port)) as client,
        client.makefile("rb") as answers,
    ):
        client.sendall(b"\x04\x01" + (8812).to_bytes(2, "big") + b"\0\0\0\x01\0localhost\0")
        assert answers.read(8)[1] == 0x5A
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert answers.read().endswith(b"inside\n")


@pytest.mark.parametrize("option", ["-R8000:localhost:22", "-A", "-X"])
def test_what_is_not_offered_is_refused(ada: SshClient, box: str, option: str) -> None:
    told = ada.run(box, "echo ${SSH_AUTH_SOCK}-${DISPLAY}", options=(option,))
    assert told.stdout in (b"-\n", b"")


def said_at(path: Path, words: bytes) -> bytes:
    """Return what a socket answers; nothing where the connection ends."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(SECONDS)
        client.connect(str(path))
        client.sendall(words)
        try:
            return client.recv(9)
        except ConnectionResetError:
            return b""


def test_a_forward_reaches_a_socket_of_the_workspace_alone(
    ada: SshClient, box: str, calls: Api, tmp_path: Path
) -> None:
    serve = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.bind('/workspace/s.sock'); s.listen();"
        "c = s.accept()[0]; c.sendall(c.recv(9)[::-1]); c.close()"
    )
    calls.run(
        box, f'(setsid python3 -c "{serve}" >/dev/null 2>&1 &); until [ -S s.sock ]; do :; done'
    )
    for inside, told in (("/workspace/s.sock", b"cba"), ("/run/other.sock", b"")):
        local = tmp_path / f"l{len(inside)}"
        words = [*ada.words("ssh", "-N", "-L", f"{local}:{inside}"), f"{box}@gateway"]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL) as forward:
            until(local.exists, bool)
            try:
                assert said_at(local, b"abc") == told
            finally:
                forward.terminate()
