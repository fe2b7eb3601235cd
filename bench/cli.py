"""`cli`: how long commands take to start, beside the interpreter they run in.

The server of this figure answers at once and from memory, so that what is measured is the command.
"""

import http.client
import http.server
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from bench.figures import Series, table, verdict
from bench.peers import milliseconds

ROUNDS = 40
_TOKEN = "bench"
_SANDBOX = {
    "sandbox_id": "sb_1",
    "name": "box",
    "state": "ready",
    "profile": {"id": "profile.shell"},
}
_ENDED = {"exit": {"exec_id": "ex_1", "exit_code": 0, "signal": None}}


class _Answers(http.server.BaseHTTPRequestHandler):
    """Routes of `list` and `exec`."""

    def do_GET(self) -> None:
        """Answer with the list, or the end of the command."""
        listed = {"sandboxes": [{**_SANDBOX, "created_at": "2026-01-01T00:00:00Z"}], "next": None}
        self._answer(_ENDED if self.path.partition("?")[0].endswith("/output") else listed)

    def do_POST(self) -> None:
        """Answer that the command was started."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer({"exec_id": "ex_1"})

    def do_DELETE(self) -> None:
        """Answer that the command is forgotten."""
        self._answer({})

    def _answer(self, value: object) -> None:
        body = json.dumps(value).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def _served() -> Iterator[dict[str, str]]:
    """Serve, and yield the environment of a command that asks this server."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}"
            yield {**os.environ, "ATOLL_URL": url, "ATOLL_TOKEN": _TOKEN}
        finally:
            server.shutdown()
            thread.join()


def _timed(argv: Sequence[str], environ: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(
        argv, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True
    )
    return milliseconds(started)


def _request(environ: dict[str, str]) -> float:
    place = environ["ATOLL_URL"].removeprefix("http://")
    started = time.perf_counter()
    with closing(http.client.HTTPConnection(place)) as connection:
        connection.request("GET", "/v1/sandboxes")
        connection.getresponse().read()
    return milliseconds(started)


def cli() -> None:
    """Start-up of `atoll list` and `atoll exec`, beside `python -c pass`."""
    atoll = str(Path(sys.executable).with_name("atoll"))
    bare = Series("python -c pass")
    request = Series("one request")
    ours = (
        (Series("atoll list"), (atoll, "list"), 1),
        (Series("atoll exec box -- true"), (atoll, "exec", "box", "--", "true"), 3),
    )
    with _served() as environ:
        for _ in range(ROUNDS):
            bare.samples.append(_timed((sys.executable, "-c", "pass"), environ))
            request.samples.append(_request(environ))
            for series, argv, _ in ours:
                series.samples.append(_timed(argv, environ))
    table("start of a command", bare, request, *(series for series, _, _ in ours))
    for series, _, requests in ours:
        alone = series.median - requests * request.median
        words = f"{series.name}, less {requests} requests: times the bare interpreter"
        verdict(words, alone / bare.median, 4)
