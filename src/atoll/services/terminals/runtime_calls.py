"""Calls of a sandbox's runtime in a caller's name: commands, files, recordings and searches.

`wire.contract` has the calls and the values they return; streams pass untouched. The events come
from the runtime's journal. Paths of files are checked by the runtime, which opens them inside.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

from atoll.domain.errors import Forbidden
from atoll.domain.network.forwarded_port import read_port
from atoll.domain.people.principal import Principal, spell_actor
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Channel, RuntimeClient, RuntimeStream
from atoll.ports.telemetry.tracer import Tracer
from atoll.services.sandboxes.agent_checks import AgentChecks
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.wire.contract import execs
from atoll.wire.contract.call import RuntimeCall

T = TypeVar("T")

WITH_SECRETS = ("secrets", "allow")
"""Said by the owner who takes out bytes that hold a secret, knowing it."""


class RuntimeCalls:
    """Use cases that a runtime answers alone. Everything raises `NotFound`, `Conflict`,
    `Unavailable`, and the errors of the runtime. A command that fails is a result.

    `call` and `stream` need a sandbox that runs; with `activity` they keep it from being idle.
    `look` and `take` read what is kept, of a sandbox that does not run, too.
    """

    def __init__(self, access: RuntimeAccess, checks: AgentChecks, tracer: Tracer) -> None:
        self._access = access
        self._checks = checks
        self._tracer = tracer

    async def call(
        self, caller: Principal, ref: str, call: RuntimeCall[T], *, activity: bool = False
    ) -> T:
        """Return the runtime's answer."""
        _, client = await self._access.runtime(caller, ref, activity=activity)
        return await client.call(call)

    @asynccontextmanager
    async def stream(
        self, caller: Principal, ref: str, call: RuntimeCall[bytes], *, activity: bool = False
    ) -> AsyncIterator[RuntimeStream]:
        """Yield the runtime's answer while it arrives."""
        sandbox, client = await self._access.runtime(caller, ref, activity=activity)
        async with self._open_stream(sandbox, client, call) as answer:
            yield answer

    @asynccontextmanager
    async def _open_stream(
        self,
        sandbox: Sandbox,
        client: RuntimeClient,
        call: RuntimeCall[bytes],
        *,
        span_name: str = "runtime.stream",
    ) -> AsyncIterator[RuntimeStream]:
        async with AsyncExitStack() as stack:
            with self._tracer.span(span_name) as span:
                span.note("atoll.sandbox", sandbox.id)
                answer = await stack.enter_async_context(client.stream(call))
            yield answer

    async def look(self, caller: Principal, ref: str, call: RuntimeCall[T]) -> T:
        """Return a value that the runtime keeps."""
        async with self._access.reading(caller, ref) as (_, client):
            return await client.call(call)

    @asynccontextmanager
    async def take(
        self, caller: Principal, ref: str, call: RuntimeCall[bytes]
    ) -> AsyncIterator[RuntimeStream]:
        """Yield a file, a tree or a recording. Raises `Forbidden` when somebody else than the owner
        takes secrets."""
        async with self._access.reading(caller, ref) as (sandbox, client):
            if WITH_SECRETS in call.query and caller.id != sandbox.owner:
                raise Forbidden(f"only the owner of {sandbox.name} may take secrets out of it")
            async with client.stream(call) as answer:
                yield answer

    async def run(self, caller: Principal, ref: str, body: execs.ExecBody) -> execs.ExecWithOutput:
        """Run a command in the caller's name. Counts as activity."""
        sandbox, client = await self._access.runtime(caller, ref, activity=True)
        await self._checks.prepare_exec(sandbox, client, body)
        with self._tracer.span("exec.run") as span:
            span.note("atoll.sandbox", sandbox.id)
            return await client.call(execs.run_exec(body, spell_actor(caller)))

    @asynccontextmanager
    async def run_streamed(
        self, caller: Principal, ref: str, body: execs.ExecBody, *, lines: bool = True
    ) -> AsyncIterator[RuntimeStream]:
        """Run a command in the caller's name, and yield its output while it arrives: in lines, or
        as the one answer at its end. Counts as activity."""
        sandbox, client = await self._access.runtime(caller, ref, activity=True)
        await self._checks.prepare_exec(sandbox, client, body)
        made = execs.stream_exec if lines else execs.answer_exec
        call = made(body, spell_actor(caller))
        name = "runtime.stream" if lines else "exec.run"
        async with self._open_stream(sandbox, client, call, span_name=name) as answer:
            yield answer

    @asynccontextmanager
    async def dial(self, caller: Principal, ref: str, port: str) -> AsyncIterator[Channel]:
        """Yield a channel of bytes to a port of the sandbox's loopback. Raises `Invalid` and
        `Forbidden` as `read_port` does."""
        number = read_port(port)
        _, client = await self._access.runtime(caller, ref, activity=True)
        async with client.attach(f"/ports/{number}") as channel:
            yield channel
