"""Attacks on the gateway from outside and inside: floods, names, banners, files and handles."""

import resource
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import asyncssh
import pytest

from atoll.surfaces.ssh.tries import MAX_SILENT, MAX_WAITING
from tests.e2e.ssh.client import SECONDS, SshClient
from tests.peers.api import Api, until

HALF_OPEN = 10_000
BEGINNINGS = (b"", b"SSH-2.0-Ope", b"\x1b]0;owned\x07")
"""What half-open connections send: nothing, half a version, and no version."""

MOST_DESCRIPTORS = MAX_SILENT + MAX_WAITING + 100
MORE_MEMORY_KIB = 48 * 1024
MOST_HANDLES = 256
FORWARDS = 10
ESCAPES = "\x1b]52;c;b3duZWQ=\x07"


def memory_kib(pid: int) -> int:
    """Return the memory that a process has to itself."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def descriptors(pid: int) -> int:
    """Return how many descriptors a process has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


@contextmanager
def many_descriptors(count: int) -> Iterator[None]:
    """Let this process open so many for a while."""
    before = soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(count, hard)), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def half_open(number: int, port: int) -> socket.socket:
    """Open a connection that goes no further. A third of them come from other addresses."""
    far = number % 3 == 0
    source = f"127.0.{1 + number % 50}.{1 + number % 7}" if far else "127.0.0.1"
    client = socket.create_connection(("127.0.0.1", port), SECONDS, (source, 0))
    with suppress(OSError):
        client.sendall(BEGINNINGS[number // 3 % len(BEGINNINGS)])
    return client


def test_ten_thousand_half_open_connections_keep_nobody_out(ada: SshClient, box: str) -> None:
    """A person comes in meanwhile and afterwards, from an address of the flood itself."""
    port, pid = ada.port, ada.gateway_pid
    before, opened = memory_kib(pid), threading.Event()
    with many_descriptors(HALF_OPEN + 1000), ExitStack() as held:

        def flood() -> None:
            try:
                for number in range(HALF_OPEN):
                    held.enter_context(half_open(number, port))
            finally:
                opened.set()

        flooding = threading.Thread(target=flood)
        flooding.start()
        logins = tries = 0
        while not opened.is_set() or not logins:
            tries += 1
            logins += ada.run(box, "echo in").stdout == b"in\n"
        flooding.join()
        print(f"{logins} of {tries} logins amid {HALF_OPEN} connections")
        assert logins == tries
        assert ada.run(box, "echo after").stdout == b"after\n"
        assert ada.gateway_pid == pid
        assert descriptors(pid) < MOST_DESCRIPTORS
        assert memory_kib(pid) - before < MORE_MEMORY_KIB
    assert ada.run(box, "echo over").stdout == b"over\n"


@pytest.mark.parametrize(
    "name", ["box\0", "box\0/../x", "box\r\n", f"{ESCAPES}box", "b\x7fox", "\x00" * 500, "a" * 5000]
)
async def test_names_with_control_characters_open_nothing(
    ada: SshClient, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A client of good will would not send them.
    monkeypatch.setattr("asyncssh.connection.saslprep", lambda text: text)
    with pytest.raises((asyncssh.Error, OSError)):
        async with asyncssh.connect(
            "127.0.0.1",
            ada.port,
            username=name,
            client_keys=[str(ada.key)],
            known_hosts=None,
            config=None,
        ):
            pass
    log = (ada.server.home / "ssh.log").read_bytes()
    assert b"\x1b" not in log
    assert b"\0" not in log


def test_versions_with_escape_codes_are_written_nowhere(ada: SshClient, box: str) -> None:
    for version in (f"SSH-2.0-{ESCAPES}\r\n", f"{ESCAPES}\r\nSSH-2.0-x\r\n", "SSH-1.0-\x9b2J\n"):
        with socket.create_connection(("127.0.0.1", ada.port)) as client:
            client.sendall(version.encode())
            client.settimeout(SECONDS)
            assert client.recv(4) == b"SSH-"
    assert ada.run(box, "echo in").stdout == b"in\n"
    assert b"\x1b" not in (ada.server.home / "ssh.log").read_bytes()


def test_refusals_spell_escape_codes_of_their_cause(ada: SshClient, box: str) -> None:
    """What a client asked for stands in the answer, which goes to a terminal."""
    words = [*ada.words("ssh", "-W", f"x{ESCAPES}:80"), f"{box}@gateway"]
    told = subprocess.run(words, capture_output=True, timeout=SECONDS, check=False)
    assert b"\x1b" not in told.stderr + told.stdout
    with ada.terminal(box, "attach", ESCAPES) as shell:
        shell.await_end()
        assert b"\x1b]52" not in shell.shown


def test_forward_ends_with_its_client_though_nothing_inside_ends_it(
    ada: SshClient, box: str, calls: Api
) -> None:
    """A program inside that never closes what it accepted holds nothing of the gateway."""
    deaf = (
        "import socket; s = socket.create_server(('127.0.0.1', 8814)); held = []\n"
        "while True: held.append(s.accept()[0]); held[-1].sendall(b'hello')\n"
    )
    calls.run(box, f'(setsid python3 -c "{deaf}" >/dev/null 2>&1 &)')
    until(
        lambda: calls.call("GET", f"/v1/sandboxes/{box}/ports")["ports"],
        lambda ports: any(each["port"] == 8814 for each in ports),
    )
    with told(ada, box) as first:
        assert first == b"hello"
    pid = ada.gateway_pid
    before = descriptors(pid)
    for _ in range(FORWARDS):
        with told(ada, box) as said:
            assert said == b"hello"
    # Its connections to the control plane come and go.
    until(lambda: descriptors(pid), lambda count: count < before + FORWARDS // 2, 20)


@contextmanager
def told(ada: SshClient, box: str) -> Iterator[bytes]:
    """Yield what comes first over a forward, whose client is killed afterwards."""
    words = [*ada.words("ssh", "-W", "localhost:8814"), f"{box}@gateway"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        try:
            yield client.stdout.read(5)
        finally:
            client.kill()


def test_sftp_follows_no_link_out_and_makes_no_bomb(
    ada: SshClient, box: str, calls: Api, tmp_path: Path
) -> None:
    calls.run(box, "ln -sf /etc/passwd out; ln -sfn / root; ln -sf ../../etc/passwd up; mkfifo p")
    (tmp_path / "put").write_text("put")
    got = tmp_path / "got"
    for command in (
        *(f"get {path} {got}" for path in ("out", "up", "root/etc/passwd", "../etc/passwd", "p")),
        *(f"put {tmp_path}/put {path}" for path in ("out", "root/tmp/put", "/tmp/put")),
        "ln -s /etc/shadow root/workspace/../x",
        "rename out /tmp/out",
    ):
        words = [*ada.words("sftp", "-b", "-"), f"{box}@gateway"]
        done = subprocess.run(
            words, input=command.encode(), capture_output=True, timeout=SECONDS, check=False
        )
        assert done.returncode != 0, (command, done)
        assert not got.exists(), command


async def test_sftp_bounds_holes_and_handles(ada: SshClient, box: str) -> None:
    """More handles than there may be are refused, and the connection goes on."""
    async with (
        asyncssh.connect(
            "127.0.0.1",
            ada.port,
            username=box,
            client_keys=[str(ada.key)],
            known_hosts=None,
            config=None,
        ) as connection,
        connection.start_sftp_client() as sftp,
    ):
        async with sftp.open("bomb", "w") as bomb:
            with pytest.raises(asyncssh.SFTPError):
                await bomb.truncate(1 << 62)
            with pytest.raises(asyncssh.SFTPError):
                await bomb.write("x", 1 << 62)
        handles = []
        with pytest.raises(asyncssh.SFTPFailure):
            for _ in range(MOST_HANDLES + 1):
                handles.append(await sftp.open("bomb"))
        assert len(handles) == MOST_HANDLES
        for handle in handles:
            await handle.close()
        assert await sftp.getsize("bomb") == 0
