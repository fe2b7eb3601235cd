"""A runtime of forty lines, to test walls without the real one.

It speaks on its socket one JSON line per connection, `{"argv": […]}`, runs it inside by
the init protocol and answers `{"status": raw, "output": text}`. A line `{"say": […], "fds": n}`
sends packets to the zygote, with so many descriptors each, and `{"hear": n}` answers `{"heard":
[…]}` with so many of its packets. `{"eat": n}` keeps so many MiB of its own memory. `{"run": text,
"given": object}` runs Python in its own process, as whoever took it over would, and answers what
that left as `found`. A request line that begins with GET gets an HTTP 200, as a health probe would.
"""

import json
import os
import select
import socket
import sys
from typing import Any

from atoll.ports.runtime_boot import RuntimeBoot, Stand
from atoll.wire import init as wire

_REPLY_BYTES = 64 * 1024
_EATEN: list[bytes] = []
_HEALTHY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


def become(stand: Stand) -> None:
    """Serve until the sandbox is gone."""
    boot = stand()
    control = _control(boot)
    boot.listener.setblocking(True)
    poller = select.poll()
    poller.register(boot.listener, select.POLLIN)
    poller.register(control, select.POLLIN)
    while True:
        ready = {fd for fd, _events in poller.poll()}
        if control.fileno() in ready:
            sys.exit(3)
        connection, _peer = boot.listener.accept()
        with connection:
            _answer(boot, connection)


def _answer(boot: RuntimeBoot, connection: socket.socket) -> None:
    line = connection.makefile("rb").readline(_REPLY_BYTES)
    if not line:
        return  # it only dialled
    if line.startswith(b"GET "):
        connection.sendall(_HEALTHY)
        return
    asked = json.loads(line)
    if "eat" in asked:
        _EATEN.append(b"x" * (asked["eat"] << 20))
        connection.sendall(json.dumps({"eaten": asked["eat"]}).encode())
        return
    if "run" in asked:
        scope: dict[str, Any] = {"given": asked["given"]}
        exec(asked["run"], scope)  # noqa: S102  an attacker's stand-in, in tests alone
        connection.sendall(json.dumps(scope["found"]).encode())
        return
    if "argv" not in asked:
        connection.sendall(json.dumps({"heard": _with_zygote(boot, asked)}).encode())
        return
    argv = asked["argv"]
    status, output = run_inside(boot, argv)
    text = output.decode(errors="replace")
    connection.sendall(json.dumps({"status": status, "output": text}).encode())


def _control(boot: RuntimeBoot) -> socket.socket:
    if not isinstance(boot.control, socket.socket):
        raise TypeError("a tiny runtime has no link")
    return boot.control


def _with_zygote(boot: RuntimeBoot, asked: dict[str, Any]) -> list[str]:
    zygote = boot.zygote
    if zygote is None:
        return []
    zygote.setblocking(True)
    for packet in asked.get("say", ()):
        socket.send_fds(zygote, [packet.encode()], [0] * asked.get("fds", 0))
    return [zygote.recv(_REPLY_BYTES).decode() for _ in range(asked.get("hear", 0))]


def run_inside(boot: RuntimeBoot, argv: list[str]) -> tuple[int, bytes]:
    """Run one command to its end: (raw wait status, -errno when it would not start; output)."""
    env = tuple((key.encode(), value.encode()) for key, value in boot.env)
    payload = wire.encode_exec_payload(tuple(arg.encode() for arg in argv), env, boot.cwd.encode())
    packet, _memory = wire.encode_exec(7, payload, tty=False)
    null = os.open(os.devnull, os.O_RDWR)
    read, write = os.pipe()
    control = _control(boot)
    socket.send_fds(control, [packet], [null, write, write])
    os.close(null)
    os.close(write)
    chunks = []
    while chunk := os.read(read, _REPLY_BYTES):
        chunks.append(chunk)
    os.close(read)
    while True:
        reply = wire.decode_reply(control.recv(_REPLY_BYTES))
        if isinstance(reply, wire.Refused):
            return -reply.errno, b"".join(chunks)
        if isinstance(reply, wire.Exited):
            return reply.status, b"".join(chunks)
