"""The runtime client of the repositories' suite with a sandbox on a foreign machine behind it."""

import asyncio
import base64
import json
import os
import threading
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from atoll.ports.extension import Mount
from atoll.ports.far import FarBackend, FarBox, FarMirrors
from atoll.ports.spawner import ProcessSpec, Spawner
from atoll.testing.inside import PATH, Output
from tests.peers.boxed_runtime import BoxedRuntime
from tests.peers.far.sandbox import WORKSPACE, FarSandbox, sandbox_on
from tests.peers.far.sides import FarSide

T = TypeVar("T")
WAIT_SECONDS = 120.0
ENVIRONMENT = (*PATH, ("HOME", "/home/agent"))


@dataclass
class FarRuntime(BoxedRuntime):
    """One far sandbox; `workspace` is where its files are seen from here."""

    spawner: Spawner | None = None
    loop: asyncio.AbstractEventLoop | None = None

    def argv(self, *command: str, clean: bool = False) -> list[str]:
        """The command alone, as the far sandbox is its wall, with what the sandbox sets."""
        given = () if clean else tuple(f"{name}={value}" for name, value in self.env.items())
        return ["/usr/bin/env", *given, *command] if given else [*command]

    def run(self, line: str) -> str:
        """What an agent would type; raises when it fails."""
        code, out, said = self._waited(self._ran(self.argv("/bin/sh", "-ec", line)))
        if code != 0:
            raise AssertionError(f"{line}: {code} {said.decode()}")
        return out.decode().strip()

    def _waited(self, work: Coroutine[Any, Any, T]) -> T:
        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(WAIT_SECONDS)

    async def _ran(self, argv: list[str]) -> tuple[int, bytes, bytes]:
        assert self.spawner is not None
        null = os.open(os.devnull, os.O_RDONLY)
        (out, out_end), (said, said_end) = os.pipe(), os.pipe()
        try:
            spec = ProcessSpec(tuple(argv), ENVIRONMENT, WORKSPACE, null, out_end, said_end)
            try:
                process = await self.spawner.spawn(spec)
            finally:
                for end in (out_end, said_end, null):
                    os.close(end)
            texts = await asyncio.gather(Output(out).to_end(), Output(said).to_end())
            ended = await process.wait()
        finally:
            os.close(out)
            os.close(said)
        code = ended.code if ended.code is not None else 128 + (ended.signal or 0)
        return code, texts[0], texts[1]

    async def _lines(self, command: list[str]) -> AsyncIterator[bytes]:
        code, *texts = await asyncio.to_thread(lambda: self._waited(self._ran(command)))
        for name, data in zip(("stdout", "stderr"), texts, strict=True):
            for start in range(0, len(data), 65536):
                piece = base64.b64encode(data[start : start + 65536]).decode()
                yield json.dumps({"stream": name, "offset": start, "data": piece}).encode() + b"\n"
        yield json.dumps({"exit": {"exit_code": code}}).encode() + b"\n"


@dataclass
class FarRuntimes:
    """Far sandboxes by one backend. They live on a loop of their own, since the suite waits for
    programs inside without leaving its loop."""

    side: FarSide
    _backend: FarBackend | None = None
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _open: list[tuple[asyncio.Event, asyncio.Task[None]]] = field(default_factory=list)
    _boxes: list[tuple[FarBox, tuple[Mount, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def boxed(self, _workspace: Path, mounts: tuple[Mount, ...] = ()) -> FarRuntime:
        """Provision one more sandbox with these mounts."""
        sandbox = self._waited(self._provisioned(mounts))
        self._boxes.append((sandbox.box, mounts))
        if sandbox.workspace is None:
            pytest.skip("its files are seen by the link alone")
        return FarRuntime(sandbox.workspace, mounts, spawner=sandbox.spawner, loop=self._loop)

    async def refresh(self, source: Path) -> None:
        """Bring what a repository has by now to the sandboxes of a test, as a control plane does
        once it has more."""
        holding = [
            box
            for box, mounts in self._boxes
            if any(mount.live and mount.source == str(source) for mount in mounts)
        ]
        if holding and isinstance(self._backend, FarMirrors):
            refreshing = self._backend.refresh(holding, str(source))
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(refreshing, self._loop))

    def end_sandboxes(self) -> None:
        """End those of one test."""
        self._boxes.clear()
        self._waited(self._ended())

    def close(self) -> None:
        """Close the backend and the loop."""
        try:
            if self._backend is not None:
                self._waited(self._backend.close())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _waited(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_SECONDS)

    async def _provisioned(self, mounts: tuple[Mount, ...]) -> FarSandbox:
        """Provision one; each is entered and left in one task, as its task groups require."""
        if self._backend is None:
            self._backend = self.side.backend()
        made: asyncio.Future[FarSandbox] = self._loop.create_future()
        over = asyncio.Event()
        held = self._held(self._backend, mounts, made, over)
        self._open.append((over, self._loop.create_task(held)))
        return await made

    async def _held(
        self,
        backend: FarBackend,
        mounts: tuple[Mount, ...],
        made: asyncio.Future[FarSandbox],
        over: asyncio.Event,
    ) -> None:
        try:
            async with sandbox_on(backend, self.side, mounts) as sandbox:
                made.set_result(sandbox)
                await over.wait()
        except Exception as error:
            if made.done():
                raise
            made.set_exception(error)

    async def _ended(self) -> None:
        ending, self._open = self._open, []
        for over, _ in ending:
            over.set()
        await asyncio.gather(*(task for _, task in ending))
