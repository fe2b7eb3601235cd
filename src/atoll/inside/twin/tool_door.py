"""The mode `mcp`: the tools of Atoll, for whoever speaks by standard input and output.

All of the protocol is spoken by the door outside: here bytes are pumped, as by the C one.
"""

import os
import signal
import socket
import sys

from .dialling import carry

DOOR = ("127.0.0.1", 8082)
MAX_HEAD_BYTES = 8192
MAX_ARGUMENT_BYTES = 2 * 1024 * 1024
CHUNK_BYTES = 65536
FAILED, MISUSED, NO_DOOR = 1, 64, 69
USAGE = """usage: atoll-mcp [--flat]
       atoll-mcp call TOOL [JSON|-]
       atoll-mcp list"""


def tools(words: list[str]) -> int:
    """Run what the words request; return an exit code."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        match words:
            case []:
                return _pump("")
            case ["--flat"]:
                return _pump("?names=flat")
            case ["list"]:
                return _ask(b"GET /mcp/tools HTTP/1.1\r\n", b"")
            case ["call", tool]:
                return _call(tool, "{}")
            case ["call", tool, arguments]:
                return _call(tool, arguments)
            case _:
                print(USAGE, file=sys.stderr)
                return MISUSED
    except (OSError, ValueError, IndexError):
        return _complain("nobody answers at the door", NO_DOOR)


def _pump(query: str) -> int:
    with socket.create_connection(DOOR) as door:
        head = f"GET /mcp{query} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: atoll-mcp\r\n"
        door.sendall(f"{head}Host: {DOOR[0]}:{DOOR[1]}\r\n\r\n".encode())
        status, _ = _read_head(door)
        if status != 101:
            os.write(2, b"atoll-mcp: refused: ")
            door.shutdown(socket.SHUT_WR)
            _pass_rest(door, 2)
            os.write(2, b"\n")
            return FAILED
        return 0 if carry(door) else _complain("the door closed", NO_DOOR)


def _call(tool: str, arguments: str) -> int:
    given = os.fsencode(arguments)
    if arguments == "-":
        given = sys.stdin.buffer.read(MAX_ARGUMENT_BYTES + 1)
    if len(given) > MAX_ARGUMENT_BYTES:
        return _complain("the arguments cannot be read, or are too long", MISUSED)
    body = os.fsencode(tool) + b"\0" + given
    return _ask(b"POST /mcp/call HTTP/1.1\r\nContent-Length: %d\r\n" % len(body), body)


def _ask(head: bytes, body: bytes) -> int:
    """Send one request and print its answer where the answer says."""
    with socket.create_connection(DOOR) as door:
        where = f"Host: {DOOR[0]}:{DOOR[1]}\r\nConnection: close\r\n\r\n".encode()
        door.sendall(head + where + body)
        status, answer = _read_head(door)
        _, mark, code = answer.partition(b"\r\nAtoll-Exit: ")
        failed = int(code.split(b"\r\n", 1)[0]) if status == 200 and mark else FAILED
        if failed:
            os.write(2, b"atoll-mcp: ")
        _pass_rest(door, 2 if failed else 1)
        if not mark:
            os.write(2, b"\n")  # a refusal of the door, as it says that to anybody
        return failed


def _read_head(door: socket.socket) -> tuple[int, bytes]:
    """Return the status and the head of an answer, taking no byte behind it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = door.recv(1)
        if not byte or len(head) > MAX_HEAD_BYTES:
            raise ValueError
        head += byte
    return int(head.split(b" ", 2)[1]), head


def _pass_rest(door: socket.socket, target: int) -> None:
    while data := door.recv(CHUNK_BYTES):
        while data:
            data = data[os.write(target, data) :]


def _complain(what: str, code: int) -> int:
    print(f"atoll-mcp: {what}", file=sys.stderr)
    return code
