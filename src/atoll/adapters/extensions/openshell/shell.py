"""Scripts in a sandbox of OpenShell, by `ExecSandboxInteractive`: its streams are bytes."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

import grpc
from openshell._proto import datamodel_pb2, openshell_pb2

from atoll.adapters.extensions.openshell.channels import KeyedChannel
from atoll.adapters.extensions.openshell.errors import translate_error
from atoll.adapters.rented.shell import MAX_COMPLAINT, ProcessGone
from atoll.domain.errors import Unavailable
from atoll.ports.extension import VendorKey

CHUNK_BYTES = 64 * 1024
SEND_SECONDS = 60.0

_Call: TypeAlias = (
    "grpc.aio.StreamStreamCall[openshell_pb2.ExecSandboxInput, openshell_pb2.ExecSandboxEvent]"
)


@dataclass(frozen=True, slots=True)
class OpenShellScripts:
    """The scripts of one sandbox, named `name` in `workspace`."""

    channel: KeyedChannel
    key: VendorKey
    workspace: str
    name: str

    @property
    def label(self) -> str:
        """The sandbox in messages."""
        return f"sandbox {self.name} of OpenShell"

    @asynccontextmanager
    async def started(
        self, script: str, words: tuple[str, ...]
    ) -> AsyncIterator["OpenShellScript"]:
        """Yield a script that runs; its call is ended at the end."""
        start = openshell_pb2.ExecSandboxRequest(
            workspace_scope=datamodel_pb2.WorkspaceSelector(workspace=self.workspace),
            sandbox=self.name,
            command=["/bin/sh", "-c", script, "sh", *words],
            no_login_shell=True,
        )
        call: _Call = self.channel.stub.ExecSandboxInteractive(metadata=self.channel.metadata)
        try:
            first = openshell_pb2.ExecSandboxInput(start=start)
            # A call that was refused already takes no bytes: reading says why.
            with suppress(asyncio.InvalidStateError, grpc.aio.AioRpcError):
                await call.write(first)
            yield OpenShellScript(self, call)
        finally:
            call.cancel()


@dataclass(slots=True)
class OpenShellScript:
    """`rented.shell.Script`: one call."""

    scripts: OpenShellScripts
    call: _Call
    complaint: bytes = b""
    code: int = 1

    async def send(self, data: bytes) -> None:
        """See `rented.shell.Script`."""
        for start in range(0, len(data), CHUNK_BYTES):
            chunk = openshell_pb2.ExecSandboxInput(stdin=bytes(data[start : start + CHUNK_BYTES]))
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    await self.call.write(chunk)
            except (asyncio.InvalidStateError, grpc.aio.AioRpcError) as error:
                raise ProcessGone(f"{self.scripts.label} takes no more input") from error
            except TimeoutError as error:
                raise Unavailable(f"{self.scripts.label} reads no input") from error

    async def close_input(self) -> None:
        """See `rented.shell.Script`."""
        try:
            await self.call.done_writing()
        except (asyncio.InvalidStateError, grpc.aio.AioRpcError):
            return

    async def output(self) -> AsyncGenerator[bytes, None]:
        """See `rented.shell.Script`."""
        try:
            while True:
                event = await self.call.read()
                if not isinstance(event, openshell_pb2.ExecSandboxEvent):
                    raise Unavailable(f"{self.scripts.label} cut a command's output")
                match event.WhichOneof("payload"):
                    case "stdout":
                        yield event.stdout.data
                    case "stderr":
                        room = 4 * MAX_COMPLAINT - len(self.complaint)
                        self.complaint += event.stderr.data[:room]
                    case "exit":
                        self.code = event.exit.exit_code
                        return
                    case _:
                        continue
        except grpc.aio.AioRpcError as error:
            raise translate_error(error, self.scripts.label, self.scripts.key) from error
