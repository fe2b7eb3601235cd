"""The processes of `bench broker`: a scripted upstream, and a broker door as a runtime has it.

`python -m bench.broker_processes upstream` and `… broker PORT` print the port they listen on.
"""

import asyncio
import gc
import json
import socket
import ssl
import sys
import tempfile
from pathlib import Path
from typing import cast

import uvloop

from atoll.domain.broker.provider import PROVIDERS, Upstream
from atoll.runtime.doors.broker.broker import BrokerParts, serve_broker
from atoll.runtime.journal.journal import Journal
from atoll.runtime.policy.policy import StandingPolicy
from atoll.wire.contract.policy import DoorLimits, Policy

KEY = "sk-bench-0123456789abcdef0123456789"
ANSWER = json.dumps({"id": "r", "model": "gpt-5-mini", "output": "x" * 800,
                     "usage": {"input_tokens": 9, "output_tokens": 9}}).encode()  # fmt: skip
EVENT = b"data: " + b"x" * 90 + b"\n\n"
EVENTS = 100
EVENT_SECONDS = 0.05
SHORT_SECONDS = 0.002


class ScriptedUpstream(asyncio.Protocol):
    """Answers each POST: a kilobyte; for `/completions`, `EVENTS` events; for `/chat/completions`,
    two of them at once."""

    def __init__(self) -> None:
        self._seen = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A proxy came."""
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """It went."""
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Requests have a `Content-Length`, and come one by one."""
        self._seen += data
        head, end, body = self._seen.partition(b"\r\n\r\n")
        if not end:
            return
        length = next(
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        if len(body) < length:
            return
        self._seen = b""
        if b"/chat/completions " in head.split(b"\r\n")[0]:
            self._write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(EVENT), EVENT)
            )
            asyncio.get_running_loop().call_later(SHORT_SECONDS, self._event, 1)
        elif b"/completions " in head.split(b"\r\n")[0]:
            self._write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
            self._event(EVENTS)
        else:
            self._write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                % (len(ANSWER), ANSWER)
            )

    def _event(self, left: int) -> None:
        end = b"0\r\n\r\n" if left == 1 else b""
        self._write(b"%x\r\n%b\r\n%b" % (len(EVENT), EVENT, end))
        if left == 1:
            return
        asyncio.get_running_loop().call_later(EVENT_SECONDS, self._event, left - 1)

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)


async def upstream() -> None:
    """Serve until killed."""
    server = await asyncio.get_running_loop().create_server(
        ScriptedUpstream, "127.0.0.1", 0, backlog=512
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


async def broker(port: int) -> None:
    """A door with its journal, as a runtime has it, until killed."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal")
        policy = StandingPolicy()
        policy.replace(Policy(limits=DoorLimits(requests_per_minute=10_000_000)))
        listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        listener.setblocking(False)
        known = {"openai": Upstream(PROVIDERS["openai"], f"http://127.0.0.1:{port}", KEY)}
        parts = BrokerParts(known, journal.append, ssl.create_default_context())
        # A runtime is forked from a zygote that has done the same.
        gc.collect()
        gc.freeze()
        async with serve_broker(parts, policy, (listener,)):
            print(listener.getsockname()[1], flush=True)
            await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(broker(int(sys.argv[2])) if sys.argv[1] == "broker" else upstream())
