"""Relocations: what a stopped sandbox keeps goes to another host, whole or not at all.

A copy is made and compared first, then the sandbox is stored with its new host, then the old place
is emptied. Whoever takes one up after a crash begins with the phase that is stored, and every step
may be repeated.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from atoll.domain.errors import AtollError, Failed
from atoll.domain.hosts.relocation import Relocation, RelocationPhase
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.stimulus import Relocated, RelocationEnded, RelocationFailed
from atoll.ports import Extension, StoreUnavailable
from atoll.ports.extension import RELOCATE, Relocates
from atoll.services.provisioning.provisioning import Provisioning, handle_of

AT_ONCE = 2
"""Copies under way at once; the others wait."""

CLEAR_ATTEMPTS = 3
CLEAR_SECONDS = 120.0

_log = structlog.get_logger(__name__)

ReportRelocation = Callable[[Relocated | RelocationEnded | RelocationFailed], Awaitable[Sandbox]]
"""Store a report, and return the sandbox as it then is."""


class Relocations:
    """Relocations of sandboxes that do not run."""

    def __init__(self, provisioning: Provisioning) -> None:
        self._provisioning = provisioning
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def run(self, sandbox: Sandbox, report: ReportRelocation) -> None:
        """Go on with the relocation that a sandbox holds, until it ended. Raises
        `StoreUnavailable` alone."""
        relocation = sandbox.relocation
        if relocation is None:
            return
        if relocation.phase is RelocationPhase.COPYING:
            reason = await self._copy(sandbox, relocation)
            if reason:
                left = await self._clear_place(sandbox, relocation.target)
                await report(RelocationFailed(relocation, reason, left))
                return
            sandbox = await report(Relocated(relocation))
            if sandbox.relocation is None or sandbox.host != relocation.target:
                return  # it is being destroyed, which clears both places
        left = await self._clear_place(sandbox, relocation.source)
        await report(RelocationEnded(relocation, left))

    async def clear(self, sandbox: Sandbox) -> tuple[str, ...]:
        """Remove what a relocation may have left beside the files of a sandbox that is destroyed.
        Returns what may still stand."""
        relocation = sandbox.relocation
        if relocation is None:
            return ()
        return await self._clear_place(sandbox, relocation.other_place(sandbox.host))

    async def _copy(self, sandbox: Sandbox, relocation: Relocation) -> str:
        """Copy the files. Returns why they could not be."""
        try:
            extension = relocating(self._provisioning.extension(sandbox))
            async with self._turns:
                await extension.copy_kept(handle_of(sandbox), relocation.target)
        except StoreUnavailable:
            raise
        except AtollError as err:
            return err.message
        except Exception as err:  # noqa: BLE001 - a backend's mistake is a failure like others
            _log.exception("relocation_broke", sandbox=sandbox.id)
            return f"the copy broke unexpectedly ({type(err).__name__}); the log says more"
        return ""

    async def _clear_place(self, sandbox: Sandbox, host: str) -> tuple[str, ...]:
        """Remove what is at a host that is not the files' place. Returns what may still stand."""
        left = f"files of {sandbox.name} ({sandbox.id}) on host {host}"
        for _ in range(CLEAR_ATTEMPTS):
            try:
                extension = relocating(self._provisioning.extension(sandbox))
                async with asyncio.timeout(CLEAR_SECONDS):
                    report = await extension.drop_kept(handle_of(sandbox), host)
                return report.leftovers
            except StoreUnavailable:
                raise
            except AtollError as err:
                left = f"files of {sandbox.name} ({sandbox.id}) on host {host}: {err.message}"
            except Exception:  # noqa: BLE001 - as above
                _log.exception("relocation_not_cleared", sandbox=sandbox.id, host=host)
        return (left,)


def relocating(extension: Extension) -> Relocates:
    """Return a backend as one that relocates. Raises `Failed`."""
    if isinstance(extension, Relocates) and RELOCATE in extension.capabilities().abilities:
        return extension
    raise Failed(f"{extension.name} cannot bring files from one host to another")
