"""What peers of vendors with an API of HTTP do alike: a key, faults on purpose, and a server."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tests.peers.clouds.faults import Call, Fault, Faults

REAP_SECONDS = 10.0
Act = Callable[[], Awaitable[Response]]


@dataclass
class HttpApi:
    """The calls of a vendor. Each carries `scheme` and `key` in a header; `problem` makes an answer
    of a status, the vendor's sentence, and headers."""

    header: str
    key: str
    problem: Callable[[int, str, dict[str, str] | None], Response]
    scheme: str = ""
    faults: Faults = field(default_factory=Faults)

    async def answered(self, name: str, request: Request, act: Act) -> Response:
        """Answer a call of this name by `act`, unless its key is wrong or a fault is planned."""
        text = f"{request.url} {dict(request.headers)} {(await request.body()).decode()}"
        self.faults.calls.append(Call(name, text.replace(self.key, "<key>")))
        said = request.headers.get(self.header, "")
        if said != self.scheme + self.key:
            return self.problem(401, f"the key {said} is not valid", None)
        fault = self.faults.next(name)
        after = {"Retry-After": str(self.faults.retry_after)} if self.faults.retry_after else {}
        if fault is Fault.BUSY:
            return self.problem(429, "too many", after)
        if fault is Fault.BROKEN:
            return self.problem(500, "broken", None)
        if fault is Fault.REFUSED:
            return self.problem(404, "no such template", None)
        if fault is Fault.HANGS:
            await asyncio.sleep(3600)  # it hangs: its caller gives up
        await self._gated(name, "before")
        answer = await act()
        await self._gated(name, "after")
        if fault is Fault.LOST:
            return StreamingResponse(_cut(), answer.status_code, {"Content-Length": "100"})
        if fault is Fault.HALF:
            return Response(answer.body[: len(answer.body) // 2], answer.status_code)
        return answer

    async def _gated(self, name: str, when: str) -> None:
        if self.faults.gate is not None:
            await asyncio.to_thread(self.faults.gate, name, when)


class PeerLoop(asyncio.SelectorEventLoop):
    """A loop that knows what it started."""

    def __init__(self) -> None:
        super().__init__()
        self.children: list[asyncio.SubprocessTransport] = []

    async def subprocess_exec(self, *words: Any, **options: Any) -> Any:
        """Start a program, and remember it."""
        made = await super().subprocess_exec(*words, **options)
        self.children.append(made[0])
        return made

    async def reap(self) -> None:
        """End every program, and wait for it: a later test would be warned of one that nobody
        waited for, and of pipes that nobody closed."""
        for child in self.children:
            if child.get_returncode() is None:
                with suppress(ProcessLookupError):
                    child.kill()
        async with asyncio.timeout(REAP_SECONDS):
            while any(child.get_returncode() is None for child in self.children):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        for child in self.children:
            child.close()
        await asyncio.sleep(0)  # pipes close by then


def run_on(loop: PeerLoop, main: Coroutine[Any, Any, None]) -> None:
    """Run this on a loop to its end, and close the loop."""
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main)


def _serve(server: uvicorn.Server) -> None:
    loop = PeerLoop()

    async def serve() -> None:
        await server.serve()
        await loop.reap()

    run_on(loop, serve())


@contextmanager
def served(app: Starlette, faults: Faults, ws: Literal["none", "wsproto"]) -> Iterator[str]:
    """Serve an app at a port that the system gives; yields its URL."""
    # Not uvloop: what it starts inherits its sockets.
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="critical", ws=ws, loop="asyncio"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=_serve, args=(server,))
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the peer did not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        faults.released.set()
        thread.join()


async def _cut() -> AsyncIterator[bytes]:
    yield b"{"
    raise ConnectionAbortedError
