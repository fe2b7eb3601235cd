"""A program of the person's own that is run for each notification.

It gets two arguments: a fixed word, and the sandbox's name. Nothing from inside a sandbox reaches
it. What it prints is dropped, and it is ended when it takes too long.
"""

import asyncio
import contextlib
import os
import signal

import structlog

SECONDS = 10.0
"""The time that one run may take."""
MAX_RUNNING = 4
"""Runs at a time; what comes beyond is dropped."""

_log = structlog.get_logger(__name__)


class NoticeCommand:
    """Runner of the command."""

    def __init__(self, argv: tuple[str, ...]) -> None:
        self._argv = argv
        self._running = 0

    async def __call__(self, reason: str, sandbox_name: str) -> None:
        """Run the command once. What fails is logged, because nobody waits for it."""
        if self._running >= MAX_RUNNING:
            _log.warning("notify_command_dropped", sandbox=sandbox_name)
            return
        self._running += 1
        try:
            await self._run(reason, sandbox_name)
        except OSError as error:
            _log.warning("notify_command_failed", program=self._argv[0], reason=str(error))
        finally:
            self._running -= 1

    async def _run(self, reason: str, sandbox_name: str) -> None:
        null = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *self._argv,
            reason,
            sandbox_name,
            stdin=null,
            stdout=null,
            stderr=null,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(SECONDS):
                await process.wait()
        except TimeoutError:
            _log.warning("notify_command_late", program=self._argv[0])
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
