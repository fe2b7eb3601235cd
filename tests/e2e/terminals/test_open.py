"""`atoll open`: a port of a sandbox on this machine, byte for byte, and a file in one's hands."""

import asyncio
import hashlib
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest
from yarl import URL

from atoll.testing.server import TestServer, atoll_command

SERVER = """
import hashlib, socket, threading
def serve(line):
    digest = hashlib.sha256()
    while data := line.recv(65536):
        digest.update(data)
    line.sendall(digest.hexdigest().encode())
    line.close()
listening = socket.create_server(("{host}", {port}), family=socket.{family})
open("/workspace/up-{port}", "w").write("up")
while True:
    line, _ = listening.accept()
    threading.Thread(target=serve, args=(line,), daemon=True).start()
"""
BIG = 70 * 2**20


@pytest.fixture(scope="module")
def box(atoll: TestServer) -> str:
    assert atoll.run("new", "--detach", "--name", "op").returncode == 0
    for family, host, port in (("AF_INET", "127.0.0.1", 4000), ("AF_INET6", "::1", 4001)):
        code = SERVER.format(host=host, port=port, family=family)
        ran = atoll.run("exec", "--background", "op", "--", "python3", "-c", code)
        assert ran.returncode == 0, ran.stderr
    serve = "exec python3 -m http.server 4002 -b 127.0.0.1"
    web = f"head -c {BIG} /dev/zero > big; touch up-4002; {serve}"
    assert atoll.run("exec", "--background", "op", "--shell", web).returncode == 0
    knock = "import socket; socket.create_connection(('127.0.0.1', 4002))"
    wait = (
        "until [ -e up-4000 -a -e up-4001 -a -e up-4002 ]; do :; done; "
        f'until python3 -c "{knock}"; do :; done'
    )
    assert atoll.run("exec", "op", "--shell", wait, stdin=subprocess.DEVNULL).returncode == 0
    return "op"


def _hear_interrupts() -> None:
    # Tests started in the background ignore SIGINT, and their children would, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def forwarded(atoll: TestServer, box: str, port: int, *words: str) -> Iterator[tuple[int, Path]]:
    """The local port, and a file with what was said to the person."""
    said = atoll.home.parent / f"said-{port}"
    env = {**os.environ, **atoll.env, "ATOLL_HOME": str(atoll.home), "NO_COLOR": "1"}
    with said.open("wb") as errors:
        running = subprocess.Popen(
            [atoll_command(), "open", box, str(port), *words],
            stdout=subprocess.PIPE, stderr=errors, env=env, preexec_fn=_hear_interrupts,
        )  # fmt: skip
    try:
        assert running.stdout is not None
        line = running.stdout.readline().decode().strip()
        assert line.startswith("http://127.0.0.2:"), (line, said.read_text())
        yield int(line.rpartition(":")[2]), said
    finally:
        running.send_signal(signal.SIGINT)
        try:
            assert running.wait(20) == 0
        finally:
            running.kill()
            if running.stdout is not None:
                running.stdout.close()


@pytest.mark.parametrize("port", [4000, 4001], ids=["v4", "v6"])
def test_open_port_passes_bytes_and_the_end_of_them_both_ways(
    atoll: TestServer, box: str, port: int
) -> None:
    data = os.urandom(2**20) * 20
    with forwarded(atoll, box, port) as (local, _said):
        for _time in range(2):
            with socket.create_connection(("127.0.0.2", local), 30) as line:
                line.sendall(data)
                line.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: line.recv(100), b""))
            assert answer.decode() == hashlib.sha256(data).hexdigest()


def test_open_port_carries_more_than_an_exec_may_say(atoll: TestServer, box: str) -> None:
    with (
        forwarded(atoll, box, 4002) as (local, _said),
        urllib.request.urlopen(f"http://127.0.0.2:{local}/big", timeout=60) as answer,
    ):
        assert sum(len(piece) for piece in iter(lambda: answer.read(2**20), b"")) == BIG


def test_open_port_nobody_listens_at_is_said(atoll: TestServer, box: str) -> None:
    with forwarded(atoll, box, 4999) as (local, said):
        with socket.create_connection(("127.0.0.2", local), 30) as line:
            assert line.recv(1) == b""
        while "nothing listens" not in said.read_text():
            pass


