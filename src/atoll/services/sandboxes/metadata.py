"""Metadata: keeps each sandbox's document true over its life.

Written in the background after each transition, and compared with the store at the start: what
changed while no control plane was there, or could not be written, is made good then.
"""

import asyncio

import msgspec
import structlog

from atoll.domain.errors import AtollError, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.metadata import metadata_document
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import MetadataFiles, Store
from atoll.wire.words.sandboxes import State

AGAIN_SECONDS = 1.0
"""Before a retry at a store that did not answer."""

_log = structlog.get_logger(__name__)


class Metadata:
    """Documents of all sandboxes; without `files` there are none."""

    def __init__(self, store: Store, files: MetadataFiles | None) -> None:
        self._store = store
        self._files = files
        # Bounded by the sandboxes there are: a later state replaces an earlier one.
        self._noted: dict[SandboxId, Sandbox] = {}
        self._writes = False
        self._wake = asyncio.Event()

    def note(self, sandbox: Sandbox) -> None:
        """Have the sandbox's document written as it now is, soon. Without effect while another
        control plane writes them: `run` begins with what is stored."""
        if not self._writes:
            return
        noted = self._noted.get(sandbox.id)
        if noted is None or noted.updated_at <= sandbox.updated_at:
            self._noted[sandbox.id] = sandbox
            self._wake.set()

    async def run(self) -> None:
        """Write what is noted, until cancelled."""
        if self._files is None:
            return
        self._writes = True
        try:
            await self._compare_surely(self._files)
            while True:
                await self._wake.wait()
                self._wake.clear()
                noted, self._noted = self._noted, {}
                for sandbox in noted.values():
                    await _write(self._files, sandbox)
        finally:
            # Another control plane may write now, and what was noted here is old by the next time.
            self._writes = False
            self._noted.clear()

    async def _compare_surely(self, files: MetadataFiles) -> None:
        """Compare files and store, once the store answers."""
        while True:
            try:
                return await self._compare(files)
            except Unavailable as error:
                _log.warning("metadata_not_compared", reason=error.message)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _compare(self, files: MetadataFiles) -> None:
        async with self._store.read() as rows:
            unfinished = await rows.sandboxes.unfinished()
        for sandbox in unfinished:
            self.note(sandbox)
        here = {sandbox.id for sandbox in unfinished}
        try:
            for sandbox_id in {*await files.known()} - here - self._noted.keys():
                await files.forget(sandbox_id)
        except AtollError as error:
            _log.warning("metadata_not_compared", reason=error.message)


async def _write(files: MetadataFiles, sandbox: Sandbox) -> None:
    try:
        if sandbox.state is State.DESTROYED:
            await files.forget(sandbox.id)
        else:
            document = msgspec.json.format(msgspec.json.encode(metadata_document(sandbox)))
            await files.put(sandbox.id, document + b"\n")
    except AtollError as error:
        # A full disk must not end the control plane; the next transition writes again.
        _log.warning("metadata_not_written", sandbox=sandbox.id, reason=error.message)
