"""A git server on loopback: git's own `http-backend` behind a few lines of HTTP.

Serves the bare repositories below a folder, at `http://127.0.0.1:PORT/<path>`, and remembers
what was asked. `redirects` sends whoever asks for a path somewhere else instead; a `gate`
holds every POST back until it is set, `posted` says that one has come. With a `token`,
whoever has another one is turned away, and who has it may push.
"""

import asyncio
import base64
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web


@dataclass
class GitServer:
    """The served folder, the address, and the paths asked for so far."""

    root: Path
    url: str = ""
    asked: list[str] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    gate: asyncio.Event | None = None
    posted: asyncio.Event = field(default_factory=asyncio.Event)
    token: str = ""

    async def handle(self, request: web.Request) -> web.Response:
        """One request, by CGI (RFC 3875)."""
        self.asked.append(f"{request.method} {request.path}")
        sent = request.headers.get("Authorization", "")
        if self.token and sent != _basic(self.token):
            return web.Response(status=401, headers={"WWW-Authenticate": "Basic"})
        for start, target in self.redirects.items():
            if request.path.startswith(start):
                raise web.HTTPFound(target)
        if self.gate is not None and request.method == "POST":
            self.posted.set()
            await self.gate.wait()
        body = await request.read()
        process = await asyncio.create_subprocess_exec(
            "git",
            "http-backend",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={
                "PATH": os.environ["PATH"],
                "HOME": "/nonexistent",
                "GIT_PROJECT_ROOT": str(self.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                **({"REMOTE_USER": "agent"} if self.token else {}),
                "REQUEST_METHOD": request.method,
                "PATH_INFO": request.path,
                "QUERY_STRING": request.query_string,
                "CONTENT_TYPE": request.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            },
        )
        answer, _ = await process.communicate(body)
        head, _, payload = answer.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        status = int(headers.pop("Status", "200 OK").split()[0])
        kind = headers.pop("Content-Type", "text/plain")
        return web.Response(status=status, body=payload, headers={"Content-Type": kind, **headers})


def _basic(token: str) -> str:
    return "Basic " + base64.b64encode(f"x-access-token:{token}".encode()).decode()


@asynccontextmanager
async def git_server(root: Path, port: int = 0) -> AsyncIterator[GitServer]:
    """Serve `root` until the context ends, at a port that is free or this one."""
    server = GitServer(root)
    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        host, port = runner.addresses[0][:2]
        server.url = f"http://{host}:{port}"
        yield server
    finally:
        await runner.cleanup()