def test_open_port_is_bound_to_the_loopback_and_where_asked(atoll: TestServer, box: str) -> None:
    with socket.create_server(("127.0.0.2", 0)) as held:
        taken = held.getsockname()[1]
        done = atoll.run("open", box, "4000", "--port", str(taken), timeout=30)
        assert done.returncode != 0 and str(taken) in done.stderr


@pytest.mark.parametrize("door", ["8082", "3128"])
def test_open_door_is_refused_in_every_spelling(atoll: TestServer, box: str, door: str) -> None:
    said = atoll.run("open", box, door, timeout=30)
    assert said.returncode != 0 and "never forwarded" in said.stderr
    url, token = atoll.url, (atoll.home / "token").read_text().strip()
    full_width = "".join(chr(ord(digit) - ord("0") + 0xFF10) for digit in door)
    spellings = [door, f"{door}%20", f"+{door}", f"%2B{door}", f"0{door}", quote(full_width)]
    codes = asyncio.run(_closed_with(url, token, [f"{box}/ports/{one}" for one in spellings]))
    assert codes == [4403] * len(spellings)
    # A port beside the doors takes the same way and is reached.
    assert asyncio.run(_closed_with(url, token, [f"{box}/ports/4999"])) == [4502]


async def _closed_with(url: str, token: str, paths: list[str]) -> list[int | None]:
    codes = []
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        for path in paths:
            address = URL(f"{url.rstrip('/')}/v1/sandboxes/{path}", encoded=True)
            async with session.ws_connect(address) as line:
                await line.receive(timeout=60)
                codes.append(line.close_code)
    return codes


def test_open_file_prints_it_as_it_is(atoll: TestServer, box: str) -> None:
    atoll.run("exec", box, "--shell", "printf 'a\\033[31mb' > f", stdin=subprocess.DEVNULL)
    assert atoll.run("open", box, "f").stdout == "a\x1b[31mb"
    assert atoll.run("open", box, "absent").returncode != 0


def test_open_file_to_edit_writes_back_what_changed(
    atoll: TestServer, box: str, tmp_path: Path
) -> None:
    atoll.run("exec", box, "--shell", "echo one > g", stdin=subprocess.DEVNULL)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho two >> "$1"\n')
    editor.chmod(0o755)
    env = {**os.environ, "ATOLL_HOME": str(atoll.home), "EDITOR": str(editor)}
    done = atoll.run("open", box, "g", "--edit", env=env)
    assert done.returncode == 0, done.stderr
    assert atoll.run("open", box, "g").stdout == "one\ntwo\n"
    # Through a link, which stays one, of a file that keeps its mode.
    links = "chmod 755 g; ln -s g CLAUDE.md; ln -s /etc/passwd out"
    atoll.run("exec", box, "--shell", links, stdin=subprocess.DEVNULL)
    done = atoll.run("open", box, "CLAUDE.md", "--edit", env=env)
    assert done.returncode == 0, done.stderr
    shown = atoll.run("exec", box, "--shell", "stat -c %A%N g CLAUDE.md; tail -n 1 g")
    assert shown.stdout == "-rwxr-xr-x'g'\nlrwxrwxrwx'CLAUDE.md' -> 'g'\ntwo\n"
    done = atoll.run("cp", str(editor), f"{box}:out")
    assert done.returncode != 0 and "leads out of the workspace" in done.stderr
    atoll.run("exec", box, "--shell", "printf 'one\\ntwo\\n' > g", stdin=subprocess.DEVNULL)
    # What an agent wrote meanwhile is not lost, and neither is ours.
    env["ATOLL"] = atoll_command()
    editor.write_text(
        '#!/bin/sh\necho mine >> "$1"\n"$ATOLL" exec op --shell "echo theirs > g" < /dev/null\n'
    )
    done = atoll.run("open", box, "g", "--edit", env=env)
    assert done.returncode != 0
    kept = Path(done.stderr.strip().rpartition(" ")[2])
    assert kept.read_text() == "one\ntwo\nmine\n"
    assert atoll.run("open", box, "g").stdout == "theirs\n"
    kept.unlink()
    kept.parent.rmdir()
