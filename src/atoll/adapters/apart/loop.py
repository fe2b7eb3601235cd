"""An event loop on a thread of its own, where another project's code runs.

Code that blocks there, or raises what it likes, ends neither our loop nor its own. It is no wall:
the code shares our process, its memory and its user.
"""

import asyncio
import contextlib
import sys
import sysconfig
import threading
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import Future as ThreadFuture
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import structlog

T = TypeVar("T")

UNWIND_SECONDS = 5.0
"""For a cancelled call to end, before nobody waits for it any more."""

BLOCKED_SECONDS = 10.0
"""For the thread to begin a call, before it is said that something blocks it."""

_log = structlog.get_logger(__name__)


class LoopBlocked(Exception):
    """Error of a call that never began: the extension's code blocks its thread. Says where."""


class CallBroken(Exception):
    """Error of a call that ended by a fault no caller handles: `CancelledError`, `SystemExit`, or
    another one."""


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[T]):
    value: T | None = None
    error: BaseException | None = None


class ApartLoop:
    """A thread with an event loop, for as long as it is not closed."""

    def __init__(self, name: str, *, blocked_seconds: float = BLOCKED_SECONDS) -> None:
        self._name = name
        self._blocked_seconds = blocked_seconds
        self._loop = asyncio.new_event_loop()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"apart-{name}"[:60], daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """True once the thread has ended."""
        return not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        while not self._closing.is_set():
            try:
                self._loop.run_forever()
            except BaseException as error:  # noqa: BLE001 - the thread's root
                # `SystemExit` of a task stops the loop (asyncio): it goes on without that task.
                _log.error("extension_stopped_its_loop", extension=self._name, reason=repr(error))
        with contextlib.suppress(BaseException):
            _cancel_all(self._loop)
        self._loop.close()

    def run(self, work: Callable[[], T], seconds: float) -> T:
        """Run a function there and wait for it, blocking. Raises `TimeoutError`, and what the
        function raises; `CallBroken` for what would end a thread."""
        done: ThreadFuture[T] = ThreadFuture()

        def begin() -> None:
            try:
                done.set_result(work())
            except Exception as error:  # noqa: BLE001 - handed to the caller
                done.set_exception(error)
            except BaseException as error:  # noqa: BLE001 - handed to the caller
                done.set_exception(CallBroken(_describe(error)))

        self._loop.call_soon_threadsafe(begin)
        return done.result(seconds)

    async def call(self, work: Callable[[], Awaitable[T]], seconds: float | None) -> T:
        """Await `work` there. Raises what it raises, `TimeoutError` after `seconds`, `LoopBlocked`
        for work that could not begin, and `CallBroken` for a timeout of its own and for what is no
        `Exception`. Cancelled, it cancels the work and waits a little for it."""
        outcome_future: asyncio.Future[_Outcome[T]] = asyncio.get_running_loop().create_future()
        begun, cancel = self._begin(work, outcome_future)
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wait({outcome_future}, timeout=self._blocked_seconds)
                if not outcome_future.done() and not begun.is_set():
                    cancel()
                    raise LoopBlocked(self._place())
                outcome = await asyncio.shield(outcome_future)
        except (TimeoutError, asyncio.CancelledError):
            cancel()
            await asyncio.wait({outcome_future}, timeout=UNWIND_SECONDS)
            raise
        if isinstance(outcome.error, Exception) and not isinstance(outcome.error, TimeoutError):
            raise outcome.error
        if outcome.error is not None:
            raise CallBroken(_describe(outcome.error))
        return outcome.value  # type: ignore[return-value] # without an error it is the result

    def _begin(
        self, work: Callable[[], Awaitable[T]], outcome_future: "asyncio.Future[_Outcome[T]]"
    ) -> tuple[threading.Event, Callable[[], None]]:
        """Begin `work` there; return what says that it began, and what cancels it."""
        here = asyncio.get_running_loop()
        tasks: list[asyncio.Task[None]] = []
        begun = threading.Event()

        def settle(outcome: _Outcome[T]) -> None:
            if not outcome_future.done():
                outcome_future.set_result(outcome)

        async def run_work() -> None:
            outcome: _Outcome[T]
            try:
                outcome = _Outcome(value=await work())
            except BaseException as error:  # noqa: BLE001 - handed to the caller
                outcome = _Outcome(error=error)
            with contextlib.suppress(RuntimeError):  # nobody is there any more
                here.call_soon_threadsafe(settle, outcome)

        def begin() -> None:
            begun.set()
            # Held by `tasks`, which the caller holds until it ended.
            tasks.append(self._loop.create_task(run_work()))

        def cancel() -> None:
            for task in tasks:
                task.cancel()

        self._loop.call_soon_threadsafe(begin)
        return begun, lambda: self._soon(cancel)

    def _place(self) -> str:
        """Return the line of the extension's code that the thread runs."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        lines = traceback.extract_stack(frame) if frame is not None else []
        own = [one for one in lines if _is_theirs(one.filename)]
        if not own:
            return "somewhere"
        return f"{Path(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name}"

    def soon(self, work: Callable[[], object]) -> None:
        """Schedule a function on the loop, without waiting for it."""

        def begin() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - another project's code at its root
                _log.error("extension_broke", extension=self._name, reason=_describe(error))

        self._soon(begin)

    def _soon(self, work: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(work)

    def close(self) -> None:
        """End the loop, without waiting for a thread that hangs. Idempotent."""
        self._closing.set()
        self._soon(self._loop.stop)

    async def wait_closed(self, seconds: float) -> bool:
        """Close, and return whether the thread ended in time."""
        self.close()
        await asyncio.to_thread(self._thread.join, seconds)
        return self.idle


def _is_theirs(filename: str) -> bool:
    if filename == __file__ or filename.startswith("<"):
        return False
    return "-packages/" in filename or not filename.startswith(sysconfig.get_path("stdlib"))


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=UNWIND_SECONDS))
    loop.run_until_complete(loop.shutdown_asyncgens())


def _describe(error: BaseException) -> str:
    text = str(error)[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
