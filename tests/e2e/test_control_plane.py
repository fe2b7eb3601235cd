"""The control plane as a process: its start, its end, SIGKILL and what a restart keeps."""

import asyncio
import json
import os
import re
import signal
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import IO

import aiohttp
import httpx
import pytest

from atoll.testing.server import test_server
from tests.claims import free_port
from tests.peers.certificate import own_certificate

LINK = re.compile(r"Log in within 10 minutes: (http\S+)/#login=(\S+)")


@pytest.fixture
def home() -> Iterator[Path]:
    import shutil
    import tempfile

    made = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    yield made
    shutil.rmtree(made)


def _line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


def _note(home: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((home / "run" / "control.json").read_text())
    return found


@contextmanager
def _control(home: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A control plane with the in-memory backend: its process, its address, a ticket."""
    process = subprocess.Popen(
        [sys.executable, "-m", "atoll.wiring.control.serve", "--home", str(home), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "ATOLL_EXTENSIONS": "in-memory"},
    )
    try:
        assert _line(process.stdout).startswith("Atoll is ready: ")
        found = LINK.match(_line(process.stdout))
        assert found is not None
        yield process, found[1], found[2]
    finally:
        process.kill()
        process.communicate()


def test_start_prints_a_link_that_logs_in_and_leaves_private_files(home: Path) -> None:
    with _control(home) as (process, url, ticket):
        note = json.loads((home / "run" / "control.json").read_text())
        assert (note["url"], note["pid"]) == (url, process.pid)
        for name in ("token", "atoll.db"):
            assert stat.S_IMODE((home / name).stat().st_mode) & 0o077 == 0, name
        with httpx.Client(base_url=url) as client:
            _log_in(client, ticket)
            assert client.get("/v1/sandboxes").json() == {"sandboxes": [], "next": None}
            assert client.get("/readyz").status_code == 200


ENDS = {
    "SIGTERM": [signal.SIGTERM],
    "Ctrl-C": [signal.SIGINT],
    "impatient": [signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGINT],
}


@pytest.mark.parametrize("signals", ENDS.values(), ids=ENDS)
def test_signal_ends_it_in_order_with_streams_open(
    home: Path, signals: list[signal.Signals]
) -> None:
    """Event streams end as whole ones, WebSockets with 1012, and nothing is printed."""
    with _control(home) as (process, url, _):
        ends = asyncio.run(_ended_streams(url, _bearer(home), process, signals))
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (0, "", "")
        assert "url" not in json.loads((home / "run" / "control.json").read_text())
    assert ends == ["whole"] * 3 + [1012] * 2


async def _ended_streams(
    url: str, token: dict[str, str], process: subprocess.Popen[str], signals: list[signal.Signals]
) -> list[str | int | None]:
    """Open streams of every kind, send the signals, and return how each stream ended."""
    async with aiohttp.ClientSession(url, headers=token) as client, AsyncExitStack() as open_ones:
        made = await (await client.post("/v1/dashboards", json={"name": "Plan"})).json()
        streams = [
            await open_ones.enter_async_context(
                client.get(path, headers={"Accept": "application/json, text/event-stream", **more})
            )
            for path, more in (
                ("/v1/events/stream", {}),
                ("/v1/projections/agents/stream", {}),
                ("/mcp", await _mcp_session(client)),
            )
        ]
        assert [one.status for one in streams] == [200] * 3
        sockets = [
            await open_ones.enter_async_context(client.ws_connect(path))
            for path in ("/v1/events/stream", f"/v1/dashboards/{made['id']}/attach")
        ]
        for number in signals:
            process.send_signal(number)

        async def whole(stream: aiohttp.ClientResponse) -> str:
            await stream.read()  # raises where it was cut off
            return "whole"

        async def code(socket: aiohttp.ClientWebSocketResponse) -> int | None:
            async for _ in socket:
                pass
            return socket.close_code

        return list(await asyncio.gather(*map(whole, streams), *map(code, sockets)))


async def _mcp_session(client: aiohttp.ClientSession) -> dict[str, str]:
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    accepts = {"Accept": "application/json, text/event-stream"}
    async with client.post("/mcp", json=call, headers=accepts) as answer:
        assert answer.status == 200
        session = answer.headers.get("mcp-session-id")
    return {
        "mcp-protocol-version": "2025-06-18",
        **({"mcp-session-id": session} if session else {}),
    }


def test_interrupt_before_it_serves_prints_nothing(home: Path) -> None:
    """`atoll up` blocks the signal before it becomes the control plane, which takes it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "atoll.wiring.control.serve", "--home", str(home)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == -signal.SIGINT


def test_interrupt_while_the_command_loads_prints_nothing() -> None:
    code = "import os, signal, atoll.wiring.command; os.kill(os.getpid(), signal.SIGINT)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def _log_in(client: httpx.Client, ticket: str) -> None:
    """Log in as the page does, and send its key from then on."""
    answer = client.post("/auth/login", json={"ticket": ticket})
    assert answer.status_code == 200
    client.headers["Atoll-Page-Key"] = answer.json()["page_key"]


def _bearer(home: Path) -> dict[str, str]:
    return {"Authorization": f"Bearer {(home / 'token').read_text().strip()}"}


def test_sigkill_and_start_again_keep_port_session_token_and_sandboxes(home: Path) -> None:
    with _control(home) as (process, url, ticket), httpx.Client(base_url=url) as client:
        _log_in(client, ticket)
        token = _bearer(home)
        body = {"name": "kept", "profile": "shell"}
        client.post("/v1/sandboxes", json=body, headers=token)
        process.kill()
        process.wait()
        began = time.monotonic()
        with _control(home) as (_, again, _unused):
            assert again == url
            assert client.get("/auth/me").json()["interactive"] is True
            assert httpx.get(f"{url}/auth/me", headers=token).status_code == 200
            assert time.monotonic() - began < 60


def test_second_control_plane_on_a_home_is_refused_with_a_sentence(home: Path) -> None:
    with _control(home):
        second = subprocess.run(
            [sys.executable, "-m", "atoll.wiring.control.serve", "--home", str(home)],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    assert second.returncode == 1
    assert "already runs" in second.stderr
    assert "Traceback" not in second.stderr


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("prot = 1", "no setting 'prot'"),
        ("port = 70000", "port 70000"),
        ('port = "x"', "port"),
        ("max_sandboxes = 0", "max_sandboxes"),
        ('log_level = "loud"', "log_level"),
        ('docker_host = "tcp://10.0.0.1:2375"', "docker_host"),
        ('public_url = "ftp://x"', "public_url"),
        ('public_url = "https://u:p@x"', "public_url"),
        ("= = =", "not TOML"),
    ],
)
def test_wrong_setting_stops_the_start_with_a_sentence(
    home: Path, config: str, sentence: str
) -> None:
    (home / "config.toml").write_text(config)
    done = subprocess.run(
        [sys.executable, "-m", "atoll.wiring.control.serve", "--home", str(home)],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_address_with_a_certificate_serves_others_and_loopback_this_machine(home: Path) -> None:
    cert, key = own_certificate(home, "127.0.0.2")
    flags = ("--host", "127.0.0.2", "--tls-cert", str(cert), "--tls-key", str(key))
    with _control(home, *flags) as (process, url, ticket):
        assert url.startswith("http://127.0.0.1:")
        assert _note(home)["url"] == url
        outside = _line(process.stdout).removeprefix("From another machine: ").partition("/#")[0]
        assert outside == f"https://127.0.0.2:{_note(home)['port']}"
        trusted = ssl.create_default_context(cafile=str(cert))
        with httpx.Client(base_url=outside, verify=trusted) as client:
            _log_in(client, ticket)
            cookies = [cookie for cookie in client.cookies.jar if cookie.secure]
            assert len(cookies) == 1
        with httpx.Client(base_url=url, headers=_bearer(home)) as near:
            made = near.post("/auth/tickets").json()
            assert made["url"].startswith(url)
            assert made["outside_url"].startswith(outside)
    with _control(home, *flags):
        assert _note(home)["url"] == url


def test_address_of_a_network_without_tls_warns_and_answers_to_its_name_only(home: Path) -> None:
    with _control(home, "--host", "127.0.0.2") as (process, url, _):
        outside = _line(process.stdout).removeprefix("From another machine: ").partition("/#")[0]
        assert "plain HTTP" in _line(process.stderr)
        assert httpx.get(f"{outside}/healthz").status_code == 200
        foreign = httpx.get(f"{outside}/healthz", headers={"Host": "evil.example"})
        assert foreign.status_code == 421
        assert httpx.get(f"{url}/healthz").status_code == 200


@pytest.mark.parametrize(
    ("cert", "key", "sentence"),
    [
        ("absent.pem", "key.pem", "absent.pem cannot be read: No such file"),
        ("cert.pem", "other.pem", "not the key of this certificate"),
        ("token.txt", "key.pem", "in PEM form"),
        ("cert.pem", "locked.pem", "without a password"),
    ],
)
def test_wrong_tls_files_stop_the_start_with_a_sentence(
    home: Path, cert: str, key: str, sentence: str
) -> None:
    own_certificate(home, "127.0.0.1")
    other = home / "else"
    other.mkdir()
    (home / "other.pem").write_bytes(own_certificate(other, "127.0.0.1")[1].read_bytes())
    own_certificate(other, "127.0.0.1", password=b"x")
    (home / "locked.pem").write_bytes((other / "key.pem").read_bytes())
    (home / "token.txt").write_text("no certificate")
    named = ("--tls-cert", str(home / cert), "--tls-key", str(home / key))
    done = subprocess.run(
        [sys.executable, "-m", "atoll.wiring.control.serve", "--home", str(home), *named],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_up_listens_where_file_variable_and_flag_say_in_this_order() -> None:
    in_file, by_variable, by_flag = free_port(), free_port(), free_port()
    with test_server(start=False) as server:
        (server.home / "config.toml").write_text(f"port = {in_file}\n")
        server.start(None)
        assert server.url == f"http://127.0.0.1:{in_file}"
        for env, flag, port in (
            ({"ATOLL_PORT": str(by_variable)}, None, by_variable),
            ({"ATOLL_PORT": str(by_variable)}, by_flag, by_flag),
        ):
            server.kill()
            server.env = {**server.env, **env}
            server.start(flag)
            assert server.url == f"http://127.0.0.1:{port}"
