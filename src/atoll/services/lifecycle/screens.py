"""Screens of the terminals of sleeping sandboxes, sealed in the store.

They are taken just before the runtime ends, and given to the next one. Nothing of a terminal's
output lies on disk otherwise: it is there only while the sandbox sleeps, and only the vault opens
it.
"""

import asyncio
import base64
import zlib
from typing import Final

import msgspec
import structlog

from atoll.domain.errors import Failed, NotFound
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import RuntimeClient, Vault
from atoll.ports.store.screens import SealedScreens
from atoll.services.ground import Ground
from atoll.wire.contract.screens import MAX_SCREENS_BYTES, KeptScreen, KeptScreens, take_screens
from atoll.wire.contract.terminals import MAX_LISTED

_MOST_BYTES: Final = 2 * MAX_SCREENS_BYTES
"""Bound on the output of all screens: one begins where its output may be cut. Spelled in base64 it
takes four thirds of that."""

_decoder = msgspec.json.Decoder(KeptScreens)

_log = structlog.get_logger(__name__)


class Screens:
    """Screens of sandboxes that sleep."""

    def __init__(self, ground: Ground, vault: Vault) -> None:
        self._store = ground.store
        self._vault = vault

    async def keep(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """Keep what the terminals of a sandbox show now, if it sleeps. Raises what the runtime and
        the store raise."""
        if sandbox.asleep_since is None:
            return
        try:
            taken = await client.call(take_screens())
        except NotFound:  # a runtime of an earlier version
            return
        if not taken.screens or not _fits(taken):
            return
        packed = await asyncio.to_thread(_pack, taken)
        sealed = SealedScreens(sandbox.id, self._vault.seal(packed, _binding(sandbox)))
        async with self._store.begin() as rows:
            now = await rows.sandboxes.get(sandbox.id)
            if now is not None and now.asleep_since is not None:
                await rows.screens.put(sealed)

    async def of(self, sandbox: Sandbox) -> tuple[KeptScreen, ...]:
        """Return the screens of a sandbox that slept, oldest terminal first. None where they do not
        open: their key was retired, or their bytes are not what was stored."""
        if sandbox.asleep_since is None:
            return ()
        async with self._store.read() as rows:
            stored = await rows.screens.get(sandbox.id)
        if stored is None:
            return ()
        try:
            packed = self._vault.open(stored.sealed, _binding(sandbox))
        except Failed as error:
            _log.warning("screens_not_opened", sandbox=sandbox.id, reason=error.message)
            return ()
        return await asyncio.to_thread(_unpack, packed)


def _fits(taken: KeptScreens) -> bool:
    """Report whether screens are within their bounds, which the runtime's word alone says."""
    size = sum(len(screen.data) + len(screen.preamble) for screen in taken.screens)
    return len(taken.screens) <= MAX_LISTED and size <= _MOST_BYTES


def _pack(taken: KeptScreens) -> str:
    return base64.b64encode(zlib.compress(msgspec.json.encode(taken), 1)).decode()


def _unpack(packed: str) -> tuple[KeptScreen, ...]:
    unpacked = zlib.decompressobj().decompress(base64.b64decode(packed), 2 * _MOST_BYTES)
    return _decoder.decode(unpacked).screens


def _binding(sandbox: Sandbox) -> tuple[str, str]:
    return ("screens", sandbox.id)
