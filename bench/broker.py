"""What the broker door adds to a model call, beside nginx as a plain reverse proxy.

All three are asked in turns by one client over kept connections, and both proxies keep theirs to
the same upstream, in the clear. Each call brings an id and a length of its own, as agents' do. The
first 300 calls are written into a journal and the rest is counted, as at every door. Before each
there is a breath, in which whoever answered last can write its books: else the next one would be
measured beside it.
"""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.broker_processes import ANSWER, EVENT, EVENT_SECONDS, EVENTS
from bench.figures import Series, table, verdict
from bench.peers import milliseconds

REQUESTS = 1500
STREAMS = 700
WARM = 50
CROWD = 200
BREATH_SECONDS = 0.0003
BODY = b'{"model":"gpt-5-mini","input":"' + b"x" * 990 + b'"}'
NGINX = """
daemon off; master_process off; error_log stderr crit; pid {folder}/pid;
events {{ worker_connections 2048; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  keepalive_requests 1000000;
  upstream peer {{ server 127.0.0.1:{upstream}; keepalive 64; keepalive_requests 1000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://peer; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Authorization "Bearer sk-bench"; proxy_buffering off;
    }}
  }}
}}
"""


def broker() -> None:
    """A 1 KiB call, the first bytes of a stream, and 200 streams at once."""
    with ExitStack() as stack:
        direct = stack.enter_context(_python("upstream"))
        ports = {"direct": direct, "broker": stack.enter_context(_python("broker", str(direct)))}
        nginx = stack.enter_context(_nginx(direct))
        if nginx:
            ports["nginx"] = nginx
        _calls(ports, "a 1 KiB call", "/v1/responses", REQUESTS)
        _calls(ports, "a stream's first bytes", "/v1/chat/completions", STREAMS)
        _crowd(ports["broker"])


def _calls(ports: dict[str, int], title: str, path: str, count: int) -> None:
    clients = {
        name: _Client(port, ("/broker/openai" if name == "broker" else "") + path)
        for name, port in ports.items()
    }
    series = {name: Series(f"{name}: {title}") for name in clients}
    first_only = path.endswith("completions")
    for n in range(count + WARM):
        for name, client in clients.items():
            _breathe()
            taken = client.first_bytes() if first_only else client.call()
            if n >= WARM:
                series[name].samples.append(taken)
    table(title, *series.values())
    added = {
        name: (one.median - series["direct"].median, one.p99 - series["direct"].p99)
        for name, one in series.items()
        if name != "direct"
    }
    for name, (p50, p99) in added.items():
        print(f"  {name} adds {p50:.3f} ms at p50, {p99:.3f} ms at p99", flush=True)
    if "nginx" in added:
        verdict("times nginx's overhead, p50", added["broker"][0] / added["nginx"][0], 3)
    else:
        print("  nginx is not here and could not be installed: not compared", flush=True)


def _breathe() -> None:
    """Wide awake: a processor that went to sleep would be measured, too."""
    until = time.perf_counter() + BREATH_SECONDS
    while time.perf_counter() < until:
        pass


def _crowd(port: int) -> None:
    gaps = asyncio.run(_streams(port))
    longest = Series(f"longest silence of {CROWD} streams at once", samples=gaps)
    table(f"{CROWD} streams at once, an event each {EVENT_SECONDS * 1000:.0f} ms", longest)
    verdict("ms of silence at most", max(gaps), 1000)


async def _streams(port: int) -> list[float]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_stream(port)) for _ in range(CROWD)]
    return [task.result() for task in tasks]


async def _stream(port: int) -> float:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_request("/broker/openai/v1/completions"))
    events, longest, last = 0, 0.0, time.perf_counter()
    while events < EVENTS:
        got = await reader.read(65536)
        if not got:
            raise RuntimeError(f"a stream ended after {events} events")
        longest, last = max(longest, milliseconds(last)), time.perf_counter()
        events += got.count(EVENT[:6])
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    return longest


def _request(path: str, number: int = 0) -> bytes:
    body = BODY + b" " * (number % 7)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer own\r\nX-Request-Id: {number:08d}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class _Client:
    """One kept connection, as every vendor's SDK has one."""

    def __init__(self, port: int, path: str) -> None:
        self._port = port
        self._path = path
        self._number = 0
        self._socket = self._connect()

    def call(self) -> float:
        """Milliseconds until the whole answer is here."""
        said = self._next()
        started = time.perf_counter()
        self._socket.sendall(said)
        got = b""
        while not got.endswith(ANSWER):
            got += self._socket.recv(65536)
        return milliseconds(started)

    def first_bytes(self) -> float:
        """Milliseconds until the first event of a stream is here; then it is read to its end."""
        said = self._next()
        started = time.perf_counter()
        self._socket.sendall(said)
        got = b""
        while EVENT not in got:
            got += self._socket.recv(65536)
        taken = milliseconds(started)
        while not got.endswith(b"\r\n0\r\n\r\n"):
            got += self._socket.recv(65536)
        return taken

    def _next(self) -> bytes:
        self._number += 1
        return _request(self._path, self._number)

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


@contextmanager
def _python(*argv: str) -> Iterator[int]:
    command = [sys.executable, "-m", "bench.broker_processes", *argv]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@contextmanager
def _nginx(upstream: int) -> Iterator[int | None]:
    program = shutil.which("nginx") or _installed()
    if program is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        config = Path(folder) / "nginx.conf"
        config.write_text(NGINX.format(folder=folder, upstream=upstream, port=port))
        with subprocess.Popen([program, "-c", str(config), "-p", folder]) as process:
            try:
                _wait_for(port)
                yield port
            finally:
                process.kill()


def _installed() -> str | None:
    """Debian's nginx, when we may install it."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    subprocess.run(["apt-get", "install", "-y", "-q", "nginx-light"], capture_output=True)
    return shutil.which("nginx")


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.01)
    raise RuntimeError("nginx does not listen")
