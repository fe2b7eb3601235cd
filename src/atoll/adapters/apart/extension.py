"""An Extension around another project's: the same verbs, each on its thread and judged."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TypeAlias, TypeVar

from atoll.adapters.apart.answers import AnswerJudge
from atoll.adapters.apart.guard import Guard
from atoll.adapters.apart.shape import check_claims
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.ports.extension import (
    Capabilities,
    CleanupReport,
    Closable,
    Ended,
    EndReasons,
    Extension,
    Handle,
    KeepsSnapshots,
    Mirrors,
    Provision,
    Reachability,
    Relocates,
)
from atoll.wire.contract.journal import HealthRecord

T = TypeVar("T")

LEAVE_SECONDS = 2.0
ASK_SECONDS = 20.0
"""For a runtime that was called ready to answer."""
CALM_SECONDS = 5.0
"""For a watch to run, before it is no longer called broken."""
_OVER = object()

AskRuntime: TypeAlias = Callable[[Reachability], Awaitable[HealthRecord]]
"""Ask a runtime how it is. Raises what a runtime's client raises."""


class GuardedExtension:
    """`ports.Extension` of another project, which can harm nobody but its own sandboxes.

    `able` is what it said of itself when it was made. It is asked again in the background: its
    answer is that of a moment ago.
    """

    def __init__(
        self,
        inner: Extension,
        guard: Guard,
        able: Capabilities | AtollError,
        ask: AskRuntime | None,
    ) -> None:
        self._inner = inner
        self._ask = ask
        self._guard = guard
        self._judge = AnswerJudge(guard.name)
        self._able = able

    @property
    def name(self) -> str:
        """The name it was registered by."""
        return self._guard.name

    @property
    def trouble(self) -> str | None:
        """The present fault of the extension, in words; None while it works."""
        return self._guard.trouble

    def capabilities(self) -> Capabilities:
        """Return the capabilities that it reported last."""
        self._guard.loop.soon(self._look)
        if isinstance(self._able, AtollError):
            raise Unavailable(self._able.message)
        return self._able

    def _look(self) -> None:
        try:
            able = self._judge.capabilities(self._inner.capabilities())
            self._able = check_claims(self._inner, able)
        except AtollError as error:
            self._able = error

    async def provision(self, request: Provision) -> Handle:
        """Provision. Raises what the port says."""
        guarded_request = replace(request, report=_report_on_loop(request.report))
        answer = await self._guard.call("provision", lambda: self._inner.provision(guarded_request))
        return self._judge.handle(request, answer)

    async def wait_ready(self, handle: Handle) -> Reachability:
        """Wait until the runtime answers, and ask it whose it is: another one would be given keys
        that are not for it."""
        reach = self._judge.reach(
            await self._guard.call("wait_ready", lambda: self._inner.wait_ready(handle))
        )
        if self._ask is not None:
            try:
                async with asyncio.timeout(ASK_SECONDS):
                    health = await self._ask(reach)
            except (AtollError, TimeoutError) as err:
                reason = err.message if isinstance(err, AtollError) else f"{ASK_SECONDS:g} s passed"
                raise Failed(
                    f"{self.name} called the runtime ready, and it does not answer at its address "
                    f"with its token: {reason}"
                ) from err
            self._judge.identity(handle, health.sandbox_id, health.generation)
        return reach

    async def teardown(self, handle: Handle, *, keep_state: bool) -> CleanupReport:
        """End every process."""

        async def work() -> CleanupReport:
            return await self._inner.teardown(handle, keep_state=keep_state)

        return self._judge.report(await self._guard.call("teardown", work))

    async def survey(self) -> list[Handle]:
        """Return the handle of every running sandbox."""
        return self._judge.survey(await self._guard.call("survey", self._inner.survey))

    async def ended(self) -> AsyncIterator[Ended]:
        """Yield ends, one at a time: no more are taken than were applied."""
        stream: list[AsyncIterator[Ended]] = []

        async def advance() -> object:
            if not stream:
                stream.append(aiter(self._inner.ended()))
            return await anext(stream[0], _OVER)

        while (end := await self._next_end(advance)) is not _OVER:
            yield self._judge.end(end)

    async def _next_end(self, advance: Callable[[], Awaitable[object]]) -> object:
        loop = asyncio.get_running_loop()
        calm = loop.call_later(CALM_SECONDS, self._guard.works, "ended")
        try:
            return await self._guard.call("ended", advance)
        finally:
            calm.cancel()

    def guarded_method(self, name: str, judge: "_Judge") -> Callable[..., Awaitable[object]]:
        """Return the method of an ability, guarded: each answer is judged."""
        method = getattr(self._inner, name)

        async def call(*given: object, **named: object) -> object:
            answer = await self._guard.call(name, lambda: method(*given, **named))
            return None if judge is None else judge(self._judge, answer)

        return call

    async def close(self) -> None:
        """Close its connections, then its thread. Never raises, and never waits long."""
        inner = self._inner
        try:
            if isinstance(inner, Closable):
                await self._guard.call("close", inner.close)
        except AtollError:
            return  # logged; its sandboxes keep running
        finally:
            await self._guard.loop.wait_closed(LEAVE_SECONDS)


_Judge: TypeAlias = Callable[[AnswerJudge, object], object] | None

_ABILITIES: Mapping[type, Mapping[str, _Judge]] = {
    EndReasons: {"why_ended": AnswerJudge.reason},
    Relocates: {"copy_kept": None, "drop_kept": AnswerJudge.report},
    Mirrors: {"refresh": None},
    KeepsSnapshots: {"keep_snapshot": AnswerJudge.kept_disk, "drop_snapshot": AnswerJudge.flag},
}
"""The methods of each optional ability, and what judges their answers where they have any."""


def guard_extension(
    inner: Extension,
    guard: Guard,
    able: Capabilities | AtollError,
    *,
    ask: AskRuntime | None = None,
) -> GuardedExtension:
    """Return `inner` behind `guard`, with the optional abilities that it has."""
    extension = GuardedExtension(inner, guard, able, ask)
    for ability, methods in _ABILITIES.items():
        if isinstance(inner, ability):
            for name, judge in methods.items():
                setattr(extension, name, extension.guarded_method(name, judge))
    return extension


def _report_on_loop(report: Callable[[str], None]) -> Callable[[str], None]:
    """Return `report` as a function for other threads: it is called on this loop."""
    loop = asyncio.get_running_loop()

    def pass_line(line: str) -> None:
        loop.call_soon_threadsafe(report, str(line)[:2000])

    return pass_line


def call_on_loop(work: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[T]]:
    """Return `work` as a function that other loops may await: it runs on this loop."""
    loop = asyncio.get_running_loop()

    async def call() -> T:
        async def on_loop() -> T:
            return await work()

        if asyncio.get_running_loop() is loop:
            return await work()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(on_loop(), loop))

    return call
