"""The tool `ask KIND -- ARGV…`: request approval of exactly ARGV, then run it; as the C one.

A command of `sudo` runs outside, on the input and output of this process.
"""

import os
import select
import signal
import socket
import sys
from collections.abc import Iterator

DOOR = ("127.0.0.1", 3128)
SHIMS = "/opt/atoll/agents/.safety/bin"
MAX_ANSWER_BYTES = 8192
SOON_SECONDS = 0.3
REFUSED, MISUSED, NO_DOOR, NOT_RUNNABLE, NOT_FOUND = 1, 64, 69, 126, 127


def ask(kind: str, words: list[str]) -> int:
    """Request approval and become the command. Returns an exit code where it was not run."""
    if len(words) < 2 or words[0] != "--":
        print("usage: operator-approve -- COMMAND [ARGUMENT]...", file=sys.stderr)
        return MISUSED
    argv = words[1:]
    try:
        status, text, code = _word(kind, argv)
    except (OSError, ValueError, IndexError):
        print("atoll: nobody answers at the door; not run", file=sys.stderr)
        return NO_DOOR
    if status != 200:
        print(f"atoll: {'sudo' if kind == 'sudo' else 'not run'}: {text}", end="", file=sys.stderr)
        return REFUSED
    return _become(argv) if code is None else code


def _word(kind: str, argv: list[str]) -> tuple[int, str, int | None]:
    """Return the answer's status and text, and how a command ended that was run outside."""
    try:
        cwd = os.getcwd()  # noqa: PTH109 - pathlib costs more than the rest of this program
    except OSError:
        cwd = "/"
    outside = kind == "sudo"
    asked = f"sudo {os.getpid()}" if outside else kind
    body = b"".join(os.fsencode(word) + b"\0" for word in (asked, cwd, *argv))
    with socket.create_connection(DOOR) as door:
        head = f"POST /atoll/ask HTTP/1.1\r\nHost: {DOOR[0]}\r\nContent-Length: {len(body)}\r\n\r\n"
        door.sendall(head.encode() + body)
        if outside:
            _stand_in(door)
        elif not select.select([door], [], [], SOON_SECONDS)[0]:
            said = "atoll: waiting for a person to allow this, for ten minutes at most"
            print(said, file=sys.stderr, flush=True)
        answer = b""
        while len(answer) < MAX_ANSWER_BYTES and (data := door.recv(MAX_ANSWER_BYTES)):
            answer += data
    first, _, text = answer.partition(b"\r\n\r\n")
    status = int(first.split(b" ", 2)[1])
    code = None
    if outside and status == 200:
        _, _, ended = first.partition(b"\r\nAtoll-Exit: ")
        code = int(ended.split(b"\r\n", 1)[0])
    return status, text.decode("utf-8", "replace"), code


def _stand_in(door: socket.socket) -> None:
    """Pass on signals that a person at the terminal sends: they are meant for the command."""

    def pass_on(number: int, _frame: object) -> None:
        door.send(bytes([number]), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, pass_on)


def _become(argv: list[str]) -> int:
    denied = False
    for place in _places(argv[0]):
        try:
            os.execv(place, argv)  # noqa: S606 - this is what it is for
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            denied = True
    print(f"atoll: {argv[0]}: {'cannot be run' if denied else 'not found'}", file=sys.stderr)
    return NOT_RUNNABLE if denied else NOT_FOUND


def _places(program: str) -> Iterator[str]:
    if "/" in program:
        yield program
        return
    for folder in os.environ.get("PATH", "/usr/bin:/bin").split(":"):
        if folder != SHIMS:
            yield f"{folder or '.'}/{program}"
